// `wait`: nothing, for a while.

import Reactor

/// Waits.
package struct WaitVerb: Verb {
    package static let name = "wait"
    package static let needs = VerbNeed.nothing
    package static let example = "wait: 500ms"

    private let length: FlowLength

    package init?(_ step: StepReader) {
        guard let node = step.plain else {
            step.wrong("a duration such as 5s")
            return nil
        }
        guard let length = step.flow.length(node, "`wait`") else { return nil }
        self.length = length
    }

    package var shape: StepShape {
        if case .fixed(.zero) = length { return StepShape() }
        return StepShape(takesTime: true)
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        try await run.loop.sleep(for: run.length(length))
        return .done
    }
}
