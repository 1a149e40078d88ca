// A rate as an upper limit: starts are kept apart, and what was missed is not made up for. For people's telephones, where a burst after a
// pause would be worse than a lower rate.

package import Basics

package struct Spacing: Sendable {
    /// Between two starts.
    package let interval: Duration
    /// The next one is not before this.
    package private(set) var next = Instant.zero

    /// - Parameter rate: starts a second, over 0.
    package init(rate: Double) { interval = .nanoseconds(Int64(1e9 / rate)) }

    /// A start now. One that was only a little late does not shift those after it.
    package mutating func take(at now: Instant) {
        next = now - next < interval ? next + interval : now + interval
    }
}
