// Joins a campaign with the calls: each attempt runs the campaign's flow on one of the loops, and its result goes back.

import Basics
import CallEngine
import Dialer
import FlowEngine
import Reactor
import Store

struct CampaignDialer: Sendable {
    private let plan: CampaignPlan
    private let flow: Flow
    private let party: CallingParty
    private let ladders: CallLadders
    private let place: CampaignPlace
    private let control: EpollLoop
    /// The report's folder, when calls are recorded; of those that passed nothing is kept.
    private let folder: String?
    /// nil: the far end is the system under test itself.
    private let parties: PartyHost?
    /// This worker's number, kept up to date for whom it passes calls on to.
    private let workerID: Locked<Int>

    init(
        _ plan: CampaignPlan, _ flow: Flow, _ party: CallingParty, _ ladders: CallLadders, _ place: CampaignPlace,
        _ control: EpollLoop, recordsInto folder: String?, parties: PartyHost?, workerID: Locked<Int>
    ) {
        self.plan = plan
        self.flow = flow
        self.party = party
        self.ladders = ladders
        self.place = place
        self.control = control
        self.folder = folder
        self.parties = parties
        self.workerID = workerID
    }

    /// Runs the campaign on the control loop and waits for its end.
    func run(
        _ stops: StopRequests, metrics: RunMetrics?, _ progress: @escaping @Sendable (String) -> Void
    ) async -> (problem: CampaignProblem?, figures: CampaignFigures) {
        await withCheckedContinuation { continuation in
            control.execute { [self] in
                let tasks = CallTasks(loop: control)
                let run = CampaignRun(plan, database: place.database, worker: place.worker, loop: control) { attempt, then in
                    dial(attempt, tasks, then)
                }
                run.lines = parties?.lines()
                run.onRejoin = { id in workerID.withLock { $0 = id } }
                let bound = LoopBound(run, on: control)
                let ticker = LoopBound(CampaignTicker(run, place.before, control, metrics, progress), on: control)
                let running = LoopBound(tasks, on: control)
                run.onEnd = { problem in
                    stops.handle(nil)
                    ticker.onLoop.stop()
                    continuation.resume(returning: (problem, bound.onLoop.figures))
                }
                stops.handle { count in
                    if count == 1 {
                        progress("no new calls; waiting for those that run (again: ends them)")
                        bound.run { $0.drain() }
                    } else {
                        running.run { $0.cancelAll() }
                        parties?.desk.run { $0.interrupt() }
                    }
                }
                run.run()
            }
        }
    }

    private func dial(_ attempt: CampaignAttempt, _ tasks: CallTasks, _ then: @escaping (AttemptResult) -> Void) {
        if let parties { return parties.run(attempt, flow: flow, then) }
        var order = CallingParty.Order(
            request: CallRequest(target: attempt.destination, line: plan.line, from: attempt.callerID), flow: flow,
            arguments: attempt.variables)
        order.campaign = .object(["name": .string(plan.name)])
        order.target = attempt.target
        if let folder {
            order.recording = RecordingRequest(
                path: "\(folder)/\(CallAudio.path(row: attempt.row, attempt: attempt.number))", channels: .stereo)
        }
        let placed = order
        tasks.spawn { then(await result(of: placed, attempt)) }
    }

    private func result(of order: CallingParty.Order, _ attempt: CampaignAttempt) async -> AttemptResult {
        do throws(CommandFailure) {
            let report = try await party.place(order, on: attempt.row)
            return result(report, attempt)
        } catch {
            return .unseen(attempt, flow: flow.name, detail: error.message)
        }
    }

    private func result(_ report: CallingParty.Report, _ attempt: CampaignAttempt) -> AttemptResult {
        let call = report.result
        let verdict: AttemptResult.Verdict =
            switch call.verdict {
            case .passed: .passed
            case .failed: .failed
            case .error: .error
            }
        let json = JSONText.object(call.members + [("row", .count(attempt.row)), ("attempt", .count(attempt.number))])
        var result = AttemptResult(verdict: verdict, cause: call.end.cause, status: call.status, json: json.text)
        result.answer = call.timings.answer?.milliseconds
        result.duration = call.timings.total?.milliseconds
        result.score = VoiceQuality.meanOpinionScore(of: call.media, codec: call.codec)
        let ladder = ladders.take(report.callID, here: "this side", there: "the other side")
        if verdict != .passed { result.ladder = ladder }
        if verdict == .passed, let recording = report.recording { OutputFolder.remove(recording.path) }
        return result
    }
}

/// The tasks of calls that run, so that they can be ended. Belongs to its loop.
private final class CallTasks {
    private let loop: EventLoop
    private var tasks: [Int: LoopTask] = [:]
    private var next = 0

    init(loop: EventLoop) { self.loop = loop }

    func spawn(_ body: @escaping () async -> Void) {
        let number = next
        next += 1
        tasks[number] = loop.spawn { [self] in
            await body()
            tasks[number] = nil
        }
    }

    func cancelAll() {
        for task in tasks.values { task.cancel() }
    }
}

/// Tells how far a campaign is, once a second. Belongs to its loop.
private final class CampaignTicker {
    private let run: CampaignRun
    private let before: CampaignStore.Counts
    private let loop: EventLoop
    private let metrics: RunMetrics?
    private let progress: @Sendable (String) -> Void
    private let start: Instant
    private var timer: LoopTimer?

    init(
        _ run: CampaignRun, _ before: CampaignStore.Counts, _ loop: EventLoop, _ metrics: RunMetrics?,
        _ progress: @escaping @Sendable (String) -> Void
    ) {
        self.run = run
        self.before = before
        self.metrics = metrics
        self.loop = loop
        self.progress = progress
        start = loop.now
        schedule()
    }

    private func schedule() {
        timer = loop.schedule(after: .seconds(1)) { [weak self] in self?.tick() }
    }

    private func tick() {
        let figures = run.figures
        let (over, failed) = figures.over(before)
        let ended = figures.whole == nil ? figures.ended : over - before.over
        let rate = Double(ended) / (loop.now - start).seconds
        var line =
            "\(over) of \(before.targets) over, \(JSONText.number(rate, digits: 1).text) calls/s, \(figures.active) active, "
        line += "\(failed) failed"
        if figures.isClosed {
            line += "; outside of the hours"
        } else if figures.waitsForLines {
            line += "; waits until a line of the parties is registered"
        } else if rate > 0 {
            // Retries are not known beforehand.
            line += ", \(FlowDuration.print(.seconds(Int64((Double(before.targets - over) / rate).rounded(.up))))) left"
        }
        progress(line)
        let before = before
        metrics?.show { $0.add(figures, before: before) }
        schedule()
    }

    func stop() {
        timer?.cancel()
        timer = nil
    }
}
