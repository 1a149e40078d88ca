// DTMF as sound (ITU-T Q.23): a row tone and a column tone together.

/// Generates DTMF for sending in-band. Keys are ASCII: `0` to `9`, `*`, `#`, `A` to `D`.
package enum DTMFTones {
    private static let keys = Array("123A456B789C*0#D".utf8)
    private static let rows = [697.0, 770, 852, 941]
    private static let columns = [1209.0, 1336, 1477, 1633]

    /// The low and the high frequency of a key, in Hz; nil when it is no key.
    package static func frequencies(of key: UInt8) -> (low: Double, high: Double)? {
        guard let index = keys.firstIndex(of: key) else { return nil }
        return (rows[index / 4], columns[index % 4])
    }

    /// How keys are sent. The defaults are what senders commonly use: 100 ms on, 100 ms off, -10 dBm0 for each tone.
    package struct Timing: Equatable, Sendable {
        package var on: Duration
        package var off: Duration
        /// Of the low tone, in dBm0.
        package var level: Double
        /// By how many dB the high tone is louder than the low one.
        package var twist: Double

        package init(
            on: Duration = .milliseconds(100), off: Duration = .milliseconds(100), level: Double = -10, twist: Double = 0
        ) {
            self.on = on
            self.off = off
            self.level = level
            self.twist = twist
        }
    }

    /// A row of keys as a clip; each one is followed by its pause. Other characters are left out.
    package static func clip(_ keys: some Sequence<UInt8>, rate: Int = 8000, timing: Timing = Timing()) -> AudioClip {
        var samples: [Int16] = []
        let on = AudioClip.samples(in: timing.on, rate: rate)
        let off = AudioClip.samples(in: timing.off, rate: rate)
        let low = Decibels.amplitude(timing.level)
        let high = Decibels.amplitude(timing.level + timing.twist)
        for key in keys {
            guard let tones = frequencies(of: key) else { continue }
            let turn = 2 * Double.pi / Double(rate)
            for index in 0..<on {
                let time = Double(index) * turn
                samples.append(saturated(low * sine(time * tones.low) + high * sine(time * tones.high)))
            }
            samples.append(contentsOf: repeatElement(0, count: off))
        }
        return AudioClip(samples: samples, rate: rate)
    }
}
