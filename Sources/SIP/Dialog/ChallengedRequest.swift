// A request inside a dialog and its credentials (RFC 3261 section 22): given before anybody asks, once the way there is known to ask, and
// the same request again after a challenge (401, 407), with the dialog's next number and a branch of its own.

extension OutgoingRequest {
    /// How often a request is sent again after a challenge: with the nonce it names, and once more when that has become stale.
    package static let challengeLimit: UInt8 = 2

    /// The Request-URI, as digest wants it.
    package var uri: [UInt8] {
        let rest = octets.drop { $0 != Octet.space }.dropFirst()
        return Array(rest.prefix { $0 != Octet.space })
    }

    /// What auth-int covers besides.
    package var body: [UInt8] { (try? Message(parsing: octets)).map { Array($0.body) } ?? [] }

    /// With these rows behind its own; each ends with CRLF.
    package func adding(_ rows: [UInt8]) -> OutgoingRequest {
        guard !rows.isEmpty, let message = try? Message(parsing: octets), let last = message.rows.last else { return self }
        var result = self
        result.octets.insert(contentsOf: rows, at: Int(last.value.end) + 2)
        return result
    }

    /// The same request as another one: its number and branch are new, and credentials are left out.
    fileprivate func again(_ message: Message, cSeq: UInt32, branch: [UInt8]) -> OutgoingRequest {
        var result = self
        result.challenges += 1
        result.branch = branch
        for row in message.rows.reversed() {
            switch row.kind {
            case .authorization, .proxyAuthorization:
                result.octets.removeSubrange(Int(row.nameStart)..<Int(row.value.end) + 2)
            case .cSeq:
                result.octets.replaceSubrange(
                    Int(row.value.start)..<Int(message.cSeqMethodRange.start), with: Array("\(cSeq) ".utf8))
            case .via:
                guard let range = (try? message.topVia())?.parts.branch else { continue }
                result.octets.replaceSubrange(range.indices, with: branch)
            default: break
            }
        }
        return result
    }
}

extension InviteSession {
    /// Sends a request in the dialog again that was challenged, without the credentials that it had: the sender adds those that answer
    /// the challenge. The session does not hear of the refusal.
    package mutating func send(again request: OutgoingRequest, into actions: inout [SessionAction]) {
        guard let message = try? Message(parsing: request.octets) else { return }
        let number = nextNumber(after: message)
        if request.method == .invite { pendingReinvite = number }
        if request.method == .update, pendingUpdate == message.cSeq { pendingUpdate = number }
        actions.append(.send(request.again(message, cSeq: number, branch: tokens.branch())))
    }

    /// The next number of the dialog that a request of ours was sent in. A fork that was left has none but the request's own.
    private mutating func nextNumber(after message: Message) -> UInt32 {
        let tag = (try? message.to().tag) ?? []
        if dialog?.remoteTag.elementsEqual(tag) == true {
            dialog!.localCSeq += 1
            return dialog!.localCSeq
        }
        guard let index = earlyDialogs.firstIndex(where: { $0.dialog.remoteTag.elementsEqual(tag) }) else {
            return message.cSeq + 1
        }
        earlyDialogs[index].dialog.localCSeq += 1
        return earlyDialogs[index].dialog.localCSeq
    }
}
