// Linear audio held in memory: 16-bit mono samples at a rate.

/// A piece of linear audio: 16-bit, mono.
package struct AudioClip: Equatable, Sendable {
    package var samples: [Int16]
    /// In Hz.
    package var rate: Int

    package init(samples: [Int16], rate: Int) {
        precondition(rate > 0, "a clip has a rate")
        self.samples = samples
        self.rate = rate
    }

    /// A clip of silence.
    package static func silence(_ length: Duration, rate: Int) -> AudioClip {
        AudioClip(samples: [Int16](repeating: 0, count: AudioClip.samples(in: length, rate: rate)), rate: rate)
    }

    package var length: Duration { .nanoseconds(Int64(samples.count) * 1_000_000_000 / Int64(rate)) }

    /// The samples of a length at a rate, rounded to the nearest; none for a negative length.
    package static func samples(in length: Duration, rate: Int) -> Int {
        guard length > .zero else { return 0 }
        let (seconds, attoseconds) = length.components
        let (whole, overflow) = Int(seconds).multipliedReportingOverflow(by: rate)
        guard !overflow else { return .max }
        return whole + Int((Double(attoseconds) / 1e18 * Double(rate)).rounded())
    }

    /// The part from `from` until `until` (both from the clip's start), as far as the clip reaches.
    package func part(from: Duration, until: Duration?) -> AudioClip {
        let first = min(AudioClip.samples(in: from, rate: rate), samples.count)
        let end = until.map { min(AudioClip.samples(in: $0, rate: rate), samples.count) } ?? samples.count
        if first == 0, end == samples.count { return self }
        return AudioClip(samples: Array(samples[first..<max(first, end)]), rate: rate)
    }

    /// The clip louder (or softer) by `decibels`; samples that grow too large are clipped.
    package func amplified(by decibels: Double) -> AudioClip {
        guard decibels != 0 else { return self }
        let factor = Decibels.ratio(decibels)
        return AudioClip(samples: samples.map { saturated(Double($0) * factor) }, rate: rate)
    }

    /// The clip at another rate, of the same length.
    package func resampled(to newRate: Int) -> AudioClip {
        guard newRate != rate, !samples.isEmpty else { return AudioClip(samples: samples, rate: newRate) }
        return AudioClip(samples: Resampler.convert(samples, from: rate, to: newRate), rate: newRate)
    }

    /// The mean level in dBm0; -infinity for silence.
    package var level: Double { samples.withUnsafeBufferPointer { Decibels.level(of: $0) } }
}
