// The deadlines of all calls behind one timer of the loop. A call is noted once for its earliest deadline; one that has moved to a later
// time is noted anew when the earlier one comes, so that a timer that is set and cleared for each message costs next to nothing.

import Basics
import Reactor

final class WakeQueue {
    /// Owns its call by hand: entries move in the heap without being counted.
    private struct Entry {
        let instant: Instant
        let call: Unmanaged<ScenarioCall>
    }

    /// With many calls deadlines that lie close together come together: a turn of the loop for each would cost more than they do.
    private static let grain = Duration.milliseconds(1)
    private static let many = 256

    private let loop: EventLoop
    private var heap: [Entry] = []
    private var timer: LoopTimer?

    init(loop: EventLoop) {
        self.loop = loop
    }

    /// Notes a call's `wake`.
    func note(_ call: ScenarioCall) {
        call.noted = call.wake
        let entry = Entry(instant: call.wake, call: .passRetained(call))
        heap.append(entry)
        var place = heap.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard entry.instant < heap[parent].instant else { break }
            heap[place] = heap[parent]
            place = parent
        }
        heap[place] = entry
        if place == 0 { arm() }
    }

    func close() {
        timer?.cancel()
        timer = nil
        for entry in heap { entry.call.release() }
        heap = []
    }

    deinit { for entry in heap { entry.call.release() } }

    private func arm() {
        guard let first = heap.first else { return }
        if let timer, timer.isPending, timer.deadline <= first.instant { return }
        timer?.cancel()
        let instant = heap.count < Self.many ? first.instant : first.instant.roundedUp(to: Self.grain)
        timer = loop.schedule(at: instant) { [unowned self] in fire() }
    }

    private func fire() {
        let now = loop.now
        // What is noted meanwhile, and is due already, waits for the loop's next turn: nobody else would have one.
        var left = heap.count
        while left > 0, let first = heap.first, first.instant <= now {
            left -= 1
            let call = first.call.takeRetainedValue()
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
        var place = 0
        while true {
            let left = place * 2 + 1
            guard left < heap.count else { break }
            let least = left + 1 < heap.count && heap[left + 1].instant < heap[left].instant ? left + 1 : left
            guard heap[least].instant < last.instant else { break }
            heap[place] = heap[least]
            place = least
        }
        heap[place] = last
    }
}
