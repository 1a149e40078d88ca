// One call of a load run: held for its time after the answer, or led by a flow.

import Basics
import CallEngine
import FlowEngine
import Reactor

/// Belongs to the call's loop.
final class LoadCall {
    private let call: Call
    private let plan: LoadPlan
    private let hold: Duration
    private unowned let driver: LoadDriver
    /// Waits for the answer, then for the end of the call's time.
    private var timer: LoopTimer?
    private var hungUp = false

    init(_ call: Call, _ plan: LoadPlan, hold: Duration, driver: LoadDriver) {
        self.call = call
        self.plan = plan
        self.hold = hold
        self.driver = driver
    }

    func begin() {
        guard let flow = plan.flow else { return beginHolding() }
        let run = FlowRun(flow: flow, call: call, environment: plan.environment())
        call.onStateChange = { [unowned self] in noteEnd($0) }
        call.loop.spawn { [self] in
            let outcome = await run.run()
            driver.ended(self, result(of: outcome.end ?? CallEnd(by: .engine, cause: .error), outcome))
        }
    }

    private func beginHolding() {
        call.onStateChange = { [unowned self] state in
            if state == .answered { answered() } else { noteEnd(state) }
        }
        call.onEnd = { [self] end in
            timer?.cancel()
            driver.ended(self, result(of: end, nil))
        }
        timer = call.loop.schedule(after: plan.answerTimeout) { [unowned self] in
            call.hangUp(HangUpReason(cause: .noAnswer, detail: "no answer in \(plan.answerTimeout)"))
        }
    }

    private func answered() {
        timer?.cancel()
        switch plan.media {
        case .none: break
        case .play(let source): _ = call.play(PlaybackRequest([source], loop: .forever))
        case .echo: call.startEcho()
        }
        timer = call.loop.schedule(after: hold) { [unowned self] in hangUp() }
    }

    /// A BYE of ours follows the end of an answered call that the far side did not end itself.
    private func noteEnd(_ state: CallState) {
        guard case .ended(let end) = state, call.answeredAt != nil, end.by != .callee else { return }
        driver.expectBye()
    }

    func hangUp() { call.hangUp(.normal) }

    private func result(of end: CallEnd, _ flow: FlowOutcome?) -> LoadOutcome {
        let wasAnswered = call.answeredAt != nil
        let media = call.mediaReport
        let failure = failure(end, flow, wasAnswered)
        if failure != nil { call.isCountedAsFailed = true }
        var outcome = LoadOutcome(
            failure: failure, wasAnswered: wasAnswered, timings: call.times, media: media,
            score: media.received > 0 ? plan.score(media, call.finalCodec) : nil)
        outcome.isMisaddressed = outcome.isOneWay && call.seenAddress != nil
        return outcome
    }

    private func failure(_ end: CallEnd, _ flow: FlowOutcome?, _ wasAnswered: Bool) -> LoadOutcome.Failure? {
        if let flow {
            if flow.result == .passed { return nil }
            if flow.expectations.contains(where: { !$0.passed }) { return .cause("expectation") }
        } else if wasAnswered, end.cause == .normal {
            return nil
        }
        if !wasAnswered, end.by == .callee, call.finalStatus >= 300 { return .status(call.finalStatus) }
        return .cause(end.cause.rawValue)
    }
}
