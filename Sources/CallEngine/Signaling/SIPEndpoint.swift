// The signaling of one loop: its transactions, their timers, and who gets what. Messages come in from a front, actions of the
// transaction layer are carried out, requests find their dialog. It decides nothing about calls.

package import Basics
package import Reactor
package import SIP

/// Who takes part in a dialog, or is about to: a call.
package protocol DialogUser: AnyObject {
    /// A request in the dialog.
    func received(_ request: Message, _ transaction: TransactionID, from hop: Hop)
    /// An ACK for a 2xx.
    func acknowledged(_ ack: Message)
    /// A CANCEL for the INVITE that it has not answered yet. It answers both.
    func cancelled(_ cancel: Message, _ transaction: TransactionID, from hop: Hop)
    /// A 2xx to its INVITE after that transaction was over.
    func receivedStray(_ response: Message, from hop: Hop)
}

/// How a client transaction goes on.
package enum ClientTransactionEvent {
    case response(Message, from: Hop)
    case timedOut
    /// With the reason in words; empty when nobody knows it.
    case transportFailed(String)
}

/// Sends messages for a loop, which need not be the front's.
package protocol MessageSender: AnyObject {
    func send(_ octets: [UInt8], to hop: Hop)
    /// The address that the peer should know of this end.
    func localAddress(to hop: Hop) -> SocketAddress
    /// Whether that is known already. Over streams that nobody can open to here it is the stream's own, which `connect` opens.
    func knowsAddress(to hop: Hop) -> Bool
    /// Calls `done` on this loop when there is a stream to the hop, or cannot be one.
    func connect(to hop: Hop, _ done: @escaping () -> Void)
    /// Sends what waits for the end of the turn, now: before the sockets are closed.
    func flush()
}

/// Who has the streams opens what `localAddress` needs.
extension MessageSender {
    package func knowsAddress(to hop: Hop) -> Bool { true }
    package func connect(to hop: Hop, _ done: @escaping () -> Void) { done() }
}

extension SignalingFront: MessageSender {}

