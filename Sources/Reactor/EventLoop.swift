package import Basics

/// The home of calls: one thread that runs timers, sockets and tasks, one thing after another.
///
/// Objects that belong to a loop (sockets, calls, media) are plain classes without locks. They are made, used and released on
/// their loop only; `preconditionOnLoop()` guards the doors. A loop is the `TaskExecutor` of the tasks that `spawn` starts, so an
/// `async` function on such an object runs on the loop from the first to the last line, and it is the `SerialExecutor` of actors
/// that choose it. Nothing that runs here may block.
///
/// Two kinds exist: `EpollLoop` (the kernel's sockets, the monotonic clock) and `VirtualLoop` (an in-memory network, a clock turned
/// by hand).
///
/// `@unchecked Sendable`: what may be called from any thread is `execute`, `enqueue` and the constants; the rest is confined to the
/// loop and checked at run time.
package class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    /// For logs and metrics.
    package let name: String
    let timers = TimerHeap()
    /// Tasks that live: they end before the loop does (counted at shutdown and by tests).
    package private(set) var liveTasks = 0

    package init(name: String) {
        self.name = name
    }

    /// The current instant: read once per wake-up, so that everything in one turn sees the same time.
    package var now: Instant { fatalError("a kind of loop defines its clock") }

    /// Whether the caller runs on this loop.
    package var isCurrent: Bool { fatalError("a kind of loop knows its thread") }

    /// Runs `action` on the loop, soon. From any thread.
    package func execute(_ action: @escaping @Sendable () -> Void) { fatalError("a kind of loop has its queue") }

    package func enqueue(_ job: UnownedJob) { fatalError("a kind of loop has its queue") }

    package final func enqueue(_ job: consuming ExecutorJob) {
        enqueue(UnownedJob(job))
    }

    package final func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
    package final func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }
    package final func isSameExclusiveExecutionContext(other: EventLoop) -> Bool { self === other }
    package final func checkIsolated() { preconditionOnLoop() }

    /// Traps when called from another thread: touching a loop's objects from elsewhere is a fault of ours.
    package final func preconditionOnLoop(_ place: StaticString = #function) {
        precondition(isCurrent, "\(place) belongs to the loop")
    }

    // MARK: Timers

    /// Runs `action` on the loop at `instant`; at once (in the next turn) when that is past. On the loop only.
    @discardableResult
    package final func schedule(at instant: Instant, _ action: @escaping () -> Void) -> LoopTimer {
        timers.add(at: instant, action)
    }

    /// Runs `action` on the loop after `delay`. On the loop only.
    @discardableResult
    package final func schedule(after delay: Duration, _ action: @escaping () -> Void) -> LoopTimer {
        schedule(at: now + delay, action)
    }

    // MARK: Tasks

    /// Starts a task that runs on this loop. On the loop only: what `body` captures may belong to the loop.
    @discardableResult
    package final func spawn(_ body: @escaping () async -> Void) -> LoopTask {
        preconditionOnLoop()
        liveTasks += 1
        // The closure never leaves the loop: the task's executor is the loop itself.
        let confined = Confined(body)
        return LoopTask(
            Task(executorPreference: self) {
                await confined.value()
                self.liveTasks -= 1
            })
    }

    /// Waits on the loop's clock. Throws when the task is cancelled, at once.
    package final func sleep(for delay: Duration) async throws(CancellationError) {
        try await sleep(until: now + delay)
    }

    package final func sleep(until instant: Instant) async throws(CancellationError) {
        let over = Waiter<Void>()
        let timer = schedule(at: instant) { over.resume(returning: ()) }
        defer { timer.cancel() }
        try await over.wait()
    }
}

/// A task on a loop. Cancel it from its loop: the cancellation handlers run at once, on the thread that cancels.
package struct LoopTask: Sendable {
    private let task: Task<Void, Never>

    init(_ task: Task<Void, Never>) {
        self.task = task
    }

    package func cancel() { task.cancel() }
    /// Waits for the task's end.
    package func finished() async { await task.value }
}

/// Carries a value of a loop through a `@Sendable` closure that runs on the same loop.
/// `@unchecked Sendable`: the value is touched on its loop only.
struct Confined<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
