// `hangup`: ends the call in the way its state asks for.

import CallEngine

/// Ends the call.
package struct HangupVerb: Verb {
    package static let name = "hangup"
    package static let needs = VerbNeed.nothing
    package static let example = "hangup"

    private let status: Int?

    package init?(_ step: StepReader) {
        guard let map = step.open() else { return nil }
        status = map.int("status", in: 400...699)
    }

    package var shape: StepShape { StepShape(continues: false) }

    package func run(_ run: FlowRun) async throws -> StepResult {
        var reason = HangUpReason.normal
        if let status { reason.status = status }
        run.hangUp(reason)
        throw FlowTransfer.end
    }
}
