// MESSAGE and INFO with a body of ours in the dialog of a call (RFC 3428, RFC 6086), and the texts that come in it. Far sides that know no
// MESSAGE refuse it, or drop it: neither ends the call. An INFO without any answer says that the far side is gone (RFC 5057 section 5.1).

import Basics
import Reactor
import SIP

extension Call {
    package func send(_ text: TextRequest) async throws -> TextResult {
        if let target = text.target { return try await shard.send(text, to: target) }
        try requireAnswered(text.operation)
        if case .info(let package) = text.carrier, !package.isEmpty {
            if farPackages == nil { try await askForPackages(within: text.timeout) }
            if let why = refusal(ofPackage: package) { return TextResult(.refused, reason: why) }
        }
        let deadline = loop.now + text.timeout
        let sending = texts ?? TextsInCall()
        texts = sending
        guard try await sending.turn.take(on: loop, until: deadline) else { return .stillWaiting }
        // It may have ended meanwhile.
        guard let dialog = session?.machine.dialog, !state.isEnded else {
            sending.turn.leave()
            throw CallControlError.wrongState(operation: text.operation, why: "the call has ended")
        }
        let body = Array(text.text.utf8)
        let (method, rows) = Self.request(for: text.carrier)
        let size = size(of: method, rows, body, text.type, in: dialog)
        guard size <= TextRequest.limit else {
            sending.turn.leave()
            throw CallControlError.textIsTooLong(size, text.operation)
        }
        let answer = Waiter<TextResult>()
        sending.begin(method, dialog.localCSeq + 1, answer)
        var isSent = false
        update { isSent = $0.send(method, headers: rows, body: body, type: text.type, into: &$1) }
        if !isSent { sending.end(TextResult(.unreachable, reason: "the call ends")) }
        let timer = loop.schedule(at: deadline) { answer.resume(returning: .tooLate) }
        defer { timer.cancel() }
        return try await answer.wait()
    }

    package var receivedTexts: TextInbox {
        let inbox = texts ?? TextsInCall()
        texts = inbox
        return inbox.received
    }

    /// The method, and the rows besides those of every request. A body of a package says that it is one (RFC 6086 section 4.2.1).
    private static func request(for carrier: TextRequest.Carrier) -> (Method, [UInt8]) {
        guard case .info(let package) = carrier else { return (.message, []) }
        guard !package.isEmpty else { return (.info, []) }
        var writer = MessageWriter(capacity: 96)
        writer.header("Info-Package", text: package)
        writer.append("Content-Disposition: Info-Package\r\n")
        return (.info, writer.octets)
    }

    private func requireAnswered(_ operation: String) throws(CallControlError) {
        guard state != .answered else { return }
        throw .wrongState(
            operation: operation,
            why: state.isEnded ? "the call has ended" : "the call is not answered yet; `answer` comes first")
    }

    /// Octets of the request, with credentials as long as those of the INVITE.
    private func size(of method: Method, _ rows: [UInt8], _ body: [UInt8], _ type: String, in dialog: Dialog) -> Int {
        guard let machine = session?.machine else { return 0 }
        var dialog = dialog
        let request = dialog.request(
            method, end: machine.end, branch: shard.endpoint.newBranch(), headers: rows, body: body, type: type)
        return request.octets.count + (isChallenged ? Self.credentials(of: machine.invite).count : 0)
    }
}

/// The texts of a call: those that it sends, one after the other, and those that came. An object: few calls have it.
final class TextsInCall {
    let turn = TextTurn()
    let received = TextInbox()
    /// What the far side has said since the call began.
    var packages: [String]?
    /// Resumed by the answer to our question for them.
    var asking: Waiter<Void>?
    var hasAsked = false
    private var pending: (method: Method, cSeq: UInt32, answer: Waiter<TextResult>)?

    func begin(_ method: Method, _ cSeq: UInt32, _ answer: Waiter<TextResult>) { pending = (method, cSeq, answer) }

    /// A request that was sent again for a challenge has a higher number.
    func answered(by response: Message) {
        guard let pending, response.cSeqMethod == pending.method, response.cSeq >= pending.cSeq else { return }
        end(TextResult(answeredBy: response))
    }

    /// A request with this method has got no answer.
    func notAnswered(_ method: Method) { if method == pending?.method { end(.tooLate) } }

    /// No answer will come any more.
    func end(_ result: TextResult) {
        guard let answer = pending?.answer else { return }
        pending = nil
        turn.leave()
        answer.resume(returning: result)
    }
}
