// A campaign at work: takes rows that are due, keeps to concurrency, rate, hours and limits, and lets no call begin before the database
// has it. Many beginnings and ends share one transaction: while one is written the next gather.

import Basics
import CallEngine
import FlowEngine
package import Reactor
package import Store

/// What a campaign counted in this run of the program.
package struct CampaignFigures: Equatable, Sendable {
    /// Calls that run, or whose beginning or end is being written.
    package var active = 0
    package var peak = 0
    package var began = 0
    /// Attempts that ended.
    package var passed = 0
    package var failed = 0
    package var error = 0
    package var ended: Int { passed + failed + error }
    /// Attempts after which the target is called again.
    package var again = 0
    /// Rows that are not called again, and those of them that did not pass.
    package var over: Int { ended - again }
    package var unsuccessful: Int { failed + error - again }
    /// The stop rule ended it.
    package var wasStopped = false
    /// Why nothing begins although there are rows: outside of the hours.
    package var isClosed = false
    package init() {}

    /// Rows that are over, and those of them that did not pass, of all workers and all runs.
    /// - Parameter before: what was there before this run.
    package func over(_ before: CampaignStore.Counts) -> (rows: Int, failed: Int) {
        guard let whole else { return (before.over + over, before.failed + before.error + unsuccessful) }
        return (whole.ended - whole.again, whole.ended - whole.again - whole.passed)
    }

    /// What all workers together came to, a second ago at most; nil without others.
    package var whole: CampaignBeat?
}

