// A campaign at work: one turn after the other it lets begin what may (CampaignAllowance) of the rows in hand (CampaignRows). No call
// begins before the database has it (CampaignJournal).

import Basics
import CallEngine
import FlowEngine
package import Reactor
package import Store

/// Belongs to its loop.
package final class CampaignRun {
    package typealias Dial = (CampaignAttempt, @escaping (AttemptResult) -> Void) -> Void

    package private(set) var figures = CampaignFigures()
    /// Called once, when nothing runs any more and all is written; a problem when the database failed.
    package var onEnd: ((CampaignProblem?) -> Void)?
    /// This worker was given up by the others and joined again: its number from now on.
    package var onRejoin: ((Int) -> Void)?
    /// The lines that parties are called by, when one of several workers has to register them; set before it runs.
    package var lines: PartyLines?
    private let plan: CampaignPlan
    private let database: Database
    private let loop: EventLoop
    private let dial: Dial
    private let rows: CampaignRows
    private let journal: CampaignJournal
    private var allowance: CampaignAllowance
    private let crew: CampaignCrew?
    private var worker: Int
    private var others: [CampaignMember] = []
    /// All others that there ever were.
    private var known: Set<Int> = []
    /// Those of them that a test which begins now has nothing to do with.
    private var gone: Set<Int> = []
    private var watches: [CampaignWatch] = []
    private var timer: LoopTimer?
    private var isDraining = false
    private var isOver = false
    private var problem: CampaignProblem?
    /// How often the clock of the hours is looked at.
    private static let look = Duration.seconds(10)

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
        rows = CampaignRows(database, isAlone: worker.isAlone, loop: loop)
        journal = CampaignJournal(database, loop: loop)
        allowance = CampaignAllowance(plan, isAlone: worker.isAlone)
        crew = worker.isAlone ? nil : CampaignCrew(plan, worker, database: database, loop: loop)
    }

    /// Begins. The list is in the database, and what a killed process left was put in order.
    package func run() {
        rows.onRows = { [weak self] in self?.claimed($0, by: $1) }
        journal.onWritten = { [weak self] in self?.written($0, $1) }
        guard let crew else { return turn() }
        figures.waitsForLines = lines != nil
        crew.news = { [weak self] in self?.standStill() }
        crew.onBeat = { [weak self] in self?.heard($0) }
        crew.start()
    }

    /// Nothing begins from now on; calls that run go on. What is left waits for `--resume`.
    package func drain() {
        isDraining = true
        turn()
    }

    // MARK: Turns

    /// Everything that may happen now.
    private func turn() {
        guard !isOver else { return }
        timer?.cancel()
        timer = nil
        if problem == nil, !isDraining, !figures.wasStopped { fill() }
        if problem == nil { journal.write() }
        endIfOver()
    }

    private func fill() {
        let wall = loop.wallClock
        let now = loop.now
        figures.isClosed = plan.hours.map { !$0.isOpen(at: wall) } ?? false
        if figures.isClosed { return wake(at: now + Self.look) }
        guard allowance.isOpen, !figures.waitsForLines else { return }
        rows.fill(for: worker, places: allowance.places)
        while figures.active < allowance.places, allowance.isTime(at: now),
            let attempt = rows.take(where: { allowance.allows($0, at: now) })
        {
            allowance.begin(attempt, at: now)
            begin(attempt, at: wall)
        }
        guard figures.active < allowance.places else { return }
        if allowance.isTime(at: now) { rows.fill(for: worker, places: allowance.places, beyondHeld: true) }
        var times = rows.inHand.isEmpty ? [] : [allowance.next(after: now)].compactMap { $0 }
        if let due = rows.nextDue, due > wall { times.append(now + .nanoseconds(Int64(min(due - wall, 3600) * 1e9) + 1_000_000)) }
        if let first = times.min() { wake(at: first) }
    }

    private func begin(_ attempt: CampaignAttempt, at wall: Double) {
        figures.active += 1
        figures.peak = max(figures.peak, figures.active)
        figures.began += 1
        journal.add(.began(attempt, at: wall))
    }

    private func wake(at instant: Instant) {
        timer = loop.schedule(at: instant) { [weak self] in self?.turn() }
    }

    // MARK: Rows

    private func claimed(_ result: Result<[CampaignStore.Target], StoreError>, by worker: Int) {
        switch result {
        case .failure(let error): problem = problem ?? CampaignProblem(store: error)
        case .success(let targets):
            for target in targets { add(target, of: worker) }
            handOver()
        }
        turn()
    }

    /// Puts a row in hand; one whose destination cannot be told has an attempt that fails at once.
    private func add(_ target: CampaignStore.Target, of worker: Int) {
        var attempt = CampaignAttempt(target, of: worker)
        if let problem = attempt.fill(from: plan) {
            begin(attempt, at: loop.wallClock)
            return ended(attempt, .unseen(attempt, flow: plan.flow, detail: "line \(target.line) of the list: \(problem)"))
        }
        attempt.limits = allowance.limits(of: attempt.destination)
        rows.put(attempt)
    }

    // MARK: Calls

    private func written(_ entries: [CampaignStore.Entry], _ result: Result<Set<Int>, StoreError>) {
        var refused: Set<Int> = []
        switch result {
        case .success(let those): refused = those
        case .failure(let error): problem = CampaignProblem(store: error)
        }
        for (index, entry) in entries.enumerated() {
            switch entry {
            case .handedOver: rows.isBusyElsewhere = true
            case .ended: figures.active -= 1
            case .began(let attempt, _):
                // One that ended without a call has its end in the same or the next transaction.
                if attempt.destination.isEmpty, problem == nil { continue }
                guard problem == nil, !refused.contains(index) else {
                    figures.active -= 1
                    figures.began -= 1
                    allowance.end(attempt)
                    continue
                }
                let gone = gone
                dial(attempt) { [weak self] in self?.judged(attempt, $0, gone: gone) }
            }
        }
        turn()
    }

    /// Parties may be called at any worker. One that was lost while a test ran is to blame for what the test missed, and no other: before
    /// a test counts as failed, each worker of then has to show that it lives.
    ///
    /// - Parameter gone: workers that were gone when the test began.
    private func judged(_ attempt: CampaignAttempt, _ result: AttemptResult, gone: Set<Int>) {
        guard crew != nil, !plan.parties.isEmpty, result.verdict == .failed else {
            ended(attempt, result)
            return turn()
        }
        watches.append(
            CampaignWatch(but: gone) { [weak self, flow = plan.flow] lost in
                let who = lost.sorted().map { "worker \($0)" }.joined(separator: ", ")
                let blame = AttemptResult.unseen(attempt, flow: flow, detail: "\(who) was lost while the test ran")
                self?.ended(attempt, lost.isEmpty ? result : blame)
            })
    }

    private func ended(_ attempt: CampaignAttempt, _ result: AttemptResult) {
        allowance.end(attempt)
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
            let due = wall + wait.seconds
            again = due
            figures.again += 1
            rows.expect(at: due)
        }
        journal.add(.ended(attempt, result, at: wall, again: again))
        if crew == nil { stopIfTooManyFailed(figures.ended, figures.passed) }
    }

    private func stopIfTooManyFailed(_ ended: Int, _ passed: Int) {
        guard let stop = plan.stop, ended >= stop.after, Double(ended - passed) > stop.failureRate * Double(ended) else { return }
        figures.wasStopped = true
    }

    // MARK: Among other workers

    /// What runs; until the answer comes no more than that may.
    private func standStill() -> CampaignNews {
        var news = CampaignNews(active: allowance.standStill(active: figures.active))
        (news.ended, news.passed, news.again) = (figures.ended, figures.passed, figures.again)
        news.contacts = lines?.contacts
        return news
    }

    private func heard(_ result: Result<CampaignBeat, StoreError>) {
        switch result {
        case .failure(let error): problem = problem ?? CampaignProblem(store: error)
        case .success(let beat):
            if let id = crew?.id, id != worker {
                worker = id
                rows.forget()
                onRejoin?(id)
            }
            figures.whole = beat
            others = beat.others
            known.formUnion(others.map(\.id))
            if let lines {
                figures.waitsForLines = !beat.hasLines
                problem = problem ?? lines.follow(beat)
            }
            // Who holds lines and is gone is to blame for calls that did not come until another one has them.
            if !figures.waitsForLines { gone = known.subtracting(others.map(\.id)) }
            tellWatches()
            allowance.take(beat.share, at: loop.now)
            handOver()
            stopIfTooManyFailed(beat.ended, beat.passed)
            if rows.isBusyElsewhere, rows.nextDue == nil { rows.look() }
            // Without a place it only looks whether all is over.
            if beat.share.places[0] == 0, !rows.isAsking, !isOver { rows.ask(for: 0, worker: worker) }
        }
        turn()
    }

    private func tellWatches() {
        let beats = Dictionary(uniqueKeysWithValues: others.map { ($0.id, $0.beat) })
        let told = watches.map { ($0, $0.look(at: beats, known: known)) }
        watches = told.filter { $0.1 == nil }.map(\.0)
        for case (let watch, let lost?) in told { watch.then(lost) }
    }

    /// Gives rows to the others whose destinations this worker has no place for.
    private func handOver() {
        for other in others {
            for attempt in rows.takeAll(where: { allowance.isFor(other, $0) }) { journal.add(.handedOver(attempt, to: other.id)) }
        }
    }

    // MARK: The end

    private func endIfOver() {
        let isCut = isDraining || figures.wasStopped || problem != nil
        guard isCut || rows.isEmpty, !rows.isAsking, !journal.isWriting else { return }
        guard problem != nil || (figures.active == 0 && journal.isEmpty) else { return }
        isOver = true
        timer?.cancel()
        let bound = LoopBound(self, on: loop)
        let worker = worker
        database.perform { connection throws(StoreError) in
            try CampaignStore.leave(worker, mayGoOn: !isCut, connection)
        } then: { result in
            bound.run { $0.left(result, isCut: isCut) }
        }
    }

    private func left(_ result: Result<Int, StoreError>, isCut: Bool) {
        // Rows that it had in hand without knowing: the server went away when it took them.
        if !isCut, case .success(let count) = result, count > 0 {
            isOver = false
            rows.look()
            return turn()
        }
        crew?.stop()
        let tell = onEnd
        onEnd = nil
        tell?(problem)
    }
}
