// The tones by which a conference tells that somebody came (upwards) or went (downwards).

import Audio
import Basics

enum ConferenceTones {
    /// Samples at a rate in Hz.
    static func join(rate: Int) -> [Int16] { tone([440, 587], rate: rate) }
    static func leave(rate: Int) -> [Int16] { tone([587, 440], rate: rate) }

    private static func tone(_ frequencies: [Double], rate: Int) -> [Int16] {
        frequencies.flatMap { frequency in
            ToneGenerator.clip(
                Tone(frequencies: [frequency], cadence: []), level: -22, rate: rate, length: .milliseconds(120)
            ).samples
        }
    }
}
