// What `send-message` and `send-info` have in common: the type of what they send, and what became of it.

import CallEngine

enum SentText {
    /// Tells before any call that a type which is written out is none.
    static func check(_ type: FlowText?, _ sink: DiagnosticSink) {
        guard let type, let known = type.constant, !TextRequest.isMediaType(known) else { return }
        sink.error(at: type.place, "`\(known)` is no media type", mend: "type: text/plain")
    }

    /// Sends a request with a type, if the flow names one.
    static func send(_ request: TextRequest, _ type: FlowText?, for verb: String, _ run: FlowRun) async throws -> TextResult {
        var request = request
        if let type {
            request.type = try run.headerValue(type)
            guard TextRequest.isMediaType(request.type) else {
                throw FlowError("\(verb): `\(try run.shown(type))` is no media type", at: type.place)
            }
        }
        return try await run.call.send(request)
    }

    /// The result of the step, with a warning when the far side has not got it.
    static func result(_ answer: TextResult, as outcome: TextResult.Outcome, of verb: String, _ run: FlowRun) -> StepResult {
        if outcome != .delivered, outcome != .accepted {
            let why = [answer.status == 0 ? "" : "\(answer.status)", answer.reason].filter { !$0.isEmpty }.joined(separator: " ")
            run.emit(.warning("\(verb): \(outcome.rawValue): \(why)", at: run.currentPlace))
        }
        return StepResult(
            value: .object([
                "outcome": .string(outcome.rawValue), "status": .int(Int64(answer.status)), "reason": .string(answer.reason)
            ]), outcome: outcome.rawValue)
    }
}
