// The called end's side of an INVITE (RFC 3261 sections 13.3, 9.2): provisional responses, 2xx repeated until the ACK, refusal,
// CANCEL before and after the answer.

package import Basics

extension InviteSession {
    /// A session for an INVITE outside a dialog, with the dialog that was made of it. Where none can be made, answer 400.
    package init(
        answering invite: Message, in dialog: Dialog, localTag: [UInt8], transaction: TransactionID, end: LocalEnd,
        timers: TransactionTimers = TransactionTimers(), sessionTimer: SessionTimer.Settings = SessionTimer.Settings(),
        seed: UInt64
    ) {
        state = .early
        isCaller = false
        self.end = end
        latestInvite = .theirs(invite)
        inviteTransaction = transaction
        self.dialog = dialog
        self.localTag = localTag
        self.timers = timers
        self.sessionTimer = SessionTimer(sessionTimer)
        tokens = TokenSource(seed: seed)
    }

    /// Mutating so that the session is not copied to be read.
    mutating func responseWriter(
        _ status: Int, _ reason: String?, to request: Message, headers: [UInt8], source: SocketAddress
    ) -> MessageWriter {
        var writer = MessageWriter(capacity: request.octets.count + 256)
        let makesDialog = request.method == .invite && status > 100 && status < 300
        writer.response(
            status, reason: reason, to: request, tag: localTag[...], source: source,
            recordRoute: makesDialog && !request.values(.recordRoute).isEmpty)
        if makesDialog || (200..<300 ~= status && Self.changesTarget(request.method)) {
            writer.header("Contact", octets: end.contact)
            if status >= 200 { writer.append(end.headers) }
        }
        writer.append(headers)
        return writer
    }

    /// Whose 2xx has a Contact besides that of INVITE (RFC 3311 section 5.2, RFC 3515 section 2.2, RFC 6665 section 8.2).
    private static func changesTarget(_ method: Method?) -> Bool {
        method == .update || method == .refer || method == .subscribe
    }

    /// Sends a provisional response (101 to 199) to the INVITE; reliably, when the other end requires it (RFC 3262).
    /// - Parameters:
    ///   - headers: whole rows, each ended by CRLF.
    ///   - reliably: send it reliably also where the other end only supports that: it carries our offer.
    ///   - source: where the INVITE came from.
    package mutating func progress(
        _ status: Int, reason: String? = nil, headers: [UInt8] = [], body: [UInt8] = [], type: String = "application/sdp",
        reliably: Bool = false, source: SocketAddress, at now: Instant, into actions: inout [SessionAction]
    ) {
        guard !isCaller, state == .early, let inviteTransaction else { return }
        if mayBeReliable, reliably || requiresReliable {
            let response = reliable(status, reason, headers: headers, body: body, type: type, source: source)
            return send(reliable: response, at: now, into: &actions)
        }
        var writer = responseWriter(status, reason, to: invite, headers: headers, source: source)
        writer.finish(body: body, type: type)
        actions.append(.respond(inviteTransaction, status: status, writer.octets))
    }

    /// Answers the INVITE, or the re-INVITE that is open, with 200; it is repeated until the ACK comes.
    package mutating func answer(
        headers: [UInt8] = [], body: [UInt8], type: String = "application/sdp", source: SocketAddress, at now: Instant,
        into actions: inout [SessionAction]
    ) {
        let request: Message
        let transaction: TransactionID
        if let open = openReinvite {
            (request, transaction) = open
            openReinvite = nil
        } else if !isCaller, state == .early, let inviteTransaction {
            if reliableResponses?.holdsAnswer == true {
                heldAnswer = HeldAnswer(headers: headers, body: body, type: type, source: source)
                return
            }
            reliableResponses?.stopRepeating()
            (request, transaction) = (invite, inviteTransaction)
            state = .answered
            isAnswerKnown = true
            dialog?.state = .confirmed
        } else {
            return
        }
        var writer = responseWriter(
            200, nil, to: request, headers: sessionTimer.accept(request, at: now) + headers, source: source)
        writer.finish(body: body, type: type)
        unacknowledged.append(
            Unacknowledged(
                cSeq: request.cSeq, transaction: transaction, status: 200, response: writer.octets, interval: timers.t1,
                repeatAt: Instant(nanoseconds: now.nanoseconds + timers.t1Nanoseconds),
                endAt: Instant(nanoseconds: now.nanoseconds + timers.t1Nanoseconds * 64)))
        actions.append(.respond(transaction, status: 200, writer.octets))
    }

    /// Refuses the INVITE (the session ends) or the re-INVITE that is open (it goes on as before).
    /// - Parameter status: 300 to 699.
    package mutating func refuse(
        _ status: Int, reason: String? = nil, headers: [UInt8] = [], source: SocketAddress, into actions: inout [SessionAction]
    ) {
        if let open = openReinvite {
            openReinvite = nil
            var writer = responseWriter(status, reason, to: open.message, headers: headers, source: source)
            writer.finish()
            actions.append(.respond(open.transaction, status: status, writer.octets))
        } else if !isCaller, state == .early, let inviteTransaction {
            var writer = responseWriter(status, reason, to: invite, headers: headers, source: source)
            writer.finish()
            actions.append(.respond(inviteTransaction, status: status, writer.octets))
            finish(.refused(status: status), into: &actions)
        }
    }

    /// A CANCEL for this INVITE: 200 always; 487 and the end while nothing final was sent (section 9.2).
    package mutating func received(
        cancel: Message, _ transaction: TransactionID, source: SocketAddress, into actions: inout [SessionAction]
    ) {
        actions.append(
            .respond(transaction, status: 200, cancel.response(200, tag: localTag[...], source: source)))
        guard !isCaller, state == .early, let inviteTransaction else { return }
        actions.append(
            .respond(inviteTransaction, status: 487, invite.response(487, tag: localTag[...], source: source)))
        finish(.remoteCancelled(cancel), into: &actions)
    }

    /// An ACK in the dialog: the 2xx with its number is not repeated any more. An ACK of another number changes nothing.
    package mutating func received(acknowledgement: Message, into actions: inout [SessionAction]) {
        guard dialog?.isRemote(acknowledgement) != false,
            let index = unacknowledged.firstIndex(where: { $0.cSeq == acknowledgement.cSeq })
        else { return }
        unacknowledged.remove(at: index)
        if state == .answered { state = .confirmed }
        guard state != .ended else { return }
        actions.append(.confirmed(acknowledgement))
        if let headers = pendingBYE, unacknowledged.isEmpty {
            sendBYE(headers: headers, into: &actions)
            finish(.hungUp, into: &actions)
        }
    }

    /// Answers a request that `request` gave out (INFO, UPDATE, OPTIONS, …). A 2xx to UPDATE refreshes the session.
    package mutating func reply(
        _ status: Int, reason: String? = nil, to request: Message, _ transaction: TransactionID, headers: [UInt8] = [],
        body: [UInt8] = [], type: String = "application/sdp", source: SocketAddress, at now: Instant,
        into actions: inout [SessionAction]
    ) {
        let refreshes = request.method == .update && 200..<300 ~= status && state != .ended
        let timer = refreshes ? sessionTimer.accept(request, at: now) : []
        var writer = responseWriter(status, reason, to: request, headers: timer + headers, source: source)
        writer.finish(body: body, type: type)
        actions.append(.respond(transaction, status: status, writer.octets))
    }
}
