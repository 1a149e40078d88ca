import Basics
import Glibc
import Reactor
import Testing

@Suite struct EpollLoopTests {
    @Test func tasksAndTimersKeepTheirOrder() async throws {
        try await LoopKind.epoll.run { loop in
            var order: [Int] = []
            let begin = loop.now
            loop.spawn {
                try? await loop.sleep(for: .milliseconds(4))
                order.append(2)
            }
            loop.spawn {
                try? await loop.sleep(for: .milliseconds(2))
                order.append(1)
            }
            let cancelled = loop.spawn {
                do { try await loop.sleep(for: .seconds(100)) } catch { order.append(0) }
            }
            cancelled.cancel()
            try await loop.sleep(for: .milliseconds(6))
            #expect(order == [0, 1, 2])
            #expect(loop.now - begin >= .milliseconds(6))
            #expect(loop.isCurrent)
        }
    }

    @Test func actionsOfManyThreadsAllRun() async throws {
        let loop = try EpollLoop(name: "busy")
        try loop.start()
        let pool = try WorkerPool(name: "pushers", threads: 4, limit: 100)
        let count = Locked(0)
        let perThread = 5000
        for _ in 0..<4 {
            try pool.submit { for _ in 0..<perThread { loop.execute { count.withLock { $0 += 1 } } } }
        }
        pool.stop()
        #expect(!loop.isCurrent)
        let metrics: LoopMetrics = await withCheckedContinuation { continuation in
            loop.execute { continuation.resume(returning: loop.metrics) }
        }
        #expect(loop.stop() == EpollLoop.Leftovers())
        #expect(count.withLock { $0 } == 4 * perThread)
        #expect(metrics.jobs >= 4 * UInt64(perThread) && metrics.turns > 0)
    }

    @Test func stoppingClosesAndCountsWhatIsLeft() async throws {
        let loop = try EpollLoop(name: "left", core: 0)
        try loop.start()
        await withCheckedContinuation { continuation in
            loop.execute {
                _ = bound(on: loop)
                _ = try? loop.listen(on: loopback) { _ in }
                loop.spawn { try? await loop.sleep(for: .seconds(1000)) }
                loop.schedule(after: .seconds(1000)) {}
                loop.spawn {
                    await Yields().run()
                    continuation.resume()
                }
            }
        }
        var expected = EpollLoop.Leftovers()
        expected.tasks = 1
        expected.sockets = 2
        expected.timers = 2
        #expect(loop.stop(within: .milliseconds(1)) == expected)
    }

    /// Hands over to other tasks of the loop a few times.
    private struct Yields {
        func run() async { for _ in 0..<10 { await Task.yield() } }
    }

    @Test func aLoopWaitsForItsTasksWhenItMay() async throws {
        let loop = try EpollLoop(name: "grace")
        try loop.start()
        let ended = Locked(false)
        loop.execute {
            loop.spawn {
                try? await loop.sleep(for: .milliseconds(3))
                ended.withLock { $0 = true }
            }
        }
        #expect(loop.stop(within: .seconds(10)) == EpollLoop.Leftovers())
        #expect(ended.withLock { $0 })
        loop.execute { Issue.record("a stopped loop runs nothing") }
    }

    @Test func signalsReachTheLoop() async throws {
        try await LoopKind.epoll.run { loop in
            guard let loop = loop as? EpollLoop else { return }
            let signals = Mailbox<ProcessSignal>(loop: loop)
            let source = try SignalSource(loop: loop, signals: [.hangup]) { signals.send($0) }
            kill(getpid(), SIGHUP)
            #expect(try await signals.next(until: loop.now + .seconds(5)) == .hangup)
            source.close()
        }
    }

    @Test func theDescriptorLimitIsRaised() throws {
        let limit = try DescriptorLimit.raise()
        #expect(limit.current == limit.maximum && limit.current >= 256)
        let read = try DescriptorLimit.read()
        #expect(read == limit)
    }

    @Test func everyTimersLatenessIsCounted() async throws {
        try await LoopKind.epoll.run { loop in
            guard let loop = loop as? EpollLoop else { return }
            for number in 1...50 { loop.schedule(after: .microseconds(number * 20)) {} }
            try await loop.sleep(for: .milliseconds(2))
            let metrics = loop.metrics
            #expect(metrics.timers == 51)
            #expect(metrics.lateness.buckets.reduce(0, +) == 51)
            #expect(metrics.lateness.maximum > 0)
            #expect(metrics.lateness.quantile(0.5) <= metrics.lateness.quantile(0.99))
            #expect(metrics.lateness.quantile(1) <= metrics.lateness.maximum)
        }
    }
}
