// Counts of values in buckets whose width grows with the value (as HdrHistogram does): bounded memory, whatever comes and however much,
// and two can be merged without loss. Only buckets that hold something are kept, so that every interval of a run can have histograms.

/// Whole numbers from 0 to 2^36, each known to within 0.8%. 8 octets for each bucket that holds something, of 3,841.
package struct Histogram: Equatable, Codable, Sendable {
    /// Values below 2^8 have a bucket each; above, every doubling has 128.
    private static let bits = 8
    private static let highest = Int64(1) << 36
    private static let size = index(of: highest) + 1

    /// A bucket that holds something: its place in 16 bits, above its count in 48.
    private struct Bucket: Equatable, Sendable {
        private var word: UInt64
        private static let most = UInt64(1) << 48 - 1

        init(_ place: Int, _ count: UInt64) { word = UInt64(place) << 48 | min(count, Self.most) }

        var place: Int { Int(word >> 48) }
        var count: UInt64 { word & Self.most }

        mutating func add(_ more: UInt64) { self = Bucket(place, count + min(more, Self.most)) }
    }

    /// In the order of their places.
    private var filled: [Bucket] = []
    package private(set) var count: UInt64 = 0
    /// The greatest value, exactly; 0 without values.
    package private(set) var maximum: Int64 = 0
    private var sum: Double = 0

    package init() {}

    /// As it goes to other machines: the places and counts of buckets that hold something, one after the other.
    private enum Key: CodingKey { case buckets, maximum, sum }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        let buckets = try values.decode([UInt64].self, forKey: .buckets)
        for pair in stride(from: 0, to: buckets.count - 1, by: 2) where buckets[pair] < UInt64(Self.size) {
            add(buckets[pair + 1], at: Int(buckets[pair]))
        }
        maximum = try values.decode(Int64.self, forKey: .maximum)
        sum = try values.decode(Double.self, forKey: .sum)
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(filled.flatMap { [UInt64($0.place), $0.count] }, forKey: .buckets)
        try values.encode(maximum, forKey: .maximum)
        try values.encode(sum, forKey: .sum)
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
        let value = min(max(0, value), Self.highest)
        add(1, at: Self.index(of: value))
        maximum = max(maximum, value)
        sum += Double(value)
    }

    private mutating func add(_ more: UInt64, at place: Int) {
        var (low, high) = (0, filled.count)
        while low < high {
            let middle = (low + high) / 2
            if filled[middle].place < place { low = middle + 1 } else { high = middle }
        }
        if low < filled.count, filled[low].place == place {
            filled[low].add(more)
        } else {
            filled.insert(Bucket(place, more), at: low)
        }
        count += more
    }

    package mutating func merge(_ other: Histogram) {
        guard other.count > 0 else { return }
        guard count > 0 else { return self = other }
        var both: [Bucket] = []
        both.reserveCapacity(max(filled.count, other.filled.count))
        var rest = other.filled[...]
        for var bucket in filled {
            while let next = rest.first, next.place < bucket.place { both.append(rest.removeFirst()) }
            if let next = rest.first, next.place == bucket.place { bucket.add(rest.removeFirst().count) }
            both.append(bucket)
        }
        filled = both + rest
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
        for bucket in filled {
            seen += bucket.count
            if seen >= rank { return min(maximum, Self.edge(bucket.place)) }
        }
        return maximum
    }

    /// Every bucket that holds something: its greatest value, and how many.
    package var buckets: [(upTo: Int64, count: UInt64)] {
        filled.map { (min(maximum, Self.edge($0.place)), $0.count) }
    }
}
