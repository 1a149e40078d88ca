// One end of a simulated call: a transaction layer and one invite session, joined as the engine joins them. The script is data.

import Basics
import SIP

struct SessionEndpoint {
    var layer: TransactionLayer
    var session: InviteSession?
    let hop: Hop
    let end: LocalEnd
    var timer = SessionTimer.Settings()
    /// Header rows that its INVITE has besides.
    var inviteRows: [UInt8] = []
    /// Called: the body of a 183 that comes before the answer; empty for none.
    var early: [UInt8] = []
    /// Bodies of PRACKs and UPDATEs are given back in their 200.
    var echoes = false
    var seed: UInt64
    /// What the session told: names of actions in order.
    var log: [String] = []
    /// Octets to the other end.
    var outbox: [[UInt8]] = []
    var inviteID: TransactionID?
    private var methods: [TransactionID: Method] = [:]
    /// Called: what is done with an INVITE at once: a provisional response, an answer.
    var rings = true
    var answers = true

    init(_ address: String, seed: UInt64, rows: String = "") {
        layer = TransactionLayer(seed: seed)
        hop = Hop(transport: .udp, address: SocketAddress(address)!)
        end = LocalEnd(transport: .udp, address: SocketAddress(address)!, headers: Array(rows.utf8))
        self.seed = seed
    }

    /// The address all requests seem to come from.
    static let source = SocketAddress("192.0.2.50:5060")!

    mutating func place(at now: Instant) {
        var writer = MessageWriter()
        let branch = layer.newBranch()
        let from = Array("<sip:caller@h>;tag=".utf8) + layer.newToken()
        writer.request(
            .invite, uri: Array("sip:bot@h".utf8), end: end, branch: branch, from: from, to: Array("<sip:bot@h>".utf8),
            callID: layer.newToken(), cSeq: 1)
        writer.append(SessionTimer(timer).requestRows())
        writer.append(inviteRows)
        writer.finish(body: [79], type: "application/sdp")
        session = InviteSession(placing: OutgoingInvite(vector(writer.octets)), end: end, sessionTimer: timer, seed: seed)
        var actions: [TransactionAction] = []
        let id = layer.send(writer.octets, method: .invite, branch: branch, to: hop, at: now, into: &actions)
        inviteID = id
        methods[id] = .invite
        run(actions, now)
    }

    /// Lets the session do something.
    mutating func act(_ now: Instant, _ body: (inout InviteSession, inout [SessionAction]) -> Void) {
        guard session != nil else { return }
        var actions: [SessionAction] = []
        body(&session!, &actions)
        run(actions, now)
    }

    mutating func receive(_ octets: [UInt8], at now: Instant) {
        guard let message = try? Message(parsing: octets) else { return }
        var actions: [TransactionAction] = []
        layer.receive(message, from: Hop(transport: .udp, address: Self.source), at: now, into: &actions)
        run(actions, now)
    }

    mutating func nextDeadline() -> Instant { min(layer.nextDeadline(), session?.nextDeadline ?? .never) }

    mutating func fire(at now: Instant) {
        var actions: [TransactionAction] = []
        layer.fire(at: now, into: &actions)
        run(actions, now)
        if session != nil { act(now) { $0.fire(at: now, into: &$1) } }
    }

    private mutating func run(_ actions: [TransactionAction], _ now: Instant) {
        for action in actions {
            switch action {
            case .send(let octets, _): outbox.append(octets)
            case .request(let message, let id, _): request(message, id, now)
            case .acknowledgement(let message, _):
                if session?.owns(message) == true { act(now) { $0.received(acknowledgement: message, into: &$1) } }
            case .cancel(let message, let id, let invite, _):
                if invite != nil, invite == inviteID {
                    act(now) { $0.received(cancel: message, id, source: Self.source, into: &$1) }
                } else {
                    respond(id, 481, message.response(481), now)
                }
            case .response(let message, let id, _) where methods[id] != .cancel:
                act(now) { $0.received(response: message, at: now, into: &$1) }
            case .strayResponse(let message, _): act(now) { $0.received(response: message, at: now, into: &$1) }
            case .timedOut(let id), .transportFailed(let id):
                guard let method = methods[id] else { continue }
                if id == inviteID {
                    act(now) { $0.inviteTimedOut(into: &$1) }
                } else {
                    act(now) { $0.timedOut(method, into: &$1) }
                }
            case .ended(let id): methods[id] = nil
            default: break
            }
        }
    }

