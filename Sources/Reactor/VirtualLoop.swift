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

    /// The network of its sockets.
    package let network: VirtualNetwork

    /// `network` belongs to this loop from now on.
    package init(network: VirtualNetwork = VirtualNetwork(seed: 1)) {
        self.network = network
        super.init(name: "virtual")
        network.attach(to: self)
    }

    package override var now: Instant { clock }
    /// The first of January 2026, and as far on as the clock was turned.
    package override var wallClock: Double { 1_767_225_600 + Double(clock.nanoseconds) / 1e9 }
    package override var isCurrent: Bool { true }
    package override var lag: Duration { pretendedLag }
    /// A virtual loop is never late; it may say so.
    package var pretendedLag = Duration.zero
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
            if turnHasEnd {
                endTurn()
                continue
            }
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

    /// The clock goes on and nothing is done: what is due meanwhile is late, as on a machine that stood still.
    package func standStill(for duration: Duration) { clock = clock + duration }

    // MARK: Sockets

    package override func localAddress(toReach peer: IPAddress) -> IPAddress? { network.localAddress(toReach: peer) }

    package override func bindDatagram(
        to address: SocketAddress, options: DatagramOptions = DatagramOptions()
    ) throws(SystemError) -> DatagramSocket {
        try VirtualDatagramSocket.bind(on: self, to: address, options: options)
    }

    package override func listen(
        on address: SocketAddress, options: StreamOptions = StreamOptions(), onAccept: @escaping (StreamConnection) -> Void
    ) throws(SystemError) -> StreamListener {
        try network.bind(address) { VirtualListener(loop: self, local: $0, options: options, onAccept: onAccept) }
    }

    package override func openStream(
        to address: SocketAddress, from local: SocketAddress? = nil, timeout: Duration = .seconds(10),
        options: StreamOptions = StreamOptions()
    ) -> StreamConnection {
        VirtualStream.connect(on: self, to: address, from: local, timeout: timeout, options: options)
    }

    private func runJobs() {
        while !jobs.isEmpty {
            let batch = jobs
            jobs.removeAll(keepingCapacity: true)
            for job in batch {
                switch job {
                case .task(let task): task.runSynchronously(on: asUnownedTaskExecutor())
                case .action(let action): action()
                }
            }
        }
    }
}
