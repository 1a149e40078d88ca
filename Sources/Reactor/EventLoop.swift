package import Basics
import CLinux

/// The home of calls: one thread that runs timers, sockets and tasks, one thing after another.
///
/// Objects that belong to a loop (sockets, calls, media) are plain classes without locks. They are made, used and released on
/// their loop only; `preconditionOnLoop()` guards the doors. A loop is the `TaskExecutor` of the tasks that `spawn` starts, so an
/// `async` function on such an object runs on the loop from the first to the last line. It is no actor's executor: a task that calls an
/// `async` function then stays in its turn, where an executor of both kinds would queue it anew. Nothing that runs here may block.
///
/// Two kinds exist: `EpollLoop` (the kernel's sockets, the monotonic clock) and `VirtualLoop` (an in-memory network, a clock turned
/// by hand).
///
/// `@unchecked Sendable`: what may be called from any thread is `execute`, `enqueue` and the constants; the rest is confined to the
/// loop and checked at run time.
package class EventLoop: TaskExecutor, @unchecked Sendable {
    /// For logs and metrics.
    package let name: String
    let timers = TimerHeap()
    /// Tasks that live: they end before the loop does (counted at shutdown and by tests).
    @exclusivity(unchecked) package private(set) var liveTasks = 0
    /// Sockets, listeners and connections that are open on this loop: none is left when all is closed.
    package internal(set) var openSockets = 0
    /// What asked to be called when this turn ends.
    @exclusivity(unchecked) private var ending: [any TurnEnd] = []

    package init(name: String) {
        self.name = name
    }

    /// The current instant: read once per wake-up, so that everything in one turn sees the same time.
    package var now: Instant { fatalError("a kind of loop defines its clock") }

    /// How late the timers of the latest turn ran: what a loop that has too much to do shows first.
    package var lag: Duration { .zero }

    /// The wall clock, in seconds since 1970: for records, never for waiting.
    package var wallClock: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Whether the caller runs on this loop.
    package var isCurrent: Bool { fatalError("a kind of loop knows its thread") }

    /// Runs `action` on the loop, soon. From any thread.
    package func execute(_ action: @escaping @Sendable () -> Void) { fatalError("a kind of loop has its queue") }

    package func enqueue(_ job: UnownedJob) { fatalError("a kind of loop has its queue") }

    package final func enqueue(_ job: consuming ExecutorJob) {
        enqueue(UnownedJob(job))
    }

    package final func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

    /// Traps when called from another thread: touching a loop's objects from elsewhere is a fault of ours.
    package final func preconditionOnLoop(_ place: StaticString = #function) {
        precondition(isCurrent, "\(place) belongs to the loop")
    }

    /// Calls `object` once at the end of this turn: for what gathers work, as batches of datagrams do. On the loop only.
    final func atTurnEnd(_ object: any TurnEnd) { ending.append(object) }

    /// Whether `endTurn` has work.
    final var turnHasEnd: Bool { !ending.isEmpty }

    final func endTurn() {
        var index = 0
        while index < ending.count {
            ending[index].turnEnds()
            index += 1
        }
        ending.removeAll(keepingCapacity: true)
    }

    // MARK: Sockets

    /// Opens a datagram socket on `address`; port 0 lets the system choose, an unspecified IP takes all of this host. On the loop only.
    package func bindDatagram(
        to address: SocketAddress, options: DatagramOptions = DatagramOptions()
    ) throws(SystemError) -> DatagramSocket {
        fatalError("a kind of loop has its network")
    }

    /// Listens for streams on `address`; port 0 lets the system choose. On the loop only.
    package func listen(
        on address: SocketAddress, options: StreamOptions = StreamOptions(), onAccept: @escaping (StreamConnection) -> Void
    ) throws(SystemError) -> StreamListener {
        fatalError("a kind of loop has its network")
    }

    /// Starts to connect a stream to `address`. The connection comes back at once and takes what is to be sent; `onOpen` tells that
    /// it stands, `onClose` that it does not (also after `timeout`). Neither runs before this call is over. On the loop only.
    package func openStream(
        to address: SocketAddress, from local: SocketAddress? = nil, timeout: Duration = .seconds(10),
        options: StreamOptions = StreamOptions()
    ) -> StreamConnection {
        fatalError("a kind of loop has its network")
    }

    /// The address of this host from which `peer` is reached; nil when there is no way to it.
    package func localAddress(toReach peer: IPAddress) -> IPAddress? { fatalError("a kind of loop has its network") }

    // MARK: Timers

    /// Runs `action` on the loop at `instant`; at once (in the next turn) when that is past. On the loop only.
    @discardableResult
    package final func schedule(at instant: Instant, _ action: @escaping () -> Void) -> LoopTimer {
        preconditionOnLoop()
        return timers.add(at: instant, action)
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

/// What gathers work during a turn of a loop and does it at the end.
protocol TurnEnd: AnyObject {
    func turnEnds()
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
@usableFromInline
struct Confined<Value>: @unchecked Sendable {
    @usableFromInline let value: Value

    @inlinable init(_ value: Value) {
        self.value = value
    }
}
