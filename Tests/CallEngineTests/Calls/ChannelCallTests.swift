// Calls over connections for whole messages, as WebSockets are, in virtual time: both engines, and the ends of such a connection.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct ChannelCallTests {
    /// One end of a pair; what it takes comes out at the other end a millisecond later.
    private final class End: MessageChannel {
        let loop: VirtualLoop
        var events: ChannelEvents?
        var other: End?
        var isOpen = true
        var passed: [String] = []

        init(_ loop: VirtualLoop) {
            self.loop = loop
        }

        func send(_ message: [UInt8]) -> Bool {
            guard isOpen else { return false }
            passed.append(String(decoding: message, as: UTF8.self))
            loop.schedule(after: .milliseconds(1)) { [self] in other?.events?.received(message) }
            return true
        }

        func close() {
            guard isOpen else { return }
            isOpen = false
            loop.schedule(after: .milliseconds(1)) { [self] in
                events?.ended("closed")
                other?.lose()
            }
        }

        func lose() {
            guard isOpen else { return }
            isOpen = false
            events?.ended("the connection is lost")
        }
    }

    /// Servers at 192.0.2.1 and callers at 192.0.2.2 whose WebSockets lead there.
    private final class Bench {
        let world: VirtualWorld
        let servers: Engine
        let callers: Engine
        var opened: [(target: ChannelTarget, end: End)] = []

        init(seed: UInt64, onIncoming: @escaping (Call) -> Void) throws {
            world = VirtualWorld(seed: seed)
            let address = SocketAddress("192.0.2.1:8443")!
            servers = try world.engine(
                at: "192.0.2.1", settings: { $0.listeners.append(.init(.wss, address)) }, onIncoming: onIncoming)
            callers = try world.engine(
                at: "192.0.2.2",
                settings: { settings in
                    settings.opensWebSockets = true
                    var line = LineSettings(name: "web", server: "192.0.2.1", port: 8443, transport: .wss)
                    line.path = "/sip"
                    settings.lines = [line]
                })
            let bench = LoopBound(self, on: world.loop)
            callers.front.onLoop.use { target, events in bench.onLoop.open(target, events) }
        }

        private func open(_ target: ChannelTarget, _ events: ChannelEvents) -> End {
            let (near, far) = (End(world.loop), End(world.loop))
            near.events = events
            (near.other, far.other) = (far, near)
            far.events = servers.front.onLoop.accept(far, over: .wss, from: IPAddress("192.0.2.2")!)
            opened.append((target, near))
            return near
        }

        func finish() -> [String] {
            let left = world.finish()
            for (_, end) in opened {
                end.other?.other = nil
                end.other = nil
            }
            return left
        }
    }

    @Test func callsGoByOneConnectionBothWays() throws {
        let bench = try Bench(seed: 1) { call in call.loop.spawn { try? await call.answer() } }
        for round in 0..<2 {
            let call = try bench.callers.shard(0).place(CallRequest(target: "100", line: "web"))
            bench.world.loop.run(for: .seconds(1))
            #expect(call.state == .answered)
            if round == 0 {
                call.hangUp(.normal)
            } else {
                for other in bench.servers.shard(0).activeCalls { other.hangUp(.normal) }
            }
            bench.world.loop.run(for: .seconds(1))
            #expect(call.state == .ended(CallEnd(by: round == 0 ? .caller : .callee, cause: .normal)))
        }
        #expect(bench.opened.count == 1)
        #expect(
            bench.opened.first?.target == ChannelTarget(isSecure: true, host: "192.0.2.1", port: 8443, path: "/sip"))
        let invite = try #require(bench.opened.first?.end.passed.first)
        let name = try #require(invite.firstMatch(of: /Via: SIP\/2.0\/WSS ([0-9a-f]+\.invalid);/)?.1)
        #expect(invite.contains("Contact: <sip:\(name);transport=ws>"))
        let answers = bench.opened.first?.end.other?.passed ?? []
        #expect(answers.contains { $0.contains("Contact: <sip:192.0.2.1:8443;transport=ws>") })
        #expect(answers.contains { $0.hasPrefix("BYE sip:\(name);transport=ws SIP/2.0\r\nVia: SIP/2.0/WSS 192.0.2.1:8443;") })
        #expect(bench.finish() == [])
    }

    @Test func aLostConnectionEndsWhatWaitsOnItAndNoMore() throws {
        let bench = try Bench(seed: 2) { call in
            if call.requestURI?.user == "silent" { return (try? call.ring()) ?? () }
            call.loop.spawn { try? await call.answer() }
        }
        let standing = try bench.callers.shard(0).place(CallRequest(target: "100", line: "web"))
        bench.world.loop.run(for: .seconds(1))
        let waiting = try bench.callers.shard(0).place(CallRequest(target: "silent", line: "web"))
        bench.world.loop.run(for: .seconds(1))
        bench.opened[0].end.lose()
        bench.opened[0].end.other?.lose()
        bench.world.loop.run(for: .seconds(1))
        #expect(standing.state == .answered)
        #expect(
            waiting.state
                == .ended(
                    CallEnd(
                        by: .engine, cause: .unreachable, detail: "the INVITE could not be sent: the connection is lost")))
        // The next request opens another one.
        standing.hangUp(.normal)
        bench.world.loop.run(for: .seconds(2))
        #expect(bench.opened.count == 2)
        #expect(bench.servers.callCounters.ended[.normal] == 1)
        for other in bench.servers.shard(0).activeCalls { other.hangUp(.normal) }
        #expect(bench.finish() == [])
    }

    @Test func withoutAnOpenerTheCallSaysSo() throws {
        let world = VirtualWorld(seed: 3)
        let callers = try world.engine(at: "192.0.2.2")
        #expect(throws: CallControlError.self) {
            try callers.shard(0).place(CallRequest(target: "sip:a@192.0.2.1;transport=ws"))
        }
        #expect(world.finish() == [])
    }
}
