// How a call sounded, from the figures of its media.

import Audio
import Basics
import RTP

package enum VoiceQuality {
    /// A mean opinion score, 1 to 4.5 (RTP's `Quality`); nil when nothing was received or the codec is unknown. It judges the network, not
    /// what was said. A packet that came too late to be played counts as lost.
    package static func meanOpinionScore(of media: MediaReport, codec: String) -> Double? {
        guard media.received > 0, let codec = AudioCodec.known.first(where: { $0.description == codec }) else { return nil }
        let lost = UInt64(max(0, media.lost))
        return Quality.score(
            lost: lost + media.late, expected: media.received + lost,
            delay: delay(roundTrip: media.roundTrip, jitter: media.jitter), codec: codec.impairment)
    }

    /// From mouth to ear: one way of the network, what a jitter buffer of twice the jitter adds, and one packet.
    static func delay(roundTrip: Duration?, jitter: Duration) -> Duration {
        (roundTrip ?? .zero) / 2 + jitter * 2 + .milliseconds(20)
    }
}

extension AudioCodec {
    /// How it bears loss.
    var impairment: LossImpairment {
        switch self {
        case .opus: .opus
        case .g729: .g729
        case .pcmu, .pcma, .g722, .l16: .g711
        }
    }
}
