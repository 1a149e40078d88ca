// Both sides change the session at the same time (RFC 3261 section 14.1): each refuses the other's re-INVITE with 491 and tries again, who chose the
// Call-ID after 2.1 to 4 seconds, the other within two.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct GlareTests {
    @Test(arguments: 1...5) func twoHoldsAtTheSameTimeBothCome(seed: Int) throws {
        let world = VirtualWorld(seed: UInt64(600 + seed))
        world.network.impairment.delay = .milliseconds(20)
        let seen = Locked<[(at: Instant, message: Message)]>([])
        var called: Call?
        _ = try world.engine(
            at: "192.0.2.1", settings: nil,
            trace: { traced in
                guard let message = try? Message(parsing: traced.bytes) else { return }
                seen.withLock { $0.append((traced.at, message)) }
            },
            onIncoming: { call in
                called = call
                call.loop.spawn { try? await call.answer() }
            })
        let caller = try world.engine(at: "192.0.2.2").shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(2))
        let callee = try #require(called)
        #expect(caller.state == .answered && callee.state == .answered)
        let start = world.loop.now
        for call in [caller, callee] { call.loop.spawn { try? await call.hold(music: nil) } }
        world.loop.run(for: .seconds(10))
        #expect(caller.isHeldByUs && callee.isHeldByUs)
        let after = seen.withLock { $0.filter { $0.at >= start } }
        #expect(after.filter { $0.message.status == 491 }.count == 2, "each refuses the other's")
        let offers = after.filter { $0.message.method == .invite }
        #expect(offers.count == 4)
        let again = offers.dropFirst(2).map { ($0.at - start, text((try? $0.message.from().tag) ?? [])) }
        try #require(again.count == 2)
        #expect(again[0].0 <= .milliseconds(2100) && again[1].0 >= .milliseconds(2100))
        #expect(again.allSatisfy { $0.0 <= .milliseconds(4100) } && again[0].1 != again[1].1)
        for call in [caller, callee] { call.loop.spawn { try? await call.unhold() } }
        world.loop.run(for: .seconds(10))
        let heard = (caller.info.media.received, callee.info.media.received)
        world.loop.run(for: .seconds(2))
        #expect(caller.info.media.received > heard.0 + 80 && callee.info.media.received > heard.1 + 80)
        caller.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        #expect(callee.state.isEnded)
        #expect(world.finish() == [])
    }
}
