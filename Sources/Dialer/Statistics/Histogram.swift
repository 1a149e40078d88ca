// Counts of values in buckets whose width grows with the value (as HdrHistogram does): fixed memory, whatever comes and however much,
// and two can be merged without loss.

/// Whole numbers from 0 to 2^36, each known to within 0.8%.
package struct Histogram: Equatable, Codable, Sendable {
    /// Values below 2^8 have a bucket each; above, every doubling has 128.
    private static let bits = 8
    private static let highest = Int64(1) << 36
    private static let size = index(of: highest) + 1

    /// As it goes to other machines: the places and counts of buckets that hold something, one after the other.
    private enum Key: CodingKey { case buckets, maximum, sum }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        let buckets = try values.decode([UInt64].self, forKey: .buckets)
        counts = buckets.isEmpty ? [] : [UInt64](repeating: 0, count: Self.size)
        for pair in stride(from: 0, to: buckets.count - 1, by: 2) where buckets[pair] < UInt64(Self.size) {
            counts[Int(buckets[pair])] += buckets[pair + 1]
            count += buckets[pair + 1]
        }
        maximum = try values.decode(Int64.self, forKey: .maximum)
        sum = try values.decode(Double.self, forKey: .sum)
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        let buckets = counts.enumerated().flatMap { $0.element == 0 ? [] : [UInt64($0.offset), $0.element] }
        try values.encode(buckets, forKey: .buckets)
        try values.encode(maximum, forKey: .maximum)
        try values.encode(sum, forKey: .sum)
    }

    private var counts: [UInt64]
    package private(set) var count: UInt64 = 0
    /// The greatest value, exactly; 0 without values.
    package private(set) var maximum: Int64 = 0
    private var sum: Double = 0

    package init() {
        counts = []
    }

    private static func index(of value: Int64) -> Int {
        let shift = max(0, Int64.bitWidth - value.leadingZeroBitCount - bits)
        return (shift << (bits - 1)) + Int(value >> Int64(shift))
    }

    /// The greatest value of a bucket.
    private static func edge(_ index: Int) -> Int64 {
        let shift = max(0, (index >> (bits - 1)) - 1)
        let rest = Int64(index - (shift << (bits - 1)))
        return ((rest + 1) << Int64(shift)) - 1
    }

    /// Counts a value; what is below 0 counts as 0, what is too great as the greatest.
    package mutating func record(_ value: Int64) {
        if counts.isEmpty { counts = [UInt64](repeating: 0, count: Self.size) }
        let value = min(max(0, value), Self.highest)
        counts[Self.index(of: value)] += 1
        count += 1
        maximum = max(maximum, value)
        sum += Double(value)
    }

    package mutating func merge(_ other: Histogram) {
        guard other.count > 0 else { return }
        if counts.isEmpty { counts = [UInt64](repeating: 0, count: Self.size) }
        for index in other.counts.indices { counts[index] += other.counts[index] }
        count += other.count
        maximum = max(maximum, other.maximum)
        sum += other.sum
    }

    /// The mean; 0 without values.
    package var mean: Double { count == 0 ? 0 : sum / Double(count) }

    /// The value that `share` (0 to 1) of all values do not exceed; 0 without values.
    package func quantile(_ share: Double) -> Int64 {
        guard count > 0 else { return 0 }
        let rank = max(1, UInt64((share * Double(count)).rounded(.up)))
        var seen: UInt64 = 0
        for (index, bucket) in counts.enumerated() where bucket > 0 {
            seen += bucket
            if seen >= rank { return min(maximum, Self.edge(index)) }
        }
        return maximum
    }

    /// Every bucket that holds something: its greatest value, and how many.
    package var buckets: [(upTo: Int64, count: UInt64)] {
        counts.enumerated().compactMap { $0.element == 0 ? nil : (min(maximum, Self.edge($0.offset)), $0.element) }
    }
}
