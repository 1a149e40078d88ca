// Levels. dBm0 follows G.711: a sine at full scale of 16 bits is +3.14 dBm0 (A-law's overload point; µ-law's is 3.17).

import Glibc

package enum Decibels {
    /// The level of a sine at full scale, in dBm0.
    package static let fullScale = 3.14

    /// The ratio of amplitudes that `decibels` is.
    package static func ratio(_ decibels: Double) -> Double { pow(10, decibels / 20) }

    /// The peak amplitude (in steps of 16 bits) of a sine with that level in dBm0.
    package static func amplitude(_ level: Double) -> Double { 32768 * ratio(level - fullScale) }

    /// The level in dBm0 of samples whose mean square is `power`.
    package static func level(power: Double) -> Double {
        power > 0 ? 10 * log10(power / (32768 * 32768 / 2)) + fullScale : -.infinity
    }

    /// The level in dBm0 of samples; -infinity for silence and for no samples.
    package static func level(of samples: UnsafeBufferPointer<Int16>) -> Double {
        guard !samples.isEmpty else { return -.infinity }
        var sum: Int64 = 0
        for sample in samples { sum &+= Int64(sample) * Int64(sample) }
        return level(power: Double(sum) / Double(samples.count))
    }
}

/// The nearest 16-bit sample.
@inline(__always) func saturated(_ value: Double) -> Int16 {
    Int16(max(-32768, min(32767, value.rounded())))
}

@inline(__always) func sine(_ angle: Double) -> Double { sin(angle) }
