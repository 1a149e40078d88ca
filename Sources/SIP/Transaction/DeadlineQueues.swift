// Timers that cost O(1): nearly all timers of SIP run for one of a dozen durations, so each duration has a queue of its own, in
// which what is armed later also ends later. Cancelling is forgetting: a deadline whose owner is gone is skipped at its turn.

import Basics

/// Deadlines of one duration, the earliest first, in a ring.
struct DeadlineQueue<Element: Sendable>: Sendable {
    /// In nanoseconds.
    let duration: Int64
    private var ring: ContiguousArray<(deadline: Int64, element: Element)> = []
    private var head = 0
    private(set) var count = 0

    init(duration: Int64) {
        self.duration = duration
    }

    var firstDeadline: Int64 { count == 0 ? .max : ring[head].deadline }
    var first: Element? { count == 0 ? nil : ring[head].element }

    mutating func append(_ element: Element, deadline: Int64) {
        if count == ring.count { grow(element) }
        ring[(head + count) & (ring.count - 1)] = (deadline, element)
        count += 1
    }

    mutating func removeFirst() {
        head = (head + 1) & (ring.count - 1)
        count -= 1
    }

    /// Places that hold nothing yet are filled with `filler`.
    private mutating func grow(_ filler: Element) {
        var larger = ContiguousArray(repeating: (deadline: Int64.max, element: filler), count: max(16, ring.count * 2))
        for index in 0..<count { larger[index] = ring[(head + index) & (ring.count - 1)] }
        ring = larger
        head = 0
    }
}

/// Timers by duration. `Element` names what a deadline is for; whether it still matters is the caller's to say.
struct DeadlineQueues<Element: Sendable>: Sendable {
    private var queues: ContiguousArray<DeadlineQueue<Element>> = []

    /// The queue of a duration, made when there is none.
    mutating func queue(for duration: Duration) -> Int {
        let nanoseconds = duration.nanoseconds
        if let index = queues.firstIndex(where: { $0.duration == nanoseconds }) { return index }
        queues.append(DeadlineQueue(duration: nanoseconds))
        return queues.count - 1
    }

    /// Starts a timer in a queue at `now`; gives its deadline. Instants must not go backwards.
    mutating func arm(_ element: Element, in queue: Int, at now: Instant) -> Int64 {
        let (sum, overflow) = now.nanoseconds.addingReportingOverflow(queues[queue].duration)
        let deadline = overflow ? .max : sum
        queues[queue].append(element, deadline: deadline)
        return deadline
    }

    /// The earliest deadline that `isLive`; the forgotten ones before it are dropped. `Int64.max` without any.
    mutating func nextDeadline(_ isLive: (Element) -> Bool) -> Int64 {
        var earliest = Int64.max
        for index in queues.indices {
            while let first = queues[index].first, !isLive(first) { queues[index].removeFirst() }
            earliest = min(earliest, queues[index].firstDeadline)
        }
        return earliest
    }

    /// The earliest element whose deadline is at or before `now`.
    mutating func popDue(_ now: Instant) -> Element? {
        var best = -1
        var earliest = Int64.max
        for index in queues.indices where queues[index].firstDeadline < earliest {
            earliest = queues[index].firstDeadline
            best = index
        }
        guard best >= 0, earliest <= now.nanoseconds else { return nil }
        defer { queues[best].removeFirst() }
        return queues[best].first
    }
}
