// How a test on real threads waits: for being told, not for time that passes.

import Reactor

/// Whoever changes what a test waits for tells it here; the test looks again then, and only then.
package final class Changes: Sendable {
    private let waiting = Locked<[Outcome<Void>]>([])

    package init() {}

    /// Something changed. From any thread.
    package func tell() {
        let all = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for one in all { one.set(()) }
    }

    /// Waits until `condition` holds; false when it does not within `limit`. Not on a loop.
    package func wait(within limit: Duration, until condition: () -> Bool) -> Bool {
        let end = ContinuousClock.now + limit
        while true {
            // Before it looks: what changes meanwhile is told.
            let told = Outcome<Void>()
            waiting.withLock { $0.append(told) }
            defer { waiting.withLock { $0.removeAll { $0 === told } } }
            if condition() { return true }
            guard told.wait(within: max(.zero, end - .now)) != nil else { return condition() }
        }
    }
}
