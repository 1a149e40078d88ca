// Every way in which a call ends. What the user of the call sees ends at once (`finish`); the SIP session may have to linger for an
// ACK, a 487 or a repeated 2xx, and leaves when it is done (`leave`).

import Basics
import Reactor
import SIP

extension Call {
    package func hangUp(_ reason: HangUpReason) {
        guard !state.isEnded else {
            lingering?.resume(returning: ())
            return
        }
        let wasAnswered = state == .answered
        let party: CallEnd.Party = reason.cause == .normal || reason.cause == .cancelled ? ourSide : .engine
        var cause = reason.cause
        if !wasAnswered, cause == .normal { cause = direction == .outbound ? .cancelled : .rejected }
        if !wasAnswered, direction == .inbound {
            finalStatus = reason.status
            finalReason = "\(statusPhrase(reason.status))"
        }
        let end = CallEnd(by: party, cause: cause, detail: reason.detail)
        finish(end)
        guard session != nil else { return leave() }
        let rows = Self.reasonRow(reason.reason)
        update { $0.hangUp(status: reason.status, headers: rows, source: self.hop.address, into: &$1) }
    }

    package func finalAnswer() async {
        guard direction == .outbound, state.isEnded, answeredAt == nil, registration != nil else { return }
        let waiter = lingering ?? Waiter<Void>()
        lingering = waiter
        try? await waiter.wait()
    }

    /// The final answer came after the call was given up.
    func answeredLate(_ response: Message) {
        guard state.isEnded, answeredAt == nil, response.status >= 200 else { return }
        finalStatus = response.status
        finalReason = response.reasonPhrase
        finalResponse = response
    }

    /// Why, for the far side (RFC 3326).
    static func reasonRow(_ reason: String?) -> [UInt8] {
        guard let reason else { return [] }
        var writer = MessageWriter(capacity: 80)
        writer.header("Reason", text: reason)
        return writer.octets
    }

    var ourSide: CallEnd.Party { direction == .inbound ? .callee : .caller }
    var theirSide: CallEnd.Party { direction == .inbound ? .caller : .callee }

    /// The SIP session is over: whoever did it.
    func sessionEnded(_ reason: SessionEnd) {
        switch reason {
        case .hungUp, .cancelled: break
        case .remoteHungUp(let bye):
            farReason = bye.header(.reason)
            finish(CallEnd(by: theirSide, cause: .normal, detail: farReason ?? ""))
        case .remoteCancelled(let cancel):
            finalStatus = 487
            finalReason = "\(statusPhrase(487))"
            farReason = cancel.header(.reason)
            finish(CallEnd(by: .caller, cause: .cancelled, detail: farReason ?? ""))
        case .refused(let status):
            finish(CallEnd(by: ourSide, cause: status < 400 ? .normal : CallEnd.cause(ofStatus: status), detail: ""))
        case .noACK: finish(CallEnd(by: .engine, cause: .timeout, detail: "no ACK came for the answer"))
        case .notRefreshed:
            finish(CallEnd(by: theirSide, cause: .timeout, detail: "the session was not refreshed in time"))
        case .noPRACK:
            finalStatus = 504
            finalReason = "\(statusPhrase(504))"
            finish(CallEnd(by: .engine, cause: .timeout, detail: "no PRACK came for the ringing"))
        case .dialogLost(let status):
            finish(CallEnd(by: theirSide, cause: .error, detail: "the other side does not know the call any more (\(status))"))
        }
        leave()
    }

    /// The end as flows and results see it, once.
    func finish(_ end: CallEnd) {
        guard !state.isEnded else { return }
        endedAt = loop.now
        times.total = loop.now - started
        media?.digits.stopReading()
        finalReport = media?.report
        finalCodec = media?.codecName ?? ""
        media?.close()
        media = nil
        change(to: .ended(end))
        for wait in milestones { wait.waiter.resume(returning: .ended(end)) }
        milestones = []
        answering?.resume(returning: .wrongState(operation: "answer", why: "the call has ended"))
        renegotiation?.resume(returning: OfferOutcome(status: 0))
        texts?.end(TextResult(.noAnswer, reason: "the call has ended"))
        texts?.asking?.resume(returning: ())
        shard.ended(self, end)
        let tell = onEnd
        onEnd = nil
        onStateChange = nil
        onReferral = nil
        tell?(end)
    }
}
