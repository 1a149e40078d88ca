import Basics
import Reactor
import Testing

@Suite struct VirtualLoopTests {
    @Test func tasksWaitOnTheLoopsClock() {
        let loop = VirtualLoop()
        var order: [String] = []
        loop.spawn {
            try? await loop.sleep(for: .seconds(2))
            order.append("two at \(loop.now.nanoseconds)")
        }
        loop.spawn {
            try? await loop.sleep(for: .seconds(1))
            order.append("one at \(loop.now.nanoseconds)")
        }
        #expect(loop.run())
        #expect(order == ["one at 1000000000", "two at 2000000000"])
        #expect(loop.liveTasks == 0)
        #expect(loop.pendingTimers == 0)
    }

    @Test func cancellingEndsAWaitAtOnce() {
        let loop = VirtualLoop()
        var ended: Instant?
        let task = loop.spawn {
            try? await loop.sleep(for: .seconds(100))
            ended = loop.now
        }
        loop.schedule(after: .seconds(1)) { task.cancel() }
        #expect(loop.run())
        #expect(ended == .zero + .seconds(1))
        #expect(loop.pendingTimers == 0)
    }
}
