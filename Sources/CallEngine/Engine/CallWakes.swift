// When calls want to be woken: one timer of the loop for all of a shard. Nearly every call asks once, for the repetition of its 200,
// and has its ACK long before: a timer of its own would be made and cancelled for nothing. So a wish is never taken back; who is
// woken without having anything to do (also the next call in that place) goes on.

import Basics

/// A heap of wishes, the earliest first.
struct CallWakes {
    private struct Wish {
        var at: Instant
        var place: Int
    }

    private var heap: [Wish] = []

    var earliest: Instant { heap.first?.at ?? .never }

    mutating func add(_ place: Int, at instant: Instant) {
        var index = heap.count
        heap.append(Wish(at: instant, place: place))
        while index > 0, heap[(index - 1) / 2].at > instant {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// The place of a call whose time has come, taken out.
    mutating func popDue(at now: Instant) -> Int? {
        guard let first = heap.first, first.at <= now else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first.place }
        heap[0] = last
        var index = 0
        while true {
            var least = index
            for child in index * 2 + 1...index * 2 + 2 where child < heap.count && heap[child].at < heap[least].at {
                least = child
            }
            guard least != index else { return first.place }
            heap.swapAt(index, least)
            index = least
        }
    }
}
