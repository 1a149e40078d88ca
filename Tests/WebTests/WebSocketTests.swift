// WebSockets: our server against our client and raw sockets. The Python peer is in WebSocketPeerTests.swift.
import Basics
import Foundation
import Glibc
import Reactor
import TestKit
import Testing
import Web

@Suite struct WebSocketTests {
    /// A server with an echo at `/echo` (subprotocol chat) and `/plain` (none), whose sockets end up in `accepted`.
    func server(
        _ thread: LoopThread, limits: WebSocketLimits = WebSocketLimits(), tls: WebServerTLS? = nil, log: SocketLog = SocketLog(),
        accepted: Gathered<WebSocket> = Gathered()
    ) async throws -> WebThread {
        let routes = await thread.perform { loop in
            [("/echo", ["chat"]), ("/plain", [])].map { path, subprotocols in
                WebSocketRoute(path, subprotocols: subprotocols, on: loop, limits: limits) { socket, _ in
                    accepted.add(socket)
                    return { event in
                        log.add(event)
                        switch event {
                        case .text("big"): socket.send(binary: [UInt8](repeating: 1, count: 200_000))
                        case .text(let text): socket.send(text: text)
                        case .binary(let bytes): socket.send(binary: bytes)
                        case .opened, .closed: break
                        }
                    }
                }
            }
        }
        return try WebThread(listeners: [WebListener(loopback, tls: tls, webSockets: routes)])
    }

    func open(_ web: WebThread, _ request: WebSocketRequest, on thread: LoopThread, _ log: SocketLog) async -> WebSocket {
        await thread.perform { loop in web.connect(request, on: loop) { log.add($0) } }
    }

    func finish(_ thread: LoopThread, _ webs: WebThread...) {
        for web in webs {
            web.stopAndWait(grace: .seconds(2))
            #expect(web.currentCounters.connectionsOpen == 0)
        }
        #expect(thread.stop() == EpollLoop.Leftovers())
    }

