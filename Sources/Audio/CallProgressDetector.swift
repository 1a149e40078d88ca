// Tells the call progress tones of a country: dial, ringback, busy, congestion, special information. Frequencies alone do not say which it
// is, since in most countries they are the same: the cadence does (CadenceTracker).

import Basics

/// Detects the tones of one plan at 8 kHz. Two tones of a plan that are the same are reported together.
package final class CallProgressDetector {
    private let names: [[TonePlan.Name]]
    /// One kind of sound: sets of frequencies of which one has to be there.
    private struct Kind {
        var sets: [[Double]]
        /// By how many dB the frequencies of a set may differ.
        var twist = 12.0
        /// The places of the sets' frequencies in `powers`.
        var places: [[Int]] = []
    }

    private let kinds: [Kind]
    /// All frequencies, and what the block has of each.
    private let frequencies: ToneFrequencies
    private var powers: [Double]
    private let blocks = OverlappingBlocks(half: half)
    private var tracker: CadenceTracker
    /// What is heard, and the middle of the last block in which it was, in milliseconds.
    private var heard = CadenceTracker.Heard.other
    private var last = 0.0
    /// What may come next: it counts with its second block.
    private var candidate: (heard: CadenceTracker.Heard, first: Double)?
    /// Of the last block with a tone, in dBm0.
    private var toneLevel = -100.0

    private static let rate = 8000
    private static let half = 160
    /// Nothing quieter is a tone, in dBm0.
    private static let threshold = -42.0
    private static let share = 0.7
    /// A pause is this much quieter than the tone: so noise may be in it, in dB.
    private static let depth = 12.0
    /// Pauses that are shorter belong to the sounds around them, in milliseconds.
    private static let shortest = 60.0
    /// How long what is no tone may last between two that are, in milliseconds.
    private static let smear = 80.0

    package init(_ plan: TonePlan) {
        var sounds: [Tone.Element] = []
        var patterns: [[CadenceTracker.Element]] = []
        var names: [[TonePlan.Name]] = []
        for name in TonePlan.Name.allCases {
            var elements: [CadenceTracker.Element] = []
            for element in plan[name].elements {
                let length = element.duration.map { Double($0.nanoseconds) / 1e6 }
                if element.frequencies.isEmpty {
                    // Two tones with a pause that is too short to be heard follow each other at once.
                    if let length, length < Self.shortest, !elements.isEmpty { continue }
                    elements.append(.init(kind: nil, length: length))
                    continue
                }
                // A slow modulation stays within what a block tells apart.
                let isFast = element.modulation ?? 0 >= 20
                let sound = Tone.Element(element.frequencies, modulation: isFast ? element.modulation : nil)
                let kind = sounds.firstIndex(of: sound) ?? sounds.count
                if kind == sounds.count { sounds.append(sound) }
                elements.append(.init(kind: kind, length: length))
            }
            if let same = patterns.firstIndex(of: elements) {
                names[same].append(name)
            } else {
                patterns.append(elements)
                names.append([name])
            }
        }
        self.names = names
        var kinds = sounds.map { Self.kind($0, among: sounds) }
        let all = Array(Set(kinds.flatMap { $0.sets.joined() })).sorted()
        for index in kinds.indices {
            kinds[index].places = kinds[index].sets.map { set in set.compactMap { all.firstIndex(of: $0) } }
        }
        self.kinds = kinds
        frequencies = ToneFrequencies(all, rate: Self.rate)
        powers = [Double](repeating: 0, count: all.count)
        tracker = CadenceTracker(patterns)
    }

    private static func kind(_ sound: Tone.Element, among sounds: [Tone.Element]) -> Kind {
        if let modulation = sound.modulation {
            return Kind(sets: [sound.frequencies.flatMap { [$0 - modulation, $0, $0 + modulation] }])
        }
        guard sound.frequencies.count == 1, let frequency = sound.frequencies.first else {
            return Kind(sets: [sound.frequencies])
        }
        if frequency >= 900 {
            // Special information is within 50 Hz (E.180); North America has 914 and 985, 1371 and 1429, 1777 of its own. Two
            // neighbours of a grid of 25 Hz hold what lies between them, in whatever parts.
            var wide = Kind(sets: stride(from: frequency - 50, through: frequency + 25, by: 25).map { [$0, $0 + 25] })
            wide.twist = .infinity
            return wide
        }
        let isAlone = sounds.allSatisfy { other in
            other == sound || other.frequencies.count > 1 || other.frequencies.allSatisfy { abs($0 - frequency) > 40 }
        }
        return Kind(sets: isAlone ? [[frequency], [frequency - 7], [frequency + 7]] : [[frequency]])
    }

    /// Takes samples in pieces of any size; reports a tone when it is known, and again after another one.
    package func process(_ samples: UnsafeBufferPointer<Int16>, _ report: ([TonePlan.Name]) -> Void) {
        blocks.take(samples) { look(report) }
    }

    /// Time passes without samples.
    package func processMissing(_ count: Int, _ report: ([TonePlan.Name]) -> Void) {
        blocks.takeSilence(count) { look(report) }
    }

    private func look(_ report: ([TonePlan.Name]) -> Void) {
        let middle = Double(blocks.position - Self.half) * 1000 / Double(Self.rate)
        let found = heardNow()
        if found == heard {
            last = middle
            candidate = nil
        } else if found == .other {
            if heard != .other, middle - last > Self.smear { change(to: .other, at: last) }
        } else if candidate?.heard == found {
            change(to: found, at: border(candidate?.first ?? middle, found))
            last = middle
        } else {
            candidate = (found, middle)
        }
        if let known = tracker.pass(until: middle) { report(names[known]) }
    }

    /// Between the last block of the one and the first of the other. A block counts as the tone with 70% of it, and as a pause with
    /// nearly nothing of it.
    private func border(_ first: Double, _ next: CadenceTracker.Heard) -> Double {
        guard heard != .other else { return first }
        let middle = (last + first) / 2
        return next == .pause ? middle - 6 : heard == .pause ? middle + 6 : middle
    }

    private func change(to next: CadenceTracker.Heard, at time: Double) {
        tracker.change(to: next, at: time)
        heard = next
        candidate = nil
    }

    /// What the block is.
    private func heardNow() -> CadenceTracker.Heard {
        let power = blocks.power
        let level = Decibels.level(power: power)
        guard level > Self.threshold, level > toneLevel - Self.depth else { return .pause }
        blocks.withBlock { block in
            for index in powers.indices { powers[index] = frequencies.power(index, in: block) }
        }
        var best: (kind: Int, share: Double)?
        for (index, kind) in kinds.enumerated() {
            for set in kind.places {
                let share = ToneFrequencies.share(of: set.count, in: power, twist: kind.twist) { powers[set[$0]] }
                if share >= Self.share, share > best?.share ?? 0 { best = (index, share) }
            }
        }
        guard let best else { return .other }
        toneLevel = level
        return .sound(best.kind)
    }
}
