// Who calls, as an INVITE of ours says it: From, the identity that is for the network alone (P-Asserted-Identity, P-Preferred-Identity,
// RFC 3325), and what is to be kept from the callee (Privacy, RFC 3323).

import SIP

extension LineSettings {
    /// How the caller is named to the network behind a line.
    package enum Identity: String, Sendable, CaseIterable {
        /// P-Asserted-Identity: the network believes this end.
        case asserted
        /// P-Preferred-Identity: the network checks it.
        case preferred
    }
}

/// The caller of an INVITE of ours.
struct CallerIdentity {
    /// A URI, or a user at this host; nil: this product.
    var from: String?
    var displayName: String
    /// Whole rows that go with it, each ended by CRLF.
    var rows: [UInt8] = []
    /// The callee may not know who calls.
    var isPrivate = false

    /// The caller id by which a flow or a line asks for a call without one.
    static let anonymous = "anonymous"
    private static let anonymousURI = "sip:anonymous@anonymous.invalid"

    init(_ request: CallRequest, line: LineSettings?) {
        displayName = request.displayName
        let isAnonymous = (request.from ?? line?.callerID) == Self.anonymous
        from = isAnonymous ? Self.anonymousURI : line.map { $0.from(request.from) } ?? request.from
        if isAnonymous { displayName = "Anonymous" }
        isPrivate = isAnonymous || Self.isPrivate(request.privacy)
        guard isAnonymous || !request.privacy.isEmpty || line?.identity != nil else { return }
        var writer = MessageWriter(capacity: 128)
        if let line, let kind = line.identity, let identity = Self.identity(request, line, isAnonymous: isAnonymous) {
            writer.append(kind == .asserted ? "P-Asserted-Identity: <" : "P-Preferred-Identity: <")
            writer.append(safe: identity)
            writer.append(">\r\n")
        }
        if isAnonymous {
            writer.append("Privacy: id\r\n")
        } else if !request.privacy.isEmpty {
            writer.header("Privacy", text: request.privacy)
        }
        rows = writer.octets
    }

    /// Rows for who is not the network behind the line: without the identity that is for that network alone (RFC 3325 section 7).
    static func forStrangers(_ rows: [UInt8]) -> [UInt8] { rows.withoutRows("P-Asserted-Identity:", "P-Preferred-Identity:") }

    /// Whether a value of Privacy asks for any (RFC 3323 section 4.2).
    static func isPrivate(_ privacy: String) -> Bool { !privacy.isEmpty && privacy.lowercased() != "none" }

    /// The URI by which the network knows the caller: who he is known to be, who the call says he is, or the line itself.
    private static func identity(_ request: CallRequest, _ line: LineSettings, isAnonymous: Bool) -> String? {
        let own = line.callerID == anonymous ? line.username : line.callerID ?? line.username
        let who = request.identity ?? (isAnonymous ? own : request.from ?? own)
        guard let who, !who.contains(">"), !who.contains("<") else { return nil }
        if let uri = try? URI(who) { return uri.host == "anonymous.invalid" ? own.map { at($0, line) } : who }
        return at(who, line)
    }

    private static func at(_ user: String, _ line: LineSettings) -> String {
        (try? URI(user)) != nil ? user : "sip:\(LocalEnd.escaped(user: user))@\(line.domain)"
    }
}

extension [UInt8] {
    /// Whole header rows of ours without those that begin so: a name as this product writes it, and its colon.
    func withoutRows(_ names: String...) -> [UInt8] {
        let starts = names.map { Array($0.utf8) }
        return split(separator: 10, omittingEmptySubsequences: true)
            .filter { row in !starts.contains { row.starts(with: $0) } }.flatMap { $0 + [10] }
    }
}
