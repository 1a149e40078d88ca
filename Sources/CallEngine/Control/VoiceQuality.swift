// How a call sounded, from the figures of its media.

import Basics
import RTP

package enum VoiceQuality {
    /// A mean opinion score, 1 to 4.5 (RTP's `Quality`); nil when nothing was received or the codec is unknown. It judges the network, not
    /// what was said. A packet that came too late to be played counts as lost.
    package static func meanOpinionScore(of media: MediaReport, codec: String) -> Double? {
        guard media.received > 0, let impairment = impairment(of: codec) else { return nil }
        let lost = UInt64(max(0, media.lost))
        return Quality.score(
            lost: lost + media.late, expected: media.received + lost,
            delay: delay(roundTrip: media.roundTrip, jitter: media.jitter), codec: impairment)
    }

    /// From mouth to ear: one way of the network, what a jitter buffer of twice the jitter adds, and one packet.
    static func delay(roundTrip: Duration?, jitter: Duration) -> Duration {
        (roundTrip ?? .zero) / 2 + jitter * 2 + .milliseconds(20)
    }

    static func impairment(of codec: String) -> LossImpairment? {
        switch codec.prefix(while: { $0 != "/" }).uppercased() {
        case "PCMU", "PCMA", "G722", "L16": .g711
        case "OPUS": .opus
        default: nil
        }
    }
}
