package import Basics

/// A timer of a loop. It runs once; a cancelled one never runs.
package final class LoopTimer {
    package let deadline: Instant
    fileprivate let order: UInt64
    fileprivate var index: Int
    fileprivate var action: (() -> Void)?
    fileprivate unowned let heap: TimerHeap

    fileprivate init(deadline: Instant, order: UInt64, index: Int, heap: TimerHeap, action: @escaping () -> Void) {
        self.deadline = deadline
        self.order = order
        self.index = index
        self.heap = heap
        self.action = action
    }

    /// Whether it still waits.
    package var isPending: Bool { action != nil }

    /// Takes the timer out and releases what its action holds.
    package func cancel() {
        guard action != nil else { return }
        action = nil
        heap.remove(self, at: index)
    }

    fileprivate static func precedes(_ left: LoopTimer, _ right: LoopTimer) -> Bool {
        left.deadline == right.deadline ? left.order < right.order : left.deadline < right.deadline
    }
}

/// A loop's timers: a heap with four children a node, in which each timer knows its place, so that cancelling frees at once.
/// Timers of one instant run in the order in which they were made.
final class TimerHeap {
    private var nodes: [LoopTimer] = []
    private var made: UInt64 = 0

    var count: Int { nodes.count }
    var nextDeadline: Instant? { nodes.first?.deadline }

    func add(at deadline: Instant, _ action: @escaping () -> Void) -> LoopTimer {
        made += 1
        let timer = LoopTimer(deadline: deadline, order: made, index: nodes.count, heap: self, action: action)
        nodes.append(timer)
        siftUp(timer, from: nodes.count - 1)
        return timer
    }

    /// The number of the timer made last: what is made later waits for the next turn.
    var lastMade: UInt64 { made }

    /// The action of the first timer that is due at `now` and was made no later than the timer numbered `limit`, taken out.
    /// A due timer made later stops the search: it comes in the next turn, so that a timer that makes a due timer starves nobody.
    func popDue(at now: Instant, madeUntil limit: UInt64 = .max) -> (() -> Void)? {
        guard let first = nodes.first, first.deadline <= now, first.order <= limit else { return nil }
        let action = first.action
        first.action = nil
        remove(first, at: 0)
        return action
    }

    /// Takes all out unrun: the loop ends.
    func removeAll() {
        for timer in nodes { timer.action = nil }
        nodes.removeAll()
    }

    fileprivate func remove(_ timer: LoopTimer, at index: Int) {
        let last = nodes.removeLast()
        guard last !== timer else { return }
        siftDown(last, from: index)
        if last.index == index { siftUp(last, from: index) }
    }

    private func siftUp(_ timer: LoopTimer, from start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 4
            guard LoopTimer.precedes(timer, nodes[parent]) else { break }
            place(nodes[parent], at: index)
            index = parent
        }
        place(timer, at: index)
    }

    private func siftDown(_ timer: LoopTimer, from start: Int) {
        var index = start
        while true {
            let firstChild = index * 4 + 1
            guard firstChild < nodes.count else { break }
            var least = firstChild
            for child in firstChild + 1..<max(firstChild + 1, min(firstChild + 4, nodes.count))
            where LoopTimer.precedes(nodes[child], nodes[least]) {
                least = child
            }
            guard LoopTimer.precedes(nodes[least], timer) else { break }
            place(nodes[least], at: index)
            index = least
        }
        place(timer, at: index)
    }

    private func place(_ timer: LoopTimer, at index: Int) {
        nodes[index] = timer
        timer.index = index
    }
}
