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

    /// Rows of the caller's INVITE for the INVITEs of its bridge.
    /// - Parameter keepsCaller: these name the same caller, so that what others have signed of him is still true (RFC 8224 section 3).
    func passedOn(keepsCaller: Bool) -> [CallHeader] {
        guard direction == .inbound, let invite = session?.machine.invite else { return [] }
        let hidesHistory = Self.hidesHistory(invite)
        return invite.rows.compactMap { row in
            let isWanted =
                switch row.kind {
                case .diversion: !hidesHistory
                case .identity: keepsCaller
                case .date: keepsCaller && invite.has(.identity)
                default: false
                }
            return isWanted ? CallHeader(name: "\(row.kind.name)", value: invite.unfolded(row.value)) : nil
        }
    }

    /// Whether the caller wants nobody to know who was called before (RFC 3323 section 4.2, RFC 7044 section 10.1).
    static func hidesHistory(_ invite: Message) -> Bool {
        guard let privacy = invite.header(.privacy)?.lowercased() else { return false }
        return ["history", "header", "session"].contains { privacy.contains($0) }
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
