// A rate as an upper limit: starts are kept apart, and what was missed is not made up for. For people's telephones, where a burst after a
// pause would be worse than a lower rate.

package import Basics

package struct Spacing: Sendable {
    /// Between two starts.
    package private(set) var interval: Duration
    /// The next one is not before this.
    package private(set) var next = Instant.zero

    /// - Parameter rate: starts a second, over 0.
    package init(rate: Double) { interval = Self.interval(rate) }

    private static func interval(_ rate: Double) -> Duration { .nanoseconds(Int64(min(1e9 / rate, 1e18))) }

    /// Another rate from now on, over 0; a start that waited for the old one waits no longer than for the new one.
    package mutating func change(rate: Double, at now: Instant) {
        interval = Self.interval(rate)
        next = min(next, now + interval)
    }

    /// A start now. One that was only a little late does not shift those after it.
    package mutating func take(at now: Instant) {
        next = now - next < interval ? next + interval : now + interval
    }
}
