// The ends that two sides bring about at once, and what still arrives when everything is closed.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct EndingTests {
    /// The statuses of the answers to BYE that pass a host.
    private final class Answers: Sendable {
        private let statuses = Locked([String]())
        var all: [String] { statuses.withLock { $0 } }

        func see(_ message: TracedMessage) {
            let text = String(decoding: message.bytes, as: UTF8.self)
            guard text.hasPrefix("SIP/2.0 "), text.contains("\r\nCSeq: "), text.contains(" BYE\r\n") else { return }
            statuses.withLock { $0.append(String(text.dropFirst(8).prefix(3))) }
        }
    }

    /// RFC 3261 section 15.1.2, RFC 5407 section 3.2: a BYE that crosses ours is about a dialog that was there when it was sent.
    @Test(arguments: ["udp", "tcp"]) func eachOfTwoCrossingByesGets200(transport: String) throws {
        let world = VirtualWorld(seed: 21)
        world.network.impairment.delay = .milliseconds(50)
        let answers = Answers()
        var called: Call?
        _ = try world.engine(at: "192.0.2.1") { call in
            called = call
            call.loop.spawn { try? await call.answer() }
        }
        let callers = try world.engine(at: "192.0.2.2", settings: nil, trace: { answers.see($0) })
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1;transport=\(transport)"))
        world.loop.run(for: .seconds(2))
        #expect(call.state == .answered && called?.state == .answered)
        call.hangUp(.normal)
        called?.hangUp(.normal)
        world.loop.run(for: .seconds(2))
        #expect(answers.all == ["200", "200"])
        #expect(world.finish() == [])
    }

    /// RFC 3261 section 9.1: the call is over at once, its INVITE when the far side has answered the CANCEL, or 64*T1 later.
    @Test(arguments: [(false, 487, 1), (true, 180, 33)])
    func whatAGivenUpCallWasAnsweredIsWaitedFor(isSilent: Bool, status: Int, seconds: Int) throws {
        let world = VirtualWorld(seed: 22)
        world.network.impairment.delay = .milliseconds(50)
        _ = try world.engine(at: "192.0.2.1") { call in try? call.ring() }
        let call = try world.engine(at: "192.0.2.2").shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(2))
        #expect(call.state == .ringing)
        if isSilent { world.network.impairment.loss = 1 }
        call.hangUp(.normal)
        #expect(call.info.sipStatus == 180)
        var told: [Int] = []
        call.loop.spawn {
            await call.finalAnswer()
            told.append(call.info.sipStatus)
        }
        world.loop.run(for: .milliseconds(isSilent ? 31_000 : 60))
        #expect(told == [])
        world.loop.run(for: .seconds(seconds))
        #expect(told == [status])
        world.loop.run(for: .seconds(100))
        world.network.impairment.loss = 0
        // Later there is nothing to wait for.
        call.loop.spawn {
            await call.finalAnswer()
            told.append(0)
        }
        world.loop.run(for: .milliseconds(1))
        #expect(told == [status, 0])
    }

    /// The answer and the CANCEL crossed: the INVITE was answered 200.
    @Test func aGivenUpCallThatIsAnsweredAllTheSameSaysSo() throws {
        let world = VirtualWorld(seed: 23)
        world.network.impairment.delay = .milliseconds(50)
        var called: Call?
        _ = try world.engine(at: "192.0.2.1") { call in
            called = call
            try? call.ring()
        }
        let call = try world.engine(at: "192.0.2.2").shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(2))
        called?.loop.spawn { try? await called?.answer() }
        world.loop.run(for: .milliseconds(10))
        call.hangUp(.normal)
        var told = 0
        call.loop.spawn {
            await call.finalAnswer()
            told = call.info.sipStatus
        }
        world.loop.run(for: .seconds(2))
        #expect(told == 200)
        #expect(world.finish() == [])
    }

    /// Whoever hangs up again has no more time.
    @Test func hangingUpAgainEndsTheWait() throws {
        let world = VirtualWorld(seed: 24)
        _ = try world.engine(at: "192.0.2.1") { call in try? call.ring() }
        let call = try world.engine(at: "192.0.2.2").shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(2))
        world.network.impairment.loss = 1
        call.hangUp(.normal)
        var isTold = false
        call.loop.spawn {
            await call.finalAnswer()
            isTold = true
        }
        world.loop.run(for: .seconds(1))
        #expect(!isTold)
        call.hangUp(.normal)
        world.loop.run(for: .milliseconds(1))
        #expect(isTold)
    }

    @Test func anotherRequestOfALeftDialogGets481() throws {
        let bench = try EndpointBench()
        let bye = try bench.sendBye()
        bench.endpoint.removeDialog(bench.key, after: bye)
        for (method, status) in [("INFO", "481"), ("BYE", "200")] {
            bench.sent = []
            bench.endpoint.receive(try bench.request(method), from: bench.hop)
            #expect(bench.sent.map { String($0.prefix(11)) } == ["SIP/2.0 \(status)"], "\(method)")
        }
        // The transaction of the BYE ends, and with it what is known of the dialog.
        bench.endpoint.receive(try bench.answerToBye(), from: bench.hop)
        bench.loop.run(for: .seconds(60))
        #expect(bench.endpoint.held == 0)
        bench.sent = []
        bench.endpoint.receive(try bench.request("BYE", branch: "later"), from: bench.hop)
        #expect(bench.sent.map { String($0.prefix(11)) } == ["SIP/2.0 481"])
    }

    /// The endpoint of a loop stops before the sockets close: what they still hand over may set no timer.
    @Test func whatComesAfterTheStopSetsNoTimer() throws {
        let bench = try EndpointBench()
        _ = try bench.sendBye()
        bench.endpoint.stop()
        bench.endpoint.receive(try bench.answerToBye(), from: bench.hop)
        bench.endpoint.receive(try bench.request("BYE"), from: bench.hop)
        bench.endpoint.hopFailed(bench.hop)
        #expect(bench.loop.pendingTimers == 0)
    }

    @Test func withoutAPortLeftACallGets503() throws {
        let world = VirtualWorld(seed: 23)
        let server = try world.engine(
            at: "192.0.2.1", settings: { $0.rtpPorts = 20000...20001 },
            onIncoming: { call in call.loop.spawn { try? await call.answer() } })
        let callers = try world.engine(at: "192.0.2.2")
        let first = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(1))
        let second = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(1))
        #expect(first.state == .answered)
        #expect(second.info.sipStatus == 503)
        #expect(second.info.headers.contains(CallHeader(name: "Retry-After", value: "5")))
        #expect(server.callCounters.refused == [.ports: 1])
        #expect(server.callCounters.unacceptable == 0)
        first.hangUp(.normal)
        #expect(world.finish() == [])
    }
}

