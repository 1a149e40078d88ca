// Session timers (RFC 4028) and reliable provisional responses through whole engines.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct SessionTimerCallTests {
    @Test(arguments: [true, false]) func `a long call is refreshed and stays`(callerAsks: Bool) throws {
        let world = VirtualWorld(seed: 31)
        let requests = Locked<[String]>([])
        let trace: @Sendable (TracedMessage) -> Void = { message in
            guard message.direction == .sent else { return }
            let line = String(decoding: message.bytes.prefix { $0 != 13 }, as: UTF8.self)
            if !line.hasPrefix("SIP/2.0") { requests.withLock { $0.append(String(line.prefix { $0 != " " })) } }
        }
        let asks = SessionTimer.Settings(interval: 120)
        _ = try world.engine(
            at: "192.0.2.1", settings: { if !callerAsks { $0.sessionTimer = asks } }, trace: trace,
            onIncoming: { call in call.loop.spawn { try? await call.answer() } })
        let callers = try world.engine(at: "192.0.2.2", settings: { if callerAsks { $0.sessionTimer = asks } }, trace: trace)
        let call = try callers.shard(0).place(CallRequest(target: "sip:bot@192.0.2.1"))
        world.loop.run(for: .seconds(600))
        #expect(call.state == .answered)
        let updates = requests.withLock { $0.filter { $0 == "UPDATE" }.count }
        #expect((9...10).contains(updates))
        call.hangUp(.normal)
        world.loop.run(for: .seconds(40))
        #expect(call.state == .ended(CallEnd(by: .caller, cause: .normal)))
        #expect(world.finish() == [])
    }
}
