/// What a loop counts about itself. Read on the loop; a value to hand on.
package struct LoopMetrics: Sendable {
    /// Passes through the loop: input and output, jobs, timers.
    package internal(set) var turns: UInt64 = 0
    /// Turns that looked into paced sockets by themselves: the loop was busy.
    package internal(set) var pacedTurns: UInt64 = 0
    /// Times that another thread had to wake the loop.
    package internal(set) var wakeUps: UInt64 = 0
    /// Steps of tasks and actions run.
    package internal(set) var jobs: UInt64 = 0
    /// Timers run.
    package internal(set) var timers: UInt64 = 0
    /// How late timers ran.
    package internal(set) var lateness = LatenessHistogram()
    /// The longest turn, nanoseconds.
    package internal(set) var longestTurn: Int64 = 0
    /// Nanoseconds spent in turns, that is, not waiting.
    package internal(set) var busy: Int64 = 0
}

/// How late timers ran: in steps of powers of two microseconds.
package struct LatenessHistogram: Sendable {
    /// Bucket `n` counts timers that were less than 2^n microseconds late (and not less than the bucket before); the last takes the rest.
    package private(set) var buckets = [UInt64](repeating: 0, count: 24)
    /// The latest of all, nanoseconds.
    package private(set) var maximum: Int64 = 0

    package init() {}

    @inline(__always)
    mutating func record(_ nanoseconds: Int64) {
        maximum = max(maximum, nanoseconds)
        let microseconds = UInt64(max(0, nanoseconds)) / 1000
        buckets[min(64 - microseconds.leadingZeroBitCount, buckets.count - 1)] += 1
    }

    /// A bound that `share` (0 to 1) of the timers kept, in nanoseconds: the upper edge of its bucket, at most the maximum.
    package func quantile(_ share: Double) -> Int64 {
        let total = buckets.reduce(0, +)
        guard total > 0 else { return 0 }
        var seen: UInt64 = 0
        for (index, count) in buckets.enumerated() {
            seen += count
            if Double(seen) >= share * Double(total) { return min(maximum, 1000 << Int64(index)) }
        }
        return maximum
    }

    package mutating func reset() { self = LatenessHistogram() }
}
