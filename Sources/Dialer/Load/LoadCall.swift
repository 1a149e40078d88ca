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

    private func noteEnd(_ state: CallState) {
        if case .ended(let end) = state { driver.tally.noteEnd(of: call, end) }
    }

    func hangUp() { call.hangUp(.normal) }

    private func result(of end: CallEnd, _ flow: FlowOutcome?) -> LoadOutcome {
        LoadOutcome(of: call, end, flow, score: plan.score)
    }
}
