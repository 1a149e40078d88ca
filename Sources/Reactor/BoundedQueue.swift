/// Hands values from any thread over to a loop. It holds a bounded number; what finds it full is dropped and counted. The loop is
/// woken once for a burst, and gets all that has gathered.
package final class BoundedQueue<Element: Sendable>: Sendable {
    private struct State: Sendable {
        var elements: [Element] = []
        /// The consumer is on its way.
        var isAnnounced = false
        var dropped: UInt64 = 0
        var isClosed = false
    }

    package let limit: Int
    private let loop: EventLoop
    private let state = Locked(State())
    private let consume: Confined<([Element]) -> Void>

    /// `consume` runs on `loop`, with at least one element, in the order of their arrival.
    package init(limit: Int, loop: EventLoop, consume: @escaping ([Element]) -> Void) {
        precondition(limit > 0, "a queue holds something")
        self.limit = limit
        self.loop = loop
        self.consume = Confined(consume)
    }

    /// From any thread. False when it was dropped: the queue is full or closed, or fewer than `leaving` places would be left for what
    /// matters more.
    @discardableResult
    package func push(_ element: Element, leaving room: Int = 0) -> Bool {
        let (isTaken, mustAnnounce) = state.withLock { state -> (Bool, Bool) in
            guard state.elements.count < limit - room, !state.isClosed else {
                state.dropped += 1
                return (false, false)
            }
            state.elements.append(element)
            defer { state.isAnnounced = true }
            return (true, !state.isAnnounced)
        }
        if mustAnnounce { loop.execute { self.deliver() } }
        return isTaken
    }

    private func deliver() {
        let burst = state.withLock { state in
            let burst = state.elements
            state.elements = []
            state.isAnnounced = false
            return burst
        }
        if !burst.isEmpty { consume.value(burst) }
    }

    /// Elements dropped so far.
    package var dropped: UInt64 { state.withLock { $0.dropped } }
    /// Elements that wait.
    package var count: Int { state.withLock { $0.elements.count } }

    /// Takes no more and forgets what waits. What is pushed afterwards counts as dropped.
    package func close() {
        state.withLock { state in
            state.isClosed = true
            state.elements = []
        }
    }
}
