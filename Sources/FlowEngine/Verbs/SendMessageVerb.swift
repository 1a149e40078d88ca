// `send-message`: a text by MESSAGE (RFC 3428), to the far side in the call or to anybody else.

import CallEngine

/// Sends a text.
package struct SendMessageVerb: Verb {
    package static let name = "send-message"
    package static let needs = VerbNeed.nothing
    package static let outcomes = TextResult.Outcome.allCases.map(\.rawValue)
    package static let example =
        "send-message: { to: \"user:anna\", text: \"${call.from.user} has called\", on: { unreachable: hangup } }"

    private let text: FlowText
    private var target: FlowText?
    private var type: FlowText?
    private var from: FlowText?
    private var timeout: FlowLength?

    package init?(_ step: StepReader) {
        let read: FlowText?
        if let plain = step.plain {
            read = step.flow.text(plain, "`send-message`")
        } else {
            guard step.argument != nil, step.open() != nil else {
                step.wrong("a text or a mapping")
                return nil
            }
            read = step.requiredText("text", mend: "text: \"what is to be read\"")
            target = step.text("to")
            type = step.text("type")
            from = step.text("from")
            timeout = step.length("timeout")
        }
        guard let read else { return nil }
        text = read
        check(step.sink)
    }

    /// What can be known before a call. Not every target: what leads where, only the running engine knows.
    private func check(_ sink: DiagnosticSink) {
        if let known = text.constant {
            if known.isEmpty { sink.error(at: text.place, "the text is empty", mend: "text: \"what is to be read\"") }
            if known.utf8.count > TextRequest.limit {
                sink.error(
                    at: text.place,
                    "the text has \(known.utf8.count) octets; a MESSAGE has \(TextRequest.limit) at most, with its header",
                    mend: "send a link, or several texts")
            }
        }
        if let known = target?.constant, let target, !Self.isTarget(known) {
            sink.error(
                at: target.place, "`\(known)` is nobody a text can be sent to",
                mend: "sip:name@host, user:NAME or line:NAME/number")
        }
        SentText.check(type, sink)
    }

    private static func isTarget(_ text: String) -> Bool {
        if text.hasPrefix("line:") { return text.dropFirst(5).split(separator: "/", maxSplits: 1).count == 2 }
        return ["sip:", "sips:", "user:"].contains { text.lowercased().hasPrefix($0) && text.count > $0.count }
    }

    package var shape: StepShape {
        var shape = StepShape(takesTime: true)
        shape.exhaustive = Self.outcomes
        return shape
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        var request = TextRequest(try run.text(text))
        guard !request.text.isEmpty else { throw FlowError("send-message: the text is empty", at: text.place) }
        request.timeout = try run.length(timeout, default: request.timeout)
        request.from = try from.map { try run.headerValue($0) }
        var shown = ""
        if let target {
            let to = try run.headerValue(target)
            shown = try run.shown(target)
            guard Self.isTarget(to) else {
                throw FlowError("send-message: `\(shown)` is nobody a text can be sent to", at: target.place)
            }
            if let reason = run.environment.refusesBridge(to) { throw FlowError("send-message: \(shown): \(reason)") }
            request.target = to
        }
        let answer = try await SentText.send(request, type, for: Self.name, run)
        run.emit(
            .messageSent(
                to: shown, text: try run.shown(text), outcome: answer.outcome.rawValue, status: answer.status))
        return SentText.result(answer, as: answer.outcome, of: Self.name, run)
    }
}
