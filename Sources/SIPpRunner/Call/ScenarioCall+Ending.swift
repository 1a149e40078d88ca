// How a call ends: past its last step, by a failure, or by a person's hand.

import Basics
import SIP

extension ScenarioCall {
    /// The scenario was walked to its end.
    func succeed() {
        if let failedCheck { return fail(failedCheck) }
        end(isSuccess: true)
    }

    /// The run is over in the middle of the call: nothing more happens, and nothing is counted.
    func halt() {
        isOver = true
        retransmitAt = .never
        pausedUntil = .never
        receiveUntil = .never
    }

    /// The call failed. `cause` nil: it was ended from outside.
    /// - Parameter sayingGoodbye: the peer is told, as far as the behaviours allow.
    func fail(_ cause: FailureCause?, sayingGoodbye: Bool = false) {
        guard !isOver else { return }
        if let cause { statistics.failed(cause) }
        remember("failed: \(cause?.column ?? "ended from outside")")
        if sayingGoodbye, settings.behaviors.contains(.bye) { sayGoodbye() }
        end(isSuccess: false)
    }

    /// Ends what has been begun: ACK for a refusal, CANCEL while it rings, ACK and BYE when an answer is not acknowledged, else BYE.
    private func sayGoodbye() {
        guard isOutgoing, index > 0 else { return }
        if !isEstablished, lastSentIsInvite {
            guard let last = lastReceived else { return }
            if last.status >= 400 {
                sendDefault(.ack, branchOfLast: true)
            } else if ackIsPending {
                ackIsPending = false
                sendDefault(.ack2)
                sendDefault(.bye)
            } else {
                sendDefault(.cancel, branchOfLast: true)
            }
        } else if lastReceived != nil {
            cSeq += 1
            sendDefault(.bye)
        }
    }

    /// Ended by a person, or with the run.
    package func abort() {
        guard !isOver else { return }
        fail(nil, sayingGoodbye: true)
        settle()
    }

    private func end(isSuccess: Bool) {
        guard !isOver else { return }
        if pausedUntil != .never { countSession(-1) }
        isOver = true
        retransmitAt = .never
        pausedUntil = .never
        receiveUntil = .never
        didSucceed = isSuccess
        statistics.ended(isSuccess: isSuccess, after: run.now - began)
        run.ended(self)
    }

    /// Nobody answered in time.
    func receiveTimedOut() {
        receiveUntil = .never
        let step = scenario.steps[index]
        statistics.steps[index].timeouts += 1
        if let next = step.common.timeoutNext {
            index = next
            // A label behind the last step ends the call.
            if next >= scenario.steps.count { fail(.timeoutOnRecv) } else { go() }
            return
        }
        run.warn(
            "Call-Id: \(text(id)), receive timeout on message \(scenario.name):\(index) without label to jump to (ontimeout attribute): aborting call"
        )
        fail(.timeoutOnRecv, sayingGoodbye: true)
    }
}
