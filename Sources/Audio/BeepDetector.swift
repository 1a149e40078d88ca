// The beep after which an answering machine records: one steady frequency for a while, then silence.

import Glibc

/// What a beep is, for whoever finds it in sound and for whoever is told what sounds.
package struct BeepLimits: Sendable {
    /// Where a beep lies, in Hz.
    package static let frequencies = 350.0...2600
    package static let lengths = Duration.milliseconds(150)...Duration.seconds(3)
    /// Frequencies of less distance are one peak, in Hz.
    private static let width = 100.0
    /// By how much a tone may be off, with what the peak's place may be, in Hz.
    private static let tolerance = 25.0
    /// Where a tone may lie that is no beep, in Hz.
    private let others: [ClosedRange<Double>]

    /// - Parameter tones: sets of frequencies that sound together, in Hz: what sounds like one of them is that tone and no beep. A beep is
    ///   known by its end, and the first sound of a cadence ends before the cadence is known.
    package init(except tones: [[Double]] = []) {
        others = tones.compactMap { set in
            guard let lowest = set.min(), let highest = set.max(), highest - lowest <= Self.width else { return nil }
            return lowest - Self.tolerance...highest + Self.tolerance
        }
    }

    /// Whether a sound of this frequency, in Hz, is one of the other tones.
    package func isOther(_ frequency: Double) -> Bool { others.contains { $0.contains(frequency) } }

    /// Whether a sound of one frequency, in Hz, that silence follows is a beep.
    package func isBeep(_ frequency: Double, _ length: Duration) -> Bool {
        Self.frequencies.contains(frequency) && Self.lengths.contains(length) && !isOther(frequency)
    }
}

/// Detects beeps at 8 kHz. It works on blocks of 32 ms that overlap by half.
package final class BeepDetector {
    /// A beep, known 100 ms after its end.
    package struct Beep: Equatable, Sendable {
        /// In Hz.
        package var frequency: Double
        package var length: Duration
    }

    private let fourier = Fourier(size: 256)
    private let blocks = OverlappingBlocks(half: half)
    /// The tone that sounds: its blocks and the bin of its peak.
    private var run: (blocks: Int, bin: Double)?
    /// A tone that has ended, and the quiet blocks since then.
    private var ended: (blocks: Int, bin: Double, quiet: Int)?
    private var tracker = LevelTracker(threshold: -42, margin: 12)
    private let limits: BeepLimits

    private static let half = 128
    private static let lengths = blocks(in: BeepLimits.lengths.lowerBound)...blocks(in: BeepLimits.lengths.upperBound)
    /// Quiet blocks after it: 100 ms.
    private static let quiet = 6
    /// The part of the energy that lies in the one peak.
    private static let share: Float = 0.95

    package init(_ limits: BeepLimits = BeepLimits()) { self.limits = limits }

    package func process(_ samples: UnsafeBufferPointer<Int16>, _ report: (Beep) -> Void) {
        blocks.take(samples) { look(report) }
    }

    /// Time passes without samples.
    package func processMissing(_ count: Int, _ report: (Beep) -> Void) {
        blocks.takeSilence(count) { look(report) }
    }

    private func look(_ report: (Beep) -> Void) {
        let isSound = tracker.isSound(Decibels.level(power: blocks.power), blockSeconds: 0.016)
        let bin = isSound ? peak() : nil
        if let bin, let run, abs(bin - run.bin) < 0.7 {
            self.run = (run.blocks + 1, run.bin)
            return
        }
        if let run, Self.lengths.contains(run.blocks) { ended = (run.blocks, run.bin, 0) }
        run = bin.map { (1, $0) }
        guard let tone = ended else { return }
        if bin != nil || (isSound && tone.quiet > 1) {
            // It goes on as something else.
            ended = nil
        } else if tone.quiet + 1 >= Self.quiet {
            ended = nil
            let frequency = tone.bin * 8000 / 256
            if limits.isOther(frequency) { return }
            report(Beep(frequency: frequency, length: Self.length(of: tone.blocks)))
        } else {
            ended?.quiet += 1
        }
    }

    /// Blocks begin every 16 ms; those at the ends of a tone hold half of it.
    private static func length(of blocks: Int) -> Duration { .milliseconds(blocks * 16 + 8) }
    private static func blocks(in length: Duration) -> Int { Int((length - .milliseconds(8)) / .milliseconds(16)) }

    /// The bin, with its fraction, of the one peak that holds nearly all energy.
    private func peak() -> Double? {
        withUnsafeTemporaryAllocation(of: Float.self, capacity: 512) { memory in
            let real = UnsafeMutableBufferPointer(rebasing: memory[..<256])
            let imaginary = UnsafeMutableBufferPointer(rebasing: memory[256...])
            blocks.withBlock { block in
                for index in 0..<256 {
                    real[index] = Float(block[index]) * Float(0.5 - 0.5 * cos(2 * Double.pi * Double(index) / 256))
                    imaginary[index] = 0
                }
            }
            fourier.transform(real, imaginary)
            var total: Float = 0
            var peak = 2
            for bin in 2..<128 {
                real[bin] = real[bin] * real[bin] + imaginary[bin] * imaginary[bin]
                total += real[bin]
                if real[bin] > real[peak] { peak = bin }
            }
            guard total > 0, peak > 3, peak < 125 else { return nil }
            let around = peak - 2...peak + 2
            let energy = around.reduce(Float(0)) { $0 + real[$1] }
            guard energy >= Self.share * total else { return nil }
            let center = around.reduce(Float(0)) { $0 + Float($1) * real[$1] } / energy
            let bin = Double(center)
            return BeepLimits.frequencies.contains(bin * 8000 / 256) ? bin : nil
        }
    }
}
