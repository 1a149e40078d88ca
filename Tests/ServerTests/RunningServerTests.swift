// A server at work, as far as it can be seen without a peer that speaks SIP: it starts on ports of the system's choice, shows its
// figures, and ends with nothing left.

import Basics
import CallEngine
import FlowEngine
import Reactor
import Server
import Testing
import Web

@Suite struct RunningServerTests {
    static let quiet: Log = Log(Configuration().log, on: VirtualLoop()) { _ in }

    static func configuration() -> Configuration {
        var configuration = Configuration()
        configuration.sip.listen = [.init(.udp, SocketAddress(ip: .loopback4, port: 0))]
        configuration.control.listen = SocketAddress(ip: .loopback4, port: 0)
        configuration.limits.calls = 7
        configuration.routes = [
            Route(
                to: .exactly("100"), target: .bridge("sip:a@127.0.0.1:9"), place: .init(file: "test", line: 1, column: 1))
        ]
        return configuration
    }

    func start(_ configuration: Configuration) throws -> RunningServer {
        try RunningServer(
            ServerRules(configuration, flows: FlowTable(configuration, flow: nil), tls: configuration.secureSetup()),
            version: "test", loopCount: 1, log: Self.quiet)
    }

    @Test func itStartsShowsItsFiguresAndEnds() async throws {
        let server = try start(Self.configuration())
        defer { server.close() }
        #expect(server.listening.count == 1)
        #expect(server.listening.first?.hasPrefix("udp:127.0.0.1:") == true)
        let client = HTTPClient()
        defer { client.stopAndWait() }
        let page = try #require(server.page)
        let reply = await withCheckedContinuation { continuation in
            client.start(HTTPCall("GET", "http://\(page)/metrics")) { continuation.resume(returning: try? $0.get()) }
        }
        let text = String(decoding: reply?.body ?? [], as: UTF8.self)
        #expect(text.contains("\nringwright_calls_limit 7\n"))
        #expect(text.contains("ringwright_loop_turns_total{loop=\"loop-0\"}"))
    }

    @Test func drainingWithoutCallsIsOverAtOnce() async throws {
        let server = try start(Self.configuration())
        await withCheckedContinuation { continuation in server.drain { continuation.resume() } }
        server.close()
    }

    @Test func aTakenPortIsThisMachinesFault() throws {
        let first = try start(Self.configuration())
        defer { first.close() }
        var second = Self.configuration()
        second.control.listen = first.page
        let failure = #expect(throws: CommandFailure.self) { try start(second) }
        #expect(failure?.status == .unable)
        #expect(failure?.message.contains("cannot listen on") == true)
    }
}
