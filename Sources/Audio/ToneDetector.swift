// Finds given sets of frequencies by Goertzel's algorithm, in blocks of 40 ms that overlap by half: so 25 Hz are told
// apart, and a tone of 100 ms holds the three blocks that are asked for.

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

    private let blocks: OverlappingBlocks
    private var runs: [Run]
    private let frequencies: [ToneFrequencies]

    /// - Parameter sets: each with one to four frequencies in Hz, below half of the rate.
    package init(_ sets: [[Double]], rate: Int = 8000, settings: Settings = Settings()) {
        precondition(rate == 8000 || rate == 16000, "detectors work at 8 and 16 kHz")
        precondition(
            sets.allSatisfy { !$0.isEmpty && $0.count <= 4 && $0.allSatisfy { $0 > 0 && $0 < Double(rate) / 2 } },
            "frequencies of a tone")
        self.sets = sets
        self.rate = rate
        self.settings = settings
        blocks = OverlappingBlocks(half: rate / 50)
        runs = sets.map { _ in Run() }
        frequencies = sets.map { ToneFrequencies($0, rate: rate) }
    }

    /// Takes samples in pieces of any size and reports what they brought, in order.
    package func process(_ samples: UnsafeBufferPointer<Int16>, _ report: (Event) -> Void) {
        blocks.take(samples) { look(report) }
    }

    /// Time passes without samples.
    package func processMissing(_ count: Int, _ report: (Event) -> Void) {
        blocks.takeSilence(count) { look(report) }
    }

    private func look(_ report: (Event) -> Void) {
        position = blocks.position
        let power = blocks.power
        let loud = Decibels.level(power: power) > settings.threshold
        for set in sets.indices {
            let isThere =
                loud
                && blocks.withBlock { block in
                    ToneFrequencies.share(of: sets[set].count, in: power, twist: settings.twist) {
                        frequencies[set].power($0, in: block)
                    }
                } >= settings.share
            if isThere {
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
}
