// A call: one leg between this engine and a peer. It joins the INVITE session (SIP) with the media session, and is what flows
// control. Role is data: the same class for calls that came in and that go out. One file holds one operation:
//
//   CallIncoming   ring, progress, answer, reject, redirect      CallOutgoing   placing, milestones, digest, redirection
//   CallHold       hold and unhold by re-INVITE                   CallRequests   re-INVITE, INFO and others of the peer
//   CallEnding     hanging up and every other end                 CallMedia      playing, recording, listening, keys
//   CallRefresh    session timers                                 CallInfoMaking the facts for expressions and results

package import Basics
package import Reactor
package import SIP

/// One leg. Belongs to its loop; `CallShard` keeps it until it is over.
package final class Call {
    package let id: String
    package let direction: CallInfo.Direction
    package let loop: EventLoop
    package internal(set) var state = CallState.new
    package var onEnd: ((CallEnd) -> Void)?
    package let digits = DigitInbox()
    /// Each change that a person following the call wants to see; nil costs nothing.
    package var onStateChange: ((CallState) -> Void)?
    /// The line that it came by or goes out through; nil without one.
    package internal(set) var line: LineSettings?
    /// The parsed `sip:` URI of the peer that a route looks at, without the cost of `info`.
    package var requestURI: URI? { session.flatMap { try? $0.invite.requestURI() } }

    unowned let shard: CallShard
    /// The SIP side; nil only while an outgoing call looks for its target's address.
    var session: InviteSession?
    /// The RTP side; nil while there is no address to describe it by.
    var media: MediaSession?
    /// Where the peer's messages come from; requests of ours go there unless the dialog says otherwise.
    var hop: Hop
    /// Our client transaction of the INVITE (the latest one, after digest).
    var inviteTransaction: TransactionID?
    /// Our description as it goes into 183 and 200.
    var localDescription: [UInt8] = []
    /// Whether the INVITE had no offer, so that the 200 has it and the ACK answers.
    var isOfferless = false
    /// Facts that change; see `info`.
    var times = CallTimings()
    let startedAt: Double
    let started: Instant
    package internal(set) var answeredAt: Instant?
    var endedAt: Instant?
    var finalStatus = 0
    var finalReason = ""
    var finalResponse: Message?
    /// What an outgoing call's INVITE is made of; nil for one that came in.
    var placing: Placing?
    /// The INVITE found nobody: no response came, or it could not be sent.
    var noResponse = false
    var milestones: [MilestoneWait] = []
    /// Resumed when media can flow after `answer`: nil, or why it cannot.
    var answering: Waiter<CallControlError?>?
    /// Resumed by the final answer to our re-INVITE.
    var renegotiation: Waiter<Int>?
    var isHeldByUs = false
    var holdMusic: Playback?
    /// How long to wait before a re-INVITE that got 491 is tried again.
    var glareWait: Duration?
    /// The report of media, once it is closed.
    var finalReport: MediaReport?
    var finalCodec = ""
    /// What an outgoing call was asked to call.
    var requestedTarget = ""
    private var timer: LoopTimer?
    /// The dialog that is known to the endpoint.
    private var registration: TransactionKey?
    /// Client transactions whose responses come here.
    private var transactions: [TransactionID] = []

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
        guard session != nil else { return }
        var actions: [SessionAction] = []
        event(&session!, &actions)
        for action in actions { perform(action) }
        setTimer()
    }

    private func perform(_ action: SessionAction) {
        switch action {
        case .send(let request): send(request)
        case .sendACK(let ack): shard.endpoint.sendDirect(ack.octets, to: nextHop(ack))
        case .respond(let id, let status, let octets): respond(id, status, octets)
        case .cancelInvite: if let inviteTransaction { _ = shard.endpoint.cancel(inviteTransaction) }
        case .progress(let response, _): progressed(response)
        case .answered(let response): accepted(response)
        case .failed(let status, let response): refused(status, response)
        case .confirmed(let ack): acknowledged(by: ack)
        case .reinvited(let request, let id): reinvited(request, id)
        case .request(let request, let id): requested(request, id)
        case .response(let response, let method, let wait): responded(response, method: method, retryAfter: wait)
        case .noResponse(let method): notAnswered(method)
        case .refreshDue: refreshSession()
        case .ended(let reason): sessionEnded(reason)
        }
    }

    /// A request in the dialog, with a transaction of its own.
    private func send(_ request: OutgoingRequest) {
        let method = request.method
        transact(request.octets, method, request.branch, to: nextHop(request)) { [self] event in
            switch event {
            case .response(let response, _): update { $0.received(response: response, at: self.loop.now, into: &$1) }
            case .timedOut, .transportFailed: update { $0.timedOut(method, into: &$1) }
            }
        }
    }

    /// Sends a request; `handler` holds the call until the transaction is over or the call leaves.
    @discardableResult
    func transact(
        _ octets: [UInt8], _ method: Method, _ branch: [UInt8], to hop: Hop,
        handler: @escaping (ClientTransactionEvent) -> Void
    ) -> TransactionID {
        transactions.removeAll { !shard.endpoint.layer.isLive($0) }
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
        guard let uri = try? URI(request.nextHop, OctetRange(0, request.nextHop.count)), let ip = uri.address else { return hop }
        // A phone behind NAT names an address in its Contact that leads nowhere from here: its messages show the one that does.
        let isHidden = ip.isPrivate && !hop.address.ip.isPrivate && session?.dialog?.routes.isEmpty == true
        if ip.isUnspecified || isHidden { return hop }
        var next = Hop(transport: hop.transport, address: SocketAddress(ip: ip, port: uri.portOrDefault))
        if let name = uri.parameter("transport")?.lowercased() { next.transport = name == "tcp" ? .tcp : .udp }
        if next.transport == hop.transport { next.connection = hop.connection }
        return next
    }

    private func setTimer() {
        let deadline = session?.nextDeadline ?? .never
        if timer?.deadline == deadline, timer?.isPending == true { return }
        timer?.cancel()
        timer = nil
        guard deadline != .never else { return }
        timer = loop.schedule(at: deadline) { [self] in update { $0.fire(at: self.loop.now, into: &$1) } }
    }

    // MARK: The endpoint's table

    /// Makes requests of the dialog come here.
    func register(callID: [UInt8], tag: [UInt8]) {
        registration = shard.endpoint.add(self, callID: callID, tag: tag)
    }

    /// The session is over: nothing comes here any more.
    func leave() {
        timer?.cancel()
        timer = nil
        if let registration { shard.endpoint.removeDialog(registration) }
        registration = nil
        for transaction in transactions { shard.endpoint.release(transaction) }
        transactions = []
        shard.forget(self)
    }

    func change(to next: CallState) {
        state = next
        onStateChange?(next)
    }
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
