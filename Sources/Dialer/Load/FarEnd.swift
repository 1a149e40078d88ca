// The far end of a measurement: counts the calls that come in on all loops of an engine as a load run counts those that it places, so
// that both halves can be compared. Memory is bounded, however long it counts.

import Basics
package import CallEngine
package import FlowEngine
package import Reactor

/// From any thread, except where it says so.
package final class FarEnd: Sendable {
    private struct State {
        /// When the first call came.
        var start: Instant?
        /// When the last one was over.
        var end: Instant?
        /// Calls that are not over, their flows included.
        var active = 0
        var isAttached: LoadMarks?
        var ticker: LoopBound<LoadTicker>?
        /// Who waits for the last of them.
        var waiting: [@Sendable () -> Void] = []
    }

    private let loops: [EpollLoop]
    private let control: EpollLoop
    private let counters: [ObjectIdentifier: LoopBound<FarEndCounter>]
    private let state = Locked(State())

    /// Counts from now on. Not from a loop.
    /// - Parameters:
    ///   - loops: those of the engine, which may come later.
    ///   - control: none of them.
    ///   - score: a mean opinion score from the figures and the codec of a call's audio; nil when there is none.
    package init(
        loops: [EpollLoop], control: EpollLoop, score: @escaping @Sendable (MediaReport, String) -> Double?
    ) {
        self.loops = loops
        self.control = control
        counters = Dictionary(
            uniqueKeysWithValues: loops.map { loop in
                (ObjectIdentifier(loop), loop.runAndWait { LoopBound(FarEndCounter(loop, score), on: loop) })
            })
    }

    /// Looks at the engine's health, too, and counts what it refuses. Once, and not from a loop.
    package func attach(_ engine: Engine) {
        let (loops, control, counters, state) = (loops, control, counters, state)
        let marks = LoadMarks(engine)
        for index in loops.indices {
            engine.withShard(index) { shard in
                counters[ObjectIdentifier(shard.loop)]?.onLoop.begin(shard) { self.start(at: $0) }
            }
        }
        let ticker = control.runAndWait {
            let ticker = LoadTicker(
                loops, start: control.now, on: control, skipsIdle: true, active: { state.withLock { $0.active } },
                progress: { _ in })
            for counter in counters.values {
                ticker.add { second in counter.runAndWait { $0.share(every: second) } }
            }
            return LoopBound(ticker, on: control)
        }
        state.withLock { ($0.isAttached, $0.ticker) = (marks, ticker) }
    }

    private func start(at now: Instant) -> Instant {
        state.withLock { state in
            let start = state.start ?? now
            state.start = start
            return start
        }
    }

    // MARK: Calls

    /// A call came in. On its loop.
    package func began(_ call: Call) {
        let start = start(at: call.loop.now)
        let active = state.withLock { state in
            state.active += 1
            return state.active
        }
        counters[ObjectIdentifier(call.loop)]?.onLoop.began(call, since: start, active: active)
    }

    /// It is over, and its flow as well. On its loop.
    /// - Parameter flow: nil: it had none.
    package func ended(_ call: Call, _ flow: FlowOutcome?) {
        counters[ObjectIdentifier(call.loop)]?.onLoop.ended(call, flow)
        let now = call.loop.now
        let waiting = state.withLock { state -> [@Sendable () -> Void] in
            state.active -= 1
            state.end = now
            guard state.active == 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for tell in waiting { tell() }
    }

    /// Waits until no call is left, as long as `limit`; whether none is. Not from a loop.
    package func settle(within limit: Duration) -> Bool {
        let isSettled = Outcome<Void>()
        let isIdle = state.withLock { state in
            if state.active > 0 { state.waiting.append { isSettled.set(()) } }
            return state.active == 0
        }
        return isIdle || isSettled.wait(within: limit) != nil
    }

    // MARK: What came of it

    /// What was counted so far. Not from one of the engine's loops.
    package func report(_ engine: Engine, wasCut: Bool = false) -> LoadReport {
        let (start, end, marks, ticker) = state.withLock { ($0.start, $0.end, $0.isAttached, $0.ticker) }
        var report = LoadReport(wasCut: wasCut)
        report.side = .called
        if let start { report.elapsed = max(.zero, (end ?? start) - start) }
        if let ticker { report.health = ticker.runAndWait { $0.look() } }
        for counter in counters.values { report.add(counter.runAndWait { $0.share() }) }
        marks?.complete(&report, engine)
        return report
    }

    /// Counts no more; what was counted stays. Not from one of the engine's loops.
    package func stop() {
        state.withLock { $0.ticker }?.runAndWait { _ = $0.stop() }
        for counter in counters.values { counter.runAndWait { $0.stop() } }
    }
}

/// Counts on one loop, and belongs to it.
final class FarEndCounter {
    private let loop: EventLoop
    private let score: @Sendable (MediaReport, String) -> Double?
    private var tally: CallTally?
    private var shard: CallShard?
    private var origin: ((Instant) -> Instant)?
    /// What the shard had counted at the last look.
    private var known = CallCounters()
    private var turnedAway: UInt64 = 0
    private var lateness = Histogram()
    private var late: UInt64 = 0
    private var timer: LoopTimer?
    /// How often it is looked how late a timer is.
    private static let interval = Duration.milliseconds(100)

    init(_ loop: EventLoop, _ score: @escaping @Sendable (MediaReport, String) -> Double?) {
        (self.loop, self.score) = (loop, score)
    }

    /// - Parameter origin: when the first call came, which is now when none has come.
    func begin(_ shard: CallShard, origin: @escaping (Instant) -> Instant) {
        (self.shard, self.origin) = (shard, origin)
        known = shard.counters
        schedule()
    }

    private func schedule() {
        let due = loop.now + Self.interval
        timer = loop.schedule(at: due) { [weak self] in self?.probe(due) }
    }

    private func probe(_ due: Instant) {
        let lag = max(0, (loop.now - due).nanoseconds)
        // What nobody waits for is not late.
        if shard?.heldCalls ?? 0 > 0 {
            lateness.record(lag / 1000)
            if lag > Pacer.tolerance.nanoseconds { late += 1 }
        }
        schedule()
    }

    private func tally(of shard: CallShard, since start: Instant) -> CallTally {
        let tally = tally ?? CallTally(shard, start: start)
        tally.start = start
        self.tally = tally
        return tally
    }

    func began(_ call: Call, since start: Instant, active: Int) {
        tally(of: call.shard, since: start).began(active: active)
    }

    func ended(_ call: Call, _ flow: FlowOutcome?) {
        var end = flow?.end
        if end == nil, case .ended(let told) = call.state { end = told }
        tally?.ended(LoadOutcome(of: call, end ?? CallEnd(by: .engine, cause: .error), flow, score: score))
    }

    /// What it came to so far.
    /// - Parameter interval: since the last time.
    func share(every interval: Duration = .zero) -> LoadShare {
        countRefusals()
        tally?.look(every: interval)
        return LoadShare(
            statistics: tally?.statistics ?? LoadStatistics(), lateness: lateness, late: late, turnedAway: turnedAway)
    }

    /// Calls that this side refused before anybody heard of them.
    private func countRefusals() {
        guard let shard, let origin, shard.counters != known else { return }
        let counters = shard.counters
        func add(_ failure: LoadOutcome.Failure, _ count: UInt64) {
            guard count > 0 else { return }
            tally(of: shard, since: origin(loop.now)).refused(failure, count: Int(count))
        }
        for (reason, count) in counters.refused {
            let new = count - (known.refused[reason] ?? 0)
            add(.status(503), new)
            // Ports are counted where they are missing; a server that goes down has reached no limit.
            if reason != .ports, reason != .draining { turnedAway += new }
        }
        add(.cause("unacceptable"), counters.unacceptable - known.unacceptable)
        known = counters
    }

    func stop() {
        timer?.cancel()
        timer = nil
        tally?.stop()
    }
}
