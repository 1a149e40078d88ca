package import Basics

/// A loop whose clock is turned by hand: time jumps from one deadline to the next, so that hours of a call run in milliseconds, the
/// same way every time. It runs on the thread that calls `run`.
///
/// `@unchecked Sendable`: as its superclass; it has one thread, the caller's.
package final class VirtualLoop: EventLoop, @unchecked Sendable {
    private var clock = Instant.zero
    private var jobs: [Job] = []
    private var running = false

    private enum Job {
        case task(UnownedJob)
        case action(@Sendable () -> Void)
    }

    package init() {
        super.init(name: "virtual")
    }

    package override var now: Instant { clock }
    package override var isCurrent: Bool { true }
    package override func execute(_ action: @escaping @Sendable () -> Void) { jobs.append(.action(action)) }
    package override func enqueue(_ job: UnownedJob) { jobs.append(.task(job)) }

    /// Timers that wait: none is left when all calls are over.
    package var pendingTimers: Int { timers.count }

    /// Runs everything that is due until `limit`, or until nothing is left to do. Returns whether it came to rest before `limit`.
    @discardableResult
    package func run(until limit: Instant = .never) -> Bool {
        precondition(!running, "run is not called from the loop itself")
        running = true
        defer { running = false }
        while true {
            runJobs()
            guard let next = timers.nextDeadline else { return true }
            guard next <= limit else {
                clock = max(clock, limit)
                return false
            }
            clock = max(clock, next)
            timers.popDue(at: clock)?()
        }
    }

    /// Turns the clock on by `duration`.
    @discardableResult
    package func run(for duration: Duration) -> Bool { run(until: clock + duration) }

    private func runJobs() {
        while !jobs.isEmpty {
            let batch = jobs
            jobs.removeAll(keepingCapacity: true)
            for job in batch {
                switch job {
                case .task(let task):
                    task.runSynchronously(
                        isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
                case .action(let action): action()
                }
            }
        }
    }
}
