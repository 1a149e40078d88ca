// The caller's side of an INVITE (RFC 3261 sections 13.2, 8.1.3, 9.1): early dialogs by forking, the 2xx that wins and those that
// come too late, ACKs and their repetition, PRACK for reliable provisional responses (RFC 3262 section 4), CANCEL that waits for a
// provisional response and may lose against the 2xx.

package import Basics

/// One of several early dialogs that a forked INVITE may have.
struct EarlyDialog: Sendable {
    var dialog: Dialog
    var reception = ReliableReception()
    /// Where its offer and answer are, for an UPDATE.
    var exchange = EarlyExchange()
}

extension InviteSession {
    /// A session that places `invite`, written by `MessageWriter.request`. Send its octets in a client transaction, then give what comes of it to `received(response:)`, `timedOut` and `transportFailed`.
    package init(
        placing invite: OutgoingInvite, end: LocalEnd, timers: TransactionTimers = TransactionTimers(),
        sessionTimer: SessionTimer.Settings = SessionTimer.Settings(), seed: UInt64
    ) {
        state = .calling
        isCaller = true
        self.end = end
        latestInvite = .ours(invite)
        localTag = invite.tag
        self.timers = timers
        self.sessionTimer = SessionTimer(sessionTimer)
        tokens = TokenSource(seed: seed)
    }

    /// Places the INVITE again in place of the one that was refused: with credentials (401, 407) or another target (3xx). It must
    /// have the same Call-ID and From tag and a higher CSeq.
    package mutating func place(again invite: OutgoingInvite) {
        latestInvite = .ours(invite)
        state = .calling
        hasProvisional = false
        earlyDialogs = []
    }

    /// The INVITE was refused because its session interval is too short (422): true when it may be placed again with a longer one.
    package mutating func lengthenInterval(by response: Message) -> Bool { sessionTimer.raise(by: response) }

    /// A response of the INVITE's transaction, or a 2xx to an INVITE that has none any more.
    package mutating func received(response: Message, at now: Instant, into actions: inout [SessionAction]) {
        if response.cSeqMethod != .invite || response.cSeq != outgoingInvite?.cSeq || dialog?.state == .confirmed {
            return receivedInDialog(response, at: now, into: &actions)
        }
        switch response.status {
        case ..<200: provisional(response, into: &actions)
        case ..<300: accepted(response, at: now, into: &actions)
        default: refused(response.status, response, into: &actions)
        }
    }

    private mutating func provisional(_ response: Message, into actions: inout [SessionAction]) {
        guard state == .calling || state == .early || state == .ending else { return }
        hasProvisional = true
        if wantsCancel, !isCancelSent {
            isCancelSent = true
            actions.append(.cancelInvite(rows: cancelRows))
        }
        guard response.status > 100, state != .ending else { return }
        state = .early
        let tag = Array((try? response.to().tag) ?? [])
        if !tag.isEmpty, !acknowledge(provisional: response, tag, into: &actions) { return }
        actions.append(.progress(response, remoteTag: tag))
    }

    /// Takes a provisional response into its early dialog, and sends PRACK for a reliable one. False when it changes nothing: it was
    /// taken before, or one before it is missing.
    private mutating func acknowledge(
        provisional response: Message, _ tag: [UInt8], into actions: inout [SessionAction]
    ) -> Bool {
        if !earlyDialogs.contains(where: { $0.dialog.remoteTag == tag }), earlyDialogs.count < 32,
            let invite = outgoingInvite, let early = try? Dialog(placing: invite, response: response)
        {
            earlyDialogs.append(EarlyDialog(dialog: early))
        }
        guard let cSeq = outgoingInvite?.cSeq, let index = earlyDialogs.firstIndex(where: { $0.dialog.remoteTag == tag }) else {
            return true
        }
        switch earlyDialogs[index].reception.verdict(on: response) {
        case .plain: return true
        case .absorb: return false
        case .take(let rSeq):
            let row = Array("RAck: \(rSeq) \(cSeq) INVITE\r\n".utf8)
            actions.append(
                .send(earlyDialogs[index].dialog.request(.prack, end: end, branch: tokens.branch(), headers: row)))
            earlyDialogs[index].exchange.acknowledged(response, by: earlyDialogs[index].dialog.localCSeq)
            return true
        }
    }

