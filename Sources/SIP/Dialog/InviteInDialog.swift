// Requests and responses inside the dialog of a session (RFC 3261 sections 12.2, 14): the order of numbers, re-INVITE and its
// glare (491), INFO and others, what a 481 or 408 means.

package import Basics

extension InviteSession {
    /// A request of the other end in this dialog (`owns` said so), except ACK and CANCEL.
    package mutating func received(
        request: Message, _ transaction: TransactionID, source: SocketAddress, into actions: inout [SessionAction]
    ) {
        func respond(_ status: Int, headers: [UInt8] = []) {
            var writer = MessageWriter(capacity: request.octets.count + 64)
            writer.response(status, to: request, tag: localTag[...], source: source)
            writer.append(headers)
            writer.finish()
            actions.append(.respond(transaction, status: status, writer.octets))
        }
        if request.method == .bye {
            respond(200)
            return receivedBYE(request, source: source, into: &actions)
        }
        guard state != .ended, dialog != nil else { return respond(481) }
        guard dialog!.accepts(request) else { return respond(500) }
        if request.method == .invite {
            if pendingReinvite != nil || unansweredCSeq != nil { return respond(491) }
            if openReinvite != nil || state == .early {
                let wait = tokens.number(in: 0...10)
                return respond(500, headers: Array("Retry-After: \(wait)\r\n".utf8))
            }
            dialog!.refreshTarget(request)
            openReinvite = (request, transaction)
            actions.append(.reinvited(request, transaction))
            return
        }
        if request.method == .update { dialog!.refreshTarget(request) }
        actions.append(.request(request, transaction))
    }

    /// Sends a re-INVITE; false while one of either side is open, or the first exchange is not finished (section 14.1).
    package mutating func reinvite(
        headers: [UInt8] = [], body: [UInt8], type: String = "application/sdp", into actions: inout [SessionAction]
    ) -> Bool {
        guard state == .confirmed, pendingReinvite == nil, unansweredCSeq == nil, openReinvite == nil,
            unacknowledged.isEmpty, dialog != nil
        else { return false }
        let request = dialog!.request(.invite, end: end, branch: tokens.branch(), headers: headers, body: body, type: type)
        pendingReinvite = dialog!.localCSeq
        actions.append(.send(request))
        return true
    }

    /// Sends another request in the dialog (INFO, UPDATE, OPTIONS, …); false when there is no dialog.
    package mutating func send(
        _ method: Method, headers: [UInt8] = [], body: [UInt8] = [], type: String = "", into actions: inout [SessionAction]
    ) -> Bool {
        guard state != .ended, state != .calling, dialog != nil else { return false }
        actions.append(
            .send(dialog!.request(method, end: end, branch: tokens.branch(), headers: headers, body: body, type: type)))
        return true
    }

    mutating func receivedInDialog(_ response: Message, into actions: inout [SessionAction]) {
        let method = response.cSeqMethod
        if method == .invite, 200..<300 ~= response.status, response.cSeq != pendingReinvite {
            return repeatedAccept(response, into: &actions)
        }
        guard response.status >= 200, method != .bye, method != .cancel else { return }
        guard state != .ended else {
            if method == .invite, response.cSeq == pendingReinvite, response.status < 300, dialog != nil {
                pendingReinvite = nil
                unansweredCSeq = response.cSeq
                acknowledge(into: &actions)
            }
            return
        }
        var retryAfter: Duration?
        if method == .invite {
            guard response.cSeq == pendingReinvite else { return }
            pendingReinvite = nil
            if response.status < 300 {
                dialog?.refreshTarget(response)
                unansweredCSeq = response.cSeq
            } else if response.status == 491 {
                // The end that chose the Call-ID waits 2.1 to 4 s, the other up to 2 s.
                let wait = isCaller ? tokens.number(in: 210...400) : tokens.number(in: 0...200)
                retryAfter = .milliseconds(wait * 10)
            }
        } else if method == .update, 200..<300 ~= response.status {
            dialog?.refreshTarget(response)
        }
        actions.append(.response(response, method: method, retryAfter: retryAfter))
        if response.status == 481 || response.status == 408 { lost(response.status, into: &actions) }
    }

    /// A request of ours in the dialog had no response, or could not be sent.
    package mutating func timedOut(_ method: Method, into actions: inout [SessionAction]) {
        guard state != .ended, method != .cancel else { return }
        if method == .invite { pendingReinvite = nil }
        actions.append(.noResponse(method: method))
        if method != .bye { lost(408, into: &actions) }
    }

    /// The dialog is over at the other end; a BYE tells intermediaries (section 12.2.1.2).
    private mutating func lost(_ status: Int, into actions: inout [SessionAction]) {
        sendBYE(headers: [], into: &actions)
        finish(.dialogLost(status: status), into: &actions)
    }
}
