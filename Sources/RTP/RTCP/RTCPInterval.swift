// When the next report is due: the rule of RFC 3550 section 6.2 and appendix A.7 for two members, where the minimum always holds.

import Basics

package enum RTCPInterval {
    /// Tmin of RFC 3550 section 6.2.
    package static let minimum = Duration.seconds(5)

    /// The time to the next report: half the minimum for the first one, times 0.5 to 1.5, divided by e - 1.5, which makes up for the
    /// timer reconsideration. So 2.05 to 6.15 s, and half of that at first. `chance`: any 32 random bits.
    package static func next(isFirst: Bool, chance: UInt32) -> Duration {
        let base = Double(minimum.nanoseconds) * (isFirst ? 0.5 : 1)
        let factor = 0.5 + Double(chance) * 0x1p-32
        return .nanoseconds(Int64(base * factor / 1.21828))
    }
}
