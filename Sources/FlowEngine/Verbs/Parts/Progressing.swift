// How `ring`, `progress` and `answer` wait on a call that goes out: one set of outcomes for the three.

import CallEngine

/// The settings of a wait for the far side.
package struct FarSideWait: Sendable {
    static let outcomes = ["busy", "no-answer", "rejected", "unreachable", "cancelled"]

    let timeout: FlowLength?

    init(_ step: StepReader) { timeout = step.length("timeout") }

    func run(_ run: FlowRun, _ milestone: CallMilestone) async throws -> StepResult {
        let limit = try timeout.map { try run.length($0) }
        return try await run.seeingTheEnd {
            var reached = try await run.call.wait(for: milestone, timeout: limit)
            var outcome: String?
            if reached == .timedOut {
                // The wait is over and so is the attempt: CANCEL, and its end is awaited so that `on:` runs undisturbed.
                run.hangUp(HangUpReason(cause: .noAnswer, detail: "no answer in time"))
                outcome = "no-answer"
                reached = try await run.call.wait(for: .answered, timeout: .seconds(10))
            }
            guard case .ended(let end) = reached else {
                if outcome == nil {
                    return StepResult(value: .object(["outcome": "reached", "status": .int(Int64(run.call.info.sipStatus))]))
                }
                return ended(outcome ?? "no-answer", run)
            }
            return ended(outcome ?? Self.outcome(of: end), run)
        }
    }

    private func ended(_ outcome: String, _ run: FlowRun) -> StepResult {
        var result = StepResult(
            value: .object([
                "outcome": .string(outcome), "status": .int(Int64(run.call.info.sipStatus)),
                "reason": .string(run.call.info.sipReason)
            ]), outcome: outcome)
        result.endsUnlessHandled = true
        return result
    }

    static func outcome(of end: CallEnd) -> String {
        switch end.cause {
        case .busy: "busy"
        case .noAnswer, .timeout: "no-answer"
        case .rejected: "rejected"
        case .unreachable, .error, .mediaTimeout: "unreachable"
        case .cancelled, .normal: "cancelled"
        }
    }
}

extension FlowRun {
    /// Waits until there is audio of the far side to hear: at once after the answer and in early media.
    /// - Returns: why there is none, in words; nil when there is.
    func noAudio(_ operation: String, _ within: Duration) async throws -> String? {
        guard call.state != .answered, call.state != .early else { return nil }
        guard call.direction == .outbound else { throw FlowError("\(operation): no audio yet; `answer` comes first") }
        switch try await seeingTheEnd({ try await call.wait(for: .earlyMedia, timeout: within) }) {
        case .reached: return nil
        case .ended(let end): return words(for: end)
        case .timedOut: return "no audio within \(FlowDuration.print(within))"
        }
    }

    /// How a call ended, for verdicts: "busy: 486 Busy Here".
    func words(for end: CallEnd) -> String {
        let status = call.info.sipStatus
        return status == 0 ? end.cause.rawValue : "\(end.cause.rawValue): \(status) \(call.info.sipReason)"
    }
}
