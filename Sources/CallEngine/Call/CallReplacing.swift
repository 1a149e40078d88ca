// An INVITE with Replaces (RFC 3891): attended transfer and call pickup. The call that is named goes on with the new far side: its flow, its
// media, its bridge and its identity stay, only the dialog behind it is another one. The call that the INVITE made gets the old dialog
// in exchange, and does nothing but end it.

import Basics
import Reactor
import SIP

/// What a call keeps of its first far side.
final class ReplacedFarSide {
    /// This end, as the call that began named it.
    let own: CallParty

    init(own: CallParty) { self.own = own }

    /// Caller and callee of the call as it is now; `info.from` is who sent the INVITE that took the place.
    func parties(of info: CallInfo, isCaller: Bool) -> (CallParty, CallParty) {
        isCaller ? (info.from, own) : (own, info.from)
    }
}

extension Call {
    /// Takes the place that the INVITE asks for, or refuses it. Nothing changes for the other call then.
    func takePlace(as invite: Message) {
        let reference: DialogReference
        do throws(ParseError) {
            guard let found = try DialogReference(replacesOf: invite) else { return refuse(400, reason: nil, headers: []) }
            reference = found
        } catch {
            return refuse(400, reason: "Bad Replaces", headers: [])
        }
        switch shard.endpoint.user(callID: reference.callID[...], tag: reference.localTag[...]) {
        case let call as Call: takePlace(of: call, reference, invite)
        case nil: refuse(481, reason: nil, headers: [])
        // It has just been left.
        case .some: refuse(603, reason: nil, headers: [])
        }
    }

    private func takePlace(of call: Call, _ reference: DialogReference, _ invite: Message) {
        if let status = call.session?.machine.refusal(ofReplacing: reference) {
            return refuse(status, reason: nil, headers: [])
        }
        guard !call.state.isEnded, let media = call.media else { return refuse(603, reason: nil, headers: []) }
        // The first exchange is not over: what the far side would answer to is not known.
        if call.isOfferless { return refuse(491, reason: nil, headers: []) }
        call.change(farSideTo: self, invite, media)
    }

    /// `newcomer` has the INVITE that takes the place.
    private func change(farSideTo newcomer: Call, _ invite: Message, _ media: MediaSession) {
        do throws(MediaError) {
            if let offer = invite.sessionDescription {
                localDescription = try media.answer(another: offer)
            } else {
                localDescription = media.makeOfferToAnother()
                isOfferless = true
            }
        } catch {
            return newcomer.refuse(error.status, reason: nil, headers: [newcomer.warning(error)])
        }
        let own = direction == .inbound ? info.to : info.from
        exchangeSignaling(with: newcomer)
        replaced = ReplacedFarSide(own: own)
        // Nobody answers any more what was asked of the one who goes: a hold is asked again of the new one.
        renegotiation?.resume(returning: OfferOutcome(status: 491, retryAfter: .milliseconds(200)))
        transferEvents?.send(.answered(status: 481, isQuiet: false))
        texts?.end(TextResult(.noAnswer, reason: "another far side took the place of the first"))
        texts?.packages = nil
        texts?.hasAsked = false
        let wasAnswered = state == .answered
        update { $0.answer(body: self.localDescription, source: self.hop.address, at: self.loop.now, into: &$1) }
        media.start()
        if !wasAnswered { pickedUp() }
        newcomer.endReplaced(wasAnswered: wasAnswered)
    }

    /// A call of ours that rang is answered by the one who took its place.
    private func pickedUp() {
        finalStatus = 200
        finalReason = "\(statusPhrase(200))"
        times.answer = loop.now - started
        answeredAt = loop.now
        shard.counters.answered += 1
        change(to: .answered)
        reachMilestones()
    }

    /// The dialog that was replaced ends: by BYE, or by CANCEL where it rang.
    private func endReplaced(wasAnswered: Bool) {
        finish(CallEnd(by: .engine, cause: .normal, detail: "it took the place of another call"))
        let reason = wasAnswered ? "SIP;cause=200;text=\"Replaced\"" : HangUpReason.answeredElsewhere.reason
        update { $0.hangUp(headers: Self.reasonRow(reason), source: self.hop.address, into: &$1) }
    }

    /// Each call has the other's dialog from now on.
    private func exchangeSignaling(with other: Call) {
        session?.owner = other
        swap(&session, &other.session)
        swap(&hop, &other.hop)
        swap(&lineIndex, &other.lineIndex)
        swap(&registration, &other.registration)
        swap(&transactions, &other.transactions)
        swap(&bye, &other.bye)
        swap(&inviteTransaction, &other.inviteTransaction)
        swap(&route, &other.route)
        swap(&isChallenged, &other.isChallenged)
        swap(&hasReferred, &other.hasReferred)
        swap(&isReferralQuiet, &other.isReferralQuiet)
        finalResponse = nil
        for call in [self, other] {
            if let registration = call.registration { shard.endpoint.give(registration, to: call) }
        }
    }
}
