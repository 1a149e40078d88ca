// What the INVITE of a call says of its caller besides From, and what of it is passed on to the legs of a bridge and to where the call is
// redirected: asserted identity and privacy (RFC 3325, RFC 3323), diversions (RFC 5806, RFC 7044), signed identity (RFC 8224).

import SIP

extension Call {
    /// The caller as the network behind the line has asserted him; nil unless the line is one to be believed.
    func assertedIdentity(in invite: Message) -> CallParty? {
        guard invite.has(.pAssertedIdentity), line?.isTrusted == true,
            let address = (try? invite.addresses(.pAssertedIdentity))?.first
        else { return nil }
        return Self.party(address)
    }

    /// Who was called before, the latest first: Diversion, or where there is none History-Info.
    static func diversions(in invite: Message) -> [CallDiversion] {
        guard invite.has(.diversion) || invite.has(.historyInfo) else { return [] }
        if invite.has(.diversion) {
            return ((try? invite.addresses(.diversion)) ?? []).compactMap { address in
                party(address).map { CallDiversion(party: $0, reason: address.parameters["reason"].map { text($0) } ?? "") }
            }
        }
        return HistoryInfo(invite).diversions.compactMap { address, reason in
            party(address).map { CallDiversion(party: $0, reason: reason) }
        }
    }

    /// Rows of the caller's INVITE for the INVITEs of its bridge. Who was sent on by History-Info alone is told by Diversion too (RFC 7544).
    /// - Parameter keepsCaller: these name the same caller, so that what others have signed of him is still true (RFC 8224 section 3).
    func passedOn(keepsCaller: Bool) -> [CallHeader] {
        guard direction == .inbound, let invite = session?.machine.invite else { return [] }
        let hidesHistory = Self.hidesHistory(invite)
        let rows = invite.rows.compactMap { row in
            let isWanted =
                switch row.kind {
                case .diversion: !hidesHistory
                case .identity: keepsCaller
                case .date: keepsCaller && invite.has(.identity)
                default: false
                }
            return isWanted ? CallHeader(name: "\(row.kind.name)", value: invite.unfolded(row.value)) : nil
        }
        guard !hidesHistory, invite.has(.historyInfo), !invite.has(.diversion) else { return rows }
        return HistoryInfo(invite).asDiversion.map { CallHeader(name: "Diversion", value: $0) } + rows
    }

    /// Where a call that came in has been, this end as the last of it, and that one's index; nil where the caller does not want it told. Of who
    /// was sent on by Diversion alone there are entries as well (RFC 7544).
    var historyToHere: (history: HistoryInfo, own: [Int])? {
        guard direction == .inbound, let invite = session?.machine.invite, !Self.hidesHistory(invite), let called = calledURI,
            let uri = try? invite.requestURI()
        else { return nil }
        var history = HistoryInfo(invite)
        if history.entries.isEmpty, invite.has(.diversion), let diversions = try? invite.addresses(.diversion) {
            history = HistoryInfo(diversions: diversions, to: called)
            return (history, history.entries[history.entries.count - 1].index)
        }
        let own = history.note(called, for: uri)
        return (history, own)
    }

    /// Tells in the answers where the request has been (RFC 7044 section 8.2), for who has asked for it.
    func tellHistory() { addedRows = historyToHere?.history.hidingPrivate().rows ?? [] }

    /// Whether the caller wants nobody to know who was called before (RFC 3323 section 4.2, RFC 7044 section 10.1).
    static func hidesHistory(_ invite: Message) -> Bool {
        invite.header(.privacy).map { HistoryInfo.isHidden(by: $0) } ?? false
    }

    /// Whom the caller has called, as others may know it: of a registered line its address, not where it is reached.
    var calledURI: [UInt8]? {
        guard let uri = requestURI else { return nil }
        if let line, let registration = line.registration, uri.parameter(LineDirectory.markName) != nil {
            return Array("sip:\(LocalEnd.escaped(user: line.registeredUser))@\(registration.domain)".utf8)
        }
        return uri.target
    }
}
