// Placing a call (RFC 3261 section 13.2): finding the target's address, the INVITE with our offer, its answers, digest, and what an
// outbound flow may wait for.

import Basics
import Reactor
import SIP

/// A task that waits for a milestone.
struct MilestoneWait {
    let milestone: CallMilestone
    let waiter: Waiter<MilestoneResult>
}

/// What an INVITE of ours is made of.
private struct Placing {
    var uri: [UInt8]
    /// The value of From, with `tag`.
    var from: [UInt8]
    var tag: [UInt8]
    var to: [UInt8]
    var callID: [UInt8]
    var cSeq: UInt32
    var end: LocalEnd
    var offer: [UInt8]
    /// Values of Route: the way that a registration asks for.
    var routes: [[UInt8]] = []
}

extension Call {
    /// The address is known: makes media and offer, and sends the INVITE.
    func place(_ target: OutgoingTarget, to hop: Hop, from: String?, displayName: String) {
        guard !state.isEnded else { return }
        self.hop = hop
        let local = shard.endpoint.localAddress(to: hop)
        do throws(MediaError) {
            let media = try shard.makeMedia(for: self, localIP: local.ip)
            self.media = media
            localDescription = media.makeOffer()
        } catch {
            // In a later turn: who placed the call has not yet said who is to hear of its end.
            let end = CallEnd(by: .engine, cause: .error, detail: "\(error)")
            loop.schedule(at: loop.now) {
                self.finish(end)
                self.leave()
            }
            return
        }
        let tag = shard.endpoint.newToken()
        var end = shard.localEnd(hop.transport, local, secure: target.uri.scheme == .sips)
        if let contact = route?.way?.contact { end = end.with(contact: contact) }
        let placing = Placing(
            uri: target.requestURI, from: shard.fromValue(from, displayName, local, tag: tag), tag: tag, to: target.to,
            callID: shard.newCallID(at: local), cSeq: 1, end: end, offer: localDescription,
            routes: route?.way?.routes ?? [])
        register(callID: placing.callID[...], tag: tag[...])
        send(placing)
    }

    /// The latest INVITE with the next number, after a challenge or for a longer session interval.
    func placeAgain(offer: [UInt8]? = nil) {
        guard let target, let session, let invite = session.machine.outgoingInvite else { return }
        send(
            Placing(
                uri: target.requestURI, from: invite.from, tag: invite.tag, to: target.to, callID: invite.callID,
                cSeq: invite.cSeq + 1, end: session.machine.end, offer: offer ?? invite.body, routes: route?.way?.routes ?? []))
    }

    private func send(_ placing: Placing) {
        let branch = shard.endpoint.newBranch()
        var writer = MessageWriter(capacity: 960)
        writer.request(
            .invite, uri: placing.uri, end: placing.end, branch: branch, routes: placing.routes, from: placing.from,
            to: placing.to, callID: placing.callID, cSeq: placing.cSeq)
        if let accountLine {
            let credentials = shard.credentials(for: accountLine, method: "INVITE", uri: placing.uri, body: placing.offer)
            if !credentials.isEmpty { isChallenged = true }
            writer.append(credentials)
        }
        writer.append((session?.machine.sessionTimer ?? SessionTimer(shard.settings.sessionTimer)).requestRows())
        writer.append(addedRows)
        writer.finish(body: placing.offer, type: "application/sdp")
        let octets = writer.octets
        if movesForSize(octets.count) {
            return shard.endpoint.whenAddressIsKnown(to: hop) { [self] in
                var moved = placing
                moved.end = endAtHop
                send(moved)
            }
        }
        let invite = OutgoingInvite(
            octets: octets, uri: placing.uri, from: placing.from, tag: placing.tag, callID: placing.callID, cSeq: placing.cSeq,
            body: placing.offer)
        if let session {
            session.machine.place(again: invite)
        } else {
            session = CallSession(
                InviteSession(
                    placing: invite, end: placing.end, timers: shard.endpoint.timers,
                    sessionTimer: shard.settings.sessionTimer, seed: shard.newSeed()))
        }
        let session = session
        inviteTransaction = transact(octets, .invite, branch, to: hop) { [self] event in
            (session?.owner ?? self).heard(ofInvite: event)
        }
    }

    private func heard(ofInvite event: ClientTransactionEvent) {
        switch event {
        case .response(let response, _):
            if times.trying == nil { times.trying = loop.now - started }
            isMovedForSize = false
            if state.isEnded { answeredLate(response) }
            update { $0.received(response: response, at: self.loop.now, into: &$1) }
        case .timedOut:
            noResponse = true
            update { $0.inviteTimedOut(into: &$1) }
        case .transportFailed(let reason):
            // With another Via and Contact for the whole dialog, which has not begun yet.
            if let session, let end = endAfterStream() {
                session.machine.end = end
                return placeAgain()
            }
            noResponse = true
            failureReason = reason
            update { $0.inviteTransportFailed(into: &$1) }
        }
    }

    // MARK: Answers

    /// A provisional response above 100.
    func progressed(_ response: Message) {
        guard !state.isEnded else { return }
        finalStatus = response.status
        finalReason = response.reasonPhrase
        if response.has(.rSeq) { notePackages(response) }
        if times.ringing == nil { times.ringing = loop.now - started }
        if let answer = response.sessionDescription, let media, (try? media.receive(answer: answer)) != nil {
            if state != .early { change(to: .early) }
        } else if state == .new {
            change(to: .ringing)
        }
        reachMilestones()
    }

