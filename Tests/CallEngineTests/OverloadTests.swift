// Calls beyond the limits: what they cost, what they leave, and who goes on undisturbed.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct OverloadTests {
    @Test func aLoopThatStaysLateIsBusyAndOneThatHiccupsIsNot() {
        var watch = LagWatch()
        func look(_ milliseconds: Int, at: Int) -> Bool {
            watch.isBusy(lag: .milliseconds(milliseconds), limit: .milliseconds(100), at: .zero + .milliseconds(at))
        }
        #expect(!look(5000, at: 0), "one long turn")
        #expect(!look(0, at: 10))
        #expect(!look(150, at: 20))
        #expect(!look(150, at: 900))
        #expect(look(100, at: 1020))
        #expect(look(150, at: 1100))
        #expect(!look(99, at: 1110), "it has caught up")
        #expect(!look(150, at: 1120))
        #expect(!look(150, at: 9000), "nobody knows what was between")
        for at in 10...20 {
            let isBusy = watch.isBusy(lag: .seconds(60), limit: nil, at: .zero + .seconds(at))
            #expect(!isBusy)
        }
    }

    @Test func callsBeyondTheLimitAreTurnedAwayAndLeaveNothing() throws {
        let world = VirtualWorld(seed: 91)
        let server = try world.engine(at: "192.0.2.1", settings: { $0.limits = .init(calls: 1, callsPerSecond: 1000) })
        server.shard(0).onIncoming = { call in call.loop.spawn { try? await call.answer() } }
        let callers = try world.engine(at: "192.0.2.2")
        let first = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(1))
        let held = server.shard(0).endpoint.held
        let others = try (0..<20).map { _ in try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1")) }
        world.loop.run(for: .milliseconds(100))
        #expect(others.allSatisfy { $0.info.sipStatus == 503 && $0.state.isEnded })
        #expect(others[0].info.headers.contains { $0.name == "Retry-After" && $0.value == "5" })
        #expect(server.shard(0).endpoint.held == held)
        #expect(server.callCounters.refused == [.calls: 20])
        // What belongs to the call goes on.
        var failure: (any Error)?
        world.loop.spawn { do { try await first.hold(music: nil) } catch { failure = error } }
        world.loop.run(for: .seconds(1))
        #expect(failure == nil && first.isHeldByUs)
        first.hangUp(.normal)
        #expect(world.finish() == [])
    }

    @Test func aLoopThatIsLateTakesNoNewCallsAndKeepsThoseItHas() throws {
        let world = VirtualWorld(seed: 92)
        let server = try world.engine(at: "192.0.2.1") { call in call.loop.spawn { try? await call.answer() } }
        let callers = try world.engine(at: "192.0.2.2")
        func call() throws -> Call {
            let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
            world.loop.run(for: .milliseconds(600))
            return call
        }
        let first = try call()
        world.loop.pretendedLag = .milliseconds(200)
        let during = [try call(), try call(), try call()]
        #expect(during.map(\.info.sipStatus) == [200, 200, 503])
        #expect(server.callCounters.refused == [.busy: 1])
        first.hangUp(.normal)
        world.loop.run(for: .seconds(1))
        #expect(first.state == .ended(CallEnd(by: .caller, cause: .normal)))
        world.loop.pretendedLag = .zero
        let after = try call()
        #expect(after.state == .answered)
        for call in during + [after] { call.hangUp(.normal) }
        #expect(world.finish() == [])
    }
}
