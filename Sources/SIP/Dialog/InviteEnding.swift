// The end of a session (RFC 3261 sections 9.1, 15): CANCEL or a refusal before the answer, BYE after it. The called end may not send
// BYE before the ACK came or 64*T1 passed (section 15); a CANCEL waits for a provisional response.

package import Basics

extension InviteSession {
    /// Hangs up, whatever the state: cancels, refuses with `status`, or sends BYE, now or as soon as it may.
    /// - Parameters:
    ///   - status: the refusal while a called end has not answered.
    ///   - headers: whole rows for BYE, CANCEL or the refusal: Reason (RFC 3326).
    package mutating func hangUp(
        status: Int = 480, headers: [UInt8] = [], source: SocketAddress, into actions: inout [SessionAction]
    ) {
        switch state {
        case .ended, .ending: return
        case .calling where isCaller, .early where isCaller:
            wantsCancel = true
            state = .ending
            if hasProvisional {
                isCancelSent = true
                actions.append(.cancelInvite(rows: headers))
            } else {
                cancelRows = headers
            }
        case .calling: return
        case .early: refuse(status, headers: headers, source: source, into: &actions)
        case .answered:
            pendingBYE = headers
            state = .ending
        case .confirmed:
            if unansweredCSeq != nil { acknowledge(into: &actions) }
            if let open = openReinvite {
                openReinvite = nil
                actions.append(
                    .respond(
                        open.transaction, status: 487, open.message.response(487, tag: localTag[...], source: source)))
            }
            sendBYE(headers: headers, into: &actions)
            finish(.hungUp, into: &actions)
        }
    }

    /// A BYE of the other end, answered already. While the called end has not answered, its INVITE is ended with 487; so is an
    /// open re-INVITE. A BYE that crosses ours, or comes instead of the ACK, ends the session all the same.
    mutating func receivedBYE(_ bye: Message, source: SocketAddress, into actions: inout [SessionAction]) {
        if state == .early, !isCaller, let inviteTransaction {
            actions.append(
                .respond(inviteTransaction, status: 487, invite.response(487, tag: localTag[...], source: source)))
        }
        if let open = openReinvite {
            actions.append(
                .respond(open.transaction, status: 487, open.message.response(487, tag: localTag[...], source: source)))
        }
        if unansweredCSeq != nil { acknowledge(into: &actions) }
        finish(.remoteHungUp(bye), into: &actions)
    }
}
