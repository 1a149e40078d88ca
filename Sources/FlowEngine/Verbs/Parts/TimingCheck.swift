// What `expect` can ask of the times of a call: how soon it rang, and how long it has lasted.

package import Basics
package import CallEngine

/// One such question.
package enum TimingCheck: Equatable, Sendable {
    /// Post-dial delay: from the INVITE to the first ringing, early audio or answer, at most.
    case postDialDelay(Duration)
    /// From the answer until now, or to the end of the call: at least, and at most.
    case duration(least: Duration?, most: Duration?)

    /// `10s..20s`, `10s..` or `..20s`; nil for anything else, and for a range that nothing is in.
    package static func range(_ text: String) -> TimingCheck? {
        guard let dots = text.firstRange(of: "..") else { return nil }
        func bound(_ part: Substring) -> Duration?? {
            let word = part.drop { $0 == " " }
            if word.isEmpty { return .some(nil) }
            return (try? FlowDuration.parse(String(word))).map { .some($0) }
        }
        guard let least = bound(text[..<dots.lowerBound]), let most = bound(text[dots.upperBound...]),
            least != nil || most != nil
        else { return nil }
        if let least, let most, least > most { return nil }
        return .duration(least: least, most: most)
    }

    /// For results.
    package var name: String {
        switch self {
        case .postDialDelay(let most): "rings within \(FlowDuration.print(most))"
        case .duration(let least?, let most?): "lasts \(FlowDuration.print(least)) to \(FlowDuration.print(most))"
        case .duration(let least, let most):
            least.map { "lasts at least \(FlowDuration.print($0))" } ?? "lasts at most \(FlowDuration.print(most ?? .zero))"
        }
    }

    /// What the call says, and in words what it is.
    package func verdict(on info: CallInfo, at now: Instant) -> (passed: Bool, actual: String) {
        switch self {
        case .postDialDelay(let most):
            let timings = info.timings
            guard let delay = [timings.ringing, timings.firstMedia, timings.answer].compactMap({ $0 }).min() else {
                return (false, "it has not rung")
            }
            return (delay <= most, Self.words(delay))
        case .duration(let least, let most):
            guard let answered = info.answered else { return (false, "it was not answered") }
            let length = (info.ended ?? now) - answered
            return (length >= least ?? .zero && most.map { length <= $0 } ?? true, Self.words(length))
        }
    }

    private static func words(_ length: Duration) -> String {
        length < .seconds(10) ? "\(Int(length.milliseconds.rounded())) ms" : FlowDuration.print(.seconds(Int64(length.seconds)))
    }
}
