// What `expect` can ask of the media of a call, from its beginning until now.

package import CallEngine

/// One such question.
package enum QualityCheck: Equatable, Sendable {
    /// A mean opinion score of at least so much, 1 to 4.5.
    case mos(Double)
    /// At most so many of a hundred packets did not come.
    case loss(Double)
    /// At most so much at this moment (RFC 3550).
    case jitter(Duration)
    case twoWay

    /// For results.
    package var name: String {
        switch self {
        case .mos(let least): "mos at least \(Self.rounded(least))"
        case .loss(let most): "loss at most \(Self.rounded(most))%"
        case .jitter(let most): "jitter at most \(FlowDuration.print(most))"
        case .twoWay: "audio both ways"
        }
    }

    /// What the figures say, and in words what they are.
    package func verdict(on media: MediaReport, codec: String) -> (passed: Bool, actual: String) {
        if self == .twoWay, let oneWay = media.oneWay {
            switch oneWay {
            case .hearsNothing: return (false, "nothing came from the other side")
            case .isNotHeard: return (false, "the other side has received nothing")
            }
        }
        guard media.received > 0 else { return (false, "nothing was heard") }
        switch self {
        case .mos(let least):
            guard let score = VoiceQuality.meanOpinionScore(of: media, codec: codec) else {
                return (false, "no score for \(codec)")
            }
            return (score >= least, Self.rounded(score))
        case .loss(let most):
            let lost = Double(max(media.lost, 0))
            let percent = 100 * lost / (lost + Double(media.received))
            return (percent <= most, "\(Self.rounded(percent))%")
        case .jitter(let most): return (media.jitter <= most, "\(Self.rounded(media.jitter / .milliseconds(1))) ms")
        case .twoWay: return (true, "\(media.received) packets came")
        }
    }

    /// Two digits behind the point, without zeros at the end.
    private static func rounded(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        let (whole, rest) = (hundredths / 100, hundredths % 100)
        if rest == 0 { return "\(whole)" }
        return rest % 10 == 0 ? "\(whole).\(rest / 10)" : "\(whole).\(rest < 10 ? "0" : "")\(rest)"
    }
}
