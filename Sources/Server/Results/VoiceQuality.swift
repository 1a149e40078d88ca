// An estimate of how a call sounded, from its figures: the E-model of ITU-T G.107 (06/2015) with its default values, so that only delay
// and loss count. It judges the network, not what was said.

import Basics
package import CallEngine

package enum VoiceQuality {
    /// A mean opinion score, 1 to 4.5; nil when nothing was received or the codec is unknown.
    package static func meanOpinionScore(of media: MediaReport, codec: String) -> Double? {
        guard media.received > 0, let impairment = impairment(of: codec) else { return nil }
        let missing = Double(max(0, media.lost)) + Double(media.late)
        let expected = Double(media.received) + Double(max(0, media.lost))
        let loss = min(100, missing / expected * 100)
        // What a jitter buffer of twice the jitter adds, and one packet.
        let delay = (media.roundTrip ?? .zero).milliseconds / 2 + media.jitter.milliseconds * 2 + 20
        return score(rating(delay: delay, loss: loss, impairment: impairment))
    }

    /// Equipment impairment at no loss, and robustness against loss (G.113, appendix I).
    private static func impairment(of codec: String) -> (none: Double, robustness: Double)? {
        switch codec.prefix(while: { $0 != "/" }).uppercased() {
        case "PCMU", "PCMA": (0, 25.1)
        default: nil
        }
    }

    /// The rating R (G.107, section 7), from the delay of one way in milliseconds and the loss in percent.
    static func rating(delay: Double, loss: Double, impairment: (none: Double, robustness: Double)) -> Double {
        // The usual closed form of Idd for the default values: the ear forgives up to 177.3 ms.
        let delayed = 0.024 * delay + (delay > 177.3 ? 0.11 * (delay - 177.3) : 0)
        let equipment = impairment.none + (95 - impairment.none) * loss / (loss + impairment.robustness)
        return 93.2 - delayed - equipment
    }

    /// G.107, annex B.
    static func score(_ rating: Double) -> Double {
        if rating <= 0 { return 1 }
        if rating >= 100 { return 4.5 }
        return max(1, 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6)
    }
}
