// A mean opinion score from loss and delay: the simplified E-model (ITU-T G.107) that test tools for SIP use, so that figures can
// be compared with theirs.

import Basics
import Glibc

/// How an encoding bears loss.
package struct LossImpairment: Equatable, Sendable {
    /// Ie: what the encoding costs without loss.
    package var equipment: Double
    /// Bpl: packet loss robustness.
    package var robustness: Double

    package init(equipment: Double, robustness: Double) {
        self.equipment = equipment
        self.robustness = robustness
    }

    /// G.711 and G.722.
    package static let g711 = LossImpairment(equipment: 0, robustness: 25.1)
    package static let opus = LossImpairment(equipment: 0, robustness: 28)
    package static let g729 = LossImpairment(equipment: 11, robustness: 19)
    package static let gsm = LossImpairment(equipment: 20, robustness: 10)
}

package enum Quality {
    /// MOS, 1 to 4.5. `lost` of `expected` packets; `delay` from mouth to ear counts from 100 ms up, nil leaves it out (listening
    /// quality). Nil when nothing was expected.
    package static func score(lost: UInt64, expected: UInt64, delay: Duration? = nil, codec: LossImpairment = .g711) -> Double? {
        rating(lost: lost, expected: expected, delay: delay, codec: codec).map(score(ofRating:))
    }

    /// R, 0 to 100, of the same.
    package static func rating(lost: UInt64, expected: UInt64, delay: Duration? = nil, codec: LossImpairment = .g711) -> Double? {
        guard expected > 0 else { return nil }
        let percent = 100 * Double(min(lost, expected)) / Double(expected)
        let effective = codec.equipment + (95 - codec.equipment) * percent / (percent + codec.robustness)
        return max(100 - effective - (delay.map(delayImpairment) ?? 0), 0)
    }

    /// MOS of R (G.107 annex B).
    package static func score(ofRating rating: Double) -> Double {
        guard rating > 0 else { return 1 }
        let score = 1 + 0.035 * rating + 7e-6 * rating * (rating - 60) * (100 - rating)
        return min(max(score, 1), 4.5)
    }

    /// Idd of G.107 section 3.5: 0 up to 100 ms.
    private static func delayImpairment(_ delay: Duration) -> Double {
        let milliseconds = delay.milliseconds
        guard milliseconds > 100 else { return 0 }
        let x = log2(milliseconds / 100)
        return 25 * (root6(1 + power6(x)) - 3 * root6(1 + power6(x / 3)) + 2)
    }

    private static func power6(_ value: Double) -> Double { value * value * value * value * value * value }
    private static func root6(_ value: Double) -> Double { pow(value, 1.0 / 6) }
}
