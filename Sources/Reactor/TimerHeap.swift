package import Basics

/// A timer of a loop. It runs once; a cancelled one never runs.
package final class LoopTimer {
    package let deadline: Instant
    fileprivate var index: Int
    fileprivate var action: (() -> Void)?
    fileprivate unowned let heap: TimerHeap

    fileprivate init(deadline: Instant, index: Int, heap: TimerHeap, action: @escaping () -> Void) {
        self.deadline = deadline
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
        heap.remove(at: index)
    }
}

/// A loop's timers: a heap with four children a node, in which each timer knows its place, so that cancelling frees at once.
/// Timers of one instant run in the order in which they were made. What they are ordered by lies in the nodes: only timers that move
/// are touched.
final class TimerHeap {
    private struct Key {
        let deadline: Instant
        let order: UInt64

        @inline(__always)
        func precedes(_ other: Key) -> Bool {
            deadline == other.deadline ? order < other.order : deadline < other.deadline
        }
    }

    private struct Node {
        let key: Key
        let timer: LoopTimer
    }

    @exclusivity(unchecked) private var nodes: [Node] = []
    @exclusivity(unchecked) private var made: UInt64 = 0

    var count: Int { nodes.count }
    var nextDeadline: Instant? { nodes.first?.key.deadline }

    func add(at deadline: Instant, _ action: @escaping () -> Void) -> LoopTimer {
        made += 1
        let timer = LoopTimer(deadline: deadline, index: nodes.count, heap: self, action: action)
        nodes.append(Node(key: Key(deadline: deadline, order: made), timer: timer))
        siftUp(from: nodes.count - 1)
        return timer
    }

    /// The number of the timer made last: what is made later waits for the next turn.
    var lastMade: UInt64 { made }

    /// The action of the first timer that is due at `now` and was made no later than the timer numbered `limit`, taken out.
    /// A due timer made later stops the search: it comes in the next turn, so that a timer that makes a due timer starves nobody.
    func popDue(at now: Instant, madeUntil limit: UInt64 = .max) -> (() -> Void)? {
        guard let key = nodes.first?.key, key.deadline <= now, key.order <= limit else { return nil }
        let timer = nodes[0].timer
        let action = timer.action
        timer.action = nil
        remove(at: 0)
        return action
    }

    /// Takes all out unrun: the loop ends.
    func removeAll() {
        for node in nodes { node.timer.action = nil }
        nodes.removeAll()
    }

    fileprivate func remove(at index: Int) {
        let last = nodes.count - 1
        if index != last { nodes.swapAt(index, last) }
        nodes.removeLast()
        guard index != last else { return }
        if !siftUp(from: index) { siftDown(from: index) }
    }

    /// Moves a node up to its place; false when it stays, its timer knows the place in any case.
    @discardableResult
    private func siftUp(from start: Int) -> Bool {
        nodes.withUnsafeMutableBufferPointer { nodes in
            var index = start
            while index > 0 {
                let parent = (index - 1) / 4
                guard nodes[index].key.precedes(nodes[parent].key) else { break }
                nodes.swapAt(index, parent)
                nodes[index].timer.index = index
                index = parent
            }
            nodes[index].timer.index = index
            return index != start
        }
    }

    private func siftDown(from start: Int) {
        nodes.withUnsafeMutableBufferPointer { nodes in
            var index = start
            while true {
                let firstChild = index * 4 + 1
                guard firstChild < nodes.count else { break }
                var least = firstChild
                for child in firstChild + 1..<max(firstChild + 1, min(firstChild + 4, nodes.count))
                where nodes[child].key.precedes(nodes[least].key) {
                    least = child
                }
                guard nodes[least].key.precedes(nodes[index].key) else { break }
                nodes.swapAt(index, least)
                nodes[index].timer.index = index
                index = least
            }
            nodes[index].timer.index = index
        }
    }
}
