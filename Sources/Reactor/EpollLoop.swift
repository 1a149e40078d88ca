package import Basics
import CLinux
import Synchronization

/// The loop of production: a thread of its own around epoll(7) and the monotonic clock.
///
/// A turn is: wait for the kernel (or not at all when there is work), one bounded batch of input and output for each ready
/// descriptor, the timers that are due, a few rounds of jobs, the batches of datagrams gathered meanwhile. What a turn makes beyond
/// that waits for the next one, so that no kind of work starves another.
///
/// Sockets that are read `paced` do not wake a busy loop for each datagram: what arrives gathers for up to `pace`, and one turn takes
/// it all (see `TurnPacing`); so does what comes by a stream again and again. Timers, jobs and all other sockets are served as ever.
///
/// `@unchecked Sendable`: as its superclass; what other threads hand over goes through `inbox`.
package final class EpollLoop: EventLoop, @unchecked Sendable {
    private enum Job {
        case task(UnownedJob)
        case action(@Sendable () -> Void)
    }

    /// What other threads write.
    private struct Inbox {
        var jobs: [Job] = []
        /// The loop waits in the kernel, or is about to: whoever adds a job must wake it.
        var asleep = false
        var stopped = false
    }

    /// What a loop leaves behind when it ends: all zero when its owners cleaned up.
    package struct Leftovers: Equatable, Sendable {
        /// Tasks that had not ended.
        package var tasks = 0
        /// Sockets, listeners and connections that were open; they are closed now.
        package var sockets = 0
        /// Timers that still waited; they never run.
        package var timers = 0

        package init() {}
    }

    private let inbox = Locked(Inbox())
    private let threadIdentity = Atomic<UInt>(0)
    private let core: Int?
    private let poller: Int32
    private let wakeDescriptor: Int32
    private var thread = pthread_t()
    private var started = false
    @exclusivity(unchecked) private var clock: Instant
    @exclusivity(unchecked) private var jobs: [Job] = []
    @exclusivity(unchecked) private var running: [Job] = []
    private var stopDeadline: Instant?
    private var stopTimer: LoopTimer?
    private var leftovers = Leftovers()
    private let events: UnsafeMutablePointer<epoll_event>
    private static let eventLimit = 256
    @exclusivity(unchecked) private var watchers: [Watcher?] = []
    private var generation: UInt32 = 0
    @exclusivity(unchecked) private var pacing: TurnPacing
    /// Where most of the gain is; messages wait half of it on average.
    package static let standardPace = Duration.milliseconds(1)
    let buffers = LoopBuffers()
    /// Who is asked whether packets are captured here.
    package var captures: CaptureWatch {
        get { buffers.captures }
        set { buffers.captures = newValue }
    }
    /// What the loop counts about itself. On the loop only.
    @exclusivity(unchecked) package private(set) var metrics = LoopMetrics()
    /// How late the most overdue timer of this turn was, nanoseconds.
    @exclusivity(unchecked) private var latest: Int64 = 0
    package override var lag: Duration { .nanoseconds(latest) }

    /// `core`: the processor to stay on. The thread takes the first 15 octets of `name`. `pace`: how long a busy loop lets datagrams
    /// gather in its paced sockets; zero: not at all.
    package init(name: String, core: Int? = nil, pace: Duration = standardPace) throws(SystemError) {
        self.core = core
        pacing = TurnPacing(pace)
        poller = try SystemCall.check("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) }
        do throws(SystemError) {
            wakeDescriptor = try SystemCall.check("eventfd") { eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC)) }
        } catch {
            SystemCall.close(poller)
            throw error
        }
        events = .allocate(capacity: Self.eventLimit)
        clock = Instant(nanoseconds: SystemCall.monotonicNanoseconds())
        super.init(name: name)
        precondition(
            rw_epoll_change(poller, EPOLL_CTL_ADD, wakeDescriptor, EPOLLIN.rawValue, .max) == 0, "a new eventfd is watched")
    }

    deinit {
        precondition(!started, "a loop is stopped before it is released")
        events.deallocate()
        SystemCall.close(wakeDescriptor)
        SystemCall.close(poller)
    }

    package override var now: Instant { clock }
    package override var isCurrent: Bool { threadIdentity.load(ordering: .relaxed) == UInt(rw_thread_self()) }

    // MARK: Start and end

    /// Starts the thread. Once.
    package func start() throws(SystemError) {
        precondition(!started, "a loop is started once")
        started = true
        let box = Unmanaged.passRetained(self)
        let result = rw_thread_start(
            &thread,
            { argument in
                let loop = Unmanaged<EpollLoop>.fromOpaque(argument!).takeRetainedValue()
                loop.main()
                return nil
            }, box.toOpaque(), 0)
        guard result == 0 else {
            box.release()
            started = false
            throw SystemError(result, "pthread_create")
        }
    }

    /// Ends the loop and waits for its thread: it runs on until its tasks are over, at most for `grace`, then closes what is open
    /// and tells what that was. Not from the loop itself.
    @discardableResult
    package func stop(within grace: Duration = .zero) -> Leftovers {
        precondition(started && !isCurrent, "a running loop is stopped from another thread")
        execute { [self] in
            stopDeadline = clock + grace
            stopTimer = schedule(at: clock + grace) {}
        }
        pthread_join(thread, nil)
        started = false
        return leftovers
    }

    private func main() {
        threadIdentity.store(UInt(rw_thread_self()), ordering: .relaxed)
        rw_thread_name(name)
        rw_thread_precise_timers()
        if let core { _ = rw_thread_pin(Int32(core)) }
        while !isOver { turn() }
        stopTimer?.cancel()
        leftovers.tasks = liveTasks
        leftovers.sockets = openSockets
        leftovers.timers = timers.count
        end()
        threadIdentity.store(0, ordering: .relaxed)
    }

    private var isOver: Bool {
        guard let stopDeadline else { return false }
        return (liveTasks == 0 && jobs.isEmpty) || clock >= stopDeadline
    }

    private func end() {
        for watcher in watchers { watcher?.loopEnds() }
        let late = inbox.withLock { inbox in
            inbox.stopped = true
            let late = inbox.jobs
            inbox.jobs = []
            return late
        }
        // Tasks get the chance to end; actions on objects that are closed by now are dropped.
        for job in late { if case .task = job { run(job) } }
        timers.removeAll()
        buffers.release()
    }

    // MARK: Jobs

    package override func execute(_ action: @escaping @Sendable () -> Void) { add(.action(action)) }
    package override func enqueue(_ job: UnownedJob) { add(.task(job)) }

    private func add(_ job: Job) {
        if isCurrent {
            jobs.append(job)
            return
        }
        let mustWake = inbox.withLock { inbox in
            guard !inbox.stopped else { return false }
            inbox.jobs.append(job)
            defer { inbox.asleep = false }
            return inbox.asleep
        }
        if mustWake {
            var one: UInt64 = 1
            _ = SystemCall.attempt { write(wakeDescriptor, &one, 8) }
        }
    }

    private func run(_ job: Job) {
        switch job {
        case .task(let task):
            task.runSynchronously(on: asUnownedTaskExecutor())
        case .action(let action): action()
        }
    }

    // MARK: The turn

    private func turn() {
        let wait = waitingTime()
        let ready = wait == 0 && watchers.isEmpty ? 0 : waitForEvents(wait)
        let begin = SystemCall.monotonicNanoseconds()
        clock = Instant(nanoseconds: begin)
        metrics.turns += 1
        for index in 0..<ready { handle(events[index]) }
        if pacing.looks(at: clock) { readGathered() }
        runTimers()
        runJobs()
        endTurn()
        let length = SystemCall.monotonicNanoseconds() - begin
        metrics.busy += length
        metrics.longestTurn = max(metrics.longestTurn, length)
    }

    /// Takes what came from other threads, and says how long the kernel may let the loop sleep: nanoseconds, -1 for no limit.
    private func waitingTime() -> Int64 {
        let hasWork = inbox.withLock { inbox in
            if !inbox.jobs.isEmpty {
                if jobs.isEmpty {
                    swap(&jobs, &inbox.jobs)
                } else {
                    jobs.append(contentsOf: inbox.jobs)
                    inbox.jobs.removeAll(keepingCapacity: true)
                }
            }
            let hasWork = !jobs.isEmpty
            inbox.asleep = !hasWork
            return hasWork
        }
        if hasWork || turnHasEnd { return 0 }
        let deadline = min(timers.nextDeadline ?? .never, pacing.nextLook ?? .never)
        guard deadline != .never else { return -1 }
        return max(0, deadline.nanoseconds - SystemCall.monotonicNanoseconds())
    }

    private func waitForEvents(_ nanoseconds: Int64) -> Int {
        // An interrupted wait is a turn like any other: the time it had left is computed anew.
        let count = rw_epoll_wait(poller, events, Int32(Self.eventLimit), nanoseconds)
        precondition(count >= 0 || rw_errno() == EINTR, "waiting for events failed (errno \(rw_errno()))")
        if nanoseconds != 0 {
            inbox.withLock { $0.asleep = false }
        }
        return max(0, Int(count))
    }

    private func handle(_ event: epoll_event) {
        let data = event.data.u64
        if data == .max {
            var count: UInt64 = 0
            _ = SystemCall.attempt { read(wakeDescriptor, &count, 8) }
            metrics.wakeUps += 1
            return
        }
        let slot = Int(data & 0xFFFF_FFFF)
        // An event of this batch may be about a descriptor that an earlier one closed, whose number is in use again.
        guard slot < watchers.count, let watcher = watchers[slot], watcher.generation == UInt32(data >> 32) else { return }
        watcher.ready(event.events)
        // The kernel has stopped watching a paced one; it may have been closed by what it heard.
        if watcher.isPaced, watchers[slot] === watcher, !letsGather(watcher) { watchAgain(watcher) }
    }

    private func readGathered() {
        metrics.pacedTurns += 1
        for watcher in pacing.take(at: clock) where watchers[Int(watcher.descriptor)] === watcher {
            guard let (count, hasMore) = watcher.readGathered(), watchers[Int(watcher.descriptor)] === watcher else { continue }
            if !pacing.keeps(watcher, count: count, hasMore: hasMore) { watcher.gatheringEnds() }
        }
    }

    /// A few rounds: tasks that hand over to each other need not pass through the kernel each time.
    private func runJobs() {
        for _ in 0..<8 where !jobs.isEmpty {
            swap(&jobs, &running)
            metrics.jobs += UInt64(running.count)
            for job in running { run(job) }
            running.removeAll(keepingCapacity: true)
        }
    }

    private func runTimers() {
        let limit = timers.lastMade
        latest = max(0, clock.nanoseconds - (timers.nextDeadline?.nanoseconds ?? clock.nanoseconds))
        while let deadline = timers.nextDeadline, let action = timers.popDue(at: clock, madeUntil: limit) {
            metrics.timers += 1
            metrics.lateness.record(clock.nanoseconds - deadline.nanoseconds)
            action()
        }
    }

    // MARK: Descriptors

    /// Begins to watch `watcher`'s descriptor for `events` (level-triggered). On the loop only.
    /// `isPaced`: a busy loop lets it gather; it is watched for input.
    func watch(_ watcher: Watcher, for events: EPOLL_EVENTS, isPaced: Bool = false) throws(SystemError) {
        preconditionOnLoop()
        let slot = Int(watcher.descriptor)
        while watchers.count <= slot { watchers.append(nil) }
        precondition(watchers[slot] == nil, "a descriptor has one watcher")
        generation = generation &+ 1 & 0x7FFF_FFFF
        watcher.generation = generation
        watcher.isPaced = isPaced
        let flags = isPaced ? EPOLLONESHOT.rawValue : 0
        try SystemCall.check("epoll_ctl") {
            rw_epoll_change(poller, EPOLL_CTL_ADD, watcher.descriptor, events.rawValue | flags, key(of: watcher))
        }
        watchers[slot] = watcher
    }

    func change(_ watcher: Watcher, to events: EPOLL_EVENTS) { change(watcher, to: events.rawValue) }

    /// Whether input of a watcher that was just read gathers from now on; the kernel need not tell of it until `gatheringEnds`.
    func letsGather(_ watcher: Watcher) -> Bool { pacing.gathers(watcher, readAt: clock) }

    func endGathering(_ watcher: Watcher) { pacing.remove(watcher) }

    func watchAgain(_ watcher: Watcher) { change(watcher, to: EPOLLIN.rawValue | EPOLLONESHOT.rawValue) }

    private func change(_ watcher: Watcher, to events: UInt32) {
        let result = rw_epoll_change(poller, EPOLL_CTL_MOD, watcher.descriptor, events, key(of: watcher))
        precondition(result == 0, "a watched descriptor is changed")
    }

    /// Before the descriptor is closed.
    func unwatch(_ watcher: Watcher) {
        watchers[Int(watcher.descriptor)] = nil
        pacing.remove(watcher)
        let result = rw_epoll_change(poller, EPOLL_CTL_DEL, watcher.descriptor, 0, 0)
        precondition(result == 0, "a watched descriptor is removed")
    }

    private func key(of watcher: Watcher) -> UInt64 {
        UInt64(watcher.generation) << 32 | UInt64(UInt32(watcher.descriptor))
    }

    // MARK: Sockets

    package override func localAddress(toReach peer: IPAddress) -> IPAddress? { KernelSocket.localAddress(toReach: peer) }

    package override func bindDatagram(
        to address: SocketAddress, options: DatagramOptions = DatagramOptions()
    ) throws(SystemError) -> DatagramSocket {
        preconditionOnLoop()
        return try KernelDatagramSocket.bind(on: self, to: address, options: options)
    }

    package override func listen(
        on address: SocketAddress, options: StreamOptions = StreamOptions(), onAccept: @escaping (StreamConnection) -> Void
    ) throws(SystemError) -> StreamListener {
        preconditionOnLoop()
        return try KernelListener.listen(on: self, address: address, options: options, onAccept: onAccept)
    }

    package override func openStream(
        to address: SocketAddress, from local: SocketAddress? = nil, timeout: Duration = .seconds(10),
        options: StreamOptions = StreamOptions()
    ) -> StreamConnection {
        preconditionOnLoop()
        return KernelStream.connect(on: self, to: address, from: local, timeout: timeout, options: options)
    }
}

/// A descriptor that an `EpollLoop` watches.
class Watcher {
    let descriptor: Int32
    /// Tells this use of the descriptor's number from earlier ones.
    fileprivate(set) var generation: UInt32 = 0
    /// A busy loop lets it gather.
    fileprivate(set) var isPaced = false
    /// When input was last there, in nanoseconds of the loop's clock.
    final var lastRead = Int64.min / 2

    init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// `events`: EPOLLIN, EPOLLOUT, EPOLLERR, EPOLLHUP, EPOLLRDHUP
    func ready(_ events: UInt32) { fatalError("a kind of watcher reads or writes") }

    /// Reads what has gathered; tells how much that was, and whether there may be more. Nil when it does not gather any more.
    func readGathered() -> (count: Int, hasMore: Bool)? { fatalError("a kind of watcher whose input gathers reads") }

    /// Nothing has gathered: the kernel is to tell of input again.
    func gatheringEnds() { fatalError("a kind of watcher whose input gathers is watched again") }

    /// The loop stops while this is open: close it without telling anybody.
    func loopEnds() { fatalError("a kind of watcher closes") }
}
