import Basics
import CallEngine
import Reactor
import TestKit
import Testing

@Suite struct BasicCallTests {
    /// Answers after ringing for two seconds and hangs up when the caller does.
    private func answering(_ call: Call) {
        call.loop.spawn {
            try? call.ring()
            try? await call.loop.sleep(for: .seconds(2))
            try? await call.answer()
        }
    }

    @Test(arguments: ["", ";transport=tcp"]) func aCallIsAnsweredAndHungUpByTheCaller(transport: String) throws {
        let world = VirtualWorld(seed: 1)
        _ = try world.engine(at: "192.0.2.1", onIncoming: answering)
        let callers = try world.engine(at: "192.0.2.2")
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1\(transport)"))
        var milestones: [String] = []
        world.loop.spawn {
            for milestone in [CallMilestone.ringing, .answered] {
                let result = try? await call.wait(for: milestone, timeout: nil)
                milestones.append("\(result as Any) at \(world.loop.now.nanoseconds / 1_000_000)")
            }
            try? await world.loop.sleep(for: .seconds(10))
            call.hangUp(.normal)
        }
        world.loop.run(for: .seconds(30))
        #expect(call.state == .ended(CallEnd(by: .caller, cause: .normal)))
        #expect(milestones.count == 2)
        #expect(milestones.last?.hasSuffix("at 2000") == true, "\(milestones)")
        #expect(call.info.sipStatus == 200)
        #expect(call.info.codec == "PCMU/8000")
        #expect(call.info.timings.ringing != nil)
        // Ten seconds of silence frames both ways.
        #expect((490...510).contains(call.info.media.sent), "\(call.info.media)")
        #expect((490...510).contains(call.info.media.received), "\(call.info.media)")
        #expect(world.finish() == [])
    }

    @Test func theCalledSideHangsUp() throws {
        let world = VirtualWorld(seed: 2)
        var ends: [CallEnd] = []
        _ = try world.engine(at: "192.0.2.1") { call in
            call.onEnd = { _ in }
            call.loop.spawn {
                try? await call.answer()
                try? await call.loop.sleep(for: .seconds(1))
                call.hangUp(.normal)
            }
        }
        let callers = try world.engine(at: "192.0.2.2")
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        call.onEnd = { ends.append($0) }
        world.loop.run(for: .seconds(5))
        #expect(ends == [CallEnd(by: .callee, cause: .normal)])
        #expect(world.finish() == [])
    }

    @Test(arguments: [(486, CallEnd.Cause.busy), (480, .noAnswer), (603, .rejected), (404, .unreachable), (503, .unreachable)])
    func refusalsHaveTheirCause(status: Int, cause: CallEnd.Cause) throws {
        let world = VirtualWorld(seed: 3)
        _ = try world.engine(at: "192.0.2.1") { call in try? call.reject(status: status, reason: nil, headers: []) }
        let callers = try world.engine(at: "192.0.2.2")
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(1))
        #expect(call.state == .ended(CallEnd(by: .callee, cause: cause)))
        #expect(call.info.sipStatus == status)
        #expect(world.finish() == [])
    }

    @Test func aCallerWhoHangsUpWhileItRingsCancels() throws {
        let world = VirtualWorld(seed: 4)
        var ends: [CallEnd] = []
        _ = try world.engine(at: "192.0.2.1") { call in
            try? call.ring()
            call.onEnd = { ends.append($0) }
        }
        let callers = try world.engine(at: "192.0.2.2")
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.schedule(after: .seconds(3)) { call.hangUp(.normal) }
        world.loop.run(for: .seconds(5))
        #expect(call.state == .ended(CallEnd(by: .caller, cause: .cancelled)))
        #expect(ends == [CallEnd(by: .caller, cause: .cancelled)])
        #expect(world.finish() == [])
    }

    @Test func nobodyThere() throws {
        let world = VirtualWorld(seed: 5)
        let callers = try world.engine(at: "192.0.2.2")
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.9"))
        world.loop.run(for: .seconds(40))
        guard case .ended(let end) = call.state else { return #expect(Bool(false), "\(call.state)") }
        #expect(end.cause == .unreachable)
        #expect(world.finish() == [])
    }

    @Test func limitsRefuseWith503() throws {
        let world = VirtualWorld(seed: 6)
        let server = try world.engine(at: "192.0.2.1", settings: { $0.limits.calls = 1 }, onIncoming: answering)
        let callers = try world.engine(at: "192.0.2.2")
        let first = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(1))
        let second = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(3))
        #expect(first.state == .answered)
        #expect(second.info.sipStatus == 503)
        #expect(second.info.headers.contains(CallHeader(name: "Retry-After", value: "5")))
        #expect(server.callCounters.refused == [.calls: 1])
        first.hangUp(.normal)
        #expect(world.finish() == [])
    }

    @Test func holdAndUnhold() throws {
        let world = VirtualWorld(seed: 7)
        var held: Call?
        _ = try world.engine(at: "192.0.2.1") { call in
            held = call
            call.loop.spawn { try? await call.answer() }
        }
        let callers = try world.engine(at: "192.0.2.2")
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        var steps: [String] = []
        world.loop.spawn {
            _ = try? await call.wait(for: .answered, timeout: nil)
            try? await world.loop.sleep(for: .seconds(1))
            do {
                try await call.hold(music: nil)
                steps.append("held")
                try await call.unhold()
                steps.append("unheld")
            } catch {
                steps.append("\(error)")
            }
            call.hangUp(.normal)
        }
        world.loop.run(for: .seconds(10))
        #expect(steps == ["held", "unheld"])
        #expect(held?.state.isEnded == true)
        #expect(world.finish() == [])
    }

    @Test func badTargetsAreNamed() throws {
        let world = VirtualWorld(seed: 8)
        let callers = try world.engine(at: "192.0.2.2")
        let targets = [
            "nobody", "http://192.0.2.1/", "sips:a@192.0.2.1", "sip:a@192.0.2.1;transport=tls", "sips:a@192.0.2.1;transport=udp"
        ]
        for target in targets {
            #expect(throws: CallControlError.self, "\(target)") { try callers.shard(0).place(CallRequest(target: target)) }
        }
        #expect(throws: CallControlError.self) { try callers.shard(0).place(CallRequest(target: "100", line: "carrier")) }
        #expect(world.finish() == [])
    }
}

