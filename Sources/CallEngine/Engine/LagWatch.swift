// Tells whether a loop has more to do than it can. A single long turn does not count: a machine that was busy with something else for a
// moment catches up. Pure.

package import Basics

/// Looks at how late a loop's timers are whenever somebody wants to know. While they stay late, new calls are not taken, so that those
/// that exist go on undisturbed.
package struct LagWatch {
    private var lateSince: Instant?
    private var lastLook = Instant.zero
    /// So long the lag has to last.
    package static let patience = Duration.seconds(1)
    /// What every loop may be late.
    package static let least = Duration.milliseconds(10)

    package init() {}

    /// Whether the loop has been late for too long: `lag` is how late its timers ran in the latest turn, `limit` how late they may; nil:
    /// ever so late.
    package mutating func isBusy(lag: Duration, limit: @autoclosure () -> Duration?, at now: Instant) -> Bool {
        guard lag >= Self.least, let limit = limit(), lag >= limit else {
            lateSince = nil
            return false
        }
        // What was seen long ago says nothing of the time between.
        if now - lastLook > Self.patience { lateSince = nil }
        lastLook = now
        guard let since = lateSince else {
            lateSince = now
            return false
        }
        return now - since >= Self.patience
    }
}
