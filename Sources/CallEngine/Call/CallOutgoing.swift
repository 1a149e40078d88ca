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

/// What an outgoing call needs to build its INVITE, again after a challenge.
struct Placing {
    var uri: [UInt8]
    var from: [UInt8]
    var to: [UInt8]
    var callID: [UInt8]
    var cSeq: UInt32
    var end: LocalEnd
    var headers: [UInt8]
    var offer: [UInt8]
    /// How many times a challenge was answered.
    var challenges = 0
}

extension Call {
    /// The address is known: makes media and offer, and sends the INVITE.
    func place(_ uri: URI, to hop: Hop, from: String?, displayName: String, headers: [CallHeader]) {
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
        let placing = Placing(
            uri: Array(uri.octetsOfURI),
            from: Self.fromValue(from ?? shard.settings.product.lowercased(), displayName, local, tag),
            to: [UInt8(ascii: "<")] + uri.octetsOfURI + [UInt8(ascii: ">")], callID: shard.newCallID(at: local), cSeq: 1,
            end: shard.localEnd(hop.transport, local), headers: Self.rows(headers), offer: localDescription)
        register(callID: placing.callID, tag: tag)
        send(placing)
    }

    private func send(_ placing: Placing) {
        var placing = placing
        let branch = shard.endpoint.newBranch()
        var writer = MessageWriter(capacity: 960)
        writer.request(
            .invite, uri: placing.uri, end: placing.end, branch: branch, from: placing.from, to: placing.to,
            callID: placing.callID, cSeq: placing.cSeq)
        writer.append(shard.credentials(for: line, method: "INVITE", uri: placing.uri))
        writer.append((session?.sessionTimer ?? SessionTimer(shard.settings.sessionTimer)).requestRows())
        writer.append(placing.headers)
        writer.finish(body: placing.offer, type: "application/sdp")
        let octets = writer.octets
        guard let invite = try? Message(parsing: octets) else {
            preconditionFailure("our own INVITE can be read")
        }
        if session == nil {
            session = InviteSession(
                placing: invite, end: placing.end, timers: shard.endpoint.layer.timers, sessionTimer: shard.settings.sessionTimer,
                seed: shard.newSeed())
        } else {
            session!.place(again: invite)
        }
        placing.cSeq += 1
        self.placing = placing
        inviteTransaction = transact(octets, .invite, branch, to: hop) { [self] event in
            switch event {
            case .response(let response, _):
                if times.trying == nil { times.trying = loop.now - started }
                update { $0.received(response: response, at: self.loop.now, into: &$1) }
            case .timedOut:
                noResponse = true
                update { $0.inviteTimedOut(into: &$1) }
            case .transportFailed:
                noResponse = true
                update { $0.inviteTransportFailed(into: &$1) }
            }
        }
    }

    /// `"Name" <sip:user@host>;tag=…`; a bare user gets this host.
    private static func fromValue(_ from: String, _ displayName: String, _ local: SocketAddress, _ tag: [UInt8]) -> [UInt8] {
        var writer = MessageWriter(capacity: 96)
        if !displayName.isEmpty {
            writer.appendQuoted(displayName)
            writer.append(" ")
        }
        writer.append("<")
        if (try? URI(from))?.isSIP == true {
            writer.append(safe: from)
        } else {
            writer.append("sip:")
            writer.append(safe: from)
            writer.append("@")
            writer.append(local.ip)
        }
        writer.append(">;tag=")
        writer.append(tag)
        return writer.octets
    }

    // MARK: Answers

    /// A provisional response above 100.
    func progressed(_ response: Message) {
        guard !state.isEnded else { return }
        finalStatus = response.status
        finalReason = response.reasonPhrase
        if times.ringing == nil { times.ringing = loop.now - started }
        if response.hasBody(ofType: "application/sdp"), let media, (try? media.receive(answer: response.body)) != nil {
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
        if response.hasBody(ofType: "application/sdp") {
            do throws(MediaError) { try media.receive(answer: response.body) } catch { failure = "\(error)" }
        } else if !media.isReady {
            failure = "the answer has no description of media"
        }
        let rows = shard.credentials(for: line, method: "ACK", uri: session?.dialog?.remoteTarget ?? [])
        update { $0.acknowledge(headers: rows, into: &$1) }
        times.answer = loop.now - started
        if let failure {
            return hangUp(HangUpReason(status: 488, cause: .error, detail: failure))
        }
        answeredAt = loop.now
        shard.counters.answered += 1
        change(to: .answered)
        reachMilestones()
    }

    /// A final refusal, no response at all (408), or no way to send (503). A challenge is answered once for each nonce, a session
    /// interval that is too short (422) is made longer.
    func refused(_ status: Int, _ response: Message?) {
        if let response, status == 401 || status == 407, !state.isEnded, answer(challenge: response) { return }
        if let response, status == 422, !state.isEnded, let placing, session?.lengthenInterval(by: response) == true {
            return send(placing)
        }
        let by: CallEnd.Party = noResponse ? .engine : .callee
        finalStatus = noResponse ? 0 : status
        finalReason = response?.reasonPhrase ?? ""
        finalResponse = response
        let cause: CallEnd.Cause = noResponse ? .unreachable : CallEnd.cause(ofStatus: status)
        var detail = noResponse ? (status == 408 ? "no response to the INVITE" : "the INVITE could not be sent") : ""
        if (300..<400).contains(status), let contact = response?.header("Contact") { detail = "redirected to \(contact)" }
        finish(CallEnd(by: by, cause: cause, detail: detail))
        leave()
    }

    private func answer(challenge response: Message) -> Bool {
        guard let placing, let session, placing.challenges < 3, shard.challenged(line, by: response, request: session.invite)
        else {
            return false
        }
        var next = placing
        next.challenges += 1
        send(next)
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

    private func reachMilestones() {
        for wait in milestones where isReached(wait.milestone) { wait.waiter.resume(returning: .reached) }
    }
}
