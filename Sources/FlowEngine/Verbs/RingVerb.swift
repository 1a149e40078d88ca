// `ring`: 180 to a caller; on a call that goes out, waits for 180.

import CallEngine
import Reactor

/// Tells the caller that it rings.
package struct RingVerb: Verb {
    package static let name = "ring"
    package static let needs = VerbNeed.unanswered
    package static let outcomes = FarSideWait.outcomes
    package static let example = "ring: 2s"

    private let length: FlowLength?
    private let wait: FarSideWait

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            length = step.flow.length(plain, "`ring`")
        } else {
            guard step.open() != nil else { return nil }
            length = step.length("for")
        }
        wait = FarSideWait(step)
    }

    package var shape: StepShape { StepShape(takesTime: length != nil) }

    package func run(_ run: FlowRun) async throws -> StepResult {
        if run.call.direction == .outbound { return try await wait.run(run, .ringing) }
        try run.call.ring()
        if let length { try await run.loop.sleep(for: run.length(length)) }
        return .done
    }
}
