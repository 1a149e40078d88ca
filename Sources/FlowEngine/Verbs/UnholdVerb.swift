// `unhold`: ends `hold`.

import CallEngine

/// Takes the far side back.
package struct UnholdVerb: Verb {
    package static let name = "unhold"
    package static let needs = VerbNeed.media
    package static let example = "unhold"

    package init?(_ step: StepReader) {
        guard step.open() != nil else { return nil }
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        try await run.call.unhold()
        return .done
    }
}
