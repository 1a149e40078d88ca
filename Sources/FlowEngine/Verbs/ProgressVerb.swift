// `progress`: 183 with early media to a caller, so that steps can play before the answer; on a call that goes out, waits for it.

import CallEngine
import Reactor

/// Opens the audio before the answer.
package struct ProgressVerb: Verb {
    package static let name = "progress"
    package static let needs = VerbNeed.unanswered
    package static let outcomes = FarSideWait.outcomes
    package static let example = "progress"

    private let length: FlowLength?
    private let wait: FarSideWait

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            length = step.flow.length(plain, "`progress`")
        } else {
            guard step.open() != nil else { return nil }
            length = step.length("for")
        }
        wait = FarSideWait(step)
    }

    package var shape: StepShape { StepShape(takesTime: length != nil) }

    package func run(_ run: FlowRun) async throws -> StepResult {
        if run.call.direction == .outbound { return try await wait.run(run, .earlyMedia) }
        try run.call.progress()
        if let length { try await run.loop.sleep(for: run.length(length)) }
        return .done
    }
}
