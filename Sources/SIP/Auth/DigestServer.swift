// Digest as a server (RFC 3261 section 22, RFC 7616, RFC 8760): challenges with MD5 and SHA-256, qop=auth and auth-int, and checks what comes back.
// A nonce holds its time and a keyed hash, so that nothing is kept for challenges; only nonces that were used rightly are kept, with the
// counts that were seen, so that no request can be repeated by somebody who overheard it. auth-int is taken where it is offered. The URI in
// the credentials need not be the request's: some phones put the server's address there, and a count of a nonce serves once.

package import Basics

/// What a server knows of one user: HA1 (RFC 7616 section 3.4.2) for each algorithm, in hexadecimal digits.
package struct DigestSecret: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    private var hashes: [(algorithm: DigestAlgorithm, ha1: [UInt8])]

    /// From a password: for every algorithm.
    package init(user: String, realm: String, password: String) {
        hashes = [DigestAlgorithm.md5, .sha256].map { ($0, $0.hash(Array("\(user):\(realm):\(password)".utf8))) }
    }

    /// From a hash that was made elsewhere: for its algorithm only.
    package init(ha1: String, algorithm: DigestAlgorithm) {
        hashes = [(algorithm, Array(ha1.lowercased().utf8))]
    }

    package func ha1(_ algorithm: DigestAlgorithm) -> [UInt8]? { hashes.first { $0.algorithm == algorithm }?.ha1 }

    package static func == (left: DigestSecret, right: DigestSecret) -> Bool {
        left.hashes.elementsEqual(right.hashes) { $0 == $1 }
    }

    package var description: String { "•••" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The digest state of one realm.
package struct DigestServer: Sendable {
    /// What a request's credentials are.
    package enum Verdict: Sendable, Equatable {
        case accepted(user: String)
        /// There are none that count; stale: they were right, but for a nonce that does not count any more.
        case challenge(stale: Bool)
        /// The user or the password is wrong; which of them is not told.
        case refused
        /// They cannot be read.
        case malformed
    }

    /// The counts that were seen of one nonce.
    private struct Seen: Sendable {
        var until: Instant
        var highest: UInt32
        /// Bit n: the count `highest - n` was seen.
        var window: UInt64
    }

    package let realm: String
    private let algorithms: [DigestAlgorithm]
    private let offersIntegrity: Bool
    private let secret: [UInt8]
    private let lifetime: Duration
    private var made: UInt64 = 0
    private var seen: [UInt64: Seen] = [:]
    private var purgeAt = 1024

    /// - Parameters:
    ///   - algorithms: the strongest first (RFC 8760 section 2.4).
    ///   - offersIntegrity: qop=auth-int as well; some phones stumble over two kinds.
    ///   - secret: random, nobody else's.
    package init(
        realm: String, algorithms: [DigestAlgorithm] = [.sha256, .md5], offersIntegrity: Bool = false, secret: [UInt8],
        lifetime: Duration = .seconds(300)
    ) {
        self.realm = realm
        self.algorithms = algorithms
        self.offersIntegrity = offersIntegrity
        self.secret = secret
        self.lifetime = lifetime
    }

    /// Nonces whose counts are kept.
    package var heldNonces: Int { seen.count }

    /// Rows of WWW-Authenticate for a 401.
    package mutating func challenge(stale: Bool, at now: Instant) -> [UInt8] {
        made += 1
        let nonce = nonce(made, now)
        var writer = MessageWriter(capacity: 400)
        for algorithm in algorithms {
            writer.append("WWW-Authenticate: Digest realm=")
            writer.appendQuoted(realm)
            writer.append(", nonce=\"")
            writer.append(nonce)
            writer.append(stale ? "\", stale=true, algorithm=" : "\", algorithm=")
            writer.append(algorithm.name)
            writer.append(offersIntegrity ? ", qop=\"auth,auth-int\"\r\n" : ", qop=\"auth\"\r\n")
        }
        return writer.octets
    }

    /// Checks the credentials of a request for this realm.
    package mutating func check(_ request: Message, at now: Instant, secretOf: (String) -> DigestSecret?) -> Verdict {
        for row in request.rows where row.kind == .authorization {
            let values = AuthParameters(Array(request.unfolded(row.value).utf8))
            if values.scheme == "digest", values["realm"] == realm { return check(values, request, now, secretOf) }
        }
        return .challenge(stale: false)
    }

    private mutating func check(
        _ values: AuthParameters, _ request: Message, _ now: Instant, _ secretOf: (String) -> DigestSecret?
    ) -> Verdict {
        guard let user = values["username"], let nonce = values["nonce"], let uri = values["uri"],
            let response = values["response"]
        else { return .malformed }
        let name = (values["algorithm"] ?? "MD5").lowercased()
        guard let algorithm = algorithms.first(where: { "\($0.name)".lowercased() == name }) else {
            return .challenge(stale: false)
        }
        var count: UInt32?
        var middle: [UInt8] = []
        var body: [UInt8] = []
        if let qop = values["qop"]?.lowercased() {
            guard qop == "auth" || qop == "auth-int" && offersIntegrity, let nc = values["nc"], nc.utf8.count == 8,
                let number = UInt32(nc, radix: 16),
                let cnonce = values["cnonce"]
            else { return .malformed }
            count = number
            middle = Array("\(nc):\(cnonce):\(qop):".utf8)
            if qop == "auth-int" { body = [Octet.colon] + algorithm.hash(Array(request.body)) }
        }
        // Work is done for an unknown user as for a known one, so that the time of the answer tells nothing.
        let ha1 = secretOf(user)?.ha1(algorithm)
        let colon: [UInt8] = [Octet.colon]
        let target = algorithm.hash(Array("\(request.methodName):\(uri)".utf8) + body)
        let expected = algorithm.hash((ha1 ?? secret) + colon + Array(nonce.utf8) + colon + middle + target)
        guard isSame(expected, Array(response.lowercased().utf8)), ha1 != nil else { return .refused }
        guard let number = read(Array(nonce.utf8), now) else { return .challenge(stale: true) }
        return isFresh(number, count, now) ? .accepted(user: user) : .challenge(stale: true)
    }

    // MARK: Nonces: number, time and keyed hash of both, in hexadecimal digits

    private func nonce(_ number: UInt64, _ at: Instant) -> [UInt8] {
        let plain = hexadecimal(number) + hexadecimal(UInt64(bitPattern: at.nanoseconds))
        return plain + DigestAlgorithm.sha256.hash(secret + plain).prefix(32)
    }

    /// The number of a nonce that we made not too long ago.
    private func read(_ nonce: [UInt8], _ now: Instant) -> UInt64? {
        guard nonce.count == 64, let number = UInt64(text(nonce[..<16]), radix: 16),
            let time = UInt64(text(nonce[16..<32]), radix: 16)
        else { return nil }
        let made = Instant(nanoseconds: Int64(bitPattern: time))
        guard isSame(self.nonce(number, made), nonce), made <= now, now - made <= lifetime else { return nil }
        return number
    }

    /// Whether this count of the nonce has not been seen; then it has. Without counts (RFC 2069) a nonce serves once.
    private mutating func isFresh(_ number: UInt64, _ count: UInt32?, _ now: Instant) -> Bool {
        let count = count ?? .max
        if var entry = seen[number] {
            if count > entry.highest {
                let step = count - entry.highest
                entry.window = step < 64 ? entry.window << UInt64(step) | 1 : 1
                entry.highest = count
            } else {
                let back = entry.highest - count
                guard back < 64, entry.window >> UInt64(back) & 1 == 0 else { return false }
                entry.window |= 1 << UInt64(back)
            }
            seen[number] = entry
            return true
        }
        if seen.count >= purgeAt {
            seen = seen.filter { $0.value.until > now }
            purgeAt = max(1024, seen.count * 2)
        }
        seen[number] = Seen(until: now + lifetime, highest: count, window: 1)
        return true
    }

    /// Compares in a time that does not depend on where the difference is.
    private func isSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
