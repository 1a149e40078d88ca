// A server as the far end of a measurement: what its calls come to.

import CallEngine
package import Dialer
import Reactor

extension RunningServer {
    static func farEnd(_ loops: [EpollLoop], _ control: EpollLoop) -> FarEnd {
        FarEnd(loops: loops, control: control) { VoiceQuality.meanOpinionScore(of: $0, codec: $1) }
    }

    /// How long a call may stay whose other end is gone, and how long the answers to what was said last may take.
    private static let patience = Duration.seconds(5)
    private static let farewells = Duration.seconds(2)

    /// What was counted so far; nil when nobody wants it. Not from a loop of calls.
    package var counted: LoadReport? { counting?.report(engine) }

    /// Counts anew from now on; calls that run belong to what was before. Not from a loop.
    package func countAnew() {
        counting?.stop()
        let farEnd = Self.farEnd(loops, control)
        use(farEnd)
        farEnd.attach(engine)
    }

    /// Whoever calls here has placed its last call and ended it. Waits for the ends of its calls here; what has no end then lost its BYE
    /// and is ended as a timeout. Not from a loop.
    package func conclude() -> LoadReport? {
        guard let farEnd = counting else { return nil }
        if !farEnd.settle(within: Self.patience) {
            hangUp(HangUpReason(cause: .timeout, detail: "its far side had hung up"))
            _ = farEnd.settle(within: Self.farewells)
        }
        engine.settle(within: Self.farewells)
        return farEnd.report(engine)
    }

    /// The last report, before the engine ends. Not from a loop.
    func closeFarEnd(wasCut: Bool) -> LoadReport? {
        guard let farEnd = counting else { return nil }
        if wasCut { hangUp(.normal) }
        _ = farEnd.settle(within: Self.farewells)
        engine.settle(within: Self.farewells)
        let report = farEnd.report(engine, wasCut: wasCut)
        farEnd.stop()
        return report
    }

    private func hangUp(_ reason: HangUpReason) {
        for index in loops.indices {
            engine.withShard(index) { shard in
                for call in shard.activeCalls { call.hangUp(reason) }
            }
        }
    }
}
