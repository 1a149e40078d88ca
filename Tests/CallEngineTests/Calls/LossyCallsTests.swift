import Basics
import CallEngine
import Glibc
import Reactor
import SIP
import TestKit
import Testing

/// Calls over a network that loses a tenth of everything, delays it by up to 200 ms, reorders and doubles it. Every call ends as its
/// two sides meant it to, and nothing is left: no call, transaction, dialog, task, timer or socket.
@Suite struct LossyCallsTests {
    /// What the two sides of a call do.
    enum Plan: CaseIterable {
        case callerHangsUp, calleeHangsUp, bothHangUp, refused, cancelled, cancelMeetsAnswer
    }

    /// `scripts/long` asks for more.
    static let seeds = 1...(getenv("RINGWRIGHT_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 5)

    @Test(arguments: seeds) func twoHundredCalls(seed: UInt64) throws {
        let world = VirtualWorld(seed: seed)
        var faults = VirtualNetwork.Impairment()
        faults.loss = 0.1
        faults.delay = .milliseconds(20)
        faults.jitter = .milliseconds(200)
        faults.duplication = 0.05
        faults.reordering = 0.1
        world.network.impairment = faults
        var calleeEnds: [CallEnd.Cause: Int] = [:]
        _ = try world.engine(at: "192.0.2.1") { call in
            let plan = Plan.allCases[Int(call.requestURI?.user ?? "") ?? 0]
            call.onEnd = { calleeEnds[$0.cause, default: 0] += 1 }
            call.loop.spawn {
                do {
                    try call.ring()
                    switch plan {
                    case .refused: try call.reject(status: 486, reason: nil, headers: [])
                    case .cancelled: break
                    case .cancelMeetsAnswer:
                        try await call.loop.sleep(for: .seconds(2))
                        try await call.answer()
                    default:
                        try await call.loop.sleep(for: .seconds(1))
                        try await call.answer()
                        if plan == .calleeHangsUp || plan == .bothHangUp {
                            try await call.loop.sleep(for: .seconds(3))
                            call.hangUp(.normal)
                        }
                    }
                } catch {}
            }
        }
        let callers = try world.engine(at: "192.0.2.2")
        var outcomes: [(Plan, CallEnd)] = []
        for index in 0..<200 {
            let plan = Plan.allCases[index % Plan.allCases.count]
            world.loop.schedule(after: .milliseconds(25 * index)) {
                guard let call = try? callers.shard(0).place(CallRequest(target: "sip:\(index % Plan.allCases.count)@192.0.2.1"))
                else { return }
                call.onEnd = { outcomes.append((plan, $0)) }
                world.loop.spawn {
                    do {
                        switch plan {
                        case .callerHangsUp, .bothHangUp:
                            guard try await call.wait(for: .answered, timeout: nil) == .reached else { return }
                            try await world.loop.sleep(for: .seconds(3))
                            call.hangUp(.normal)
                        case .cancelled, .cancelMeetsAnswer:
                            try await world.loop.sleep(for: .seconds(2))
                            call.hangUp(.normal)
                        case .calleeHangsUp, .refused: break
                        }
                    } catch {}
                }
            }
        }
        world.loop.run(for: .seconds(120))
        #expect(outcomes.count == 200, "seed \(seed)")
        for (plan, end) in outcomes {
            // An INVITE may be lost seven times in a row, and so may an answer; then the call is unreachable, and truly is.
            if end.cause == .unreachable { continue }
            switch plan {
            case .callerHangsUp: #expect(end == CallEnd(by: .caller, cause: .normal), "seed \(seed)")
            case .calleeHangsUp: #expect(end == CallEnd(by: .callee, cause: .normal), "seed \(seed)")
            case .bothHangUp: #expect(end.cause == .normal, "seed \(seed)")
            case .refused: #expect(end == CallEnd(by: .callee, cause: .busy), "seed \(seed)")
            case .cancelled: #expect(end == CallEnd(by: .caller, cause: .cancelled), "seed \(seed)")
            case .cancelMeetsAnswer: #expect(end.by == .caller, "seed \(seed)")
            }
        }
        #expect(outcomes.filter { $0.1.cause == .unreachable }.count <= 2, "seed \(seed)")
        #expect(world.finish() == [], "seed \(seed)")
    }
}
