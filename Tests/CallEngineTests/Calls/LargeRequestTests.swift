// INVITEs that are too large for a datagram go over TCP, and over UDP after all where there is no TCP (RFC 3261 section 18.1.1).

import Basics
import CallEngine
import Reactor
import TestKit
import Testing

@Suite struct LargeRequestTests {
    private func call(_ world: VirtualWorld, _ callers: Engine, octets: Int) throws -> Call {
        var request = CallRequest(target: "sip:bot@192.0.2.1")
        request.headers = [CallHeader(name: "X-Data", value: String(repeating: "x", count: octets))]
        let call = try callers.shard(0).place(request)
        world.loop.run(for: .seconds(2))
        return call
    }

    private func vias(_ messages: Locked<[String]>) -> [String] {
        messages.withLock { $0 }.compactMap { text in
            guard !text.hasPrefix("SIP/2.0"), let via = text.firstMatch(of: #/Via: SIP/2\.0/([A-Z]+) /#) else { return nil }
            return "\(text.prefix { $0 != " " }) \(via.1)"
        }
    }

    private func world(_ seed: UInt64, tcp: Bool) throws -> (VirtualWorld, Engine, Locked<[String]>) {
        let world = VirtualWorld(seed: seed)
        let messages = Locked<[String]>([])
        _ = try world.engine(
            at: "192.0.2.1", settings: { if !tcp { $0.listeners.removeAll { $0.transport == .tcp } } },
            onIncoming: { call in call.loop.spawn { try? await call.answer() } })
        let callers = try world.engine(
            at: "192.0.2.2", settings: nil,
            trace: { message in
                guard message.direction == .sent else { return }
                messages.withLock { $0.append(String(decoding: message.bytes, as: UTF8.self)) }
            })
        return (world, callers, messages)
    }

    @Test func aLargeInviteGoesOverTCP() throws {
        let (world, callers, messages) = try world(1, tcp: true)
        for octets in [10, 1200] {
            let call = try call(world, callers, octets: octets)
            #expect(call.state == .answered)
            call.hangUp(.normal)
            world.loop.run(for: .seconds(1))
            #expect(call.state == .ended(CallEnd(by: .caller, cause: .normal)))
        }
        #expect(vias(messages) == ["INVITE UDP", "ACK UDP", "BYE UDP", "INVITE TCP", "ACK TCP", "BYE TCP"])
        #expect(world.finish() == [])
    }

    @Test func whereThereIsNoTCPItGoesOverUDPAfterAll() throws {
        let (world, callers, messages) = try world(2, tcp: false)
        for _ in 0..<2 {
            let call = try call(world, callers, octets: 1200)
            #expect(call.state == .answered)
            call.hangUp(.normal)
            world.loop.run(for: .seconds(1))
            #expect(call.state == .ended(CallEnd(by: .caller, cause: .normal)))
        }
        // The second call knows it.
        let once = ["INVITE UDP", "ACK UDP", "BYE UDP"]
        #expect(vias(messages) == ["INVITE TCP"] + once + once)
        #expect(world.finish() == [])
    }
}
