// Challenges in WWW-Authenticate and Proxy-Authenticate (RFC 3261 sections 20.27, 20.44, 25.1; RFC 7616 section 3.3).
// Lenient: algorithm in quotes, no blanks after commas, any case. Several rows; a comma inside a row separates parameters.

/// What of a request the response of a digest covers (RFC 7616 section 3.4).
package enum DigestProtection: Sendable, Equatable {
    /// The form of RFC 2069: no qop, nothing counted.
    case none
    /// qop=auth: method and URI.
    case auth
    /// qop=auth-int: the body as well.
    case authInt

    package var name: StaticString {
        switch self {
        case .none: ""
        case .auth: "auth"
        case .authInt: "auth-int"
        }
    }
}

/// A Digest challenge.
package struct DigestChallenge: Sendable {
    package var realm: String
    package var nonce: String
    /// Given back as it came, also when empty; nil when absent.
    package var opaque: String?
    package var algorithm: DigestAlgorithm
    /// The session variant (-sess).
    package var isSession: Bool
    /// The simplest that the server takes.
    package var protection: DigestProtection
    /// The nonce was too old: the same credentials will do with the new one.
    package var isStale: Bool
    /// True for Proxy-Authenticate.
    package var isProxy: Bool

    /// The challenges of a 401 or 407 that can be answered, in their order. Unknown schemes, algorithms and
    /// kinds of qop are left out.
    package static func all(in response: Message) -> [DigestChallenge] {
        var result: [DigestChallenge] = []
        for row in response.rows where row.kind == .wwwAuthenticate || row.kind == .proxyAuthenticate {
            if let found = DigestChallenge(
                Array(response.unfolded(row.value).utf8), isProxy: row.kind == .proxyAuthenticate)
            {
                result.append(found)
            }
        }
        return result
    }

    init?(_ octets: [UInt8], isProxy: Bool) {
        let values = AuthParameters(octets)
        guard values.scheme == "digest", let realm = values["realm"], let nonce = values["nonce"] else { return nil }
        self.realm = realm
        self.nonce = nonce
        self.isProxy = isProxy
        opaque = values["opaque"]
        isStale = values["stale"]?.lowercased() == "true"
        let name = (values["algorithm"] ?? "MD5").lowercased()
        isSession = name.hasSuffix("-sess")
        switch isSession ? String(name.dropLast(5)) : name {
        case "md5": algorithm = .md5
        case "sha-256": algorithm = .sha256
        case "sha-512-256": algorithm = .sha512t256
        default: return nil
        }
        guard let qop = values["qop"] else {
            protection = .none
            return
        }
        let offered = qop.lowercased().split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" })
        guard let first = [DigestProtection.auth, .authInt].first(where: { offered.contains("\($0.name)"[...]) }) else {
            return nil
        }
        protection = first
    }
}

/// The scheme and the parameters of a challenge or of credentials.
package struct AuthParameters: Sendable {
    /// In lower case.
    package private(set) var scheme = ""
    /// Names in lower case, values without quotes.
    package private(set) var all: [(name: String, value: String)] = []

    package init(_ octets: [UInt8]) {
        octets.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            var cursor = Cursor(base, OctetRange(0, octets.count))
            cursor.skipBlanks()
            scheme = text(octets[cursor.token().indices]).lowercased()
            while true {
                while !cursor.isAtEnd, Octet.isBlank(cursor.current) || cursor.current == Octet.comma { cursor.at += 1 }
                let name = cursor.token()
                guard !name.isEmpty else { return }
                cursor.skipBlanks()
                guard cursor.take(Octet.equals) else { continue }
                cursor.skipBlanks()
                let value: OctetRange
                if cursor.current == Octet.quote {
                    guard let quoted = cursor.quotedString() else { return }
                    value = quoted
                } else {
                    let start = cursor.at
                    while !cursor.isAtEnd, cursor.current != Octet.comma, !Octet.isBlank(cursor.current) { cursor.at += 1 }
                    value = OctetRange(start, cursor.at)
                }
                all.append((text(octets[name.indices]).lowercased(), unquoted(octets[value.indices])))
            }
        }
    }

    /// The value of a parameter, by its name in lower case.
    package subscript(name: String) -> String? { all.first { $0.name == name }?.value }
}
