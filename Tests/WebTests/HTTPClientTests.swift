// The HTTP client against our own server.
import Basics
import Reactor
import TestKit
import Testing
import Web

@Suite struct HTTPClientTests {
    private func routes(_ loop: EpollLoop) -> [HTTPRoute] {
        [
            HTTPRoute(.post, "/echo", on: loop) {
                HTTPResponse(status: 201, headers: ["x-sent": $0.headers["x-mine"] ?? "-"], body: $0.body)
            },
            HTTPRoute(.get, "/large", on: loop) { _ in HTTPResponse(body: [UInt8](repeating: 1, count: 100_000)) },
            HTTPRoute(.get, "/away", on: loop) { _ in HTTPResponse(status: 302, headers: ["location": "file:///etc/hostname"]) },
            HTTPRoute(.get, "/again", on: loop) { _ in HTTPResponse(status: 302, headers: ["location": "/again"]) },
            HTTPRoute(.get, "/stuck", on: loop) { _ in
                try? await loop.sleep(for: .seconds(3600))
                return HTTPResponse()
            }
        ]
    }

    @Test func fetchesAndFailsInAClosedSetOfWays() async throws {
        let thread = try LoopThread()
        let routes = await thread.perform { self.routes($0) }
        let web = try WebThread(listeners: [WebListener(loopback, routes: routes, extraHeaders: ["x-mine"])])
        let free = try WebThread(listeners: [WebListener(loopback)])
        let closedPort = free.addresses[0].port
        free.stopAndWait()
        let client = HTTPClient()
        let base = "http://127.0.0.1:\(web.addresses[0].port)"

        let echo = HTTPCall("POST", "\(base)/echo", headers: ["x-mine": "yes"], body: Array("body".utf8))
        let reply = try await thread.run { loop in await client.fetch(echo, on: loop) }.get()
        #expect(reply.status == 201)
        #expect(reply.headers["X-Sent"] == "yes")
        #expect(reply.body == Array("body".utf8))

        var tooLarge = HTTPCall("GET", "\(base)/large")
        tooLarge.maximumBytes = 99_999
        var away = HTTPCall("GET", "\(base)/away")
        away.redirects = 3
        var again = HTTPCall("GET", "\(base)/again")
        again.redirects = 3
        var late = HTTPCall("GET", "\(base)/stuck")
        late.timeout = .milliseconds(100)
        let cases: [(HTTPCall, HTTPFailure.Reason)] = [
            (tooLarge, .tooLarge), (away, .badRequest), (again, .tooManyRedirects), (late, .timeout),
            (HTTPCall("GET", "file:///etc/hostname"), .badRequest), (HTTPCall("GET", "http://name.invalid/"), .dns),
            (HTTPCall("GET", "http://127.0.0.1:\(closedPort)/"), .connect),
            (HTTPCall("GET", base, headers: ["x": "a\r\nb: c"]), .badRequest)
        ]
        for (call, reason) in cases {
            let result = await thread.run { loop in await client.fetch(call, on: loop) }
            guard case .failure(let failure) = result else {
                Issue.record("\(call.url) was fetched")
                continue
            }
            #expect(failure.reason == reason, "\(call.url): \(failure)")
        }
        let secret = HTTPCall("GET", "http://me:word@127.0.0.1:\(closedPort)/path?token=abc")
        if case .failure(let failure) = await thread.run({ loop in await client.fetch(secret, on: loop) }) {
            #expect(failure.text.hasPrefix("http://127.0.0.1:\(closedPort)/path: "))
        }
        client.stopAndWait()
        web.stopAndWait(grace: .zero)
        #expect(thread.stop() == EpollLoop.Leftovers())
    }

    @Test func cancellingAndStoppingEndTransfers() async throws {
        let thread = try LoopThread()
        let routes = await thread.perform { self.routes($0) }
        let web = try WebThread(listeners: [WebListener(loopback, routes: routes)])
        let client = HTTPClient()
        var call = HTTPCall("GET", "http://127.0.0.1:\(web.addresses[0].port)/stuck")
        call.timeout = .seconds(3600)
        let reasons = Gathered<HTTPFailure.Reason>()
        let task = await thread.perform { [call] loop in
            loop.spawn {
                if case .failure(let failure) = await client.fetch(call, on: loop) { reasons.add(failure.reason) }
            }
        }
        await thread.perform { _ in task.cancel() }
        #expect(await reasons.first(1) == [.cancelled])
        client.start(call) { if case .failure(let failure) = $0 { reasons.add(failure.reason) } }
        client.stopAndWait()
        #expect(await reasons.first(2) == [.cancelled, .stopped])
        #expect(client.counters.inFlight == 0)
        web.stopAndWait(grace: .zero)
        #expect(thread.stop() == EpollLoop.Leftovers())
    }

    @Test func certificatesAreChecked() async throws {
        let made = try #require(TestCertificates.standard)
        let thread = try LoopThread()
        let routes = await thread.perform { self.routes($0) }
        let web = try WebThread(listeners: [
            WebListener(loopback, tls: made.tls, routes: routes), WebListener(loopback, routes: routes)
        ])
        let client = HTTPClient()
        let secured = "https://localhost:\(web.addresses[0].port)/large"
        let cases: [(url: String, trust: TLSTrust, fails: Bool)] = [
            (secured, .system, true), (secured, .file(made.authority), false), (secured, .insecure, false),
            (secured, .file("/nowhere/authorities.pem"), true),
            ("https://127.0.0.1:\(web.addresses[1].port)/large", .insecure, true)
        ]
        for (url, trust, fails) in cases {
            var call = HTTPCall("GET", url)
            call.trust = trust
            switch await thread.run({ [call] loop in await client.fetch(call, on: loop) }) {
            case .success(let reply): #expect(!fails && reply.status == 200, "\(url) \(trust)")
            case .failure(let failure): #expect(fails && failure.reason == .tls, "\(url) \(trust): \(failure)")
            }
        }
        client.stopAndWait()
        web.stopAndWait(grace: .zero)
        #expect(thread.stop() == EpollLoop.Leftovers())
    }

    @Test func callsBeyondTheQueueAreRefused() async throws {
        let thread = try LoopThread()
        let routes = await thread.perform { self.routes($0) }
        let web = try WebThread(listeners: [WebListener(loopback, routes: routes)])
        var limits = HTTPClientLimits()
        limits.inFlight = 2
        limits.queue = 1
        let client = HTTPClient(limits: limits)
        var call = HTTPCall("GET", "http://127.0.0.1:\(web.addresses[0].port)/stuck")
        call.timeout = .seconds(3600)
        let reasons = Gathered<HTTPFailure.Reason>()
        for _ in 0..<5 {
            client.start(call) { if case .failure(let failure) = $0 { reasons.add(failure.reason) } }
        }
        #expect(await reasons.first(2) == [.overloaded, .overloaded], "told at once")
        #expect(client.counters.overloaded == 2)
        #expect(client.counters.started == 3)
        client.stopAndWait()
        #expect(reasons.items.dropFirst(2) == [.stopped, .stopped, .stopped])
        #expect(client.counters.inFlight == 0 && client.counters.waiting == 0)
        web.stopAndWait(grace: .zero)
        #expect(thread.stop() == EpollLoop.Leftovers())
    }
}
