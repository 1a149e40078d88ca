import Basics
import CallEngine
import Glibc
import Reactor
import SIP
import TestKit
import Testing

/// Calls over a network that loses a tenth of everything, delays it by up to 200 ms, reorders and doubles it; and with a side that crashes
/// in the middle. Every call ends as its two sides meant it to, each state machine keeps its rules (MachineRules.swift), and nothing is
/// left: no call, transaction, dialog, task, timer or socket. A failing seed shows itself and the ladders of its calls.
@Suite struct LossyCallsTests {
    /// `scripts/long` asks for more.
    static let seeds: ClosedRange<UInt64> = {
        func number(_ name: String, _ usual: UInt64) -> UInt64 { getenv(name).flatMap { UInt64(String(cString: $0)) } ?? usual }
        let first = number("RINGWRIGHT_FIRST_SEED", 1)
        return first...(first + number("RINGWRIGHT_SEEDS", 5) - 1)
    }()

    @Test(arguments: seeds) func twoHundredCalls(seed: UInt64) throws {
        let lossy = try LossyWorld(seed: seed)
        lossy.world.loop.run(for: .seconds(120))
        #expect(lossy.outcomes.count == LossyWorld.calls, "seed \(seed)")
        for (plan, call, end) in lossy.outcomes {
            // An INVITE may be lost seven times in a row, and so may an answer; then the call is unreachable, and truly is.
            if end.cause == .unreachable { continue }
            let isMeant =
                switch plan {
                case .callerHangsUp: end == CallEnd(by: .caller, cause: .normal)
                case .calleeHangsUp: end == CallEnd(by: .callee, cause: .normal)
                case .bothHangUp: end.cause == .normal
                case .refused: end == CallEnd(by: .callee, cause: .busy)
                case .cancelled: end == CallEnd(by: .caller, cause: .cancelled)
                case .cancelMeetsAnswer: end.by == .caller
                }
            #expect(isMeant, "seed \(seed), \(plan): \(end)\n\(ladder(of: call, lossy))")
        }
        #expect(lossy.outcomes.filter { $0.end.cause == .unreachable }.count <= 2, "seed \(seed)")
        expectRules(lossy, seed)
    }

    /// One side vanishes at any moment, for good or until it is there again without memory. The other side's calls end by themselves.
    @Test(arguments: seeds) func aSideThatCrashes(seed: UInt64) throws {
        let kind = LossyWorld.Crash.allCases[Int(seed) % 3]
        let isCallee = seed / 3 % 2 == 0
        let timer = seed % 4 == 0 ? SessionTimer.Settings(interval: 90) : SessionTimer.Settings()
        let lossy = try LossyWorld(seed: seed, sessionTimer: timer)
        lossy.world.loop.run(for: lossy.randomMoment())
        let survivor = isCallee ? lossy.callers! : lossy.callees!
        try lossy.crash(kind, isCallee: isCallee)
        // The longest that a call can go on: nothing is heard for a minute, or 90 seconds ringing; then 32 for the last transaction.
        lossy.world.loop.run(for: .seconds(240))
        let context: Comment = "seed \(seed), \(kind) of the \(isCallee ? "callee" : "caller")"
        #expect(survivor.shard(0).activeCalls.isEmpty, context)
        #expect(survivor.shard(0).heldCalls == 0, context)
        #expect(survivor.gate.active == 0, context)
        if isCallee { #expect(lossy.outcomes.count == lossy.placed, context) }
        expectRules(lossy, seed, crashed: isCallee ? [0] : [1])
    }

    /// The invariants that hold in any case. `crashed`: watches of engines that had no chance to come to an end, empty where
    /// all had one.
    private func expectRules(_ lossy: LossyWorld, _ seed: UInt64, crashed: Set<Int> = []) {
        #expect(lossy.world.finish() == [], "seed \(seed)")
        #expect(lossy.disorders == [], "seed \(seed)")
        for (index, watch) in lossy.watches.enumerated() {
            // What the survivor owes at the end depends on what of the crashed side still arrives after it gave up (docs/testing.md).
            if !crashed.contains(index) { watch.expectEnd() }
            #expect(watch.faults.isEmpty, "seed \(seed), \(watch.faults.count) faults\n\(watch.report)")
        }
    }

    private func ladder(of call: Call, _ lossy: LossyWorld) -> String {
        guard let callID = call.sipCallID else { return "(the call was never sent)" }
        return lossy.watches.map { $0.ladder(callID) }.joined(separator: "\n")
    }
}
