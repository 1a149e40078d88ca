// Packet loss concealment for codecs that have none of their own, in the manner of ITU-T G.711 appendix I, at any rate: what is missing is
// the last pitch period of what was heard, over and over, softer and softer; what comes after is blended in.

import Glibc

/// Fills the gaps of one decoded stream.
final class Concealer {
    private let rate: Int
    /// Pitch periods that are looked for: 400 to 66 Hz.
    private let shortest: Int
    private let longest: Int
    /// What was heard last, or made up.
    private var history: [Float]
    /// One pitch period, and where in it the next sample lies.
    private var period: [Float] = []
    private var place = 0
    /// Samples made up since the last that was heard.
    private var missing = 0

    /// Nothing is made softer for so long, and then fades for so long.
    private static let (hold, fade) = (0.010, 0.060)

    init(rate: Int) {
        self.rate = rate
        shortest = rate / 400
        longest = rate / 66
        history = [Float](repeating: 0, count: longest * 2 + rate / 50)
    }

    /// Takes samples that were decoded; the first after a gap are blended with what was made up.
    func heard(_ samples: UnsafeMutableBufferPointer<Int16>) {
        // A payload that could not be decoded ends no gap.
        guard !samples.isEmpty else { return }
        if missing > 0 {
            let overlap = min(samples.count, max(shortest, min(period.count / 4, rate / 100)))
            for index in 0..<overlap {
                let share = Float(index + 1) / Float(overlap + 1)
                samples[index] = saturated(Double(share * Float(samples[index]) + (1 - share) * nextOfPeriod()))
            }
            missing = 0
        }
        remember(samples.count) { Float(samples[$0]) }
    }

    /// Makes up samples.
    func fill(_ samples: UnsafeMutableBufferPointer<Int16>) {
        if missing == 0 { findPeriod() }
        for index in samples.indices { samples[index] = saturated(Double(nextOfPeriod())) }
        remember(samples.count) { Float(samples[$0]) }
    }

    private func nextOfPeriod() -> Float {
        let seconds = Double(missing) / Double(rate)
        missing += 1
        guard seconds < Self.hold + Self.fade, !period.isEmpty else { return 0 }
        let value = period[place]
        place = place + 1 == period.count ? 0 : place + 1
        return seconds < Self.hold ? value : value * Float(1 - (seconds - Self.hold) / Self.fade)
    }

    private func remember(_ count: Int, _ sample: (Int) -> Float) {
        let kept = max(0, history.count - count)
        if kept > 0 { for index in 0..<kept { history[index] = history[index + history.count - kept] } }
        for index in kept..<history.count { history[index] = sample(count - (history.count - index)) }
    }

    /// The distance at which the last 20 ms are most like themselves, and one period that begins where they end.
    private func findPeriod() {
        let (window, end) = (rate / 50, history.count)
        // Coarsely first, in steps of a sixteenth of a millisecond.
        let step = max(1, rate / 16000)
        var best = (lag: longest, likeness: -Float.infinity)
        history.withUnsafeBufferPointer { history in
            func likeness(_ lag: Int, every step: Int) -> Float {
                var (product, energy): (Float, Float) = (0, 1)
                for index in stride(from: end - window, to: end, by: step) {
                    product += history[index] * history[index - lag]
                    energy += history[index - lag] * history[index - lag]
                }
                return product / energy.squareRoot()
            }
            for lag in stride(from: shortest, through: longest, by: step) {
                let value = likeness(lag, every: step)
                if value > best.likeness { best = (lag, value) }
            }
            if step > 1 {
                for lag in max(shortest, best.lag - step)...min(longest, best.lag + step) {
                    let value = likeness(lag, every: 1)
                    if value > best.likeness { best = (lag, value) }
                }
            }
        }
        period = Array(history[(end - best.lag)...])
        // Its end runs into its beginning: the last quarter becomes what lay before the period.
        let quarter = best.lag / 4
        for index in 0..<quarter {
            let share = Float(index + 1) / Float(quarter + 1)
            let target = best.lag - quarter + index
            period[target] = (1 - share) * period[target] + share * history[end - best.lag - quarter + index]
        }
        place = 0
    }
}
