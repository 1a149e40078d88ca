// An offer of ours before the INVITE is answered (RFC 3311 section 5.1, RFC 6337 section 3.1): by UPDATE, once the offer and answer of the
// INVITE are done reliably, that is in a 1xx that PRACK has acknowledged. After the answer a re-INVITE does the same: that may ask
// people, an UPDATE may not.

import Basics

/// What is known of a caller's early dialog for an UPDATE.
struct EarlyExchange: Sendable {
    /// The number of the PRACK for the response with the answer, until it is answered.
    private var prack: UInt32?
    private var isAllowed = false
    /// The answer is known at both ends.
    private(set) var isDone = false
    /// An UPDATE of either side has changed what the INVITE's answer said.
    var isUpdated = false

    /// An UPDATE may come, now or soon.
    var takesUpdate: Bool { isAllowed && (isDone || prack != nil) }

    /// A reliable response, and the number of its PRACK.
    mutating func acknowledged(_ response: Message, by number: UInt32) {
        if response.lists(.allow, "update") { isAllowed = true }
        if !response.bodyRange.isEmpty, !isDone { prack = number }
    }

    /// A 2xx to PRACK.
    mutating func answered(prack number: UInt32) {
        guard prack == number else { return }
        (prack, isDone) = (nil, true)
    }
}

extension InviteSession {
    /// Before the answer: an UPDATE may bring an offer, as soon as nothing else is under way. With several early dialogs by forking nobody
    /// knows for which it would be.
    package var takesEarlyOffer: Bool {
        guard state == .early else { return false }
        if isCaller { return earlyDialogs.count == 1 && earlyDialogs[0].exchange.takesUpdate }
        return (isAnswerKnown || reliableResponses?.holdsAnswer == true) && invite.lists(.allow, "update")
    }

    /// Sends an UPDATE with an offer before the answer; false when it may not be sent now.
    package mutating func update(
        offering body: [UInt8], type: String = "application/sdp", into actions: inout [SessionAction]
    ) -> Bool {
        guard takesEarlyOffer, pendingUpdate == nil else { return false }
        if isCaller {
            guard earlyDialogs[0].exchange.isDone else { return false }
            actions.append(
                .send(earlyDialogs[0].dialog.request(.update, end: end, branch: tokens.branch(), body: body, type: type)))
            pendingUpdate = earlyDialogs[0].dialog.localCSeq
        } else {
            guard dialog != nil, isAnswerKnown, reliableResponses?.holdsAnswer != true, heldAnswer == nil else { return false }
            actions.append(.send(dialog!.request(.update, end: end, branch: tokens.branch(), body: body, type: type)))
            pendingUpdate = dialog!.localCSeq
        }
        return true
    }

    /// The final response to our UPDATE with an offer. False when it is none of that.
    mutating func receivedUpdate(_ response: Message, into actions: inout [SessionAction]) -> Bool {
        guard response.cSeqMethod == .update, response.cSeq == pendingUpdate else { return false }
        pendingUpdate = nil
        if response.status < 300 {
            if dialog != nil { dialog!.refreshTarget(response) }
            if isCaller, !earlyDialogs.isEmpty {
                earlyDialogs[0].dialog.refreshTarget(response)
                earlyDialogs[0].exchange.isUpdated = true
            }
        }
        actions.append(.updated(status: response.status, response, retryAfter: retryTime(after: response)))
        return true
    }

    /// How long to wait before an offer that met another change of the session is made again (RFC 3261 section 14.1, RFC 3311
    /// section 5.2); nil: that was not why it was refused.
    mutating func retryTime(after response: Message) -> Duration? {
        switch response.status {
        case 491:
            // The end that chose the Call-ID waits 2.1 to 4 s, the other up to 2 s.
            let wait = isCaller ? tokens.number(in: 210...400) : tokens.number(in: 0...200)
            return .milliseconds(wait * 10)
        case 500:
            // Its answer to an offer of before is still to come: up to ten seconds.
            guard let wait = response.number(.retryAfter), wait <= 10 else { return nil }
            return .seconds(wait)
        default: return nil
        }
    }
}