    @Test func ourClientTalksToOurServer() async throws {
        let thread = try LoopThread()
        let (theirs, ours) = (SocketLog(), SocketLog())
        let web = try await server(thread, log: theirs)
        let socket = await open(
            web, WebSocketRequest("ws://localhost:\(web.addresses[0].port)/echo?x=1", subprotocols: ["chat"]), on: thread, ours)
        socket.send(text: "queued before it opened")
        _ = await ours.first(2)
        let large = [UInt8](repeating: 7, count: 500_000)
        #expect(socket.send(binary: large))
        #expect(socket.send(text: ""))
        _ = await ours.first(4)
        socket.close(code: 4000, reason: "enough")
        #expect(
            await ours.untilClosed() == [
                .opened(subprotocol: "chat"), .text("queued before it opened"), .binary(large), .text(""),
                .closed(.byUs(code: 4000, reason: "enough"))
            ])
        #expect(await theirs.untilClosed().last == .closed(.byPeer(code: 4000, reason: "enough")))
        #expect(!socket.send(text: "too late"))
        #expect(socket.counters.messagesSent == 3)
        finish(thread, web)
    }

    /// libwebsockets chooses among the listeners of a thread by the Host that the client names, which may be anything.
    @Test(arguments: ["localhost", "elsewhere.example", "ringwright"]) func eachListenerHasItsOwn(host: String) async throws {
        let thread = try LoopThread()
        let listeners = await thread.perform { loop in
            [[], ["second"], ["third"]].map { names in
                WebListener(
                    loopback,
                    webSockets: names.map { name in
                        WebSocketRoute("/", subprotocols: [name], on: loop) { socket, _ in { _ in socket.close() } }
                    })
            }
        }
        let web = try WebThread(listeners: listeners)
        for (address, name) in zip(web.addresses, [nil, "second", "third"]) {
            let log = SocketLog()
            var request = WebSocketRequest("ws://\(host):\(address.port)/", subprotocols: [name ?? "second"])
            request.address = address.ip
            _ = await open(web, request, on: thread, log)
            let first = await log.untilClosed().first
            #expect(first == (name == nil ? .closed(.failed(.handshake(status: 404))) : .opened(subprotocol: name)))
        }
        finish(thread, web)
    }

    @Test func overTLSTheCertificateIsChecked() async throws {
        let made = try #require(TestCertificates.standard)
        let thread = try LoopThread()
        let web = try await server(thread, tls: made.tls)
        let url = "wss://localhost:\(web.addresses[0].port)/plain"
        for (trust, opens) in [(TLSTrust.system, false), (.file(made.authority), true), (.insecure, true)] {
            let log = SocketLog()
            var request = WebSocketRequest(url)
            request.trust = trust
            let socket = await open(web, request, on: thread, log)
            if opens {
                socket.send(text: "hello")
                #expect(await log.first(2) == [.opened(subprotocol: nil), .text("hello")], "\(trust)")
                socket.close()
                _ = await log.untilClosed()
            } else {
                #expect(await log.untilClosed() == [.closed(.failed(.tls))])
            }
        }
        finish(thread, web)
    }

    @Test func whatDoesNotOpenSaysWhy() async throws {
        let thread = try LoopThread()
        let web = try await server(thread)
        let free = try WebThread(listeners: [WebListener(loopback)])
        let closedPort = free.addresses[0].port
        free.stopAndWait()
        let port = web.addresses[0].port
        let cases: [(WebSocketRequest, WebSocketFailure)] = [
            (WebSocketRequest("http://localhost/"), .badURL),
            (WebSocketRequest("ws://user@localhost/"), .badURL),
            (WebSocketRequest("ws://name.invalid/"), .name),
            (WebSocketRequest("ws://127.0.0.1:\(closedPort)/"), .refused),
            (WebSocketRequest("ws://127.0.0.1:\(port)/nowhere"), .handshake(status: 404)),
            (WebSocketRequest("ws://127.0.0.1:\(port)/plain", subprotocols: ["chat"]), .handshake(status: 400))
        ]
        for (request, failure) in cases {
            let log = SocketLog()
            let socket = await open(web, request, on: thread, log)
            #expect(await log.untilClosed() == [.closed(.failed(failure))], "\(request.url)")
            #expect(socket.isClosing && !socket.send(text: "too late"))
        }
        finish(thread, web)
    }

    @Test func aServerThatDoesNotAnswerIsLeft() async throws {
        let thread = try LoopThread()
        let web = try WebThread()
        let silent = try SilentServer()
        let log = SocketLog()
        _ = await open(
            web, WebSocketRequest("ws://127.0.0.1:\(silent.port)/", connectTimeout: .milliseconds(200)), on: thread, log)
        #expect(await log.untilClosed() == [.closed(.failed(.timeout))])
        let second = SocketLog()
        let socket = await open(web, WebSocketRequest("ws://127.0.0.1:\(silent.port)/"), on: thread, second)
        socket.close()
        #expect(await second.untilClosed() == [.closed(.failed(.cancelled))])
        finish(thread, web)
    }

    /// A loop that is busy: its connection is not read until it has taken what waits, then everything comes, in order.
    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func aBusyReceiverIsNotFedFurther(hasTLS: Bool) async throws {
        let made = try #require(TestCertificates.standard)
        let (thread, ours) = (try LoopThread(), try LoopThread())
        let web = try await server(thread, tls: hasTLS ? made.tls : nil)
        let clients = try WebThread()
        var request = WebSocketRequest("\(hasTLS ? "wss" : "ws")://localhost:\(web.addresses[0].port)/plain")
        request.trust = .insecure
        request.limits.receiveQueueBytes = 10_000
        let (log, isFree) = (SocketLog(), Outcome<Void>())
        let socket = await ours.perform { [request] loop in
            clients.connect(request, on: loop) { event in
                log.add(event)
                if case .binary = event { isFree.wait() }
            }
        }
        let messages = (0..<150).map { [UInt8](repeating: UInt8($0), count: 5000) }
        // The sum only: a failed expectation would print every byte of a message.
        let queued = messages.count { socket.send(binary: $0) }
        #expect(queued == messages.count)
        // It is busy with the first. Another one, which both web threads serve as well, goes to and fro while more would come.
        _ = await log.first(2)
        request.limits.receiveQueueBytes = 1_000_000
        let others = SocketLog()
        let other = await open(clients, request, on: thread, others)
        for turn in 1...30 {
            other.send(binary: messages[0])
            #expect(await others.first(1 + turn).count == 1 + turn)
        }
        #expect(socket.counters.messagesReceived < 10)
        isFree.set(())
        #expect(await log.first(151).dropFirst() == messages.map { .binary($0) }[...])
        for one in [socket, other] { one.close() }
        _ = await log.untilClosed()
        _ = await others.untilClosed()
        finish(ours, clients)
        finish(thread, web)
    }

    @Test func aMessageBeyondTheLimitClosesWith1009() async throws {
        let thread = try LoopThread()
        var limits = WebSocketLimits()
        limits.messageBytes = 1000
        let (theirs, ours) = (SocketLog(), SocketLog())
        let web = try await server(thread, limits: limits, log: theirs)
        let socket = await open(web, WebSocketRequest("ws://127.0.0.1:\(web.addresses[0].port)/plain"), on: thread, ours)
        socket.send(binary: [UInt8](repeating: 0, count: 1000))
        socket.send(binary: [UInt8](repeating: 0, count: 100_001))
        #expect(await ours.untilClosed().last == .closed(.byPeer(code: 1009, reason: "message too big")))
        #expect(await theirs.untilClosed().last == .closed(.byUs(code: 1009, reason: "message too big")))
        finish(thread, web)
    }

    @Test(arguments: [WebSocketLimits.FullQueue.refuse, .disconnect])
    func aFullSendQueueIsToldAndCounted(_ policy: WebSocketLimits.FullQueue) async throws {
        let thread = try LoopThread()
        var limits = WebSocketLimits()
        limits.sendQueueBytes = 250_000
        limits.whenFull = policy
        limits.closeTime = .milliseconds(100)
        let (theirs, accepted) = (SocketLog(), Gathered<WebSocket>())
        let web = try await server(thread, limits: limits, log: theirs, accepted: accepted)
        // A client that upgrades and then reads nothing.
        let client = try #require(RawClient(web.addresses[0]))
        client.write(
            "GET /plain HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
        let socket = try #require(await accepted.first(1).first)
        let message = [UInt8](repeating: 1, count: 100_000)
        var taken = 0
        while socket.send(binary: message) { taken += 1 }
        #expect(taken >= 2)
        #expect(socket.counters.sendsRefused == 1)
        #expect(web.currentCounters.webSocketSendsRefused == 1)
        if policy == .disconnect {
            #expect(await theirs.untilClosed().last == .closed(.lost))
        } else {
            socket.close()
            _ = await theirs.untilClosed()
        }
        finish(thread, web)
    }

    @Test func anAbruptEndIsTold() async throws {
        let thread = try LoopThread()
        let log = SocketLog()
        let web = try await server(thread, log: log)
        var client = RawClient(web.addresses[0])
        client?.write(
            "GET /plain HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
        #expect(client?.read(until: "\r\n\r\n").contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") == true, "RFC 6455, section 1.3")
        client = nil
        #expect(await log.untilClosed() == [.opened(subprotocol: nil), .closed(.lost)])
        finish(thread, web)
    }

    @Test func shutdownClosesWith1001() async throws {
        let thread = try LoopThread()
        let ours = SocketLog()
        let web = try await server(thread)
        let clients = try WebThread()
        _ = await open(clients, WebSocketRequest("ws://127.0.0.1:\(web.addresses[0].port)/plain"), on: thread, ours)
        _ = await ours.first(1)
        web.stopAndWait()
        #expect(await ours.untilClosed().last == .closed(.byPeer(code: 1001, reason: "shutdown")))
        finish(thread, clients)
    }
}

/// Listens and never answers.
final class SilentServer {
    private let descriptor: Int32
    let port: UInt16

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let status = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) | listen(descriptor, 8) | getsockname(descriptor, $0, &size)
            }
        }
        try #require(status == 0)
        port = UInt16(bigEndian: name.sin_port)
    }

    deinit { close(descriptor) }
}
