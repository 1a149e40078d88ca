// MESSAGE of ours in the dialog of a call (RFC 3428). Far sides that know no MESSAGE refuse it, or drop it: neither ends the call.

import Basics
import Reactor
import SIP

extension Call {
    package func send(_ text: TextRequest) async throws -> TextResult {
        if let target = text.target { return try await shard.send(text, to: target) }
        try requireAnswered()
        let deadline = loop.now + text.timeout
        let sending = texts ?? TextsInCall()
        texts = sending
        guard try await sending.turn.take(on: loop, until: deadline) else { return .stillWaiting }
        // It may have ended meanwhile.
        guard let dialog = session?.machine.dialog, !state.isEnded else {
            sending.turn.leave()
            throw CallControlError.wrongState(operation: "send-message", why: "the call has ended")
        }
        let body = Array(text.text.utf8)
        let size = size(ofText: body, text.type, in: dialog)
        guard size <= TextRequest.limit else {
            sending.turn.leave()
            throw CallControlError.textIsTooLong(size)
        }
        let answer = Waiter<TextResult>()
        sending.begin(dialog.localCSeq + 1, answer)
        var isSent = false
        update { isSent = $0.send(.message, body: body, type: text.type, into: &$1) }
        if !isSent { sending.end(TextResult(.unreachable, reason: "the call ends")) }
        let timer = loop.schedule(at: deadline) { answer.resume(returning: .tooLate) }
        defer { timer.cancel() }
        return try await answer.wait()
    }

    private func requireAnswered() throws(CallControlError) {
        guard state != .answered else { return }
        throw .wrongState(
            operation: "send-message",
            why: state.isEnded ? "the call has ended" : "the call is not answered yet; `answer` comes first")
    }

    /// Octets of the request, with credentials as long as those of the INVITE.
    private func size(ofText body: [UInt8], _ type: String, in dialog: Dialog) -> Int {
        guard let machine = session?.machine else { return 0 }
        var dialog = dialog
        let request = dialog.request(
            .message, end: machine.end, branch: shard.endpoint.newBranch(), body: body, type: type)
        return request.octets.count + (isChallenged ? Self.credentials(of: machine.invite).count : 0)
    }
}

/// The texts that a call sends, one after the other. An object: few calls have it.
final class TextsInCall {
    let turn = TextTurn()
    private var pending: (cSeq: UInt32, answer: Waiter<TextResult>)?

    func begin(_ cSeq: UInt32, _ answer: Waiter<TextResult>) { pending = (cSeq, answer) }

    /// A request that was sent again for a challenge has a higher number.
    func answered(by response: Message) {
        guard let pending, response.cSeq >= pending.cSeq else { return }
        end(TextResult(answeredBy: response))
    }

    /// No answer will come any more.
    func end(_ result: TextResult) {
        guard let answer = pending?.answer else { return }
        pending = nil
        turn.leave()
        answer.resume(returning: result)
    }
}
