// One INVITE's life as the user of transactions sees it (RFC 3261 sections 13, 14, 15; RFC 6026): placed or answered, early
// dialogs, the dialog that won, re-INVITEs, and its end. A pure machine: events in, actions out, one deadline.
// Placing is in InvitePlacing.swift, answering in InviteAnswering.swift, what happens in the dialog in InviteInDialog.swift,
// its end in InviteEnding.swift; reliable provisional responses in ReliableAnswering.swift, offers before the answer in EarlyOffer.swift. It knows no SDP: bodies pass through, offer and answer are the caller's.
//
//   state      means                                            leaves it
//   calling    caller: no response yet                          provisional, final response, hang up
//   early      provisional responses (caller), ringing (called) final response
//   answered   called: 2xx sent, no ACK yet                     ACK, 64*T1 without ACK
//   confirmed  the dialog stands                                BYE of either side
//   ending     caller: CANCEL sent; BYE waits for the ACK       final response, ACK
//   ended      nothing more is sent but 481, 200 to BYE, re-ACK

package import Basics

/// What an event asks of the caller; to be done in order.
package enum SessionAction: Sendable {
    /// Send in a new client transaction; give the responses of that transaction to `received(response:)`.
    case send(OutgoingRequest)
    /// Send an ACK without a transaction.
    case sendACK(OutgoingRequest)
    /// Give the response to the server transaction.
    case respond(TransactionID, status: Int, [UInt8])
    /// Let the layer cancel the INVITE's client transaction; the rows go into the CANCEL.
    case cancelInvite(rows: [UInt8])
    /// Caller: a provisional response above 100; the To tag names the early dialog (empty: none).
    case progress(Message, remoteTag: [UInt8])
    /// Caller: the 2xx that won. Call `acknowledge` in the same turn.
    case answered(Message)
    /// Caller: a final refusal (the message), no response (408) or no way to send (503). A digest challenge or a redirection may
    /// be followed by `place` again; otherwise the session is over.
    case failed(status: Int, Message?)
    /// Called: the ACK came; its body is the answer when the 2xx had the offer.
    case confirmed(Message)
    /// A re-INVITE of the other end, to be answered by `answer` or `refuse`.
    case reinvited(Message, TransactionID)
    /// Another request in the dialog (INFO, UPDATE, OPTIONS, …): answer it by `reply`.
    case request(Message, TransactionID)
    /// A final response to a re-INVITE or other request of ours. After a 2xx to a re-INVITE call `acknowledge`. `retryAfter` is the
    /// time to wait before a re-INVITE that met another change of the session (491, or 500 that says so) is sent again (section 14.1).
    case response(Message, method: Method, retryAfter: Duration?)
    /// The final response to an UPDATE with an offer of ours, also 408 where none came (then without a message). `retryAfter` as above.
    case updated(status: Int, Message?, retryAfter: Duration?)
    /// A request of ours in the dialog got no response.
    case noResponse(method: Method)
    /// The session has to be refreshed (RFC 4028): send UPDATE, or a re-INVITE with the description as it is.
    case refreshDue
    /// The session is over; comes once.
    case ended(SessionEnd)
}

/// Why a session ended.
package enum SessionEnd: Sendable {
    /// This end hung up.
    case hungUp
    /// The other end sent BYE: here it is, for Reason.
    case remoteHungUp(Message)
    /// The other end cancelled its INVITE: the CANCEL, for Reason.
    case remoteCancelled(Message)
    /// This end cancelled its INVITE.
    case cancelled
    /// This end refused the INVITE.
    case refused(status: Int)
    /// No ACK came for the 2xx; a BYE was sent.
    case noACK
    /// The other end does not know the dialog any more (481), or gives no response (408).
    case dialogLost(status: Int)
    /// Nobody refreshed the session in time (RFC 4028); a BYE was sent.
    case notRefreshed
    /// No PRACK came for a reliable provisional response; the INVITE was refused with 504.
    case noPRACK
}

