// Was what one side said heard by the other, and how much later? What was said is cut into sounds; each is looked for, by correlation,
// where it should be in what was heard. Both recordings have a time of their own beginning, on one clock. Pure.

package import Audio
package import Basics

package enum PartySound {
    /// A recording's side, and when it began.
    package struct Side {
        var clip: AudioClip
        var start: Instant

        package init(_ clip: AudioClip, start: Instant) {
            self.clip = clip.resampled(to: PartySound.rate)
            self.start = start
        }
    }

    package struct Comparison: Equatable, Sendable {
        /// How much sound there was to be heard, and how much of it was.
        package var said: Duration
        package var heard: Duration
        /// From the one side's packets to the other's: the median over beginnings of sounds; nil where none was heard. Good to 20 ms,
        /// a packet.
        package var latency: Duration?

        package init(said: Duration = .zero, heard: Duration = .zero, latency: Duration? = nil) {
            (self.said, self.heard, self.latency) = (said, heard, latency)
        }

        /// Most of it came: what lost packets and a late start take away is for `expect: mos` and `loss` to judge.
        package var passed: Bool { heard >= said * 0.75 }
    }

    private static let rate = SoundPiece.rate
    private static let pause = SoundPiece.pause
    /// How much later a sound may be heard, at most.
    private static let latest = rate * 3 / 2
    /// Compares what was said during `span` with what the other side heard.
    package static func compare(_ said: Side, heard: Side, during span: ClosedRange<Instant>) -> Comparison {
        var result = Comparison()
        var latencies: [Int] = []
        // Both are laid on the clock of `span`.
        let from = sample(of: span.lowerBound, in: said)
        let until = min(sample(of: span.upperBound, in: said), said.clip.samples.count)
        // From a sample of what was said to the same instant in what was heard.
        let shift = sample(of: said.start, in: heard)
        for piece in SoundPiece.pieces(of: said.clip.samples, until: until) where piece.range.lowerBound >= from {
            let first = piece.first
            let reference = piece.reference(in: said.clip.samples)
            let window = (first + shift - pause)..<(piece.range.upperBound + shift + latest)
            // The call may be over before the last sound can have come.
            guard piece.range.upperBound + rate / 2 <= until else { continue }
            let length = duration(piece.range.count)
            result.said += length
            let clamped = window.clamped(to: 0..<heard.clip.samples.count)
            guard !clamped.isEmpty else { continue }
            let match = Correlation.search(reference, in: Array(heard.clip.samples[clamped]), overlap: 0.9)
            guard match.peak >= SoundPiece.likeness else { continue }
            result.heard += length
            if piece.isBeginning { latencies.append(clamped.lowerBound + match.lag - first - shift) }
        }
        if !latencies.isEmpty { result.latency = max(.zero, duration(latencies.sorted()[latencies.count / 2])) }
        return result
    }

    private static func sample(of instant: Instant, in side: Side) -> Int {
        Int(((instant - side.start).seconds * Double(rate)).rounded())
    }

    private static func duration(_ samples: Int) -> Duration { .nanoseconds(Int64(samples) * 1_000_000_000 / Int64(rate)) }
}
