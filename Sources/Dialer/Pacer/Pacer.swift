// Starts calls on time. Open loop: when a call begins follows from the plan alone, never from what became of the calls before; a start
// that comes late is made up for and counted, so that a slow generator cannot pass for a fast target. Pure: instants in, instants out.

package import Basics

/// The pace of one loop.
package struct Pacer: Sendable {
    /// How late a start may be without falsifying what is measured.
    package static let tolerance = Duration.milliseconds(10)

    private var stream: ArrivalStream
    package let start: Instant
    private var pausedAt: Instant?
    /// For how long in all.
    private var paused = Duration.zero
    /// How late calls began, in microseconds.
    package private(set) var lateness = Histogram()
    /// Starts later than `tolerance`.
    package private(set) var late: UInt64 = 0

    package init(_ stream: ArrivalStream, start: Instant) {
        self.stream = stream
        self.start = start
    }

    package var isPaused: Bool { pausedAt != nil }

    /// When the next call is due: `never` while the rate is zero or it is paused; nil when there are no more.
    package var nextDue: Instant? {
        guard let seconds = stream.next else { return nil }
        return seconds == .infinity || isPaused ? .never : start + paused + .nanoseconds(Int64(seconds * 1e9))
    }

    /// Takes the next call, which is due.
    package mutating func take(at now: Instant) {
        guard let due = nextDue else { return }
        let late = max(0, (now - due).nanoseconds)
        lateness.record(late / 1000)
        if late > Self.tolerance.nanoseconds { self.late += 1 }
        stream.advance()
    }

    /// So many times as fast from now on.
    package mutating func scale(by factor: Double, at now: Instant) {
        stream.scale(by: factor, at: ((pausedAt ?? now) - start - paused).seconds)
    }

    /// The plan's time stands still from now on.
    package mutating func pause(at now: Instant) { pausedAt = pausedAt ?? now }

    /// It goes on where it stood.
    package mutating func resume(at now: Instant) {
        if let pausedAt { paused += now - pausedAt }
        pausedAt = nil
    }

    /// No more calls.
    package mutating func end() { stream.end() }
}
