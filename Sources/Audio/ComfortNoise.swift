// Comfort noise (RFC 3389): noise as loud as the payload says. Its spectrum is flat; the reflection coefficients that may follow the level
// are not read.

/// The noise of one stream.
package struct ComfortNoise {
    /// The payload number of its own (RFC 3551 section 6).
    package static let payloadType: UInt8 = 13

    private let amplitude: Double
    private var state: UInt32 = 0x2545_F491

    /// `payload`: the first octet is the level in -dBov, 0 to 127. Without one it is silence.
    package init(_ payload: UnsafeRawBufferPointer) {
        let level = payload.first.map { Double($0 & 0x7F) } ?? 127
        // Even noise has a root mean square of its amplitude over the root of three. Nothing louder than -30 dBov is noise.
        amplitude = 32767 * Decibels.ratio(-max(level, 30)) * 1.732
    }

    package mutating func fill(_ samples: UnsafeMutableBufferPointer<Int16>) {
        for index in samples.indices {
            // Xorshift: noise needs no better.
            state ^= state << 13
            state ^= state >> 17
            state ^= state << 5
            samples[index] = saturated(amplitude * (Double(state) / 2_147_483_648 - 1))
        }
    }
}
