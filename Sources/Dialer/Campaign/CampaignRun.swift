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
    /// Rows in hand, the next to be called first.
    private var ready: [CampaignAttempt] = []
    private var isClaiming = false
    /// When the next row outside of `ready` is due, seconds since 1970; nil: there is none.
    private var nextDue: Double? = 0
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

        func allows(at now: Instant) -> Bool {
            active < (limit.concurrency ?? .max) && (spacing?.next ?? .zero) <= now
        }
    }

    /// - Parameter dial: places a call and tells, on the loop and in a later turn, what came of it.
    package init(_ plan: CampaignPlan, database: Database, loop: EventLoop, dial: @escaping Dial) {
        self.plan = plan
        self.database = database
        self.loop = loop
        self.dial = dial
        spacing = plan.rate.map { Spacing(rate: $0) }
        limits = plan.limits.map { LimitState($0) }
    }

    /// Begins. The list is in the database, and what a killed process left was put in order.
    package func run() { turn() }

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
        claim(at: wall)
        let now = loop.now
        while figures.active < plan.concurrency, let index = next(at: now) {
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
        guard figures.active < plan.concurrency else { return }
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
        return ready.firstIndex { $0.limits.allSatisfy { limits[$0].allows(at: now) } }
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
        let wanted = min(max(plan.concurrency * 2, 64), Self.mostInHand)
        guard !isClaiming, let nextDue, nextDue <= wall, ready.count < (beyondHeld ? Self.mostInHand : wanted / 2) else { return }
        isClaiming = true
        let count = beyondHeld ? wanted : wanted - ready.count
        let bound = LoopBound(self, on: loop)
        database.perform { connection throws(StoreError) in
            try CampaignStore.claim(count, at: wall, connection)
        } then: { result in
            bound.run { $0.claimed(result) }
        }
    }

    private func claimed(_ result: Result<(targets: [CampaignStore.Target], nextDue: Double?), StoreError>) {
        isClaiming = false
        switch result {
        case .failure(let error): problem = problem ?? CampaignProblem(store: error)
        case .success(let (targets, next)):
            nextDue = next
            for target in targets { add(target) }
        }
        turn()
    }

    /// Puts a row in hand; one whose destination cannot be told has an attempt that fails at once.
    private func add(_ target: CampaignStore.Target) {
        var attempt = CampaignAttempt(
            row: target.row, number: target.attempts + 1, destination: "", variables: [:], target: target.data)
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

    private func written(_ entries: [CampaignStore.Entry], _ result: Result<Void, StoreError>) {
        isWriting = false
        if case .failure(let error) = result { problem = CampaignProblem(store: error) }
        for entry in entries {
            switch entry {
            case .began(let attempt, _):
                guard problem == nil else {
                    figures.active -= 1
                    continue
                }
                // One that ended without a call has its end in the same or the next transaction.
                if attempt.destination.isEmpty { continue }
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
        if let stop = plan.stop, figures.ended >= stop.after,
            Double(figures.ended - figures.passed) > stop.failureRate * Double(figures.ended)
        {
            figures.wasStopped = true
        }
    }

    // MARK: The end

    private func endIfOver() {
        let isFinished = isDraining || figures.wasStopped || problem != nil || (ready.isEmpty && nextDue == nil)
        guard isFinished, figures.active == 0 || (problem != nil && !isWriting), gathered.isEmpty || problem != nil, !isWriting,
            !isClaiming
        else { return }
        isOver = true
        timer?.cancel()
        let bound = LoopBound(self, on: loop)
        database.perform { connection throws(StoreError) in
            try CampaignStore.release(connection)
        } then: { _ in
            bound.run { run in
                let tell = run.onEnd
                run.onEnd = nil
                tell?(run.problem)
            }
        }
    }
}
