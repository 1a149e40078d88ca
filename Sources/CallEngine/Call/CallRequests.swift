// Requests of the peer inside the dialog: re-INVITE (RFC 3261 section 14.2), UPDATE (RFC 3311), PRACK (RFC 3262), INFO with keys
// (RFC 6086), OPTIONS, and the answers to requests of ours.

import Basics
import Reactor
import SIP

extension Call {
    /// A re-INVITE: answered at once. What cannot be agreed on is refused with 488, and the session goes on as it was.
    func reinvited(_ request: Message, _ id: TransactionID) {
        let source = hop.address
        if let refusal = shard.screening.refusal(of: request) {
            return update { $0.refuse(refusal.status, headers: refusal.headers, source: source, into: &$1) }
        }
        guard let media else { return update { $0.refuse(488, source: source, into: &$1) } }
        do throws(MediaError) {
            if let offer = request.sessionDescription {
                localDescription = try media.answer(offer)
            } else {
                isOfferless = true
                localDescription = media.makeOffer()
            }
        } catch {
            return update { $0.refuse(error.status, headers: warningRow(error), source: source, into: &$1) }
        }
        notePackages(request)
        let rows = Self.packageRow(answering: request)
        update { $0.answer(headers: rows, body: self.localDescription, source: source, at: self.loop.now, into: &$1) }
    }

    /// Any other request but BYE.
    func requested(_ request: Message, _ id: TransactionID) {
        var (status, headers, body): (Int, [UInt8], [UInt8]) = (200, [], [])
        if let refusal = shard.screening.refusal(of: request) {
            (status, headers) = (refusal.status, refusal.headers)
        } else {
            switch request.method {
            case .info: (status, headers) = receivedInfo(request)
            case .options: headers = shard.capabilityRows
            case .notify: status = notified(request)
            case .refer: (status, headers) = referred(request)
            case .subscribe: (status, headers) = subscribed(request)
            case .message: (status, headers) = shard.take(text: request, call: self, line: lineIndex, user: user)
            case .update, .prack:
                (status, headers, body) = receivedDescription(request)
                if status == 200 {
                    notePackages(request)
                    headers += Self.packageRow(answering: request)
                }
            default: (status, headers) = (405, shard.capabilityRows)
            }
        }
        update {
            $0.reply(
                status, to: request, id, headers: headers, body: body, source: self.hop.address, at: self.loop.now, into: &$1)
        }
    }

    /// UPDATE and PRACK may bring an offer, and PRACK the answer to the one in our reliable 183. Nothing changes when it is refused.
    private func receivedDescription(_ request: Message) -> (status: Int, headers: [UInt8], body: [UInt8]) {
        guard let description = request.sessionDescription else { return (200, [], []) }
        guard let media else { return (488, [], []) }
        do throws(MediaError) {
            if request.method == .prack, isOfferless {
                try media.receive(answer: description)
                isOfferless = false
                return (200, [], [])
            }
            let answer = try media.answer(description)
            // What a 200 to the INVITE would repeat is no answer to its offer any more.
            localDescription = []
            return (200, [], answer)
        } catch {
            return (error.status, warningRow(error), [])
        }
    }

    /// Keys in their two usual bodies. An INFO without a body is a keep-alive; an unknown package gets 469.
    private func receivedInfo(_ request: Message) -> (status: Int, headers: [UInt8]) {
        if request.header("Info-Package") != nil { return (469, Self.noPackages) }
        guard !request.body.isEmpty else { return (200, []) }
        guard let key = InfoDigit(contentType: request.contentType ?? "", body: request.body) else {
            return (415, Array("Accept: application/dtmf-relay, application/dtmf\r\n".utf8))
        }
        media?.receiveInfo(digit: key.digit, duration: key.duration)
        return (200, [])
    }

    /// A final answer to a request of ours, BYE and INVITE's first answer aside.
    func responded(_ response: Message, method: Method, retryAfter: Duration?) {
        switch method {
        case .invite: renegotiated(response, retryAfter: retryAfter)
        case .refer:
            let isQuiet = response.header("Refer-Sub")?.lowercased().hasPrefix("false") == true
            transferEvents?.send(.answered(status: response.status, isQuiet: isQuiet))
        case .message, .info: texts?.answered(by: response)
        case .update:
            notePackages(response)
            texts?.asking?.resume(returning: ())
        default: break
        }
    }

    func notAnswered(_ method: Method) {
        texts?.notAnswered(method)
        guard method == .invite else { return }
        if let renegotiation { renegotiation.resume(returning: OfferOutcome(status: 408)) } else { media?.offerFailed() }
    }

    /// Why a description is refused, for people and programs (RFC 3261 section 20.43).
    func warning(_ error: MediaError) -> CallHeader {
        let text = error.warning.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return CallHeader(name: "Warning", value: "\(error.warnCode) \(shard.endpoint.localAddress(to: hop)) \"\(text)\"")
    }

    private func warningRow(_ error: MediaError) -> [UInt8] { Self.rows([warning(error)]) }
}

/// A key out of an INFO body, as phones send it: `application/dtmf-relay` with Signal and Duration, or `application/dtmf` with the key.
struct InfoDigit {
    var digit: Digit
    var duration: Duration?

    init?(contentType: String, body: ArraySlice<UInt8>) {
        let text = String(decoding: body.prefix(512), as: UTF8.self)
        switch contentType {
        case "application/dtmf-relay":
            var signal: Digit?
            for line in text.split(whereSeparator: \.isNewline) {
                let parts = line.split(separator: "=", maxSplits: 1).map { Self.trimmed($0) }
                guard parts.count == 2 else { continue }
                switch parts[0].lowercased() {
                case "signal": signal = Self.key(parts[1])
                case "duration": duration = UInt16(parts[1]).map { .milliseconds(Int($0)) }
                default: break
                }
            }
            guard let signal else { return nil }
            digit = signal
        case "application/dtmf":
            guard let key = Self.key(Self.trimmed(text[...])) else { return nil }
            digit = key
        default: return nil
        }
    }

    /// The key itself, or its event code (RFC 4733 section 3.2): 10 and 11 are `*` and `#`, 16 is a flash.
    private static func key(_ text: Substring) -> Digit? {
        if text.count == 1 { return Digit(text.first!) }
        guard let code = Int(text), (10...16).contains(code) else { return nil }
        return Digit(Array("*#ABCD!")[code - 10])
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return text
    }
}
