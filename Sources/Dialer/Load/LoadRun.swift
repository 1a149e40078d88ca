// A load run over all loops of an engine: begins together, looks at itself once a second, ends when the last call is over.

import Basics
package import CallEngine
package import Reactor

/// What is to be seen while a run goes on.
package struct LoadProgress: Sendable {
    package var elapsed: Duration
    package var statistics: LoadStatistics
    package var active: Int
    /// Starts in the second before.
    package var rate: Double
    package var health: GeneratorHealth

    package init(elapsed: Duration, statistics: LoadStatistics, active: Int, rate: Double, health: GeneratorHealth) {
        self.elapsed = elapsed
        self.statistics = statistics
        self.active = active
        self.rate = rate
        self.health = health
    }
}

/// What came of it.
package struct LoadReport: Sendable {
    package var statistics: LoadStatistics
    package var health: GeneratorHealth
    /// From the first start to the end of the last call.
    package var elapsed: Duration
    /// Somebody ended it before its time.
    package var wasCut: Bool
    package var plannedCalls: Int?
    package var plannedRate: Double?
    /// When a run is shared: what each worker did.
    package var workers: [LoadWorker] = []
    /// Which end of the calls this is.
    package var side = Side.calling
    /// What came to the other end of them, when it is this process's as well: one report, or none.
    package var farEnd: [LoadReport] = []

    package enum Side: String, Sendable {
        case calling
        case called
    }

    package init(
        statistics: LoadStatistics = LoadStatistics(), health: GeneratorHealth = GeneratorHealth(), elapsed: Duration = .zero,
        wasCut: Bool = false, plannedCalls: Int? = nil, plannedRate: Double? = nil
    ) {
        (self.statistics, self.health) = (statistics, health)
        (self.elapsed, self.wasCut) = (elapsed, wasCut)
        (self.plannedCalls, self.plannedRate) = (plannedCalls, plannedRate)
    }
}

/// One run; used from a thread that is none of its loops.
package final class LoadRun: Sendable {
    private struct State {
        var drivers: [LoopBound<LoadDriver>] = []
        var running = 0
        var wasCut = false
        var over: CheckedContinuation<Void, Never>?
    }

    private let plan: LoadPlan
    private let engine: Engine
    private let loops: [EpollLoop]
    private let part: LoadPart?
    private let state = Locked(State())

    /// - Parameters:
    ///   - loops: the engine's.
    ///   - part: this process's among several; nil: it is alone.
    package init(_ plan: LoadPlan, engine: Engine, loops: [EpollLoop], part: LoadPart? = nil) {
        self.plan = plan
        self.engine = engine
        self.loops = loops
        self.part = part
    }

    /// Runs it to its end. `progress` is told once a second, on the control loop.
    /// - Parameter control: none of the engine's loops.
    package func run(control: EpollLoop, progress: @escaping @Sendable (LoadProgress) -> Void) async -> LoadReport {
        let (plan, engine, loops, state) = (plan, engine, loops, state)
        let marks = LoadMarks(engine)
        // Time for all loops to hear of it.
        let start = part?.start ?? control.runAndWait { control.now } + .milliseconds(20)
        let ticker = control.runAndWait {
            LoopBound(
                LoadTicker(loops, start: start, on: control, active: { engine.gate.active }, progress: progress), on: control)
        }
        let part = part ?? LoadPart(first: 0, total: loops.count, start: start, seed: plan.seed)
        let total = min(part.total, plan.mostLoops)
        // Others may have all that there is to do.
        let count = max(0, min(loops.count, total - part.first))
        if count > 0 {
            await withCheckedContinuation { continuation in
                state.withLock {
                    $0.over = continuation
                    $0.running = count
                }
                for index in 0..<count {
                    let share = (index: part.first + index, count: total)
                    engine.withShard(index) { shard in
                        let driver = LoadDriver(plan, shard: shard, share: share, start: start) { engine.gate.active }
                        driver.onEnd = { Self.oneEnded(state) }
                        let bound = LoopBound(driver, on: shard.loop)
                        let isCut = state.withLock { state in
                            state.drivers.append(bound)
                            return state.wasCut
                        }
                        driver.run()
                        if isCut { driver.drain() }
                        ticker.run { $0.add { second in bound.runAndWait { $0.share(every: second) } } }
                    }
                }
            }
        }
        let drivers = state.withLock { $0.drivers }
        var report = LoadReport(
            health: ticker.runAndWait { $0.stop() }, elapsed: control.runAndWait { control.now } - start,
            wasCut: state.withLock { $0.wasCut }, plannedCalls: plan.plannedCalls, plannedRate: plan.plannedRate)
        for driver in drivers { report.add(driver.runAndWait { $0.share() }) }
        marks.complete(&report, engine)
        return report
    }

    private static func oneEnded(_ state: Locked<State>) {
        let over = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.running -= 1
            guard state.running == 0 else { return nil }
            defer { state.over = nil }
            return state.over
        }
        over?.resume()
    }

    /// No new calls from now on: the run is cut short. From any thread.
    package func drain() { cut { $0.drain() } }

    /// Ends every call. From any thread.
    package func stop() { cut { $0.stop() } }

    /// So many times as fast from now on. From any thread.
    package func scale(by factor: Double) {
        for driver in state.withLock({ $0.drivers }) { driver.run { $0.scale(by: factor) } }
    }

    /// No new calls until it is called again. From any thread.
    package func pause() {
        for driver in state.withLock({ $0.drivers }) { driver.run { $0.pause() } }
    }

    private func cut(_ action: @escaping @Sendable (LoadDriver) -> Void) {
        let drivers = state.withLock { state in
            state.wasCut = true
            return state.drivers
        }
        for driver in drivers { driver.run(action) }
    }
}