    /// The 2xx that won.
    func accepted(_ response: Message) {
        guard !state.isEnded, let media else { return }
        finalStatus = response.status
        finalReason = response.reasonPhrase
        finalResponse = response
        var failure: String?
        if media.isReady, session?.machine.hasEarlyExchange == true {
            // What was agreed by UPDATE holds; a description here repeats the answer of before (RFC 3261 section 13.2.1).
        } else if let answer = response.sessionDescription {
            do throws(MediaError) { try media.receive(answer: answer) } catch { failure = "\(error)" }
        } else if !media.isReady {
            failure = "the answer has no description of media"
        }
        let rows = isChallenged ? session.map { Self.credentials(of: $0.machine.invite) } ?? [] : []
        update { $0.acknowledge(headers: rows, into: &$1) }
        times.answer = loop.now - started
        if let failure {
            // What the other side answered is of no use: its doing, as a refusal is.
            return hangUp(HangUpReason(status: 488, cause: .rejected, detail: failure))
        }
        answeredAt = loop.now
        shard.counters.answered += 1
        change(to: .answered)
        if isHeldByUs, session?.machine.hasEarlyExchange == false { releaseHold() }
        reachMilestones()
    }

    /// The credentials of an INVITE as its ACK repeats them: not computed anew, since an ACK cannot be challenged (section 22.1).
    static func credentials(of invite: Message) -> [UInt8] {
        guard invite.has(.authorization) || invite.has(.proxyAuthorization) else { return [] }
        var writer = MessageWriter(capacity: 512)
        for row in invite.rows {
            if row.kind == .authorization { writer.header("Authorization", octets: invite[row.value]) }
            if row.kind == .proxyAuthorization { writer.header("Proxy-Authorization", octets: invite[row.value]) }
        }
        return writer.octets
    }

    /// A final refusal, no response at all (408), or no way to send (503). A challenge is answered once for each nonce, a session
    /// interval that is too short (422) is made longer, encryption that was only offered (488) is left out.
    func refused(_ status: Int, _ response: Message?) {
        if let response, status == 401 || status == 407, !state.isEnded, answer(challenge: response) { return }
        if let response, status == 422, !state.isEnded, let session, session.machine.lengthenInterval(by: response) {
            return placeAgain()
        }
        if status == 488, !state.isEnded, let offer = media?.makePlainOffer() {
            localDescription = offer
            return placeAgain(offer: offer)
        }
        if failsOver(status, response) || goesOnElsewhere(status, response) { return }
        if state.isEnded { return leave() }
        let by: CallEnd.Party = noResponse ? .engine : .callee
        finalStatus = noResponse ? 0 : status
        finalReason = response?.reasonPhrase ?? ""
        finalResponse = response
        let cause: CallEnd.Cause = noResponse ? .unreachable : CallEnd.cause(ofStatus: status)
        var detail = noResponse ? (status == 408 ? "no response to the INVITE" : "the INVITE could not be sent") : ""
        if noResponse, status != 408, !failureReason.isEmpty { detail += ": \(failureReason)" }
        if (300..<400).contains(status), let contact = response?.header("Contact") {
            detail = "redirected to \(contact)" + (redirections?.refused.map { ": \($0)" } ?? "")
        }
        if detail.isEmpty, let warning = response?.header(.warning) { detail = "Warning: \(warning)" }
        finish(CallEnd(by: by, cause: cause, detail: detail))
        leave()
    }

    /// Notes how the server did, and tries the next one when it gave no final answer of the callee. A 503 after ringing is one.
    private func failsOver(_ status: Int, _ response: Message?) -> Bool {
        guard noResponse || status == 503 else {
            shard.health.worked(hop)
            return false
        }
        guard !state.isEnded, state == .new else { return false }
        shard.health.failed(hop, at: loop.now, retryAfter: response?.number(.retryAfter))
        if let line, let flow = route?.nextFlow(of: line.name, in: shard.lines) {
            hop = flow.hop
            noResponse = false
            placeAgainByHop()
            return true
        }
        guard let route, !route.alternatives.isEmpty else { return false }
        hop = route.alternatives.removeFirst()
        if let target { hop.host = shard.endpoint.hostNumber(target.server.host, path: target.path, over: hop.transport) }
        noResponse = false
        placeAgainByHop()
        return true
    }

    private func answer(challenge response: Message) -> Bool {
        guard let session, challenges < 3, shard.challenged(accountLine, by: response, request: session.machine.invite) else {
            return false
        }
        challenges += 1
        placeAgain()
        return true
    }

    // MARK: Milestones

    package func wait(
        for milestone: CallMilestone, timeout: Duration?
    ) async throws(CancellationError) -> MilestoneResult {
        if case .ended(let end) = state { return .ended(end) }
        if isReached(milestone) { return .reached }
        let waiter = Waiter<MilestoneResult>()
        milestones.append(MilestoneWait(milestone: milestone, waiter: waiter))
        let timer = timeout.map { loop.schedule(after: $0) { waiter.resume(returning: .timedOut) } }
        defer {
            timer?.cancel()
            milestones.removeAll { $0.waiter === waiter }
        }
        return try await waiter.wait()
    }

    private func isReached(_ milestone: CallMilestone) -> Bool {
        switch (state, milestone) {
        case (.answered, _), (.early, .ringing), (.early, .earlyMedia), (.ringing, .ringing): true
        default: false
        }
    }

    func reachMilestones() {
        for wait in milestones where isReached(wait.milestone) { wait.waiter.resume(returning: .reached) }
    }
}
