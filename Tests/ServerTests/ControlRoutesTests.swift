// /healthz and /metrics over a real listener and client.

import Basics
import Reactor
import Server
import Testing
import Web

@Suite struct ControlRoutesTests {
    /// What a request to `path` of a server with these figures gets.
    func get(_ path: String, draining: Bool = false) async throws -> HTTPReply? {
        let loop = try EpollLoop(name: "control")
        try loop.start()
        defer { loop.stop() }
        let web = try WebThread(listeners: [
            ControlRoutes.listener(at: SocketAddress(ip: .loopback4, port: 0), on: loop) {
                var figures = ServerFigures(version: "1.2.3", startedAt: 1)
                figures.activeCalls = 3
                figures.callLimit = 10
                figures.isDraining = draining
                return figures
            }
        ])
        let client = HTTPClient()
        let call = HTTPCall("GET", "http://\(web.addresses[0])\(path)")
        let reply = await withCheckedContinuation { continuation in
            client.start(call) { continuation.resume(returning: try? $0.get()) }
        }
        client.stopAndWait()
        web.stopAndWait()
        return reply
    }

    @Test func health() async throws {
        let reply = try #require(try await get("/healthz"))
        #expect(reply.status == 200)
        #expect(reply.headers["content-type"] == "application/json")
        #expect(
            String(decoding: reply.body, as: UTF8.self)
                == "{\"status\":\"ready\",\"version\":\"1.2.3\",\"calls\":3,\"limit\":10}\n")
        #expect(try await get("/healthz", draining: true)?.status == 503)
    }

    @Test func metrics() async throws {
        let reply = try #require(try await get("/metrics"))
        #expect(reply.status == 200)
        #expect(reply.headers["content-type"] == MetricsText.contentType)
        #expect(String(decoding: reply.body, as: UTF8.self).contains("\nringwright_calls_active 3\n"))
    }

    @Test func nothingElse() async throws {
        #expect(try await get("/")?.status == 404)
    }
}
