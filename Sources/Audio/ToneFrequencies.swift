// What the detectors of tones are made of: blocks of 40 ms that overlap by half, and the part of a block's energy that lies in given
// frequencies (Goertzel's algorithm; 25 Hz are told apart).

import Glibc

/// Blocks of twice `half` samples, each `half` after the last. Samples come in pieces of any size. Belongs to its detector.
final class OverlappingBlocks {
    private let half: Int
    /// The older half first.
    private var block: [Int16]
    private var filled: Int
    /// Samples taken so far, missing ones among them.
    private(set) var position = 0

    init(half: Int) {
        self.half = half
        block = [Int16](repeating: 0, count: half * 2)
        filled = half
    }

    /// Takes samples; `look` is called for each block that they make whole.
    func take(_ samples: UnsafeBufferPointer<Int16>, _ look: () -> Void) {
        fill(samples.count, { samples[$0] }, look)
    }

    /// As `take`, of silence.
    func takeSilence(_ count: Int, _ look: () -> Void) { fill(count, { _ in 0 }, look) }

    @inline(__always)
    private func fill(_ count: Int, _ sample: (Int) -> Int16, _ look: () -> Void) {
        var taken = 0
        while taken < count {
            if filled == block.count {
                for index in 0..<half { block[index] = block[half + index] }
                filled = half
            }
            let part = min(block.count - filled, count - taken)
            for index in 0..<part { block[filled + index] = sample(taken + index) }
            taken += part
            filled += part
            position += part
            if filled == block.count { look() }
        }
    }

    /// The mean square of the block.
    var power: Double {
        var energy = 0.0
        for sample in block { energy += Double(Int(sample) * Int(sample)) }
        return energy / Double(block.count)
    }

    func withBlock<Result>(_ body: (UnsafeBufferPointer<Int16>) -> Result) -> Result { block.withUnsafeBufferPointer(body) }
}

/// The energy of a block at single frequencies.
struct ToneFrequencies {
    /// 2 cos(w) for each.
    private let coefficients: [Double]

    init(_ frequencies: [Double], rate: Int) {
        coefficients = frequencies.map { 2 * cos(2 * Double.pi * $0 / Double(rate)) }
    }

    /// The mean square of the sine at the frequency of that index.
    func power(_ index: Int, in block: UnsafeBufferPointer<Int16>) -> Double {
        let coefficient = coefficients[index]
        var last = 0.0
        var before = 0.0
        for sample in block {
            let next = Double(sample) + coefficient * last - before
            before = last
            last = next
        }
        let count = Double(block.count)
        return 2 * (last * last + before * before - coefficient * last * before) / (count * count)
    }

    /// The part of a block's energy, 0 to 1, that lies in `count` frequencies together; 0 when they differ by more than `twist` dB.
    /// - Parameter part: the energy at each.
    static func share(of count: Int, in power: Double, twist: Double, _ part: (Int) -> Double) -> Double {
        var sum = 0.0
        var weakest = Double.infinity
        var strongest = 0.0
        for index in 0..<count {
            let part = part(index)
            sum += part
            weakest = min(weakest, part)
            strongest = max(strongest, part)
        }
        guard power > 0, weakest > 0, 10 * log10(strongest / weakest) <= twist else { return 0 }
        return sum / power
    }
}
