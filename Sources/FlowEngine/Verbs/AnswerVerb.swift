// `answer`: 200 to a caller; on a call that goes out, waits for the other side's answer.

import CallEngine

/// Answers, or waits for the answer.
package struct AnswerVerb: Verb {
    package static let name = "answer"
    package static let needs = VerbNeed.unanswered
    package static let outcomes = ["answered"] + FarSideWait.outcomes
    package static let example = "answer: { timeout: 30s, on: { busy: hangup, no-answer: hangup } }"

    private let wait: FarSideWait

    package init?(_ step: StepReader) {
        if step.plain != nil {
            step.wrong("a mapping such as { timeout: 30s }, or nothing")
            return nil
        }
        guard step.open() != nil else { return nil }
        wait = FarSideWait(step)
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        if run.call.direction == .inbound {
            try await run.call.answer()
            return StepResult(value: .object(["outcome": "answered"]), outcome: "answered")
        }
        var result = try await wait.run(run, .answered)
        if result.outcome == nil {
            result.value = .object(["outcome": "answered", "status": .int(Int64(run.call.info.sipStatus))])
            result.outcome = "answered"
        }
        return result
    }
}
