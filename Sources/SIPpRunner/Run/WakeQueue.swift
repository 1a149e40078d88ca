// The deadlines of all calls behind one timer of the loop. A call is noted once for its earliest deadline; one that has moved to a later
// time is noted anew when the earlier one comes, so that a timer that is set and cleared for each message costs next to nothing.

import Basics
import Reactor

final class WakeQueue {
    private struct Entry {
        let instant: Instant
        let call: ScenarioCall
    }

    private let loop: EventLoop
    private var heap: [Entry] = []
    private var timer: LoopTimer?

    init(loop: EventLoop) {
        self.loop = loop
    }

    /// Notes a call's `wake`.
    func note(_ call: ScenarioCall) {
        call.noted = call.wake
        heap.append(Entry(instant: call.wake, call: call))
        var place = heap.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard heap[place].instant < heap[parent].instant else { break }
            heap.swapAt(place, parent)
            place = parent
        }
        if place == 0 { arm() }
    }

    func close() {
        timer?.cancel()
        timer = nil
        heap = []
    }

    private func arm() {
        guard let first = heap.first else { return }
        if let timer, timer.isPending, timer.deadline <= first.instant { return }
        timer?.cancel()
        timer = loop.schedule(at: first.instant) { [unowned self] in fire() }
    }

    private func fire() {
        let now = loop.now
        // What is noted meanwhile, and is due already, waits for the loop's next turn: nobody else would have one.
        var left = heap.count
        while left > 0, let first = heap.first, first.instant <= now {
            left -= 1
            let call = first.call
            removeFirst()
            guard !call.isOver, call.noted == first.instant else { continue }
            call.noted = .never
            if call.wake <= now { call.wakeUp() } else if call.wake != .never { note(call) }
        }
        arm()
    }

    private func removeFirst() {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = last
        var place = 0
        while true {
            let left = place * 2 + 1
            guard left < heap.count else { return }
            let least = left + 1 < heap.count && heap[left + 1].instant < heap[left].instant ? left + 1 : left
            guard heap[least].instant < heap[place].instant else { return }
            heap.swapAt(place, least)
            place = least
        }
    }
}