/// An endpoint by itself with one dialog, and what it sends.
private final class EndpointBench: MessageSender {
    let loop = VirtualLoop()
    let hop = Hop(transport: .udp, address: SocketAddress("192.0.2.9:5060")!, connection: 1)
    private(set) var endpoint: SIPEndpoint!
    private(set) var key: TransactionKey!
    var sent: [String] = []

    init() throws {
        endpoint = SIPEndpoint(loop: loop, sender: self, timers: SIPTimers(), seed: 1)
        key = endpoint.add(Nobody(), callID: Array("c".utf8)[...], tag: Array("ours".utf8)[...])
    }

    func send(_ octets: [UInt8], to hop: Hop) { sent.append(String(decoding: octets, as: UTF8.self)) }
    func localAddress(to hop: Hop) -> SocketAddress { SocketAddress("192.0.2.1:5060")! }
    func flush() {}

    func sendBye() throws -> TransactionID {
        let bye = Self.message("BYE sip:a@192.0.2.9 SIP/2.0", branch: "z9hG4bKours", from: "ours", to: "theirs", cSeq: "2 BYE")
        return endpoint.send(bye, method: .bye, branch: Array("z9hG4bKours".utf8), to: hop) { _ in }
    }

    func answerToBye() throws -> Message {
        try Message(
            parsing: Self.message("SIP/2.0 200 OK", branch: "z9hG4bKours", from: "ours", to: "theirs", cSeq: "2 BYE"))
    }

    func request(_ method: String, branch: String = "theirs") throws -> Message {
        let line = "\(method) sip:b@192.0.2.1 SIP/2.0"
        return try Message(
            parsing: Self.message(
                line, branch: "z9hG4bK\(branch)\(method)", from: "theirs", to: "ours", cSeq: "7 \(method)"))
    }

    private static func message(_ line: String, branch: String, from: String, to: String, cSeq: String) -> [UInt8] {
        Array(
            """
            \(line)\r\nVia: SIP/2.0/UDP 192.0.2.9:5060;branch=\(branch)\r\nFrom: <sip:x@y>;tag=\(from)\r\n\
            To: <sip:x@y>;tag=\(to)\r\nCall-ID: c\r\nCSeq: \(cSeq)\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n
            """.utf8)
    }

    private final class Nobody: DialogUser {
        func received(_ request: Message, _ transaction: TransactionID, from hop: Hop) {}
        func acknowledged(_ ack: Message) {}
        func cancelled(_ cancel: Message, _ transaction: TransactionID, from hop: Hop) {}
        func receivedStray(_ response: Message, from hop: Hop) {}
    }

    /// What runs on after the end, a flow's `always:` for instance, may want to call: it is told.
    @Test func anEngineThatHasEndedPlacesNoCall() throws {
        let world = VirtualWorld(seed: 21)
        let engine = try world.engine(at: "192.0.2.1")
        let shard = engine.shard(0)
        world.abandon(engine)
        #expect(throws: CallControlError.self) { try shard.place(CallRequest(target: "sip:bot@192.0.2.2")) }
        #expect(world.finish() == [])
    }
}
