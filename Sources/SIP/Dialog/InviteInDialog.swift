// Requests and responses inside the dialog of a session (RFC 3261 sections 12.2, 14): the order of numbers, re-INVITE and its
// glare (491), INFO and others, what a 481 or 408 means.

package import Basics

extension InviteSession {
    /// A request that names this end's tag, except ACK and CANCEL. One whose sender is not the dialog's other end gets 481, one that is out of
    /// order 500 (section 12.2.2).
    package mutating func received(
        request: Message, _ transaction: TransactionID, source: SocketAddress, at now: Instant,
        into actions: inout [SessionAction]
    ) {
        func respond(_ status: Int, headers: [UInt8] = []) {
            var writer = MessageWriter(capacity: request.octets.count + 64)
            writer.response(status, to: request, tag: localTag[...], source: source)
            writer.append(headers)
            writer.finish()
            actions.append(.respond(transaction, status: status, writer.octets))
        }
        if dialog?.isRemote(request) == false { return respond(481) }
        if request.method == .bye {
            // One that comes before any 2xx ends the call all the same.
            guard takeNumber(of: request) != false else { return respond(500) }
            respond(200)
            return receivedBYE(request, source: source, into: &actions)
        }
        guard state != .ended, dialog != nil || !earlyDialogs.isEmpty else { return respond(481) }
        guard let isInOrder = takeNumber(of: request) else { return respond(481) }
        guard isInOrder else { return respond(500) }
        if request.method == .prack { return acknowledged(by: request, transaction, source: source, at: now, into: &actions) }
        if request.method == .invite || request.method == .update, let minimum = sessionTimer.refusal(of: request) {
            return respond(422, headers: minimum)
        }
        if request.method == .invite {
            if pendingReinvite != nil || unansweredCSeq != nil || pendingUpdate != nil { return respond(491) }
            if openReinvite != nil || state == .early {
                let wait = tokens.number(in: 0...10)
                return respond(500, headers: Array("Retry-After: \(wait)\r\n".utf8))
            }
            dialog!.refreshTarget(request)
            openReinvite = (request, transaction)
            actions.append(.reinvited(request, transaction))
            return
        }
        if request.method == .update, !request.bodyRange.isEmpty, !isCaller, !isAnswerKnown {
            // An offer before the answer to the INVITE's is known (RFC 3311 section 5.2).
            return respond(500, headers: Array("Retry-After: \(tokens.number(in: 0...10))\r\n".utf8))
        }
        if request.method == .update, !request.bodyRange.isEmpty {
            // Two offers have met (RFC 3311 section 5.2).
            if pendingUpdate != nil || pendingReinvite != nil { return respond(491) }
            if isCaller, let index = earlyDialogs.firstIndex(where: { $0.dialog.matches(request: request) }) {
                earlyDialogs[index].exchange.isUpdated = true
            }
        }
        if request.method == .update { refreshTarget(by: request) }
        actions.append(.request(request, transaction))
    }

    /// Whether the number of a request follows the last one; nil for a request of none of its dialogs.
    private mutating func takeNumber(of request: Message) -> Bool? {
        if dialog != nil { return dialog!.accepts(request) }
        guard let index = earlyDialogs.firstIndex(where: { $0.dialog.matches(request: request) }) else { return nil }
        return request.method == .invite ? false : earlyDialogs[index].dialog.accepts(request)
    }

    private mutating func refreshTarget(by request: Message) {
        if dialog != nil { return dialog!.refreshTarget(request) }
        guard let index = earlyDialogs.firstIndex(where: { $0.dialog.matches(request: request) }) else { return }
        earlyDialogs[index].dialog.refreshTarget(request)
    }

    /// Nothing speaks against a re-INVITE of ours now (section 14.1).
    package var mayReinvite: Bool {
        state == .confirmed && pendingReinvite == nil && unansweredCSeq == nil && openReinvite == nil && unacknowledged.isEmpty
            && dialog != nil
    }

