// A call: one leg between this engine and a peer. It joins the INVITE session (SIP) with the media session, and is what flows
// control. Role is data: the same class for calls that came in and that go out. One file holds one operation:
//
//   CallIncoming   ring, progress, answer, reject, redirect      CallOutgoing   placing, milestones, digest
//   CallHold       hold and unhold by re-INVITE, UPDATE           CallRequests   re-INVITE, INFO and others of the peer
//   CallEnding     hanging up and every other end                 CallMedia      playing, recording, listening, keys
//   CallRefresh    session timers                                 CallTransfer   REFER of either side
//   CallInfoMaking the facts for expressions and results         CallReplacing  an INVITE that takes another call's place
//   CallRedirecting 3xx answers to our INVITE                    CallIdentity   who calls, and who was called before
//   CallTexts      MESSAGE of either side, INFO of ours           CallPackages   which Info-Packages each end takes

package import Basics
package import Reactor
package import SIP

/// One leg. Belongs to its loop; `CallShard` keeps it until it is over.
package final class Call {
    package let id: String
    package let direction: CallInfo.Direction
    package let loop: EventLoop
    @exclusivity(unchecked) package internal(set) var state = CallState.new
    @exclusivity(unchecked) package var onEnd: ((CallEnd) -> Void)?
    package let digits = DigitInbox()
    /// Each change that a person following the call wants to see; nil costs nothing.
    package var onStateChange: ((CallState) -> Void)?
    /// What is written of it; nil: nothing.
    var trace: CallTrace?
    /// Made when somebody wants to hear of it.
    var qualityListener: QualityListener?
    /// As in its `CallRequest`.
    var partnerIsCoded: Bool?
    /// The codecs that its flow wants, best first; nil: as its line says.
    var codecs: [String]?
    /// The line that it came by or goes out through; nil without one.
    package var line: LineSettings? { lineIndex.map { shard.settings.lines[$0] } }
    /// The line whose user name and password prove who this end is, to whom the call goes now.
    var accountLine: LineSettings? { target?.leavesLine == true ? nil : line }
    /// Where the shard keeps it; nil once it has left.
    var place: Int?
    /// Which of the engine's lines.
    var lineIndex: Int?
    /// The registrar's user who called and has proved it; empty without one.
    var user = ""
    /// The device that it asked for by a temporary GRUU of the registrar; nil: it asked for none.
    var device: AddressedDevice?
    /// The Call-ID of its messages; nil while an outgoing call looks for its target's address.
    package var sipCallID: String? { session.map { String(decoding: $0.machine.callID, as: UTF8.self) } }
    /// The parsed `sip:` URI of the peer that a route looks at, without the cost of `info`.
    package var requestURI: URI? { try? session?.machine.invite.requestURI() }

    /// Which lets go of the call when it leaves.
    package let shard: CallShard
    /// The SIP side; nil only while an outgoing call looks for its target's address.
    @exclusivity(unchecked) var session: CallSession?
    /// The RTP side; nil while there is no address to describe it by.
    @exclusivity(unchecked) var media: MediaSession?
    /// Where the peer's messages come from; requests of ours go there unless the dialog says otherwise.
    @exclusivity(unchecked) var hop: Hop
    /// Our client transaction of the INVITE (the latest one, after digest).
    var inviteTransaction: TransactionID?
    /// Our description as it goes into 183 and 200.
    @exclusivity(unchecked) var localDescription: [UInt8] = []
    /// Whether the INVITE had no offer, so that the 200 has it and the ACK answers.
    var isOfferless = false
    /// Facts that change; see `info`.
    @exclusivity(unchecked) package internal(set) var times = CallTimings()
    let startedAt: Double
    let started: Instant
    @exclusivity(unchecked) package internal(set) var answeredAt: Instant?
    var endedAt: Instant?
    @exclusivity(unchecked) package internal(set) var finalStatus = 0
    @exclusivity(unchecked) var finalReason = ""
    var finalResponse: Message?
    /// Why the far side ended it, as its BYE or CANCEL says (RFC 3326).
    var farReason: String?
    /// Whom an outgoing call was asked to call; nil for one that came in.
    var target: OutgoingTarget?
    /// By which servers or registration an outgoing call goes; nil when there is but one way.
    var route: CallRoute?
    /// Rows that were added to our INVITE, or are to our answers to the far side's; and how many times a challenge to ours was answered.
    var addedRows: [UInt8] = []
    var challenges = 0
    /// The way to the peer asks for credentials: requests in the dialog bring them.
    @exclusivity(unchecked) var isChallenged = false
    /// Where it was redirected to; nil while it was not.
    var redirections: RedirectedCall?
    /// What was so before another far side took the place of the first; nil while it is the first.
    var replaced: ReplacedFarSide?
    /// The INVITE found nobody: no response came, or it could not be sent.
    var noResponse = false
    /// Why it could not be sent, in words; empty when nobody knows.
    var failureReason = ""
    /// The INVITE goes over TCP for its size.
    var isMovedForSize = false
    var milestones: [MilestoneWait] = []
    /// Resumed when media can flow after `answer`: nil, or why it cannot.
    var answering: Waiter<CallControlError?>?
    /// Resumed by the final answer to our re-INVITE, or to our UPDATE with an offer.
    var renegotiation: Waiter<OfferOutcome>?
    package internal(set) var isHeldByUs = false
    var holdMusic: Playback?
    /// What the far side tells about our REFER; nil while there is none.
    var transferEvents: Mailbox<TransferEvent>?
    /// A REFER was sent: what is told about it is answered 200, also when nobody waits any more.
    var hasReferred = false
    /// Decides whether a REFER of the far side is done; nil: it is declined.
    var onReferral: ((Referral) -> Bool)?
    /// Where the far side hears of its transfer, when it did not ask in this call's own dialog.
    var referralDialog: ReferralDialog?
    /// The far side wants no NOTIFY about the REFER that it sent.
    var isReferralQuiet = false
    /// What it sends by MESSAGE, and gets; nil while there is nothing.
    var texts: TextsInCall?
    /// The report of media, once it is closed.
    var finalReport: MediaReport?
    package internal(set) var finalCodec = ""
    /// For who placed the call: whether it was counted as failed.
    package var isCountedAsFailed = false
    /// When the shard will call `wake`; `never` when it was not asked to.
    @exclusivity(unchecked) private var wakesAt = Instant.never
    /// The dialog that is known to the endpoint.
    @exclusivity(unchecked) var registration: TransactionKey?
    /// Client transactions whose responses come here.
    @exclusivity(unchecked) var transactions: [TransactionID] = []
    /// Resumed when the session of a call that was given up leaves.
    var lingering: Waiter<Void>?
    /// Our BYE.
    var bye: TransactionID?

    init(id: String, direction: CallInfo.Direction, shard: CallShard, hop: Hop) {
        self.id = id
        self.direction = direction
        self.shard = shard
        self.hop = hop
        loop = shard.loop
        started = shard.loop.now
        startedAt = shard.wallClock()
    }

    // MARK: The session and what it asks for

    /// Gives an event to the session and carries out its actions, in order.
    func update(_ event: (inout InviteSession, inout [SessionAction]) -> Void) {
        guard let session else { return }
        var actions = shard.takeActions()
        event(&session.machine, &actions)
        // From the end, so that each is moved out.
        actions.reverse()
        while let action = actions.popLast() { perform(action) }
        shard.giveBack(&actions)
        let deadline = CallSession.nextDeadline(&session.machine)
        guard deadline < wakesAt else { return }
        wakesAt = deadline
        shard.wake(self, at: deadline)
    }

    /// Time has passed: what is due is done, a later deadline asked for again.
    func wake() {
        let now = loop.now
        guard now >= wakesAt else { return }
        wakesAt = .never
        update { if $0.nextDeadline <= now { $0.fire(at: now, into: &$1) } }
    }

    private func perform(_ action: consuming SessionAction) {
        switch consume action {
        case .send(let request): send(request)
        case .sendACK(let ack): shard.endpoint.sendDirect(ack.octets, to: nextHop(ack))
        case .respond(let id, let status, let octets): respond(id, status, octets)
        case .cancelInvite(let rows): if let inviteTransaction { _ = shard.endpoint.cancel(inviteTransaction, rows: rows) }
        case .progress(let response, _): progressed(response)
        case .answered(let response): accepted(response)
        case .failed(let status, let response): refused(status, response)
        case .confirmed(let ack): acknowledged(by: ack)
        case .reinvited(let request, let id): reinvited(request, id)
        case .request(let request, let id): requested(request, id)
        case .response(let response, let method, let wait): responded(response, method: method, retryAfter: wait)
        case .updated(let status, let response, let wait): updated(status, response, retryAfter: wait)
        case .noResponse(let method): notAnswered(method)
        case .refreshDue: refreshSession()
        case .ended(let reason): sessionEnded(reason)
        }
    }

    /// A request in the dialog, with a transaction of its own.
    private func send(_ request: OutgoingRequest) {
        let request = isChallenged ? request.adding(shard.credentials(for: accountLine, request)) : request
        let hop = nextHop(request)
        // A BYE goes at once, whatever its size: nobody waits with it for a connection.
        if isTooLarge(request.octets.count, for: hop), request.method != .bye { return sendOverStream(request, orTo: hop) }
        let (session, sent) = (session, loop.now)
        let id = transact(request.octets, request.method, request.branch, to: hop) { [self] event in
            (session?.owner ?? self).heard(event, of: request, sent: sent)
        }
        if request.method == .bye { bye = id }
    }

    /// What became of a request in the dialog. A challenge is answered by the same request with credentials, a BYE's after the call has left.
    func heard(_ event: ClientTransactionEvent, of request: OutgoingRequest, sent: Instant) {
        switch event {
        case .response(let response, _):
            if response.status == 401 || response.status == 407, request.challenges < OutgoingRequest.challengeLimit,
                let refused = try? Message(parsing: request.octets), shard.challenged(accountLine, by: response, request: refused)
            {
                isChallenged = true
                return update { $0.send(again: request, into: &$1) }
            }
            if request.method == .bye, response.status >= 200 { shard.onBye?(self, loop.now - sent) }
            guard place != nil else { return }
            update { $0.received(response: response, at: self.loop.now, into: &$1) }
        case .timedOut, .transportFailed:
            if request.method == .bye { shard.onBye?(self, nil) }
            guard place != nil else { return }
            update { $0.timedOut(request.method, into: &$1) }
        }
    }

    /// Sends a request; `handler` holds the call until the transaction is over or the call leaves.
    @discardableResult
    func transact(
        _ octets: [UInt8], _ method: Method, _ branch: [UInt8], to hop: Hop,
        handler: @escaping (ClientTransactionEvent) -> Void
    ) -> TransactionID {
        // A usual call has two: only one that talks much has to forget.
        if transactions.count > 3 { transactions.removeAll { !shard.endpoint.isLive($0) } }
        let id = shard.endpoint.send(octets, method: method, branch: branch, to: hop, handler: handler)
        transactions.append(id)
        return id
    }

    private func respond(_ id: TransactionID, _ status: Int, _ octets: [UInt8]) {
        // A 2xx is repeated after its transaction forgot it (RFC 6026): then it goes out without one.
        if shard.endpoint.responseHop(id) == nil {
            if 200..<300 ~= status { shard.endpoint.sendDirect(octets, to: hop) }
        } else {
            shard.endpoint.respond(id, status: status, octets)
        }
    }

    /// Where a request in the dialog goes: to the first route or the peer's Contact; by the stream that the dialog came by, when it
    /// came by one.
    private func nextHop(_ request: OutgoingRequest) -> Hop {
        guard let found = shard.place(of: request.nextHop) else { return hop }
        let ip = found.ip
        // A phone behind NAT names an address in its Contact that leads nowhere from here: its messages show the one that does.
        let isHidden = ip.isPrivate && !hop.address.ip.isPrivate && session?.machine.dialog?.routes.isEmpty == true
        if ip.isUnspecified || isHidden { return hop }
        // A URI says ws for secure WebSockets too (RFC 7118 section 5.2).
        let isSecureWebSocket = found.transport == .ws && hop.transport == .wss
        let transport = isSecureWebSocket ? .wss : found.transport ?? hop.transport
        var next = Hop(transport: transport, address: SocketAddress(ip: ip, port: found.port ?? transport.usualPort))
        // A connection that has to be made anew is asked for the name that was called.
        if transport == hop.transport { (next.connection, next.host) = (hop.connection, hop.host) }
        return next
    }

    // MARK: The endpoint's table

    /// Makes requests of the dialog come here.
    func register(callID: ArraySlice<UInt8>, tag: ArraySlice<UInt8>) {
        registration = shard.endpoint.add(self, callID: callID, tag: tag)
        if let trace { shard.traces?.add(trace, callID: callID) }
    }

    /// The session is over: nothing comes here any more.
    func leave() {
        // A BYE that may be challenged, or that somebody waits for, keeps the call until it is answered.
        let kept = shard.onBye != nil || line?.password != nil ? bye : nil
        for transaction in transactions where transaction != kept { shard.endpoint.release(transaction) }
        transactions = []
        session?.owner = nil
        if let moved = session?.movedCallID { shard.onMoved?(moved, false) }
        if let registration {
            if noResponse, let session {
                shard.endpoint.abandon(registration) { self.leave(answeredBy: $0, session) }
            } else {
                shard.endpoint.removeDialog(registration, after: bye, onAnswer: repeatsACK)
            }
        }
        registration = nil
        lingering?.resume(returning: ())
        shard.forget(self)
    }

    /// What acknowledges a 2xx of our INVITE that is repeated after our BYE; nil when there was none.
    private var repeatsACK: ((Message) -> Void)? {
        guard bye != nil, let session, CallSession.hasAcknowledged(&session.machine) else { return nil }
        return { [self] response in
            guard let ack = session.machine.latestACK, let tag = try? response.to().tag, tag.elementsEqual(ack.remoteTag) else {
                return
            }
            shard.endpoint.sendDirect(ack.request.octets, to: nextHop(ack.request))
        }
    }

    /// The INVITE that was given up is answered all the same: the answer gets its ACK, and its dialog is left by BYE.
    private func leave(answeredBy response: Message, _ session: CallSession) {
        var actions: [SessionAction] = []
        session.machine.received(response: response, at: loop.now, into: &actions)
        for action in actions {
            switch action {
            case .sendACK(let ack): shard.endpoint.sendDirect(ack.octets, to: nextHop(ack))
            case .send(let bye):
                shard.endpoint.send(bye.octets, method: bye.method, branch: bye.branch, to: nextHop(bye)) { _ in }
            default: break
            }
        }
    }

    func change(to next: CallState) {
        state = next
        onStateChange?(next)
    }
}

