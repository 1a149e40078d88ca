// `send-digits`: keys for the far side, by RFC 4733 where it was negotiated.

import CallEngine

/// Sends keys.
package struct SendDigitsVerb: Verb {
    package static let name = "send-digits"
    package static let needs = VerbNeed.media
    package static let example = "send-digits: \"12w3#\""

    private let digits: FlowText
    private var method = SendDigitsOptions.Method.auto
    private var length: FlowLength?
    private var gap: FlowLength?

    package init?(_ step: StepReader) {
        let text: FlowText?
        if let plain = step.plain {
            text = step.flow.text(plain, "`send-digits`")
        } else {
            guard step.argument != nil, let map = step.open() else {
                step.wrong("keys in quotes, such as \"12#\"")
                return nil
            }
            text = step.requiredText("digits", mend: "digits: \"12#\"")
            method = map.choice("method") ?? .auto
            length = step.length("duration")
            gap = step.length("gap")
        }
        guard let text else { return nil }
        digits = text
        if let constant = text.constant, let wrong = Self.wrongKey(constant) {
            step.sink.error(
                at: text.place, "`\(wrong)` is no key",
                mend: "keys are 0-9, *, #, A-D and ! (flash); w waits half a second, W a second")
        }
    }

    private static func wrongKey(_ keys: String) -> Character? {
        keys.first { Digit($0) == nil && $0 != "w" && $0 != "W" }
    }

    package var shape: StepShape { StepShape(takesTime: true) }

    package func run(_ run: FlowRun) async throws -> StepResult {
        let keys = try run.text(digits)
        if let wrong = Self.wrongKey(keys) { throw FlowError("send-digits: `\(wrong)` is no key", at: digits.place) }
        var options = SendDigitsOptions(method: method)
        options.duration = try run.length(length, default: options.duration)
        options.gap = try run.length(gap, default: options.gap)
        let isSecret = run.isSecret(digits)
        options.isSecret = isSecret
        run.emit(.digitsSent(isSecret ? "***" : keys))
        if !isSecret { run.root.digitsSent += keys.filter { Digit($0) != nil } }
        try await run.call.sendDigits(keys, options: options)
        return .done
    }
}