    private mutating func accepted(_ response: Message, at now: Instant, into actions: inout [SessionAction]) {
        guard let won = dialog(of: response) else { return }
        hasEarlyExchange = earlyDialogs.contains { $0.exchange.isUpdated && $0.dialog.remoteTag == won.remoteTag }
        let isOver = wantsCancel || state == .ended
        hasProvisional = true
        if isOver {
            // The 2xx and the CANCEL crossed: acknowledge and hang up (section 15).
            if let known = acknowledgements.last(where: { $0.cSeq == response.cSeq && $0.remoteTag == won.remoteTag }) {
                actions.append(.sendACK(known.request))
            } else {
                acknowledgeAndLeave(won, response.cSeq, into: &actions)
            }
            finish(.cancelled, into: &actions)
            return
        }
        dialog = won
        dialog!.state = .confirmed
        earlyDialogs = []
        sessionTimer.accepted(response, at: now)
        answerAllowsUpdate = sessionTimer.state == .ours && response.lists(.allow, "update")
        state = .confirmed
        unansweredCSeq = response.cSeq
        actions.append(.answered(response))
    }

    /// The dialog that a 2xx makes, or confirms.
    private func dialog(of response: Message) -> Dialog? {
        if !earlyDialogs.isEmpty, let tag = try? response.to().tag,
            var early = earlyDialogs.first(where: { $0.dialog.remoteTag.elementsEqual(tag) })?.dialog
        {
            early.confirm(response)
            return early
        }
        return outgoingInvite.flatMap { try? Dialog(placing: $0, response: response) }
    }

    /// A 2xx of a branch that is not wanted: ACK, then BYE.
    private mutating func acknowledgeAndLeave(_ other: Dialog, _ cSeq: UInt32, into actions: inout [SessionAction]) {
        var other = other
        let ack = other.acknowledgement(cSeq: cSeq, end: end, branch: tokens.branch())
        remember(ack, cSeq, other.remoteTag)
        actions.append(.sendACK(ack))
        actions.append(.send(other.request(.bye, end: end, branch: tokens.branch())))
    }

    private mutating func refused(_ status: Int, _ response: Message?, into actions: inout [SessionAction]) {
        guard state == .calling || state == .early || state == .ending else { return }
        let wasCancelled = wantsCancel
        actions.append(.failed(status: status, response))
        // `failed` is final unless the caller places again; a cancelled one also says that it ended.
        if wasCancelled { finish(.cancelled, into: &actions) } else { state = .ended }
    }

    /// The INVITE's transaction had no final response.
    package mutating func inviteTimedOut(into actions: inout [SessionAction]) { refused(408, nil, into: &actions) }

    /// The INVITE could not be sent.
    package mutating func inviteTransportFailed(into actions: inout [SessionAction]) { refused(503, nil, into: &actions) }

    /// Acknowledges the 2xx to our latest INVITE or re-INVITE.
    /// - Parameters:
    ///   - headers: whole rows: the credentials of the INVITE, when it had some.
    ///   - body: the answer, when the 2xx had the offer.
    package mutating func acknowledge(
        headers: [UInt8] = [], body: [UInt8] = [], type: String = "", into actions: inout [SessionAction]
    ) {
        guard let dialog, let cSeq = unansweredCSeq else { return }
        unansweredCSeq = nil
        let ack = dialog.acknowledgement(
            cSeq: cSeq, end: end, branch: tokens.branch(), headers: headers, body: body, type: type)
        remember(ack, cSeq, dialog.remoteTag)
        actions.append(.sendACK(ack))
    }

    /// The ACK of the latest 2xx to an INVITE of ours, and whose 2xx that was; nil before one.
    package var latestACK: (request: OutgoingRequest, remoteTag: [UInt8])? {
        acknowledgements.last.map { ($0.request, $0.remoteTag) }
    }

    /// Whether there was a 2xx to an INVITE of ours.
    package var hasAcknowledged: Bool { !acknowledgements.isEmpty }

    private mutating func remember(_ ack: OutgoingRequest, _ cSeq: UInt32, _ remoteTag: [UInt8]) {
        if acknowledgements.count >= 8 { acknowledgements.removeFirst() }
        acknowledgements.append((cSeq, remoteTag, ack))
    }

    /// A further 2xx to INVITE: the same again gets its ACK again, one of another branch is acknowledged and left.
    mutating func repeatedAccept(_ response: Message, into actions: inout [SessionAction]) {
        let tag = Array((try? response.to().tag) ?? [])
        if let known = acknowledgements.last(where: { $0.cSeq == response.cSeq && $0.remoteTag == tag }) {
            actions.append(.sendACK(known.request))
        } else if let dialog, tag != dialog.remoteTag, let invite = outgoingInvite, response.cSeq == invite.cSeq,
            let other = try? Dialog(placing: invite, response: response)
        {
            acknowledgeAndLeave(other, response.cSeq, into: &actions)
        }
    }
}
