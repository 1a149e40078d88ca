// When calls want to be woken: one timer of the loop for all of a shard. Nearly every call asks once, for the repetition of its 200,
// and has its ACK long before: a timer of its own would be made and cancelled for nothing. So a wish is never taken back; a call that
// is over, or has nothing to do any more, is passed over.

import Basics

/// A heap of wishes, the earliest first.
struct CallWakes {
    private struct Wish {
        var at: Instant
        var call: ObjectIdentifier
    }

    private var heap: [Wish] = []

    var earliest: Instant { heap.first?.at ?? .never }

    mutating func add(_ call: ObjectIdentifier, at instant: Instant) {
        var index = heap.count
        heap.append(Wish(at: instant, call: call))
        while index > 0, heap[(index - 1) / 2].at > instant {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// A call whose time has come, taken out.
    mutating func popDue(at now: Instant) -> ObjectIdentifier? {
        guard let first = heap.first, first.at <= now else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first.call }
        heap[0] = last
        var index = 0
        while true {
            var least = index
            for child in index * 2 + 1...index * 2 + 2 where child < heap.count && heap[child].at < heap[least].at {
                least = child
            }
            guard least != index else { return first.call }
            heap.swapAt(index, least)
            index = least
        }
    }
}