    /// Sends a re-INVITE; false while one of either side is open, or the first exchange is not finished (section 14.1).
    package mutating func reinvite(
        headers: [UInt8] = [], body: [UInt8], type: String = "application/sdp", into actions: inout [SessionAction]
    ) -> Bool {
        guard mayReinvite else { return false }
        let request = dialog!.request(
            .invite, end: end, branch: tokens.branch(), headers: sessionTimer.requestRows() + headers, body: body, type: type)
        pendingReinvite = dialog!.localCSeq
        actions.append(.send(request))
        return true
    }

    /// Sends another request in the dialog (INFO, UPDATE, OPTIONS, …); false when there is no dialog.
    package mutating func send(
        _ method: Method, headers: [UInt8] = [], body: [UInt8] = [], type: String = "", into actions: inout [SessionAction]
    ) -> Bool {
        guard state != .ended, state != .calling, dialog != nil else { return false }
        let rows = method == .update ? sessionTimer.requestRows() + headers : headers
        actions.append(
            .send(dialog!.request(method, end: end, branch: tokens.branch(), headers: rows, body: body, type: type)))
        return true
    }

    mutating func receivedInDialog(_ response: Message, at now: Instant, into actions: inout [SessionAction]) {
        let method = response.cSeqMethod
        if method == .invite, 200..<300 ~= response.status, response.cSeq != pendingReinvite {
            return repeatedAccept(response, into: &actions)
        }
        if method == .prack, 200..<300 ~= response.status {
            for index in earlyDialogs.indices where earlyDialogs[index].dialog.isRemote(answering: response) {
                earlyDialogs[index].exchange.answered(prack: response.cSeq)
            }
        }
        guard response.status >= 200, method != .bye, method != .cancel, method != .prack else { return }
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
            } else {
                retryAfter = retryTime(after: response)
            }
        } else if receivedUpdate(response, into: &actions) {
            return
        } else if method == .update, 200..<300 ~= response.status {
            dialog?.refreshTarget(response)
        }
        if method == .invite || method == .update { refreshed(by: response, retryAfter: retryAfter, at: now) }
        actions.append(.response(response, method: method, retryAfter: retryAfter))
        // A NOTIFY that is not known ends its subscription, not the call (RFC 5057 section 5.1).
        if method != .notify, response.status == 481 || (response.status == 408 && method != .message) {
            lost(response.status, into: &actions)
        }
    }

    /// The final response to a request of ours that may have been a refresh of the session (RFC 4028 section 7).
    private mutating func refreshed(by response: Message, retryAfter: Duration?, at now: Instant) {
        if response.status < 300 {
            sessionTimer.accepted(response, at: now)
        } else if sessionTimer.raise(by: response) {
            sessionTimer.retry(after: .zero, at: now)
        } else {
            sessionTimer.retry(after: retryAfter ?? .seconds(5), at: now)
        }
    }

    /// A refresh that was due could not be sent: something else is under way. It is tried again.
    package mutating func refreshLater(at now: Instant) { sessionTimer.retry(after: .seconds(2), at: now) }

    /// A request of ours in the dialog had no response, or could not be sent.
    package mutating func timedOut(_ method: Method, into actions: inout [SessionAction]) {
        guard state != .ended, method != .cancel, method != .prack else { return }
        if method == .invite { pendingReinvite = nil }
        if method == .update, pendingUpdate != nil {
            pendingUpdate = nil
            actions.append(.updated(status: 408, nil, retryAfter: nil))
            // Before the answer the INVITE says how it ends.
            if state == .early { return }
        }
        actions.append(.noResponse(method: method))
        // Who does not know MESSAGE may have dropped it on the way.
        if method != .bye, method != .notify, method != .message { lost(408, into: &actions) }
    }

    /// The dialog is over at the other end; a BYE tells intermediaries (section 12.2.1.2).
    private mutating func lost(_ status: Int, into actions: inout [SessionAction]) {
        sendBYE(headers: [], into: &actions)
        finish(.dialogLost(status: status), into: &actions)
    }
}
