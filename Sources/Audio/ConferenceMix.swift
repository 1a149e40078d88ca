// The sum of those who speak in a conference, and what each of them hears: the sum without himself (N-1). It is kept with more bits than
// a sample has, so that only what is heard is limited to 16 bits, once.

/// A block of a conference's sound.
package struct ConferenceMix {
    private var sum: [Int32]

    /// - Parameter count: samples of a block.
    package init(count: Int) { sum = [Int32](repeating: 0, count: count) }

    /// Samples of a block.
    package var count: Int { sum.count }

    /// Begins the next block.
    package mutating func clear() {
        for index in sum.indices { sum[index] = 0 }
    }

    /// Adds a voice; samples beyond the block are left out.
    package mutating func add(_ samples: UnsafeBufferPointer<Int16>) {
        sum.withUnsafeMutableBufferPointer { sum in
            for index in 0..<min(sum.count, samples.count) { sum[index] &+= Int32(samples[index]) }
        }
    }

    /// What somebody hears who has not spoken.
    package func everybody(into output: UnsafeMutableBufferPointer<Int16>) {
        sum.withUnsafeBufferPointer { sum in
            for index in 0..<min(sum.count, output.count) { output[index] = Int16(clamping: sum[index]) }
        }
    }

    /// What somebody hears who was added with `own`.
    package func everybody(but own: UnsafeBufferPointer<Int16>, into output: UnsafeMutableBufferPointer<Int16>) {
        sum.withUnsafeBufferPointer { sum in
            for index in 0..<min(sum.count, output.count) {
                output[index] = Int16(clamping: sum[index] &- (index < own.count ? Int32(own[index]) : 0))
            }
        }
    }
}

extension UnsafeMutableBufferPointer<Int16> {
    /// Makes samples louder or softer by a ratio of amplitudes; what grows too large is limited to 16 bits.
    package func amplify(by ratio: Double) {
        for index in indices { self[index] = saturated(Double(self[index]) * ratio) }
    }
}
