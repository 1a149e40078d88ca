// Looks once a second at what runs on the loops of an engine, and at the loops themselves.

import Basics
import Reactor

/// Belongs to the control loop.
final class LoadTicker {
    private let loops: [EpollLoop]
    private let start: Instant
    private let loop: EventLoop
    private let skipsIdle: Bool
    private let active: () -> Int
    private let progress: @Sendable (LoadProgress) -> Void
    private var shares: [(_ every: Duration) -> LoadShare] = []
    private var watch: GeneratorWatch
    private var timer: LoopTimer?
    private var placed = 0
    private var next: Instant
    private static let second = Duration.seconds(1)

    /// - Parameters:
    ///   - start: what the run's time counts from.
    ///   - skipsIdle: seconds without a call say nothing about this machine's health.
    ///   - active: calls at a time.
    init(
        _ loops: [EpollLoop], start: Instant, on loop: EventLoop, skipsIdle: Bool = false, active: @escaping () -> Int,
        progress: @escaping @Sendable (LoadProgress) -> Void
    ) {
        self.loops = loops
        self.start = start
        self.loop = loop
        self.skipsIdle = skipsIdle
        self.active = active
        self.progress = progress
        watch = GeneratorWatch(loops)
        watch.look(loops, at: loop.now)
        next = start + Self.second
        schedule()
    }

    /// - Parameter share: what one loop's calls came to; asked on the control loop, may wait for that one.
    func add(_ share: @escaping (_ every: Duration) -> LoadShare) { shares.append(share) }

    private func schedule() {
        timer = loop.schedule(at: next) { [weak self] in self?.tick() }
        next = next + Self.second
    }

    private func tick() {
        var statistics = LoadStatistics()
        let parts = shares.map { $0(Self.second) }
        for part in parts { statistics.merge(part.statistics) }
        watch.look(loops, at: loop.now, counts: !skipsIdle || active() > 0 || statistics.placed > placed)
        var health = watch.health
        for part in parts { health.add(part) }
        let rate = Double(statistics.placed - placed)
        placed = statistics.placed
        progress(
            LoadProgress(elapsed: loop.now - start, statistics: statistics, active: active(), rate: rate, health: health))
        schedule()
    }

    /// What is known so far.
    func look() -> GeneratorHealth { watch.finish() }

    /// The last look.
    func stop() -> GeneratorHealth {
        timer?.cancel()
        timer = nil
        watch.look(loops, at: loop.now, counts: !skipsIdle)
        return look()
    }
}