/// The SIP side of a call. An object of its own: both stay below the size up to which malloc keeps freed memory at hand for a thread.
final class CallSession {
    @exclusivity(unchecked) var machine: InviteSession
    /// Who has it now, when that is not the call that began it: another call took its place.
    @exclusivity(unchecked) var owner: Call?
    /// The Call-ID, when it is that of another loop (`DialogRouting`).
    @exclusivity(unchecked) var movedCallID: [UInt8]?

    init(_ machine: InviteSession) { self.machine = machine }

    /// By reference: a copy of the machine would cost more than the answer.
    static func nextDeadline(_ machine: inout InviteSession) -> Instant { machine.nextDeadline }
    static func hasAcknowledged(_ machine: inout InviteSession) -> Bool { machine.hasAcknowledged }
}

extension Call: DialogUser {
    package func received(_ request: Message, _ transaction: TransactionID, from hop: Hop) {
        update { $0.received(request: request, transaction, source: hop.address, at: self.loop.now, into: &$1) }
    }

    package func acknowledged(_ ack: Message) {
        update { $0.received(acknowledgement: ack, into: &$1) }
    }

    package func cancelled(_ cancel: Message, _ transaction: TransactionID, from hop: Hop) {
        update { $0.received(cancel: cancel, transaction, source: hop.address, into: &$1) }
    }

    package func receivedStray(_ response: Message, from hop: Hop) {
        update { $0.received(response: response, at: self.loop.now, into: &$1) }
    }
}
