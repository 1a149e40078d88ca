// The HTTP server against curl, our own client and raw sockets.
import Basics
import Foundation
import Reactor
import TestKit
import Testing
import Web

@Suite struct HTTPServerTests {
    private func echo(_ loop: EpollLoop) -> [HTTPRoute] {
        [
            HTTPRoute(.get, "/hello", on: loop) { request in
                .text("hello \(request.query.map { "\($0.name)=\($0.value)" }.joined(separator: ";"))")
            },
            HTTPRoute(.post, "/echo", on: loop) { request in
                HTTPResponse(
                    headers: ["x-type": request.headers["content-type"] ?? "-", "x-mine": request.headers["X-Mine"] ?? "-"],
                    body: request.body)
            },
            HTTPRoute(.get, "/calls/{id}", on: loop) { .text($0.parameters["id"] ?? "") },
            HTTPRoute(.delete, "/calls/{id}", on: loop) { _ in HTTPResponse(status: 204) },
            HTTPRoute(.get, "/large", on: loop) { _ in HTTPResponse(body: [UInt8](repeating: 0x61, count: 3_000_000)) },
            HTTPRoute(.get, "/slow", on: loop) { _ in
                try? await loop.sleep(for: .milliseconds(50))
                return .text("slow")
            },
            HTTPRoute(.get, "/stuck", on: loop) { _ in
                do { try await loop.sleep(for: .seconds(3600)) } catch { return .text("cancelled") }
                return .text("late")
            }
        ]
    }

    /// A web thread with the routes above; `body` gets its base URL.
    private func serve(
        limits: WebLimits = WebLimits(), tls: WebServerTLS? = nil,
        _ body: (WebThread, String, SocketAddress) async throws -> Void
    ) async throws {
        let thread = try LoopThread()
        let routes = await thread.perform { self.echo($0) }
        let web = try WebThread(listeners: [
            WebListener(loopback, tls: tls, routes: routes, extraHeaders: ["x-mine"], limits: limits)
        ])
        try await body(web, "\(tls == nil ? "http" : "https")://localhost:\(web.addresses[0].port)", web.addresses[0])
        web.stopAndWait(grace: .zero)
        #expect(web.currentCounters.connectionsOpen == 0)
        #expect(thread.stop() == EpollLoop.Leftovers())
    }

    @Test func answersCurl() async throws {
        try await serve { _, base, _ in
            let hello = await command("curl", "-s", "-i", "\(base)/hello?a=1&b=%26x%3D%20y&c")
            guard let hello else { return }
            #expect(hello.output.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(hello.output.contains("content-type: text/plain; charset=utf-8\r\n"))
            #expect(hello.output.hasSuffix("\r\n\r\nhello a=1;b=&x= y;c="))

            let echoed = await command(
                "curl", "-s", "-i", "-H", "Content-Type: application/x-test", "-H", "X-Mine: yes", "-d", "body text",
                "\(base)/echo")
            #expect(echoed?.output.hasSuffix("\r\n\r\nbody text") == true)
            #expect(echoed?.output.contains("x-type: application/x-test\r\n") == true)
            #expect(echoed?.output.contains("x-mine: yes\r\n") == true)

            let head = await command("curl", "-s", "-I", "\(base)/hello")
            #expect(head?.output.contains("content-length: 6\r\n") == true)
            let large = await command("curl", "-s", "-o", "/dev/null", "-w", "%{size_download}", "\(base)/large")
            #expect(large?.output == "3000000")
            let two = await command(
                "curl", "-s", "-w", "[%{num_connects}]", "\(base)/calls/7", "\(base)/slow", "-X", "GET")
            #expect(two?.output == "7[1]slow[0]", "one connection serves both")
            let gone = await command("curl", "-s", "-X", "DELETE", "-w", "%{http_code}", "\(base)/calls/7")
            #expect(gone?.output == "204")
        }
    }

