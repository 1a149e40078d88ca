// Comfort noise (RFC 3389): noise as loud as the payload says, with the spectrum that its reflection coefficients tell. Without any it is
// flat. It goes on from one payload to the next.
//
//   │ 0 level (-dBov) │ N1 │ N2 │ …        ki = (Ni - 127) / 128
//
//   even noise ─(-)──●──(-)──●──▶ noise            the lattice of an all-pole filter, one stage a coefficient
//                kM │╳│  k1 │╳│ │
//                 ◀─(+)─z⁻¹─(+)─z⁻¹

import Glibc

/// The noise of one stream.
package struct ComfortNoise {
    /// The payload number of its own (RFC 3551 section 6).
    package static let payloadType: UInt8 = 13

    /// Nothing louder than that is noise, in -dBov.
    private static let loudest: UInt8 = 30
    /// Coefficients beyond these tell nothing that is heard.
    private static let mostCoefficients = 12
    /// The coefficients are for this rate, in Hz.
    private static let rate = 8000

    /// Of the flat noise, and of what the filter is given.
    private var amplitude = 0.0
    private var excitation = 0.0
    /// k1 first.
    private var coefficients: [Double] = []
    /// The backward signals of the lattice, a sample ago.
    private var past: [Double] = []
    private var state: UInt32 = 0x2545_F491

    /// `payload`: the first octet is the level in -dBov, 0 to 127. Without one it is silence.
    package init(_ payload: UnsafeRawBufferPointer) { change(to: payload) }

    /// The far side tells its noise anew.
    package mutating func change(to payload: UnsafeRawBufferPointer) {
        let level = payload.first.map { max($0 & 0x7F, Self.loudest) } ?? 127
        // Even noise has a root mean square of its amplitude over the root of three.
        amplitude = 32767 * Decibels.ratio(-Double(level)) * 1.732
        coefficients = payload.dropFirst().prefix(Self.mostCoefficients).map { (Double(min($0, 254)) - 127) / 128 }
        if past.count != coefficients.count { past = Array(repeating: 0, count: coefficients.count) }
        // The filter makes its input louder, by as much as the coefficients say.
        excitation = amplitude * sqrt(coefficients.reduce(1) { $0 * (1 - $1 * $1) })
    }

    /// - Parameter rate: of the samples, in Hz. The spectrum is known for 8000 alone.
    package mutating func fill(_ samples: UnsafeMutableBufferPointer<Int16>, rate: Int = Self.rate) {
        let isFlat = coefficients.isEmpty || rate != Self.rate
        for index in samples.indices {
            // Xorshift: noise needs no better.
            state ^= state << 13
            state ^= state >> 17
            state ^= state << 5
            let even = Double(state) / 2_147_483_648 - 1
            samples[index] = saturated(isFlat ? amplitude * even : filter(excitation * even))
        }
    }

    private mutating func filter(_ sample: Double) -> Double {
        var forward = sample
        for stage in coefficients.indices.reversed() {
            forward -= coefficients[stage] * past[stage]
            if stage + 1 < past.count { past[stage + 1] = past[stage] + coefficients[stage] * forward }
        }
        past[0] = forward
        return forward
    }
}