    private mutating func respond(_ id: TransactionID, _ status: Int, _ octets: [UInt8], _ now: Instant) {
        var actions: [TransactionAction] = []
        layer.respond(id, status: status, octets, at: now, into: &actions)
        run(actions, now)
    }

    private mutating func request(_ message: Message, _ id: TransactionID, _ now: Instant) {
        if session?.owns(message) == true {
            return act(now) { $0.received(request: message, id, source: Self.source, at: now, into: &$1) }
        }
        guard message.method == .invite, (try? message.to().tag) == nil, session == nil else {
            return respond(id, 481, message.response(481, tag: [57]), now)
        }
        let tag = layer.newToken()
        session = (try? Dialog(answering: message, localTag: tag)).map {
            InviteSession(
                answering: message, in: $0, localTag: tag, transaction: id, end: end, sessionTimer: timer, seed: seed)
        }
        if let minimum = session?.sessionTimer.refusal(of: message) {
            session = nil
            var writer = MessageWriter()
            writer.response(422, to: message, tag: [57], source: Self.source)
            writer.append(minimum)
            writer.finish()
            return respond(id, 422, writer.octets, now)
        }
        inviteID = id
        if rings { act(now) { $0.progress(180, source: Self.source, at: now, into: &$1) } }
        if !early.isEmpty {
            act(now) { [early] in $0.progress(183, body: early, source: Self.source, at: now, into: &$1) }
        }
        if answers { act(now) { $0.answer(body: [80], source: Self.source, at: now, into: &$1) } }
    }

    private mutating func run(_ actions: [SessionAction], _ now: Instant) {
        for action in actions {
            var next: [TransactionAction] = []
            switch action {
            case .send(let request):
                let id = layer.send(
                    request.octets, method: request.method, branch: request.branch, to: hop, at: now, into: &next)
                methods[id] = request.method
                run(next, now)
            case .sendACK(let request): outbox.append(request.octets)
            case .respond(let id, let status, let octets): respond(id, status, octets, now)
            case .cancelInvite:
                if let id = layer.cancel(inviteID!, at: now, into: &next) { methods[id] = .cancel }
                run(next, now)
            case .progress(let message, _): log.append("progress \(message.status)")
            case .answered:
                log.append("answered")
                act(now) { $0.acknowledge(into: &$1) }
            case .failed(let status, _): log.append("failed \(status)")
            case .confirmed: log.append("confirmed")
            case .reinvited:
                log.append("reinvited")
                act(now) { $0.answer(body: [81], source: Self.source, at: now, into: &$1) }
            case .request(let message, let id):
                log.append("request \(message.methodName)")
                let body = echoes ? Array(message.body) : []
                act(now) { $0.reply(200, to: message, id, body: body, source: Self.source, at: now, into: &$1) }
            case .response(let message, let method, let wait):
                log.append("response \(message.status) \(method)\(wait == nil ? "" : " wait")")
                if method == .invite, message.status < 300 { act(now) { $0.acknowledge(into: &$1) } }
            case .updated(let status, _, let wait): log.append("updated \(status)\(wait == nil ? "" : " wait")")
            case .refreshDue:
                log.append("refresh")
                act(now) { _ = $0.peerAllowsUpdate ? $0.send(.update, into: &$1) : $0.reinvite(body: [82], into: &$1) }
            case .noResponse(let method): log.append("no response \(method)")
            case .ended(let reason): log.append("ended " + String("\(reason)".prefix { $0 != "(" }))
            }
        }
    }
}