    @Test func refusesWhatItDoesNotServe() async throws {
        var limits = WebLimits()
        limits.bodyBytes = 1000
        try await serve(limits: limits) { web, _, address in
            let cases: [(String, String)] = [
                ("GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "HTTP/1.1 404 "),
                ("POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 405 "),
                ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n", "HTTP/1.1 413 "),
                ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1e3\r\n\r\n", "HTTP/1.1 400 "),
                ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 400 "),
                ("POST /echo HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 411 "),
                ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", "HTTP/1.1 411 ")
            ]
            for (request, status) in cases {
                let client = try #require(RawClient(address))
                client.write(request)
                let answer = client.read(until: status.contains("404") ? "path." : nil)
                #expect(answer.hasPrefix(status), "\(request) got \(answer)")
                if status.contains("405") { #expect(answer.contains("allow: GET, HEAD\r\n")) }
            }
            #expect(web.currentCounters.requestsRefused == UInt64(cases.count))
        }
    }

    @Test func turnsAwayConnectionsBeyondTheLimit() async throws {
        var limits = WebLimits()
        limits.connections = 2
        try await serve(limits: limits) { web, _, address in
            let first = try #require(RawClient(address))
            let second = try #require(RawClient(address))
            for client in [first, second] {
                client.write("GET /calls/1 HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(client.read(until: "\r\n\r\n1").hasPrefix("HTTP/1.1 200"))
            }
            let third = try #require(RawClient(address))
            #expect(third.read().hasPrefix("HTTP/1.1 503 "))
            #expect(web.currentCounters.connectionsRefused == 1)
            #expect(web.currentCounters.connectionsOpen == 2)
        }
    }

    @Test func slowClientsAreDisconnected() async throws {
        var limits = WebLimits()
        limits.headerTime = .milliseconds(100)
        limits.bodyTime = .milliseconds(100)
        limits.idleTime = .milliseconds(100)
        try await serve(limits: limits) { web, _, address in
            let silent = try #require(RawClient(address))
            #expect(silent.read() == "")
            let halfHead = try #require(RawClient(address))
            halfHead.write("GET /hello HTTP/1.1\r\nHost: a\r\nX-Slow: ")
            #expect(halfHead.read() == "")
            let halfBody = try #require(RawClient(address))
            halfBody.write("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
            #expect(halfBody.read().hasPrefix("HTTP/1.1 408 "))
            let idle = try #require(RawClient(address))
            idle.write("GET /calls/1 HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(idle.read().hasSuffix("\r\n\r\n1"))
            #expect(web.currentCounters.timeouts == 4)
        }
    }

    @Test func aHandlerThatTakesTooLongIsCancelled() async throws {
        var limits = WebLimits()
        limits.handlerTime = .milliseconds(100)
        // That the task ended is checked by the loop's leftovers.
        try await serve(limits: limits) { _, _, address in
            let client = try #require(RawClient(address))
            client.write("GET /stuck HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(client.read(until: "too long.").hasPrefix("HTTP/1.1 503 "))
        }
    }

    @Test func aClientThatLeavesCancelsItsHandler() async throws {
        let thread = try LoopThread()
        let steps = Gathered<String>()
        let routes = await thread.perform { loop in
            [
                HTTPRoute(.get, "/stuck", on: loop) { _ in
                    steps.add("begun")
                    do { try await loop.sleep(for: .seconds(3600)) } catch { steps.add("cancelled") }
                    return .text("nobody hears this")
                }
            ]
        }
        let web = try WebThread(listeners: [WebListener(loopback, routes: routes)])
        var client = RawClient(web.addresses[0])
        // What was sent ahead does not hide that the client has gone.
        client?.write("GET /stuck HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\n")
        _ = await steps.first(1)
        client = nil
        #expect(await steps.first(2) == ["begun", "cancelled"])
        web.stopAndWait()
        #expect(thread.stop() == EpollLoop.Leftovers())
    }

    @Test func tooLargeAHeadIsRefused() async throws {
        var limits = WebLimits()
        limits.headerBytes = 2000
        try await serve(limits: limits) { _, _, address in
            let client = try #require(RawClient(address))
            client.write("GET /hello HTTP/1.1\r\nHost: a\r\nCookie: \(String(repeating: "a", count: 5000))\r\n\r\n")
            #expect(!client.read().contains("200 OK"))
        }
    }

    /// A client that does not wait for its answers gets the first one, then an orderly end; it asks again for the others.
    @Test(arguments: [false, true]) func requestsBehindTheFirstAreNotServed(hasTLS: Bool) async throws {
        let made = try #require(TestCertificates.standard)
        let get = "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"
        let post = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\none"
        let bad = "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n"
        let cases: [(sent: String, answer: String)] = [
            (get + post + get, "slow"), (post + post, "one"), (post + get, "one"), (bad + post, "path.\n"), (get + get, "slow"),
            (get + "POST /echo HTTP/1.1\r\nHost:", "slow"), (get + "\r\n", "slow"), (bad + bad, "path.\n"),
            (get + String(repeating: post, count: 2000), "slow")
        ]
        try await serve(tls: hasTLS ? made.tls : nil) { web, base, address in
            for (sent, answer) in cases {
                let text: String
                if hasTLS {
                    let port = base.split(separator: ":").last ?? ""
                    let folder = try TemporaryFolder()
                    try folder.write(sent, to: "sent")
                    text =
                        await command(
                            "sh", "-c",
                            "openssl s_client -quiet -connect localhost:\(port) < \(folder.path("sent"))"
                        )?.output ?? ""
                } else {
                    let client = try #require(RawClient(address))
                    client.write(sent)
                    text = client.read()
                }
                #expect(text.components(separatedBy: "HTTP/1.1 ").count == 2, "\(sent.prefix(200)) got \(text)")
                #expect(text.contains("connection: close\r\n"), "\(sent.prefix(200)) got \(text)")
                #expect(text.hasSuffix(answer), "\(sent.prefix(200)) got \(text)")
            }
            #expect(web.currentCounters.requests == UInt64(cases.count))
        }
    }

    @Test func openRequestsGetTheirAnswersAtShutdown() async throws {
        let thread = try LoopThread()
        let (begun, stopping) = (Gathered<Bool>(), Gathered<Bool>())
        let routes = await thread.perform { loop in
            [
                HTTPRoute(.get, "/slow", on: loop) { _ in
                    begun.add(true)
                    while stopping.items.isEmpty { try? await loop.sleep(for: .milliseconds(1)) }
                    return .text("done")
                }
            ]
        }
        let web = try WebThread(listeners: [WebListener(loopback, routes: routes)])
        let address = web.addresses[0]
        let client = try #require(RawClient(address))
        client.write("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        _ = await begun.first(1)
        web.stop(grace: .seconds(60))
        stopping.add(true)
        web.stopAndWait(grace: .seconds(60))
        let answer = client.read()
        #expect(answer.hasSuffix("\r\n\r\ndone"))
        #expect(answer.contains("connection: close\r\n"))
        #expect(RawClient(address) == nil, "nobody listens any more")
        #expect(thread.stop() == EpollLoop.Leftovers())
    }

    @Test func servesTLS() async throws {
        let made = try #require(TestCertificates.standard)
        try await serve(tls: made.tls) { _, base, _ in
            let good = await command("curl", "-s", "--cacert", made.authority, "\(base)/calls/9", "-w", " %{http_version}")
            #expect(good?.output == "9 1.1")
            let bad = await command("curl", "-s", "\(base)/calls/9")
            #expect(bad?.status == 60)
        }
    }

    @Test func aTakenPortIsNamed() async throws {
        let web = try WebThread(listeners: [WebListener(loopback)])
        defer { web.stopAndWait() }
        let taken = web.addresses[0]
        let error = #expect(throws: WebStartError.self) { try WebThread(listeners: [WebListener(taken)]) }
        #expect(error?.description == "127.0.0.1:\(taken.port): Address already in use")
    }

    @Test func badCertificatesAreNamed() async throws {
        let missing = WebServerTLS(certificate: "/nowhere/cert.pem", key: "/nowhere/key.pem")
        #expect(throws: WebStartError.unreadable(path: "/nowhere/cert.pem", reason: "No such file or directory")) {
            try WebThread(listeners: [WebListener(loopback, tls: missing)])
        }
        let folder = try TemporaryFolder()
        try folder.write("no certificate", to: "cert.pem")
        let broken = WebServerTLS(certificate: folder.path("cert.pem"), key: folder.path("cert.pem"))
        #expect(throws: WebStartError.badCertificate(path: folder.path("cert.pem"))) {
            try WebThread(listeners: [WebListener(loopback, tls: broken)])
        }
    }
}
