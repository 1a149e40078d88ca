import Basics
import Reactor
import Testing

private struct WorkFailed: Error, Equatable {}

/// Worker pools, bounded queues, descriptions of errors.
@Suite struct HandOverTests {
    @Test(arguments: LoopKind.allCases) func workComesBackToItsLoop(_ kind: LoopKind) async throws {
        let pool = kind == .virtual ? WorkerPool.inline(name: "work") : try WorkerPool(name: "work", threads: 2, limit: 10)
        try await kind.run { loop in
            let sum = try await pool.run(on: loop) { (1...100).reduce(0, +) }
            #expect(sum == 5050 && loop.isCurrent)
            await #expect(throws: WorkFailed.self) {
                _ = try await pool.run(on: loop) { throw WorkFailed() }
            }
            #expect(loop.isCurrent)
        }
        pool.stop()
        #expect(pool.counters.done == 2 && pool.counters.refused == 0)
    }

    @Test func aFullPoolRefusesAndAStoppedOneToo() throws {
        let pool = try WorkerPool(name: "full", threads: 1, limit: 3)
        let gate = Locked(0)
        let order = Locked<[Int]>([])
        // The lock is held until the queue has been filled: the one thread stands at its first work.
        try gate.withLock { _ in
            try pool.submit { gate.withLock { $0 += 1 } }
            while pool.counters.running == 0 {}
            for number in 0..<3 { try pool.submit { order.withLock { $0.append(number) } } }
            #expect(throws: WorkRefused.full) { try pool.submit {} }
        }
        pool.stop()
        #expect(order.withLock { $0 } == [0, 1, 2], "one thread keeps the order, and stopping does what waits")
        #expect(throws: WorkRefused.stopped) { try pool.submit {} }
        #expect(pool.counters.done == 4 && pool.counters.refused == 2 && pool.counters.longestQueue == 3)
        #expect(pool.counters.running == 0 && pool.counters.waiting == 0)
    }

    @Test func cancellingDoesNotWaitForTheWork() async throws {
        let pool = try WorkerPool(name: "slow", threads: 1, limit: 3)
        let gate = Locked(0)
        try await LoopKind.epoll.run { loop in
            let ended = Waiter<Bool>()
            // The work cannot end while this turn holds the lock; the cancelled task can.
            gate.withLock { _ in
                let task = loop.spawn {
                    do {
                        try await pool.run(on: loop) { gate.withLock { $0 += 1 } }
                        ended.resume(returning: false)
                    } catch { ended.resume(returning: error is CancellationError) }
                }
                task.cancel()
            }
            let wasCancelled = try await ended.wait()
            #expect(wasCancelled)
        }
        pool.stop()
        #expect(pool.counters.done <= 1)
    }

    @Test func aBoundedQueueDropsAndWakesOnceForABurst() async throws {
        try await LoopKind.epoll.run { loop in
            var bursts: [[Int]] = []
            let last = Waiter<Void>()
            let queue = BoundedQueue<Int>(limit: 5, loop: loop) {
                bursts.append($0)
                if $0.contains(99) { last.resume(returning: ()) }
            }
            for number in 0..<8 { #expect(queue.push(number) == (number < 5)) }
            #expect(queue.count == 5 && queue.dropped == 3)
            try await loop.sleep(for: .milliseconds(1))
            queue.push(99)
            try await last.wait()
            #expect(bursts == [[0, 1, 2, 3, 4], [99]])
            queue.close()
            #expect(!queue.push(1) && queue.dropped == 4)
        }
    }

    @Test func aBoundedQueueKeepsEachThreadsOrder() async throws {
        let pool = try WorkerPool(name: "push", threads: 3, limit: 3)
        try await LoopKind.epoll.run { loop in
            var received: [Int] = []
            let all = Waiter<Void>()
            let queue = BoundedQueue<Int>(limit: 10_000, loop: loop) {
                received += $0
                if received.count == 3000 { all.resume(returning: ()) }
            }
            for thread in 0..<3 {
                try pool.submit { for number in 0..<1000 { queue.push(thread * 1000 + number) } }
            }
            try await all.wait()
            for thread in 0..<3 {
                #expect(received.filter { $0 / 1000 == thread } == Array(thread * 1000..<(thread + 1) * 1000))
            }
        }
        pool.stop()
    }
}
