import CLinux

/// Why a pool did not take work.
package enum WorkRefused: Error, Hashable, Sendable {
    /// Its queue is full.
    case full
    /// It is stopped.
    case stopped
}

/// Threads for work that blocks: files, databases, other programs. A pool has a bounded queue and refuses what finds it full, so that
/// a slow disk shows as refusals, not as memory. A pool of one thread keeps the order.
///
/// An *inline* pool has no threads: the work is done at once by whoever asks. That is for virtual loops, which then do the same every
/// time.
package final class WorkerPool: Sendable {
    package struct Counters: Equatable, Sendable {
        package internal(set) var done: UInt64 = 0
        package internal(set) var refused: UInt64 = 0
        /// The most that ever waited.
        package internal(set) var longestQueue = 0
        /// Work that waits, and work under way.
        package internal(set) var waiting = 0
        package internal(set) var running = 0

        package init() {}
    }

    package let name: String
    /// The most pieces of work that may wait.
    package let limit: Int
    private let core: WorkerCore?
    private let inlineCounters = Locked(Counters())

    /// `threads` begin at once. The threads take the first 15 octets of `name`.
    package init(name: String, threads: Int, limit: Int) throws(SystemError) {
        precondition(threads > 0 && limit > 0, "a pool has threads and room")
        self.name = name
        self.limit = limit
        core = try WorkerCore(name: name, threads: threads, limit: limit)
    }

    private init(inlineNamed name: String) {
        self.name = name
        limit = .max
        core = nil
    }

    /// A pool that works at once, on the thread that asks.
    package static func inline(name: String) -> WorkerPool { WorkerPool(inlineNamed: name) }

    package var counters: Counters { core?.counters ?? inlineCounters.withLock { $0 } }

    /// Does `work` soon, in order of asking. From any thread.
    package func submit(_ work: @escaping @Sendable () -> Void) throws(WorkRefused) {
        guard let core else {
            work()
            inlineCounters.withLock { $0.done += 1 }
            return
        }
        try core.submit(work)
    }

    /// Does `work` and comes back to `loop` with what it returned or threw. On `loop` only. When the task is cancelled it comes back
    /// at once with `CancellationError`; the work is done all the same, and its result dropped.
    package func run<Result: Sendable>(on loop: EventLoop, _ work: @escaping @Sendable () throws -> Result) async throws -> Result
    {
        loop.preconditionOnLoop()
        let outcome = Waiter<Swift.Result<Result, any Error>>()
        let confined = Confined(outcome)
        try submit {
            let result = Swift.Result { try work() }
            if self.core == nil {
                confined.value.resume(returning: result)
            } else {
                loop.execute { confined.value.resume(returning: result) }
            }
        }
        return try await outcome.wait().get()
    }

    /// Takes no more work, does what waits, and waits for the threads to end. Not from one of its threads. Once.
    package func stop() { core?.stop() }
}

/// The queue and the threads of a pool. The threads hold it, not the pool.
/// `@unchecked Sendable`: the mutex guards all that changes, and `threads` is touched by the owner only.
private final class WorkerCore: @unchecked Sendable {
    private let name: String
    private let limit: Int
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var queue: [@Sendable () -> Void] = []
    private var head = 0
    private var isStopped = false
    private var state = WorkerPool.Counters()
    private var threads: [pthread_t] = []

    init(name: String, threads count: Int, limit: Int) throws(SystemError) {
        self.name = name
        self.limit = limit
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
        for _ in 0..<count {
            var thread = pthread_t()
            let box = Unmanaged.passRetained(self)
            let result = rw_thread_start(
                &thread,
                { argument in
                    let core = Unmanaged<WorkerCore>.fromOpaque(argument!).takeRetainedValue()
                    rw_thread_name(core.name)
                    core.work()
                    return nil
                }, box.toOpaque(), 0)
            guard result == 0 else {
                box.release()
                stop()
                throw SystemError(result, "pthread_create")
            }
            threads.append(thread)
        }
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    var counters: WorkerPool.Counters {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return state
    }

    func submit(_ work: @escaping @Sendable () -> Void) throws(WorkRefused) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard !isStopped, queue.count - head < limit else {
            state.refused += 1
            throw isStopped ? .stopped : .full
        }
        queue.append(work)
        state.waiting = queue.count - head
        state.longestQueue = max(state.longestQueue, state.waiting)
        pthread_cond_signal(condition)
    }

    private func work() {
        while let work = next() {
            work()
            pthread_mutex_lock(mutex)
            state.running -= 1
            state.done += 1
            pthread_mutex_unlock(mutex)
        }
    }

    private func next() -> (@Sendable () -> Void)? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while head == queue.count {
            if isStopped { return nil }
            pthread_cond_wait(condition, mutex)
        }
        let work = queue[head]
        queue[head] = {}
        head += 1
        if head == queue.count || head > 1024 {
            queue.removeFirst(head)
            head = 0
        }
        state.waiting = queue.count - head
        state.running += 1
        return work
    }

    func stop() {
        pthread_mutex_lock(mutex)
        isStopped = true
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
        for thread in threads { pthread_join(thread, nil) }
        threads = []
    }
}