/// A phone behind NAT: its Contact is a private address, its messages come from a public one.
@Suite struct NATTests {
    @Test func byeGoesWhereTheInviteCameFrom() throws {
        let world = VirtualWorld(seed: 9)
        _ = try world.engine(at: "203.0.113.1") { call in
            call.loop.spawn {
                try? await call.answer()
                try? await call.loop.sleep(for: .seconds(1))
                call.hangUp(.normal)
            }
        }
        let phone = try world.loop.bindDatagram(to: SocketAddress("203.0.113.9:40000")!)
        let received = Received()
        phone.onReceive = { bytes, source in
            let text = String(decoding: bytes, as: UTF8.self)
            received.lines.append(String(text.prefix { $0 != "\r\n" }))
            if text.hasPrefix("SIP/2.0 200") {
                let tag = text.split(separator: "\r\n").first { $0.hasPrefix("To:") }!
                let ack = """
                    ACK sip:203.0.113.1:5060 SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.5:5060;branch=z9hG4bKack;rport\r\n\
                    From: <sip:anna@10.0.0.5>;tag=a\r\n\(tag)\r\nCall-ID: nat@10.0.0.5\r\nCSeq: 1 ACK\r\nContent-Length: 0\r\n\r\n
                    """
                Array(ack.utf8).withUnsafeBytes { phone.send($0, to: source) }
            }
        }
        let body = "v=0\r\no=- 1 1 IN IP4 10.0.0.5\r\ns=-\r\nc=IN IP4 10.0.0.5\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n"
        let invite = """
            INVITE sip:bot@203.0.113.1 SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.5:5060;branch=z9hG4bKinv;rport\r\n\
            From: <sip:anna@10.0.0.5>;tag=a\r\nTo: <sip:bot@203.0.113.1>\r\nCall-ID: nat@10.0.0.5\r\nCSeq: 1 INVITE\r\n\
            Contact: <sip:anna@10.0.0.5:5060>\r\nMax-Forwards: 70\r\nContent-Type: application/sdp\r\n\
            Content-Length: \(body.utf8.count)\r\n\r\n\(body)
            """
        Array(invite.utf8).withUnsafeBytes { phone.send($0, to: SocketAddress("203.0.113.1:5060")!) }
        world.loop.run(for: .seconds(3))
        #expect(received.lines.first == "SIP/2.0 200 OK")
        #expect(received.lines.contains { $0.hasPrefix("BYE sip:anna@10.0.0.5:5060") }, "\(received.lines)")
        phone.close()
        #expect(world.finish() == [])
    }

    private final class Received {
        var lines: [String] = []
    }
}
