// The load of one loop: starts its share of the calls on time and counts what becomes of them.

package import Basics
package import CallEngine
import FlowEngine
import Reactor

/// Belongs to its shard's loop.
package final class LoadDriver {
    package var statistics: LoadStatistics { tally.statistics }
    /// Starts that waited for a free place among `concurrency`.
    package private(set) var heldBack: UInt64 = 0
    package private(set) var pacer: Pacer
    /// Called once, when no call will begin any more and all are over.
    package var onEnd: (() -> Void)?
    private let plan: LoadPlan
    private let shard: CallShard
    private let activeCalls: () -> Int
    private let limit: Int
    private var random: SeededRandom
    private var timer: LoopTimer?
    let tally: CallTally
    /// Calls of this loop that run, their flows included.
    private var active = 0
    private var calls: [ObjectIdentifier: LoadCall] = [:]
    /// Users that wait to call again; each counts until it may call no more.
    private var waitingUsers = 0
    /// Those of them whose pause is over, while the run is paused.
    private var readyUsers = 0
    private var isHeld = false
    private var isOver = false
    private var isDraining = false
    /// Calls that may still begin here.
    private var budget: Int

    /// Shorter waits would cost more than they are worth: starts are up to this late.
    private static let grain = Duration.milliseconds(1)

    /// - Parameters:
    ///   - start: the same instant for all loops.
    ///   - activeCalls: how many calls the whole engine has at this moment.
    package init(
        _ plan: LoadPlan, shard: CallShard, share: (index: Int, count: Int), start: Instant, activeCalls: @escaping () -> Int
    ) {
        self.plan = plan
        self.shard = shard
        self.activeCalls = activeCalls
        func part(of whole: Int) -> Int { (whole - share.index + share.count - 1) / share.count }
        limit = plan.concurrency.map(part) ?? .max
        random = SeededRandom(seed: plan.seed &* 31 &+ UInt64(share.index))
        budget = plan.calls.map(part) ?? .max
        let stream: ArrivalStream
        switch plan.source {
        case .arrivals(let arrivals):
            stream = ArrivalStream(
                arrivals, share: share, calls: plan.calls, until: plan.duration?.seconds, seed: plan.seed)
        case .users(let users, _, let rate):
            stream = ArrivalStream(
                .rate(.constant(rate), poisson: false), share: share, calls: min(users, plan.calls ?? users),
                until: plan.duration?.seconds, seed: plan.seed)
        }
        pacer = Pacer(stream, start: start)
        tally = CallTally(shard, start: start)
        tally.onBye = { [weak self] in self?.endIfOver() }
    }

    /// What it came to so far.
    /// - Parameter interval: since the last time.
    package func share(every interval: Duration = .zero) -> LoadShare {
        tally.look(every: interval)
        return LoadShare(statistics: statistics, lateness: pacer.lateness, late: pacer.late, heldBack: heldBack)
    }

    /// Begins.
    package func run() {
        if let duration = plan.duration {
            shard.loop.schedule(at: pacer.start + duration) { [weak self] in self?.drain() }
        }
        turn()
    }

    /// Starts what is due.
    private func turn() {
        timer?.cancel()
        timer = nil
        let now = shard.loop.now
        while let due = pacer.nextDue, due <= now {
            guard active < limit else {
                isHeld = true
                return
            }
            if isHeld { heldBack += 1 }
            pacer.take(at: now)
            place()
        }
        isHeld = false
        guard let next = pacer.nextDue else { return endIfOver() }
        guard next != .never else { return }
        timer = shard.loop.schedule(at: max(next, now + Self.grain)) { [weak self] in self?.turn() }
    }

    /// No new calls; those that run go on.
    package func drain() {
        guard !isDraining else { return }
        isDraining = true
        pacer.end()
        turn()
    }

    /// Ends every call.
    package func stop() {
        drain()
        for call in calls.values { call.hangUp() }
    }

    /// So many times as fast from now on.
    package func scale(by factor: Double) {
        pacer.scale(by: factor, at: shard.loop.now)
        turn()
    }

    /// No new calls until it is called again.
    package func pause() {
        guard pacer.isPaused else { return pacer.pause(at: shard.loop.now) }
        pacer.resume(at: shard.loop.now)
        let ready = readyUsers
        readyUsers = 0
        for _ in 0..<ready { userIsReady() }
        turn()
    }

    // MARK: One call

    private func place() {
        let now = shard.loop.now
        budget -= 1
        if budget == 0 { pacer.end() }
        active += 1
        do throws(CallControlError) {
            let call = try shard.place(plan.request)
            tally.began(active: activeCalls())
            let kept = LoadCall(call, plan, hold: plan.flow == nil ? plan.hold.draw(&random) : .zero, driver: self)
            calls[ObjectIdentifier(kept)] = kept
            kept.begin()
        } catch {
            tally.began(active: activeCalls())
            let outcome = LoadOutcome(
                failure: .cause("error"), wasAnswered: false, timings: CallTimings(), media: MediaReport(), score: nil)
            // In a later turn: a user who calls again at once must not do so inside of this.
            shard.loop.schedule(at: now) { [weak self] in self?.ended(nil, outcome) }
        }
    }

    func ended(_ call: LoadCall?, _ outcome: LoadOutcome) {
        if let call { calls[ObjectIdentifier(call)] = nil }
        active -= 1
        tally.ended(outcome)
        if case .users(_, let pause, _) = plan.source, !isDraining, budget > 0 { callAgain(after: pause) }
        if isHeld { turn() }
        endIfOver()
    }

    private func callAgain(after pause: Duration) {
        waitingUsers += 1
        shard.loop.schedule(after: pause) { [weak self] in self?.userIsReady() }
    }

    private func userIsReady() {
        guard !pacer.isPaused else { return readyUsers += 1 }
        waitingUsers -= 1
        if !isDraining, budget > 0 { place() }
        endIfOver()
    }

    private func endIfOver() {
        guard !isOver, active == 0, tally.byes == 0, pacer.nextDue == nil, waitingUsers == 0 || isDraining else { return }
        isOver = true
        timer?.cancel()
        tally.stop()
        let tell = onEnd
        onEnd = nil
        tell?()
    }
}