/// All SIP of one loop. Belongs to it. What each message touches is `@exclusivity(unchecked)`: checking takes a tenth of the time, and no
/// mutation of it calls out.
package final class SIPEndpoint {
    package let loop: EventLoop
    private let sender: any MessageSender
    private let hostNames: HostNames
    @exclusivity(unchecked) private var layer: TransactionLayer
    /// What the layer asked for and is not done yet: `actions` in order, and before them `next` from its end, so that each is moved out.
    @exclusivity(unchecked) private var actions: [TransactionAction] = []
    @exclusivity(unchecked) private var next: [TransactionAction] = []
    @exclusivity(unchecked) private var isPerforming = false
    @exclusivity(unchecked) private var isStopped = false
    @exclusivity(unchecked) private var timer: LoopTimer?
    /// The deadline of the layer that `timer` was set for.
    @exclusivity(unchecked) private var wakeAt = Instant.never
    @exclusivity(unchecked) private var users = TransactionUsers()
    @exclusivity(unchecked) private var dialogs = DialogUsers()
    private lazy var leftDialog = LeftDialog(endpoint: self, onAnswer: nil)
    /// Why the latest hop failed.
    private var failureReason = ""
    /// A request that starts something: INVITE, OPTIONS, REGISTER and the rest outside of dialogs.
    package var onRequest: ((Message, TransactionID, Hop) -> Void)?
    /// Everything that passes, for ladders and captures; nil costs nothing.
    @exclusivity(unchecked) package var onPassing: ((TracedMessage) -> Void)?
    /// The peer of this hop cannot be reached, or its stream ended.
    package var onHopFailed: ((Hop) -> Void)?

    /// - Parameters:
    ///   - hostNames: those of the sender, for hops whose peers have to prove their names.
    ///   - seed: for branches, tags and Call-IDs; random outside of tests.
    package init(
        loop: EventLoop, sender: any MessageSender, timers: SIPTimers, hostNames: HostNames = HostNames(), seed: UInt64
    ) {
        self.loop = loop
        self.sender = sender
        self.hostNames = hostNames
        var values = TransactionTimers()
        values.t1 = timers.t1
        values.t2 = timers.t2
        values.t4 = timers.t4
        layer = TransactionLayer(timers: values, seed: seed)
    }

    /// Transactions, dialogs and handlers that are held: zero when all calls are over and their timers have run out.
    package var held: Int { layer.count + dialogs.count + users.count }

    /// Requests that were sent again because no answer came in time.
    package var retransmissions: Int { layer.counters.retransmissions }

    /// Calls `done` when every request of this end has its final response, or at `end`: what was lost is sent again until then.
    package func settle(by end: Instant, _ done: @escaping () -> Void) {
        guard layer.awaitsResponses, loop.now < end else { return done() }
        loop.schedule(after: .milliseconds(10)) { self.settle(by: end, done) }
    }

    package var timers: TransactionTimers { layer.timers }
    /// True until the transaction is over.
    package func isLive(_ id: TransactionID) -> Bool { layer.isLive(id) }
    package func newToken() -> [UInt8] { layer.newToken() }
    package func newBranch() -> [UInt8] { layer.newBranch() }
    package func localAddress(to hop: Hop) -> SocketAddress { sender.localAddress(to: hop) }
    func knowsAddress(to hop: Hop) -> Bool { sender.knowsAddress(to: hop) }
    /// Goes on when this end's address on the way to a hop is known: at once, but for a stream that another loop has to open first.
    func whenAddressIsKnown(to hop: Hop, _ goOn: @escaping () -> Void) {
        if sender.knowsAddress(to: hop) { goOn() } else { sender.connect(to: hop, goOn) }
    }
    /// The number for `Hop.host`; 0 where the transport asks for no name. A WebSocket's is its host and path.
    package func hostNumber(_ name: String, path: String, over transport: Transport) -> UInt32 {
        switch transport {
        case .tls: hostNames.number(of: name)
        case .ws, .wss: hostNames.number(of: name + path)
        case .udp, .tcp, .other: 0
        }
    }

    // MARK: In

    package func receive(_ message: Message, from hop: Hop) {
        // The sockets close after the loops' endpoints: what still comes in finds nobody, and sets no timer.
        guard !isStopped else { return }
        if onPassing != nil { pass(message.octets, .received, hop) }
        layer.receive(message, from: hop, at: loop.now, into: &actions)
        perform()
    }

    /// The peer of this hop cannot be reached: its client transactions fail now instead of by their timers.
    package func hopFailed(_ hop: Hop, because reason: String = "") {
        guard !isStopped else { return }
        failureReason = reason
        layer.hopFailed(hop, at: loop.now, into: &actions)
        perform()
        onHopFailed?(hop)
    }

    // MARK: Out

    /// Sends a request in a transaction of its own; `handler` gets its responses and its failure, until the transaction ends.
    @discardableResult
    package func send(
        _ request: [UInt8], method: Method, branch: [UInt8], to hop: Hop, handler: @escaping (ClientTransactionEvent) -> Void
    ) -> TransactionID {
        let id = layer.send(request, method: method, branch: branch, to: hop, at: loop.now, into: &actions)
        users.set(.client(handler), of: id)
        perform()
        return id
    }

    /// Nobody waits for what becomes of a client transaction any more; it goes on by itself.
    package func release(_ id: TransactionID) { users.remove(id) }

    /// Sends an ACK for a 2xx, or repeats a 2xx: no transaction.
    package func sendDirect(_ octets: [UInt8], to hop: Hop) {
        // The sockets close after the endpoints.
        guard !isStopped else { return }
        if onPassing != nil { pass(octets, .sent, hop) }
        sender.send(octets, to: hop)
    }

    private func pass(_ octets: [UInt8], _ direction: TracedMessage.Direction, _ hop: Hop) {
        onPassing?(
            TracedMessage(
                at: loop.now, direction: direction, transport: hop.transport, local: sender.localAddress(to: hop),
                remote: hop.address, bytes: octets))
    }

    /// Answers a request. The final answer ends the interest of `user` in CANCEL.
    package func respond(_ id: TransactionID, status: Int, _ response: [UInt8]) {
        layer.respond(id, status: status, response, at: loop.now, into: &actions)
        if status >= 200 { users.remove(id) }
        perform()
    }

    /// Refuses a request that `onRequest` has just given out, and keeps nothing of it (`TransactionLayer.refuse`).
    package func refuse(_ id: TransactionID, _ request: Message, from hop: Hop, status: Int, rows: [UInt8]) {
        layer.refuse(id, request, from: hop, status: status, rows: rows, into: &actions)
        perform()
    }

    /// Where the responses of a server transaction go; nil when it is over.
    package func responseHop(_ id: TransactionID) -> Hop? { layer.responseHop(id) }

    /// Cancels an INVITE that has had a provisional response; false when there is nothing to cancel (any more, or yet).
    package func cancel(_ invite: TransactionID, rows: [UInt8] = []) -> Bool {
        let id = layer.cancel(invite, rows: rows, at: loop.now, into: &actions)
        perform()
        return id != nil
    }

    // MARK: Dialogs

    /// Requests with this Call-ID and this tag of ours go to `user` until the key that comes back is given to `removeDialog`.
    package func add(_ user: any DialogUser, callID: ArraySlice<UInt8>, tag: ArraySlice<UInt8>) -> TransactionKey {
        let key = layer.dialogKey(callID: callID, tag: tag)
        dialogs.set(user, of: key)
        return key
    }

    /// Requests of this dialog go to `user` from now on.
    package func give(_ key: TransactionKey, to user: any DialogUser) { dialogs.set(user, of: key) }

    /// Whose dialog it is: a call, somebody who has left it (not a call), or nobody's.
    package func user(callID: ArraySlice<UInt8>, tag: ArraySlice<UInt8>) -> (any DialogUser)? {
        dialogs[layer.dialogKey(callID: callID, tag: tag)]
    }

    /// The dialog is over. While the transaction `bye` of this end lives, a BYE that crosses it is answered with 200. After `release`, or
    /// without it: then `bye`'s handler hears of its answer. `onAnswer`: gets each 2xx that is still repeated.
    package func removeDialog(
        _ key: TransactionKey, after bye: TransactionID? = nil, onAnswer: ((Message) -> Void)? = nil
    ) {
        if let bye, layer.isLive(bye) {
            dialogs.set(onAnswer == nil ? leftDialog : LeftDialog(endpoint: self, onAnswer: onAnswer), of: key)
            if case .client(let handler) = users[bye] {
                users.set(.leaving(key, handler), of: bye)
            } else {
                users.set(.left(key), of: bye)
            }
        } else {
            dialogs.remove(key)
        }
    }

    /// The INVITE of this dialog was given up without a final answer. For 64*T1 more each 2xx that comes goes to `onAnswer` (RFC 3261
    /// section 13.2.2.4); the dialog is over then.
    package func abandon(_ key: TransactionKey, onAnswer: @escaping (Message) -> Void) {
        let left = LeftDialog(endpoint: self, onAnswer: onAnswer)
        dialogs.set(left, of: key)
        left.ends(by: loop.schedule(after: timers.timeout) { [self] in dialogs.remove(key) })
    }

    /// A CANCEL for this INVITE goes to `user`, until it is answered or over.
    package func expectCancel(of invite: TransactionID, for user: any DialogUser) {
        users.set(.server(user), of: invite)
    }

    private func user(of message: Message) -> (any DialogUser)? { layer.dialogKey(of: message).flatMap { dialogs[$0] } }

    // MARK: Actions

    /// Carries out what the layer asked for, in order. Handlers may send more: that is appended and done in the same round.
    private func perform() {
        guard !isPerforming else { return }
        isPerforming = true
        while !actions.isEmpty {
            swap(&actions, &next)
            next.reverse()
            while let action = next.popLast() { perform(action) }
        }
        isPerforming = false
        setTimer()
    }

    private func perform(_ action: consuming TransactionAction) {
        switch consume action {
        case .send(let octets, let hop): sendDirect(octets, to: hop)
        case .request(let message, let id, let hop): dispatch(message, id, hop)
        case .acknowledgement(let message, _): user(of: message)?.acknowledged(message)
        case .cancel(let message, let id, let invite, let hop):
            if let invite, case .server(let user) = users[invite] { return user.cancelled(message, id, from: hop) }
            // A CANCEL that comes after the final answer is answered, and changes nothing (RFC 3261 section 9.2).
            let status = invite == nil ? 481 : 200
            respond(id, status: status, message.response(status, tag: newToken()[...], source: hop.address))
        case .response(let message, let id, let hop):
            // A 2xx is repeated to a transaction that nobody waits for any more.
            let user = users[id]
            if case .nobody = user, message.cSeqMethod == .invite {
                self.user(of: message)?.receivedStray(message, from: hop)
            } else {
                tell(user, of: id, .response(message, from: hop))
            }
        case .strayResponse(let message, let hop): user(of: message)?.receivedStray(message, from: hop)
        case .timedOut(let id): tell(users[id], of: id, .timedOut)
        case .transportFailed(let id): tell(users[id], of: id, .transportFailed(failureReason))
        case .ended(let id):
            switch users.remove(id) {
            case .left(let key), .leaving(let key, _): dialogs.remove(key)
            case .nobody, .client, .server: break
            }
        }
    }

    private func tell(_ user: TransactionUsers.User, of id: TransactionID, _ event: ClientTransactionEvent) {
        switch user {
        case .client(let handler): handler(event)
        case .leaving(let key, let handler):
            handler(event)
            forgetLeaver(key, by: id, event)
        case .left(let key): forgetLeaver(key, by: id, event)
        case .nobody, .server: break
        }
    }

    /// Who has taken our BYE repeats no 2xx: nothing of the call has to be kept for the rest of the transaction, which is its longest part.
    private func forgetLeaver(_ key: TransactionKey, by bye: TransactionID, _ event: ClientTransactionEvent) {
        guard case .response(let response, _) = event, response.status >= 200 else { return }
        users.set(.left(key), of: bye)
        dialogs.set(leftDialog, of: key)
    }

    /// A request with a To tag belongs to a dialog of ours or to none (481, RFC 3261 section 12.2.2).
    private func dispatch(_ message: Message, _ id: TransactionID, _ hop: Hop) {
        guard let dialog = layer.dialogKey(of: message) else {
            if let onRequest { return onRequest(message, id, hop) }
            return respond(id, status: 503, message.response(503, tag: newToken()[...], source: hop.address))
        }
        if let user = dialogs[dialog] { return user.received(message, id, from: hop) }
        respond(id, status: 481, message.response(481, source: hop.address))
    }

    /// What SIP waits for within 4 ms, transactions and calls, shares a wake-up of the loop: its shortest wait is 500 ms.
    static let wakeUpGrid = Duration.milliseconds(4)

    private func setTimer() {
        // An earlier wake-up than needed costs a turn; moving the timer for each message would cost more.
        guard layer.wakeAt < wakeAt else { return }
        timer?.cancel()
        wakeAt = layer.wakeAt
        timer = loop.schedule(at: wakeAt.roundedUp(to: Self.wakeUpGrid)) { [self] in
            timer = nil
            wakeAt = .never
            layer.fire(at: loop.now, into: &actions)
            perform()
        }
    }

    /// Ends the timers; transactions are dropped, and nothing is received any more. What was said goes out.
    package func stop() {
        isStopped = true
        sender.flush()
        timer?.cancel()
        timer = nil
        users.removeAll()
        dialogs.forEach { ($0 as? LeftDialog)?.stop() }
        dialogs.removeAll()
        onRequest = nil
        onHopFailed = nil
        onPassing = nil
    }
}
