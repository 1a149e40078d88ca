// Finds given sets of frequencies by Goertzel's algorithm, in blocks of 40 ms that overlap by half: so 25 Hz are told
// apart, and a tone of 100 ms holds the three blocks that are asked for.

import Glibc

/// Detects tones: sets of frequencies that sound together.
package final class ToneDetector {
    package struct Settings: Equatable, Sendable {
        /// Nothing quieter than this counts, in dBm0, all frequencies together.
        package var threshold: Double
        /// The part of the energy (0 to 1) that lies in the frequencies of the set.
        package var share: Double
        /// By how many dB the frequencies of a set may differ.
        package var twist: Double
        /// Blocks in a row, each 20 ms after the last: 3 are 80 ms.
        package var blocks: Int

        package init(threshold: Double = -42, share: Double = 0.7, twist: Double = 12, blocks: Int = 3) {
            self.threshold = threshold
            self.share = share
            self.twist = twist
            self.blocks = blocks
        }
    }

    package enum Event: Equatable, Sendable {
        /// The set's index, and how many samples were taken until then.
        case began(set: Int, sample: Int)
        case ended(set: Int, sample: Int)
    }

    private struct Run {
        var hits = 0
        var misses = 0
        var isOn = false
    }

    package let sets: [[Double]]
    /// In Hz.
    package let rate: Int
    package let settings: Settings
    package private(set) var position = 0

    private let half: Int
    /// The last 40 ms; the older half first.
    private var block: [Int16]
    private var filled = 0
    private var runs: [Run]
    /// 2 cos(w) for each frequency of each set.
    private let coefficients: [[Double]]

    /// - Parameter sets: each with one to four frequencies in Hz, below half of the rate.
    package init(_ sets: [[Double]], rate: Int = 8000, settings: Settings = Settings()) {
        precondition(rate == 8000 || rate == 16000, "detectors work at 8 and 16 kHz")
        precondition(
            sets.allSatisfy { !$0.isEmpty && $0.count <= 4 && $0.allSatisfy { $0 > 0 && $0 < Double(rate) / 2 } },
            "frequencies of a tone")
        self.sets = sets
        self.rate = rate
        self.settings = settings
        half = rate / 50
        block = [Int16](repeating: 0, count: half * 2)
        filled = half
        runs = sets.map { _ in Run() }
        coefficients = sets.map { $0.map { 2 * cos(2 * Double.pi * $0 / Double(rate)) } }
    }

    /// Takes samples in pieces of any size and reports what they brought, in order.
    package func process(_ samples: UnsafeBufferPointer<Int16>, _ report: (Event) -> Void) {
        var taken = 0
        while taken < samples.count {
            let count = min(block.count - filled, samples.count - taken)
            for index in 0..<count { block[filled + index] = samples[taken + index] }
            take(count, report)
            taken += count
        }
    }

    /// Time passes without samples.
    package func processMissing(_ count: Int, _ report: (Event) -> Void) {
        var left = count
        while left > 0 {
            let part = min(block.count - filled, left)
            for index in 0..<part { block[filled + index] = 0 }
            take(part, report)
            left -= part
        }
    }

    private func take(_ count: Int, _ report: (Event) -> Void) {
        filled += count
        position += count
        guard filled == block.count else { return }
        finishBlock(report)
        for index in 0..<half { block[index] = block[half + index] }
        filled = half
    }

    private func finishBlock(_ report: (Event) -> Void) {
        var energy = 0.0
        for sample in block { energy += Double(Int(sample) * Int(sample)) }
        let mean = energy / Double(block.count)
        let loud = Decibels.level(power: mean) > settings.threshold
        for set in sets.indices {
            if loud && matches(set, mean) {
                runs[set].hits += 1
                runs[set].misses = 0
                if !runs[set].isOn, runs[set].hits >= settings.blocks {
                    runs[set].isOn = true
                    report(.began(set: set, sample: position))
                }
            } else {
                runs[set].hits = 0
                runs[set].misses += 1
                if runs[set].isOn, runs[set].misses >= 2 {
                    runs[set].isOn = false
                    report(.ended(set: set, sample: position))
                }
            }
        }
    }

    private func matches(_ set: Int, _ mean: Double) -> Bool {
        var sum = 0.0
        var weakest = Double.infinity
        var strongest = 0.0
        let count = Double(block.count)
        for coefficient in coefficients[set] {
            var last = 0.0
            var before = 0.0
            for sample in block {
                let next = Double(sample) + coefficient * last - before
                before = last
                last = next
            }
            // The mean square of the sine at this frequency.
            let power = 2 * (last * last + before * before - coefficient * last * before) / (count * count)
            sum += power
            weakest = min(weakest, power)
            strongest = max(strongest, power)
        }
        guard sum >= settings.share * mean else { return false }
        return weakest > 0 && 10 * log10(strongest / weakest) <= settings.twist
    }
}