/// One INVITE session.
package struct InviteSession: Sendable {
    package enum State: UInt8, Sendable { case calling, early, answered, confirmed, ending, ended }

    /// A 2xx of ours that is repeated until its ACK comes (section 13.3.1.4).
    struct Unacknowledged: Sendable {
        var cSeq: UInt32
        var transaction: TransactionID
        var status: Int
        var response: [UInt8]
        var interval: Duration
        var repeatAt: Instant
        var endAt: Instant
    }

    package internal(set) var state: State
    package let isCaller: Bool
    /// This end; may change between requests (an external address that was learned).
    package var end: LocalEnd
    /// The dialog that won; nil before.
    package internal(set) var dialog: Dialog?
    /// Caller: early dialogs by forking.
    var earlyDialogs: [EarlyDialog] = []
    /// Caller: the latest INVITE. Called: theirs.
    enum Invite: Sendable {
        case ours(OutgoingInvite)
        case theirs(Message)
    }

    var latestInvite: Invite
    /// The tag of this end.
    package let localTag: [UInt8]
    /// Called: the INVITE's server transaction.
    package internal(set) var inviteTransaction: TransactionID?
    let timers: TransactionTimers
    /// The session timer, whoever refreshes.
    package internal(set) var sessionTimer: SessionTimer
    /// Caller: the 2xx named UPDATE in Allow; kept only where a session timer needs it.
    var answerAllowsUpdate = false
    /// The other end named UPDATE in Allow, so that a refresh may be one.
    package var peerAllowsUpdate: Bool { isCaller ? answerAllowsUpdate : invite.lists(.allow, "update") }
    /// Called: reliable provisional responses; nil before the first.
    var reliableResponses: ReliableResponses?
    /// Called: an answer that waits for a PRACK.
    var heldAnswer: HeldAnswer?
    /// Called: our answer to the INVITE's offer has reached the other end reliably, so that an UPDATE may bring an offer.
    var isAnswerKnown = false
    var tokens: TokenSource
    var unacknowledged: [Unacknowledged] = []
    /// ACKs of ours by CSeq and To tag, for repeated 2xx.
    var acknowledgements: [(cSeq: UInt32, remoteTag: [UInt8], request: OutgoingRequest)] = []
    var hasProvisional = false
    var wantsCancel = false
    var isCancelSent = false
    /// Header rows of a BYE that waits for the ACK.
    var pendingBYE: [UInt8]?
    /// Those of a CANCEL that waits for a provisional response.
    var cancelRows: [UInt8] = []
    /// Our re-INVITE that has no final response yet.
    var pendingReinvite: UInt32?
    /// Our latest INVITE's number that still waits for `acknowledge`.
    var unansweredCSeq: UInt32?
    /// Our UPDATE with an offer that has no final response yet.
    var pendingUpdate: UInt32?
    /// The early dialog has had another exchange than the INVITE's: a description in the 2xx is no answer any more.
    package internal(set) var hasEarlyExchange = false
    /// Their re-INVITE that we have not answered yet.
    var openReinvite: (message: Message, transaction: TransactionID)?

    /// The INVITE: ours (the latest, after digest), which is read for it, or theirs.
    package var invite: Message {
        switch latestInvite {
        case .ours(let invite): invite.message
        case .theirs(let invite): invite
        }
    }

    /// Our latest INVITE; nil for the called.
    package var outgoingInvite: OutgoingInvite? {
        if case .ours(let invite) = latestInvite { invite } else { nil }
    }

    /// The Call-ID of its dialogs.
    package var callID: ArraySlice<UInt8> {
        switch latestInvite {
        case .ours(let invite): invite.callID[...]
        case .theirs(let invite): invite.callID
        }
    }

    /// When `fire` has something to do; `never` without anything.
    package var nextDeadline: Instant {
        unacknowledged.reduce(min(sessionTimer.nextDeadline, reliableResponses?.nextDeadline ?? .never)) {
            min($0, $1.repeatAt, $1.endAt)
        }
    }

    /// Repeats unacknowledged responses; gives the session up when no ACK or PRACK came within 64*T1, or when nobody refreshed it.
    package mutating func fire(at now: Instant, into actions: inout [SessionAction]) {
        for index in unacknowledged.indices.reversed() {
            if unacknowledged[index].endAt <= now {
                unacknowledged.remove(at: index)
                guard state != .ended else { continue }
                sendBYE(headers: pendingBYE ?? [], into: &actions)
                finish(pendingBYE == nil ? .noACK : .hungUp, into: &actions)
            } else if unacknowledged[index].repeatAt <= now {
                let open = unacknowledged[index]
                actions.append(.respond(open.transaction, status: open.status, open.response))
                unacknowledged[index].interval = min(open.interval * 2, timers.t2)
                unacknowledged[index].repeatAt = now + unacknowledged[index].interval
            }
        }
        fireReliable(at: now, into: &actions)
        switch sessionTimer.fire(at: now) {
        case .refresh: actions.append(.refreshDue)
        case .expired:
            sendBYE(headers: Array("Reason: SIP;cause=408;text=\"Session expired\"\r\n".utf8), into: &actions)
            finish(.notRefreshed, into: &actions)
        case nil: break
        }
    }

    mutating func finish(_ reason: SessionEnd, into actions: inout [SessionAction]) {
        guard state != .ended else { return }
        state = .ended
        unacknowledged = []
        openReinvite = nil
        sessionTimer.stop()
        reliableResponses?.stopRepeating()
        heldAnswer = nil
        actions.append(.ended(reason))
    }

    mutating func sendBYE(headers: [UInt8], into actions: inout [SessionAction]) {
        guard dialog != nil else { return }
        actions.append(.send(dialog!.request(.bye, end: end, branch: tokens.branch(), headers: headers)))
    }

    /// True when a request belongs to the dialog.
    package func owns(_ request: Message) -> Bool { dialog?.matches(request: request) ?? false }
}
