// The interpreter: runs a flow over one call. It belongs to the call's loop; verbs are in Verbs/, values in FlowScope.swift.
//
// The flow runs in a task of its own. When the call ends, that task is cancelled and the verb that runs stops at once; `always:`
// then runs in another task, without audio, limited in time. Only a verb that waits for the far side's answer sees the end itself,
// since the end is what it asks about.

import Basics
package import CallEngine
package import Reactor

package final class FlowRun {
    package let call: any CallControl
    package let environment: FlowEnvironment
    /// The flow (or sub-flow) whose steps run.
    var frame: FlowFrame
    /// The result of the last verb that had one.
    var lastResult: Value = .null
    var lastResultIsSecret = false
    /// The one that began last.
    var newestRecording: KeptRecording?
    let flow: Flow
    /// The flow beside which this one runs a section, on the other leg of a bridge (FlowAside.swift); nil for the flow itself.
    let beside: FlowRun?
    /// A section runs while the call is in a bridge.
    var isInBridge = false
    private var main: LoopTask?
    private var limit: LoopTimer?
    private let ended = Waiter<CallEnd>()
    private var callEnd: CallEnd?
    /// Above 0 while a verb asks how far the call got: the end is its answer.
    private var milestoneWaits = 0
    /// Whether the flow asked how far an outbound call got. A refusal before that waits for the question.
    private var hasAsked = false
    /// Whether the flow had something to say to an end that is not normal.
    var handledEnd = false
    /// Whether `always:` runs: no audio, and the end of the call is an error for verbs that need it.
    private(set) var isAlways = false
    var background: Playback?
    /// What is heard under what plays.
    var underlay: Playback?
    /// A recording in the background, until `record: stop` or the end of the call.
    var backgroundRecording: KeptRecording?
    /// Recordings whose files are not closed yet, and who waits for the last of them.
    var pendingRecordings = 0
    var allClosed: Waiter<Void>?
    package private(set) var expectations: [Expectation] = []
    package private(set) var tags: [(name: String, value: String)] = []
    var recordings: [String] = []
    var digitsSent = ""
    /// Of the times that `QualityEvent` is about.
    private var worstScore: Double?
    /// The flow ended a call that goes out before its answer.
    private var hasGivenUp = false
    private var error: FlowError?
    var place: SourcePlace?
    private var depth = 0
    private var budget: FlowBudget

    package init(flow: Flow, call: any CallControl, environment: FlowEnvironment) {
        self.flow = flow
        self.call = call
        self.environment = environment
        beside = nil
        frame = FlowFrame(flow: flow)
        budget = FlowBudget(at: call.loop.now)
    }

    /// For a section on another call: its variables, events and results are those of `run`.
    init(beside run: FlowRun, on call: any CallControl) {
        flow = run.flow
        self.call = call
        environment = run.environment
        beside = run
        frame = run.frame
        isInBridge = true
        place = run.place
        (lastResult, lastResultIsSecret) = (run.lastResult, run.lastResultIsSecret)
        budget = FlowBudget(at: call.loop.now)
    }

    package var loop: EventLoop { call.loop }
    /// The step that runs, or the last one.
    package var currentPlace: SourcePlace? { place }
    package var flowName: String { flow.name }

    // MARK: The whole run

    /// Runs the flow to its end, ends the call, runs `always:`. Cancelling the task hangs up and still runs `always:`.
    package func run() async -> FlowOutcome {
        let previous = call.onEnd
        call.onEnd = { [weak self] end in
            previous?(end)
            self?.callEnded(end)
        }
        if !environment.observers.isEmpty { call.onQuality = { [weak self] in self?.hear($0) } }
        let over = Waiter<Void>()
        let task = loop.spawn {
            await self.runMain()
            over.resume(returning: ())
        }
        main = task
        if case .ended(let end) = call.state { callEnded(end) }
        do {
            try await over.wait()
        } catch {
            call.hangUp(HangUpReason(status: 503, cause: .cancelled, detail: "the flow was stopped"))
            task.cancel()
            await task.finished()
        }
        limit?.cancel()
        stopBackground()
        await waitForEnd()
        await waitForFinalAnswer()
        await waitForRecordings()
        await runAlways()
        if !call.state.isEnded { call.onEnd = previous }
        let outcome = makeOutcome()
        emit(.ended(outcome.result))
        return outcome
    }

    private func callEnded(_ end: CallEnd) {
        guard callEnd == nil else { return }
        callEnd = end
        ended.resume(returning: end)
        if milestoneWaits == 0, hasAsked || call.direction == .inbound || call.info.answered != nil {
            main?.cancel()
        } else {
            // What the flow does about the end is limited as `always:` is.
            let task = main
            limit = loop.schedule(after: flow.alwaysLimit) { task?.cancel() }
        }
    }

    private func runMain() async {
        guard flow.direction.allows(call.direction) else {
            fail(
                FlowError(
                    "the flow `\(flow.name)` is for \(flow.direction.rawValue) calls; this call is \(call.direction.rawValue)"
                ))
            return
        }
        guard chooseCodecs() else { return }
        do {
            try beginFrame(arguments: environment.arguments)
            do {
                try await runSections()
            } catch let error as FlowError where flow.failed != nil && !Task.isCancelled {
                note(failure: error)
                try await runFailed(flow.failed ?? Block())
            }
            hangUp(.normal)
        } catch let error as FlowError {
            fail(error)
        } catch {
            // The call is over, or the flow was stopped.
            hangUp(.normal)
        }
    }

    /// Ends the call, as the flow wants it.
    func hangUp(_ reason: HangUpReason) {
        guard !call.state.isEnded else { return }
        hasGivenUp = call.direction == .outbound && call.state != .answered
        call.hangUp(reason)
    }

    private func fail(_ error: FlowError) {
        note(failure: error)
        self.error = error
        hangUp(HangUpReason(status: 500, cause: .error, detail: "flow error"))
    }

    private func note(failure error: FlowError) {
        emit(.failed(error.message, at: error.place ?? place))
    }

    /// Sections from the start on, until one ends without `goto` or the flow ends.
    func runSections() async throws {
        var next = frame.flow.start
        while true {
            do {
                guard let section = frame.flow.section(next) else { throw FlowError("there is no section `\(next)`", at: place) }
                emit(.section(section.name))
                try await run(section.block)
                return
            } catch FlowTransfer.goto(let section, let from) {
                place = from
                next = section
            } catch FlowTransfer.end where frame.isSubflow == false {
                return
            }
        }
    }

    /// `failed:` is a section of its own; it may `goto` others.
    func runFailed(_ block: Block) async throws {
        emit(.section("failed"))
        do {
            try await run(block)
        } catch FlowTransfer.goto(let section, _) {
            frame.flow.start = section
            try await runSections()
        } catch FlowTransfer.end where !frame.isSubflow {
        }
    }

    private func waitForEnd() async {
        guard callEnd == nil else { return }
        // A peer that answers no BYE: the transaction gives up after 32 s.
        let timer = loop.schedule(after: .seconds(40)) { [ended] in ended.resume(returning: CallEnd(by: .engine, cause: .timeout))
        }
        let task = loop.spawn { if let end = try? await self.ended.wait(), self.callEnd == nil { self.callEnd = end } }
        await task.finished()
        timer.cancel()
    }

    /// What the far side says to the CANCEL is part of the result. In a task of its own: this one may be cancelled.
    private func waitForFinalAnswer() async {
        guard hasGivenUp else { return }
        await loop.spawn { await self.call.finalAnswer() }.finished()
    }

    /// `always:` reads about finished files; a recorder that hangs holds it up for 5 s at most.
    private func waitForRecordings() async {
        guard pendingRecordings > 0 else { return }
        let closed = Waiter<Void>()
        allClosed = closed
        let timer = loop.schedule(after: .seconds(5)) { closed.resume(returning: ()) }
        await loop.spawn { try? await closed.wait() }.finished()
        timer.cancel()
    }

    private func runAlways() async {
        guard let always = flow.always else { return }
        isAlways = true
        emit(.section("always"))
        let task = loop.spawn {
            do {
                try await self.run(always)
            } catch let error as FlowError {
                self.note(failure: error)
            } catch is CancellationError {
                self.emit(
                    .warning(
                        "`always` took longer than \(FlowDuration.print(self.flow.alwaysLimit)) and was stopped", at: self.place))
            } catch {
            }
        }
        let timer = loop.schedule(after: flow.alwaysLimit) { task.cancel() }
        await task.finished()
        timer.cancel()
    }

    // MARK: Steps

    /// Runs the steps of a block.
    package func run(_ block: Block) async throws {
        depth += 1
        defer { depth -= 1 }
        guard depth <= 64 else { throw FlowError("blocks run inside blocks more than 64 deep", at: place) }
        for step in block.steps { try await run(step) }
    }

    private func run(_ step: Step) async throws {
        try Task.checkCancellation()
        place = step.place
        try budget.spend(at: loop.now, place: step.place)
        emit(.stepBegan(verb: step.name, at: step.place))
        let result: StepResult
        do {
            result = try await perform(step)
        } catch let error as FlowError {
            let placed = FlowError(error.message, at: error.place ?? step.place)
            guard let handler = step.on["failed"], !Task.isCancelled else { throw placed }
            emit(.warning(placed.message, at: placed.place))
            lastResult = .object(["error": .string(placed.message)])
            lastResultIsSecret = false
            if let into = step.into { set(into, to: lastResult, secret: false) }
            try await run(handler)
            return
        }
        emit(.stepEnded(verb: step.name, outcome: result.outcome, at: step.place))
        store(result, into: step.into)
        if let then = result.then {
            try await run(then)
        } else if let outcome = result.outcome, let handler = step.on[outcome] {
            if call.state.isEnded { handledEnd = true }
            try await run(handler)
        } else if result.endsUnlessHandled {
            throw FlowTransfer.end
        }
    }

    private func perform(_ step: Step) async throws -> StepResult {
        try meet(type(of: step.verb).needs, of: step)
        if isInBridge, type(of: step.verb).takesCall { throw FlowError("\(step.name): the call is in a bridge") }
        do {
            return try await step.verb.run(self)
        } catch let error as CallControlError {
            if call.state.isEnded, !isAlways { throw CancellationError() }
            throw FlowError(error.words)
        } catch let error as ExpressionError {
            throw FlowError(error.message)
        }
    }

    private func meet(_ need: VerbNeed, of step: Step) throws {
        if need == .nothing { return }
        if call.state.isEnded {
            // After a call that was not answered the flow simply has nothing more to do here; in `always:` it is a mistake.
            if isAlways { throw FlowError("\(step.name): the call is over") }
            // On a call that goes out these verbs ask how far it got; the end is an answer.
            if need == .unanswered, call.direction == .outbound { return }
            throw FlowTransfer.end
        }
        switch need {
        case .nothing, .call: break
        case .unanswered:
            if call.direction == .inbound, call.state == .answered {
                throw FlowError("\(step.name): the call was answered already")
            }
        case .answered:
            if call.state != .answered { throw FlowError("\(step.name): the call is not answered yet; `answer` comes first") }
        case .media:
            guard call.state == .answered || call.state == .early else {
                throw FlowError("\(step.name) needs audio and there is none yet; `answer` (or `progress`) comes first")
            }
        }
    }

    private func store(_ result: StepResult, into name: String?) {
        guard let value = result.value else { return }
        lastResult = value
        lastResultIsSecret = result.isSecret
        if let name { set(name, to: result.into ?? value, secret: result.isSecret) }
    }

    // MARK: What verbs use

    /// Counts a round of a loop: rounds that take no time are a mistake.
    func spendStep() throws(FlowError) { try budget.spend(at: loop.now, place: place) }

    /// Runs `body` while the end of the call does not cancel the flow.
    package func seeingTheEnd<Result>(_ body: () async throws -> Result) async throws -> Result {
        milestoneWaits += 1
        hasAsked = true
        defer { milestoneWaits -= 1 }
        return try await body()
    }

    /// The end of the call, once it is over.
    package var end: CallEnd? { callEnd }

    package func emit(_ event: FlowEvent) {
        for observer in environment.observers { observer.flow(root, did: event) }
    }

    package func add(_ expectation: Expectation) {
        root.expectations.append(expectation)
        emit(.expectation(expectation))
    }

    package func add(tag name: String, value: String) {
        root.tags.append((name, value))
        emit(.tag(name: name, value: value))
    }

    private func hear(_ event: QualityEvent) {
        if case .measured(let figures) = event, let score = figures.score { worstScore = min(worstScore ?? score, score) }
        emit(.quality(event))
    }

    func stopBackground() {
        background?.stop()
        underlay?.stop()
        (background, underlay) = (nil, nil)
        backgroundRecording?.recording.stop()
        backgroundRecording = nil
    }

    private func makeOutcome() -> FlowOutcome {
        let result: FlowOutcome.Result
        if error != nil || callEnd?.cause == .error {
            result = .error
        } else if expectations.contains(where: { !$0.passed }) {
            result = .failed
        } else if let callEnd, callEnd.cause != .normal, !handledEnd, call.direction == .outbound {
            // A flow that gives up an attempt of its own accord has done what it was to do.
            result = callEnd.cause == .cancelled && callEnd.by == .caller ? .passed : .failed
        } else {
            result = .passed
        }
        return FlowOutcome(
            flow: flow.name, result: result, end: callEnd, expectations: expectations, tags: tags, error: error,
            recordings: recordings, digitsSent: digitsSent, worstScore: worstScore, lastPlace: place,
            variables: frame.publicVariables)
    }
}
