// Timers that cost O(1): nearly all timers of SIP run for one of a dozen durations, so each duration has a queue of its own, in
// which what is armed later also ends later. Cancelling is forgetting: a deadline whose owner is gone is skipped at its turn.

package import Basics

/// Deadlines of one duration, the earliest first, in a ring.
struct DeadlineQueue<Element: Sendable>: Sendable {
    let duration: Duration
    private var ring: ContiguousArray<(deadline: Int64, element: Element)?> = ContiguousArray(repeating: nil, count: 16)
    private var head = 0
    private(set) var count = 0

    init(duration: Duration) {
        self.duration = duration
    }

    var firstDeadline: Int64 { count == 0 ? .max : ring[head]!.deadline }
    var first: Element? { count == 0 ? nil : ring[head]!.element }

    mutating func append(_ element: Element, deadline: Int64) {
        if count == ring.count { grow() }
        ring[(head + count) & (ring.count - 1)] = (deadline, element)
        count += 1
    }

    mutating func removeFirst() -> Element {
        let element = ring[head]!.element
        ring[head] = nil
        head = (head + 1) & (ring.count - 1)
        count -= 1
        return element
    }

    private mutating func grow() {
        var larger = ContiguousArray<(deadline: Int64, element: Element)?>(repeating: nil, count: ring.count * 2)
        for index in 0..<count { larger[index] = ring[(head + index) & (ring.count - 1)] }
        ring = larger
        head = 0
    }
}

/// Timers by duration. `Element` names what a deadline is for; whether it still matters is the caller's to say.
package struct DeadlineQueues<Element: Sendable>: Sendable {
    private var queues: [DeadlineQueue<Element>] = []

    package init() {}

    /// How many deadlines wait, forgotten ones included.
    package var count: Int { queues.reduce(0) { $0 + $1.count } }

    /// Starts a timer of `duration` at `now`. Instants must not go backwards.
    package mutating func arm(_ element: Element, after duration: Duration, at now: Instant) {
        let deadline = (now + duration).nanoseconds
        for index in queues.indices where queues[index].duration == duration {
            queues[index].append(element, deadline: deadline)
            return
        }
        queues.append(DeadlineQueue(duration: duration))
        queues[queues.count - 1].append(element, deadline: deadline)
    }

    /// The earliest deadline that `isLive`; the forgotten ones before it are dropped. `never` without any.
    package mutating func nextDeadline(_ isLive: (Element) -> Bool) -> Instant {
        var earliest = Int64.max
        for index in queues.indices {
            while let first = queues[index].first, !isLive(first) { _ = queues[index].removeFirst() }
            earliest = min(earliest, queues[index].firstDeadline)
        }
        return Instant(nanoseconds: earliest)
    }

    /// The earliest element whose deadline is at or before `now`.
    package mutating func popDue(_ now: Instant) -> Element? {
        var best = -1
        var earliest = Int64.max
        for index in queues.indices where queues[index].firstDeadline < earliest {
            earliest = queues[index].firstDeadline
            best = index
        }
        return best >= 0 && earliest <= now.nanoseconds ? queues[best].removeFirst() : nil
    }
}