/// Belongs to its loop.
package final class CampaignRun {
    package typealias Dial = (CampaignAttempt, @escaping (AttemptResult) -> Void) -> Void

    package private(set) var figures = CampaignFigures()
    /// Called once, when nothing runs any more and all is written; a problem when the database failed.
    package var onEnd: ((CampaignProblem?) -> Void)?
    private let plan: CampaignPlan
    private let database: Database
    private let loop: EventLoop
    private let dial: Dial
    private let crew: CampaignCrew?
    private var worker: Int
    /// What this worker may use; nothing before the others know of it.
    private var share: CampaignShare
    /// The same while it stands still.
    private var granted: CampaignShare
    private var others: [CampaignMember] = []
    /// Rows in hand, the next to be called first.
    private var ready: [CampaignAttempt] = []
    private var isClaiming = false
    /// When the next row outside of `ready` is due, seconds since 1970; nil: there is none.
    private var nextDue: Double? = 0
    /// Other workers have rows, which may come back.
    private var isBusyElsewhere = false
    private var spacing: Spacing?
    private var limits: [LimitState]
    private var gathered: [CampaignStore.Entry] = []
    private var isWriting = false
    private var timer: LoopTimer?
    private var isDraining = false
    private var isOver = false
    private var problem: CampaignProblem?

    private struct LimitState {
        var limit: DestinationLimit
        var active = 0
        var spacing: Spacing?

        init(_ limit: DestinationLimit) {
            self.limit = limit
            spacing = limit.rate.map { Spacing(rate: $0) }
        }

    }

    /// - Parameters:
    ///   - worker: this process, which joined before.
    ///   - dial: places a call and tells, on the loop and in a later turn, what came of it.
    package init(
        _ plan: CampaignPlan, database: Database, worker: CampaignWorker, loop: EventLoop, dial: @escaping Dial
    ) {
        self.plan = plan
        self.database = database
        self.loop = loop
        self.dial = dial
        self.worker = worker.id
        crew = worker.isAlone ? nil : CampaignCrew(plan, worker, database: database, loop: loop)
        share = worker.isAlone ? CampaignShare(whole: plan) : .none(of: CampaignShare(whole: plan))
        granted = share
        spacing = plan.rate.map { Spacing(rate: $0) }
        limits = plan.limits.map { LimitState($0) }
    }

    /// Begins. The list is in the database, and what a killed process left was put in order.
    package func run() {
        guard let crew else { return turn() }
        crew.news = { [weak self] in self?.standStill() }
        crew.onBeat = { [weak self] in self?.heard($0) }
        crew.start()
    }

    /// Nothing begins from now on; calls that run go on. What is left waits for `--resume`.
    package func drain() {
        isDraining = true
        turn()
    }

    // MARK: What may begin

    /// Everything that may happen now.
    private func turn() {
        guard !isOver else { return }
        timer?.cancel()
        timer = nil
        if problem == nil, !isDraining, !figures.wasStopped { fill() }
        write()
        endIfOver()
    }

    private func fill() {
        let wall = loop.wallClock
        figures.isClosed = plan.hours.map { !$0.isOpen(at: wall) } ?? false
        if figures.isClosed { return wake(at: loop.now + Self.look) }
        guard share.places[0] > 0, share.rates[0] > 0 else { return }
        claim(at: wall)
        let now = loop.now
        while figures.active < share.places[0], let index = next(at: now) {
            let attempt = ready.remove(at: index)
            spacing?.take(at: now)
            for limit in attempt.limits {
                limits[limit].active += 1
                limits[limit].spacing?.take(at: now)
            }
            figures.active += 1
            figures.peak = max(figures.peak, figures.active)
            figures.began += 1
            gathered.append(.began(attempt, at: wall))
        }
        guard figures.active < share.places[0] else { return }
        if (spacing?.next ?? .zero) <= now { claim(at: wall, beyondHeld: true) }
        var times: [Instant] = []
        if !ready.isEmpty {
            if let next = spacing?.next, next > now { times.append(next) }
            for limit in limits { if let next = limit.spacing?.next, next > now { times.append(next) } }
        }
        if let nextDue, nextDue > wall { times.append(now + .nanoseconds(Int64(min(nextDue - wall, 3600) * 1e9) + 1_000_000)) }
        if let first = times.min() { wake(at: first) }
    }

    /// The first row in hand that no limit holds back.
    private func next(at now: Instant) -> Int? {
        guard (spacing?.next ?? .zero) <= now else { return nil }
        return ready.firstIndex { $0.limits.allSatisfy { allows($0, at: now) } }
    }

    private func allows(_ limit: Int, at now: Instant) -> Bool {
        limits[limit].active < share.places[limit + 1] && share.rates[limit + 1] > 0
            && (limits[limit].spacing?.next ?? .zero) <= now
    }

    private func wake(at instant: Instant) {
        timer = loop.schedule(at: instant) { [weak self] in self?.turn() }
    }

    private static let mostInHand = 10_000
    /// How often the clock of the hours is looked at.
    private static let look = Duration.seconds(10)

    // MARK: Rows

    /// Keeps enough rows in hand that no call waits for the disk. When limits hold back all of them, others are looked for.
    private func claim(at wall: Double, beyondHeld: Bool = false) {
        // Among others no more than is needed soon: what one has in hand the others cannot call.
        let wanted = min(max(share.places[0] * 2, crew == nil ? 64 : 8), Self.mostInHand)
        guard !isClaiming, let nextDue, nextDue <= wall, ready.count < (beyondHeld ? Self.mostInHand : wanted / 2) else { return }
        ask(for: beyondHeld ? wanted : wanted - ready.count)
    }

    private func ask(for count: Int) {
        isClaiming = true
        let wall = loop.wallClock
        let bound = LoopBound(self, on: loop)
        let worker = worker
        database.perform { connection throws(StoreError) in
            try CampaignStore.claim(count, for: worker, at: wall, connection)
        } then: { result in
            bound.run { $0.claimed(result, by: worker) }
        }
    }

    private func claimed(_ result: Result<CampaignStore.Claim, StoreError>, by worker: Int) {
        isClaiming = false
        switch result {
        case .failure(let error): problem = problem ?? CampaignProblem(store: error)
        case .success(let claim):
            nextDue = claim.nextDue
            isBusyElsewhere = claim.isBusyElsewhere
            for target in claim.targets { add(target, of: worker) }
            handOver()
        }
        turn()
    }

    // MARK: Among others

    /// What runs; until the answer comes no more than that may.
    private func standStill() -> CampaignNews {
        var news = CampaignNews(active: [figures.active] + limits.map(\.active))
        (news.ended, news.passed, news.again) = (figures.ended, figures.passed, figures.again)
        for index in share.places.indices { share.places[index] = min(share.places[index], news.active[index]) }
        return news
    }

    private func heard(_ result: Result<CampaignBeat, StoreError>) {
        switch result {
        case .failure(let error): problem = problem ?? CampaignProblem(store: error)
        case .success(let beat):
            if let id = crew?.id, id != worker {
                // What was in hand is the others' now.
                worker = id
                ready = []
            }
            figures.whole = beat
            others = beat.others
            take(beat.share)
            stopIfTooManyFailed(beat.ended, beat.passed)
            if isBusyElsewhere, nextDue == nil { nextDue = 0 }
            // Without a place it only looks whether all is over.
            if beat.share.places[0] == 0, !isClaiming, !isOver { ask(for: 0) }
        }
        turn()
    }

    private func take(_ share: CampaignShare) {
        let now = loop.now
        self.share = share
        granted = share
        if share.rates[0] > 0 { spacing?.change(rate: share.rates[0], at: now) }
        for index in limits.indices where share.rates[index + 1] > 0 {
            limits[index].spacing?.change(rate: share.rates[index + 1], at: now)
        }
        handOver()
    }

    /// Gives rows to the others whose destinations this worker has no place for.
    private func handOver() {
        for other in others {
            let theirs = limits.indices.filter { granted.places[$0 + 1] == 0 && other.has(place: $0 + 1) }
            guard !theirs.isEmpty else { continue }
            for attempt in ready where attempt.limits.contains(where: theirs.contains) {
                gathered.append(.handedOver(attempt, to: other.id))
            }
            ready.removeAll { $0.limits.contains(where: theirs.contains) }
        }
    }

    /// Puts a row in hand; one whose destination cannot be told has an attempt that fails at once.
    private func add(_ target: CampaignStore.Target, of worker: Int) {
        var attempt = CampaignAttempt(
            row: target.row, number: target.attempts + 1, destination: "", variables: [:], target: target.data)
        attempt.worker = worker
        let scope = MapScope(["target": target.data, "campaign": .object(["name": .string(plan.name)])])
        do throws(ExpressionError) {
            attempt.destination = try plan.to.text(in: scope)
            attempt.callerID = try plan.callerID?.text(in: scope)
            for (name, value) in plan.vars { attempt.variables[name] = try value.evaluate(in: scope) }
        } catch {
            figures.active += 1
            figures.began += 1
            let wall = loop.wallClock
            gathered.append(.began(attempt, at: wall))
            let detail = "line \(target.line) of the list: \(error.message)"
            return ended(attempt, .unseen(attempt, flow: plan.flow, detail: detail))
        }
        attempt.limits = limits.indices.filter { limits[$0].limit.pattern.matches(attempt.destination) }
        ready.append(attempt)
    }

    // MARK: Writing

    private func write() {
        guard !isWriting, !gathered.isEmpty, problem == nil else { return }
        isWriting = true
        let entries = gathered
        gathered = []
        let bound = LoopBound(self, on: loop)
        database.perform { connection throws(StoreError) in
            try CampaignStore.write(entries, connection)
        } then: { result in
            bound.run { $0.written(entries, result) }
        }
    }

    private func written(_ entries: [CampaignStore.Entry], _ result: Result<Set<Int>, StoreError>) {
        isWriting = false
        var refused: Set<Int> = []
        switch result {
        case .success(let those): refused = those
        case .failure(let error): problem = CampaignProblem(store: error)
        }
        for (index, entry) in entries.enumerated() {
            switch entry {
            case .handedOver: isBusyElsewhere = true
            case .began(let attempt, _):
                // One that ended without a call has its end in the same or the next transaction.
                if attempt.destination.isEmpty, problem == nil { continue }
                guard problem == nil, !refused.contains(index) else {
                    figures.active -= 1
                    figures.began -= 1
                    for limit in attempt.limits { limits[limit].active -= 1 }
                    continue
                }
                dial(attempt) { [weak self] in
                    self?.ended(attempt, $0)
                    self?.turn()
                }
            case .ended: figures.active -= 1
            }
        }
        turn()
    }

    private func ended(_ attempt: CampaignAttempt, _ result: AttemptResult) {
        for limit in attempt.limits { limits[limit].active -= 1 }
        switch result.verdict {
        case .passed: figures.passed += 1
        case .failed: figures.failed += 1
        case .error: figures.error += 1
        }
        let wall = loop.wallClock
        var again: Double?
        if result.verdict != .passed, !attempt.destination.isEmpty,
            let wait = plan.attempts.wait(after: result.cause, attempt: attempt.number)
        {
            again = wall + wait.seconds
            figures.again += 1
            nextDue = min(nextDue ?? .infinity, again ?? .infinity)
        }
        gathered.append(.ended(attempt, result, at: wall, again: again))
        if crew == nil { stopIfTooManyFailed(figures.ended, figures.passed) }
    }

    private func stopIfTooManyFailed(_ ended: Int, _ passed: Int) {
        guard let stop = plan.stop, ended >= stop.after, Double(ended - passed) > stop.failureRate * Double(ended) else { return }
        figures.wasStopped = true
    }

    // MARK: The end

    private func endIfOver() {
        let isEmpty = ready.isEmpty && nextDue == nil && !isBusyElsewhere
        let isCut = isDraining || figures.wasStopped || problem != nil
        guard isCut || isEmpty, figures.active == 0 || (problem != nil && !isWriting), gathered.isEmpty || problem != nil,
            !isWriting,
            !isClaiming
        else { return }
        isOver = true
        timer?.cancel()
        let bound = LoopBound(self, on: loop)
        let worker = worker
        database.perform { connection throws(StoreError) in
            try CampaignStore.leave(worker, mayGoOn: !isCut, connection)
        } then: { result in
            bound.run { run in
                // Rows that it had in hand without knowing: the server went away when it took them.
                if !isCut, case .success(let count) = result, count > 0 { return run.goOn() }
                run.crew?.stop()
                let tell = run.onEnd
                run.onEnd = nil
                tell?(run.problem)
            }
        }
    }

    private func goOn() {
        isOver = false
        nextDue = 0
        turn()
    }
}
