// The called end's side of reliable provisional responses (RFC 3262 section 3): RSeq, repetition until the PRACK, an answer that
// waits for it, and a refusal when none comes.

import Basics

/// A 200 that may not be sent yet.
struct HeldAnswer: Sendable {
    var headers: [UInt8]
    var body: [UInt8]
    var type: String
    var source: SocketAddress
}

extension InviteSession {
    /// The INVITE asks for reliable provisional responses.
    var requiresReliable: Bool { invite.lists(.require, "100rel") }
    /// The INVITE's sender knows PRACK.
    package var mayBeReliable: Bool { requiresReliable || invite.lists(.supported, "100rel") }

    mutating func reliable(
        _ status: Int, _ reason: String?, headers: [UInt8], body: [UInt8], type: String, source: SocketAddress
    ) -> ReliableResponses.Waiting {
        if reliableResponses == nil { reliableResponses = ReliableResponses(first: UInt32(tokens.number(in: 1...0x3fff_ffff))) }
        let rSeq = reliableResponses!.number()
        // With what this end can do: an UPDATE may follow (RFC 3311 section 5.1).
        let rows = end.headers + Array("Require: 100rel\r\nRSeq: \(rSeq)\r\n".utf8)
        var writer = responseWriter(status, reason, to: invite, headers: rows + headers, source: source)
        writer.finish(body: body, type: type)
        return ReliableResponses.Waiting(
            rSeq: rSeq, status: status, octets: writer.octets, hasBody: !body.isEmpty, source: source)
    }

    mutating func send(
        reliable response: ReliableResponses.Waiting, at now: Instant, into actions: inout [SessionAction]
    ) {
        guard let inviteTransaction, reliableResponses?.add(response, timers: timers, at: now) == true else { return }
        actions.append(.respond(inviteTransaction, status: response.status, response.octets))
    }

    /// A PRACK: the response that it names is not repeated any more; the next one, or an answer that waited, follows. The PRACK itself
    /// is given out, to be answered by `reply`: its body may be an offer, or the answer to ours.
    mutating func acknowledged(
        by prack: Message, _ transaction: TransactionID, source: SocketAddress, at now: Instant,
        into actions: inout [SessionAction]
    ) {
        guard let rAck = prack.rAck(), rAck.cSeq == invite.cSeq, rAck.method == "INVITE",
            let response = reliableResponses?.acknowledged(rAck.rSeq)
        else {
            var writer = MessageWriter(capacity: prack.octets.count + 64)
            writer.response(481, to: prack, tag: localTag[...], source: source)
            writer.finish()
            return actions.append(.respond(transaction, status: 481, writer.octets))
        }
        if response.hasBody { isAnswerKnown = true }
        actions.append(.request(prack, transaction))
        guard state == .early, let inviteTransaction else { return }
        if let next = reliableResponses?.following(timers: timers, at: now) {
            actions.append(.respond(inviteTransaction, status: next.status, next.octets))
        }
        if let held = heldAnswer, reliableResponses?.holdsAnswer != true {
            heldAnswer = nil
            answer(headers: held.headers, body: held.body, type: held.type, source: held.source, at: now, into: &actions)
        }
    }

    mutating func fireReliable(at now: Instant, into actions: inout [SessionAction]) {
        guard let inviteTransaction else { return }
        switch reliableResponses?.fire(at: now) {
        case .repeat(let response):
            actions.append(.respond(inviteTransaction, status: response.status, response.octets))
        case .unacknowledged(let response):
            guard state == .early else { return }
            var writer = responseWriter(504, nil, to: invite, headers: [], source: response.source)
            writer.finish()
            actions.append(.respond(inviteTransaction, status: 504, writer.octets))
            finish(.noPRACK, into: &actions)
        case nil: break
        }
    }
}
