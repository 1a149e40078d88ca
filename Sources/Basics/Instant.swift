/// A point on the monotonic clock of an event loop, in nanoseconds since that clock's own start.
///
/// The protocol core never reads a clock: instants come in with each event, and "the next deadline" goes out as one.
package struct Instant: Hashable, Comparable, Codable, Sendable {
    /// Nanoseconds since the clock's start.
    package var nanoseconds: Int64

    @inlinable package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The clock's start.
    package static let zero = Instant(nanoseconds: 0)
    /// An instant that never comes.
    package static let never = Instant(nanoseconds: .max)

    @inlinable package static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    // The standard library's versions of these go through the protocol's table when another module calls them.
    @inlinable package static func == (left: Instant, right: Instant) -> Bool { left.nanoseconds == right.nanoseconds }
    @inlinable package static func != (left: Instant, right: Instant) -> Bool { left.nanoseconds != right.nanoseconds }
    @inlinable package static func > (left: Instant, right: Instant) -> Bool { left.nanoseconds > right.nanoseconds }
    @inlinable package static func <= (left: Instant, right: Instant) -> Bool { left.nanoseconds <= right.nanoseconds }
    @inlinable package static func >= (left: Instant, right: Instant) -> Bool { left.nanoseconds >= right.nanoseconds }

    /// The later instant; it stays at `never` instead of overflowing.
    @inlinable package static func + (instant: Instant, duration: Duration) -> Instant {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        return overflow ? .never : Instant(nanoseconds: sum)
    }

    @inlinable package static func - (instant: Instant, duration: Duration) -> Instant {
        Instant(nanoseconds: instant.nanoseconds &- duration.nanoseconds)
    }

    @inlinable package static func - (later: Instant, earlier: Instant) -> Duration {
        .nanoseconds(later.nanoseconds &- earlier.nanoseconds)
    }

    /// The first instant, not before this one, that is a whole number of `step` from the clock's start. `step` is positive.
    package func roundedUp(to step: Duration) -> Instant {
        let step = step.nanoseconds
        let rest = nanoseconds % step
        return rest == 0 ? self : self + .nanoseconds(step - rest)
    }
}

extension Duration {
    /// The whole nanoseconds, saturated at the range of `Int64` (292 years).
    @inlinable package var nanoseconds: Int64 {
        // Up to an hour without a division of 128 bits: 10^9 is 2^9 times 1,953,125.
        let whole = attoseconds
        if whole >= 0, let part = Int64(exactly: whole >> 9) { return part / 1_953_125 }
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, overflowed) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflowed ? .max : sum
    }

    /// The length in milliseconds, for reports.
    package var milliseconds: Double { Double(nanoseconds) / 1_000_000 }
    /// The length in seconds, for reports.
    package var seconds: Double { Double(nanoseconds) / 1_000_000_000 }
}
