// Digest as a client (RFC 3261 section 22.4, RFC 7616, RFC 8760): answers 401 and 407, counts nonces, and answers before it is asked
// once it knows a nonce. qop=auth, auth-int where the server takes nothing else, and the form without qop. What is a token goes without quotes (qop, nc, algorithm), the rest in
// quotes. Secrets appear in no description.

/// A user name and its password.
package struct Credentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package let user: String
    let password: String
    /// Only for challenges of this realm; nil for any.
    package let realm: String?

    package init(user: String, password: String, realm: String? = nil) {
        self.user = user
        self.password = password
        self.realm = realm
    }

    package var description: String { "credentials of \(user)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["user": user]) }
}

/// The digest state of one line: its credentials, and the challenges it knows.
package struct DigestClient: Sendable {
    /// What a challenge calls for.
    package enum Verdict: Sendable, Equatable {
        /// Send the request again, with a higher CSeq, a new branch and the rows of `headers`.
        case retry
        /// The credentials were refused: trying again would not help.
        case refused
        /// There is no challenge that can be answered, or there are no credentials for it.
        case unsupported
    }

    private struct Known: Sendable {
        var challenge: DigestChallenge
        var count: UInt32 = 0
    }

    private let credentials: Credentials?
    private var known: [Known] = []
    private var tokens: TokenSource

    package init(credentials: Credentials?, seed: UInt64) {
        self.credentials = credentials
        tokens = TokenSource(seed: seed)
    }

    /// Takes a 401 or 407.
    /// - Parameter request: what was refused: when it had credentials for the same realm and the challenge is not stale, they
    ///   were wrong.
    package mutating func challenged(by response: Message, request: Message) -> Verdict {
        guard let credentials else { return .unsupported }
        let usable = DigestChallenge.all(in: response).filter { credentials.realm == nil || credentials.realm == $0.realm }
        guard !usable.isEmpty else { return .unsupported }
        var strongest: [DigestChallenge] = []
        for challenge in usable {
            if let index = strongest.firstIndex(where: { $0.realm == challenge.realm && $0.isProxy == challenge.isProxy }) {
                if strongest[index].algorithm < challenge.algorithm { strongest[index] = challenge }
            } else {
                strongest.append(challenge)
            }
        }
        let sent = request.rows.filter { $0.kind == .authorization || $0.kind == .proxyAuthorization }.map { row in
            (row.kind, AuthParameters(Array(request.unfolded(row.value).utf8)))
        }
        for challenge in strongest {
            let kind: HeaderKind = challenge.isProxy ? .proxyAuthorization : .authorization
            let earlier = sent.first { $0.0 == kind && $0.1["realm"] == challenge.realm }?.1
            // Credentials for a nonce that the server has replaced are tried once more with the new nonce.
            if let earlier, !challenge.isStale, earlier["nc"] == nil || earlier["nc"] == "00000001" { return .refused }
        }
        for challenge in strongest {
            known.removeAll { $0.challenge.realm == challenge.realm && $0.challenge.isProxy == challenge.isProxy }
            known.append(Known(challenge: challenge))
        }
        return .retry
    }

    /// The rows Authorization and Proxy-Authorization for a request, each ended by CRLF; empty while no challenge is known.
    package mutating func headers(method: StaticString, uri: [UInt8], body: [UInt8] = []) -> [UInt8] {
        guard let credentials else { return [] }
        var writer = MessageWriter(capacity: 384)
        for index in known.indices {
            known[index].count += 1
            let cnonce = tokens.token()
            DigestClient.write(
                known[index].challenge, credentials, method: method, uri: uri, body: body, count: known[index].count,
                cnonce: cnonce,
                into: &writer)
        }
        return writer.octets
    }

    /// One row; for tests with a given cnonce.
    package static func write(
        _ challenge: DigestChallenge, _ credentials: Credentials, method: StaticString, uri: [UInt8], body: [UInt8] = [],
        count: UInt32, cnonce: [UInt8], into writer: inout MessageWriter
    ) {
        write(
            challenge, credentials, method: Array("\(method)".utf8), uri: uri, body: body, count: count, cnonce: cnonce,
            into: &writer)
    }

    /// The same for a method that is known only when the program runs.
    package static func write(
        _ challenge: DigestChallenge, _ credentials: Credentials, method: [UInt8], uri: [UInt8], body: [UInt8] = [],
        count: UInt32, cnonce: [UInt8], into writer: inout MessageWriter
    ) {
        let hash = challenge.algorithm.hash
        let nc = Array(hexadecimal(UInt64(count)).suffix(8))
        let nonce = Array(challenge.nonce.utf8)
        let colon: [UInt8] = [Octet.colon]
        var secret = hash(Array("\(credentials.user):\(challenge.realm):\(credentials.password)".utf8))
        if challenge.isSession { secret = hash(secret + colon + nonce + colon + cnonce) }
        let protection = challenge.protection
        let target = hash(method + colon + uri + (protection == .authInt ? colon + hash(body) : []))
        let middle = protection == .none ? [] : nc + colon + cnonce + Array(":\(protection.name):".utf8)
        let response = hash(secret + colon + nonce + colon + middle + target)

        writer.append(challenge.isProxy ? "Proxy-Authorization: Digest username=" : "Authorization: Digest username=")
        writer.appendQuoted(credentials.user)
        writer.append(", realm=")
        writer.appendQuoted(challenge.realm)
        writer.append(", nonce=")
        writer.appendQuoted(challenge.nonce)
        writer.append(", uri=\"")
        writer.append(uri)
        writer.append("\", response=\"")
        writer.append(response)
        writer.append("\", algorithm=")
        writer.append(challenge.algorithm.name)
        if challenge.isSession { writer.append("-sess") }
        if protection != .none || challenge.isSession {
            writer.append(", cnonce=\"")
            writer.append(cnonce)
            writer.append("\"")
        }
        if protection != .none {
            writer.append(", qop=")
            writer.append(protection.name)
            writer.append(", nc=")
            writer.append(nc)
        }
        if let opaque = challenge.opaque {
            writer.append(", opaque=")
            writer.appendQuoted(opaque)
        }
        writer.endLine()
    }
}

extension MessageWriter {
    /// Text in quotes, with backslashes where they are needed; line ends become blanks.
    package mutating func appendQuoted(_ text: String) {
        append("\"")
        append(safe: text.reduce(into: "") { $0 += ($1 == "\"" || $1 == "\\") ? "\\\($1)" : "\($1)" })
        append("\"")
    }
}
