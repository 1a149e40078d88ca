// A stream in blocks of 32 ms, and what each is: silence, a tone, or sound that may be speech. Energy above an adaptive noise floor is sound;
// a block whose energy lies nearly all (97%) in three narrow peaks or fewer is a tone: ringback, busy, dial tone, DTMF, beeps, also
// modulated ones. What it does not do: tell speech from music or from noise that comes and goes; sung or whistled notes pass as tones.

import Glibc

/// Tells the blocks of one stream. Belongs to its detector.
package final class SoundBlocks {
    package enum Kind: Equatable, Sendable {
        case silence
        case tone
        case speech
    }

    /// 8000 or 16000.
    package let rate: Int
    /// Samples of a block.
    package let size: Int
    /// Samples taken so far, missing ones among them.
    package private(set) var position = 0

    private let fourier: Fourier
    private let window: [Float]
    private var block: [Int16]
    private var filled = 0
    private var tracker: LevelTracker

    /// - Parameters:
    ///   - threshold: nothing quieter is sound, in dBm0.
    ///   - margin: by how many dB sound stands out above the noise floor.
    package init(rate: Int = 8000, threshold: Double = -42, margin: Double = 12) {
        precondition(rate == 8000 || rate == 16000, "detectors work at 8 and 16 kHz")
        self.rate = rate
        size = rate == 8000 ? 256 : 512
        fourier = Fourier(size: size)
        window = (0..<size).map { [size] in Float(0.5 - 0.5 * cos(2 * Double.pi * Double($0) / Double(size))) }
        block = [Int16](repeating: 0, count: size)
        tracker = LevelTracker(threshold: threshold, margin: margin)
    }

    /// Takes samples in pieces of any size and reports each block that they fill.
    package func process(_ samples: UnsafeBufferPointer<Int16>, _ report: (Kind) -> Void) {
        var taken = 0
        while taken < samples.count {
            let count = min(size - filled, samples.count - taken)
            for index in 0..<count { block[filled + index] = samples[taken + index] }
            taken += count
            fill(count, report)
        }
    }

    /// Time passes without samples: lost packets, or a far side that sends none. It counts as silence.
    package func processMissing(_ count: Int, _ report: (Kind) -> Void) {
        var left = count
        while left > 0 {
            let part = min(size - filled, left)
            for index in 0..<part { block[filled + index] = 0 }
            left -= part
            fill(part, report)
        }
    }

    private func fill(_ count: Int, _ report: (Kind) -> Void) {
        filled += count
        position += count
        guard filled == size else { return }
        filled = 0
        let level = block.withUnsafeBufferPointer { Decibels.level(of: $0) }
        let isSound = tracker.isSound(level, blockSeconds: Double(size) / Double(rate))
        report(!isSound ? .silence : isTone() ? .tone : .speech)
    }

    /// Whether nearly all energy lies within two bins of the three strongest peaks.
    private func isTone() -> Bool {
        withUnsafeTemporaryAllocation(of: Float.self, capacity: size * 2) { memory in
            let real = UnsafeMutableBufferPointer(rebasing: memory[..<size])
            let imaginary = UnsafeMutableBufferPointer(rebasing: memory[size...])
            for index in 0..<size {
                real[index] = Float(block[index]) * window[index]
                imaginary[index] = 0
            }
            fourier.transform(real, imaginary)
            let bins = size / 2
            var total: Float = 0
            for bin in 0..<bins {
                // What lies below 60 Hz is hum, not sound.
                real[bin] = bin < 2 ? 0 : real[bin] * real[bin] + imaginary[bin] * imaginary[bin]
                total += real[bin]
            }
            guard total > 0 else { return false }
            var inPeaks: Float = 0
            for _ in 0..<3 {
                var peak = 0
                for bin in 0..<bins where real[bin] > real[peak] { peak = bin }
                for bin in max(0, peak - 2)...min(bins - 1, peak + 2) {
                    inPeaks += real[bin]
                    real[bin] = 0
                }
                if inPeaks > 0.97 * total { return true }
            }
            return false
        }
    }
}
