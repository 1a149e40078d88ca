// A call of ours that is redirected (RFC 3261 section 8.1.3.4) goes on to where the answer says, within the limit of its line or of the engine,
// and to targets that may be called. It stays one call: Call-ID, From and To are the same.

import Basics
import Reactor
import SIP

extension Call {
    /// Goes on to the next target: after a redirection to the best of its contacts, after a refusal by one of them to the next. False when
    /// there is none.
    func goesOnElsewhere(_ status: Int, _ response: Message?) -> Bool {
        guard !state.isEnded, let target, status < 600 else { return false }
        if let response, Redirections.isFollowed(status) {
            let limit = line?.redirects ?? shard.settings.redirects.limit
            guard limit > 0 else { return false }
            if redirections == nil { redirections = RedirectedCall(Redirections(from: target.uri, limit: limit)) }
            redirections?.targets.take(response)
            // Who was called before is told on by who sent us away (RFC 5806).
            addDiversions(of: response)
        }
        guard let redirections else { return false }
        while let uri = redirections.targets.next() {
            guard shard.settings.redirects.allows(uri.description) else {
                redirections.refused = "\(uri.description) may not be called"
                continue
            }
            do throws(CallControlError) {
                let next = try OutgoingTarget(redirect: uri, of: target, settings: shard.settings)
                addHistory(from: target.uri, status, response, to: next.uri)
                goOn(to: next)
                return true
            } catch {
                if case .invalid(_, let why) = error { redirections.refused = why }
            }
        }
        return false
    }

    private func goOn(to next: OutgoingTarget) {
        target = next
        if next.leavesLine { addedRows = CallerIdentity.forStrangers(addedRows) }
        challenges = 0
        isChallenged = false
        noResponse = false
        if let way = next.goesByRegistration ? line.flatMap({ shard.lines.way(of: $0.name) }) : nil {
            route = CallRoute(way: way)
            if CallerIdentity.isPrivate(session?.machine.invite.header(.privacy) ?? "") { route?.hideCaller() }
            return placeAgain(at: way.hop)
        }
        route = nil
        if let hop = next.hop { return placeAgain(at: hop) }
        shard.resolver.resolve(next.server) { [self] hops in
            guard !state.isEnded, let first = hops.first else {
                // It was hung up meanwhile, or there is nobody: then others may be left.
                redirections?.refused = "\(next.server.host) was not found"
                if goesOnElsewhere(480, nil) { return }
                finish(CallEnd(by: .engine, cause: .unreachable, detail: "\(next.server.host) was not found"))
                return leave()
            }
            if hops.count > 1 { route = CallRoute(alternatives: Array(hops.dropFirst())) }
            placeAgain(at: first)
        }
    }

    private func placeAgain(at hop: Hop) {
        guard let target else { return }
        self.hop = hop
        self.hop.host = shard.endpoint.hostNumber(target.server.host, path: target.path, over: hop.transport)
        placeAgainByHop()
    }

    /// Places the INVITE again by another hop, with the Via and Contact of that way.
    func placeAgainByHop() {
        shard.endpoint.whenAddressIsKnown(to: hop) { [self] in
            guard !state.isEnded, let session, let target else { return }
            let local = shard.endpoint.localAddress(to: hop)
            session.machine.end = shard.localEnd(hop.transport, local, secure: target.uri.scheme == .sips)
            if let contact = route?.way?.contact { session.machine.end = session.machine.end.with(contact: contact) }
            placeAgain()
        }
    }

    /// The latest comes first; what the INVITE has already is not said twice.
    private func addDiversions(of response: Message) {
        let known = String(decoding: addedRows, as: UTF8.self)
        var rows = MessageWriter(capacity: 128)
        for row in response.rows where row.kind == .diversion {
            let value = response.unfolded(row.value)
            guard !known.contains(value) else { continue }
            rows.header("Diversion", text: value)
        }
        addedRows = rows.octets + addedRows
    }

    /// Where the call has been (RFC 7044 section 10.3): the history of our INVITE, where it has none that of who sent us away; then who was called,
    /// with the reason, and who is called now.
    private func addHistory(from old: URI, _ status: Int, _ response: Message?, to next: URI) {
        guard let invite = session?.machine.invite, !Self.hidesHistory(invite) else { return }
        var history = HistoryInfo(invite)
        if history.entries.isEmpty, let response { history = HistoryInfo(response) }
        let own = history.note(old.target, for: old)
        history.fail(own, status: status)
        history.append(next.target, own.dropLast() + [own[own.count - 1] + 1], .user, from: own)
        addedRows = addedRows.withoutRows("History-Info:") + (line?.keepsPrivate == true ? history : history.hidingPrivate()).rows
    }
}

/// What a call of ours knows that was redirected. An object: few calls have it.
final class RedirectedCall {
    var targets: Redirections
    /// Why a contact was left out, for the call's end; nil: none was.
    var refused: String?

    init(_ targets: Redirections) { self.targets = targets }
}
