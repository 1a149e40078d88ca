// Digest with AKA (RFC 3310): the nonce holds the network's challenge and its proof, and the password is the card's answer.

import Basics
import SIP

extension CallCredentials {
    /// Why a challenge of AKA was not answered.
    enum AKAProblem: Error {
        /// K, OP or AMF are not 16, 16 and 2 octets.
        case keys
        case nonce
        /// The network does not know the key.
        case network
    }

    /// The row for a challenge of AKAv1-MD5; nil when there is none in the message.
    func akaRow(
        for message: Message, method: [UInt8], key: [UInt8], operator constant: [UInt8], field: [UInt8]
    ) throws(AKAProblem) -> [UInt8]? {
        for row in message.rows where row.kind == .wwwAuthenticate || row.kind == .proxyAuthenticate {
            let challenge = AuthParameters(Array(message.unfolded(row.value).utf8))
            guard challenge.scheme == "digest", challenge["algorithm"]?.lowercased() == "akav1-md5",
                let realm = challenge["realm"],
                let nonce = challenge["nonce"]
            else { continue }
            guard let key = Self.octets(key, 16), let constant = Self.octets(constant, 16), let field = Self.octets(field, 2)
            else {
                throw .keys
            }
            guard let octets = Base64.decode(nonce), octets.count >= 32 else { throw .nonce }
            let card = Milenage(key: key, operator: constant)
            let network = Array(octets[..<16])
            let (response, anonymity) = card.answer(to: network)
            let sequence = zip(octets[16..<22], anonymity).map { $0 ^ $1 }
            guard card.authentication(of: network, sequence: sequence, field: field) == Array(octets[24..<32]) else {
                throw .network
            }
            return write(challenge, realm, nonce, method, password: response, isProxy: row.kind == .proxyAuthenticate)
        }
        return nil
    }

    private func write(
        _ challenge: AuthParameters, _ realm: String, _ nonce: String, _ method: [UInt8], password: [UInt8], isProxy: Bool
    ) -> [UInt8] {
        func hash(_ octets: [UInt8]) -> [UInt8] { DigestAlgorithm.md5.hash(octets) }
        let hasQop = challenge["qop"]?.split(separator: ",").contains { $0.filter { $0 != " " } == "auth" } ?? false
        let count = String(UInt64(nonceCount) | 1 << 32, radix: 16).suffix(8)
        let cnonce = String(UInt64.random(in: .min ... .max), radix: 16)
        let secret = hash(Array("\(user):\(realm):".utf8) + password)
        let target = hash(method + Array(":sip:\(uri)".utf8))
        let middle = hasQop ? "\(count):\(cnonce):auth:" : ""
        let answer = hash(secret + Array(":\(nonce):\(middle)".utf8) + target)
        var writer = MessageWriter(capacity: 384)
        writer.append(isProxy ? "Proxy-Authorization: Digest username=" : "Authorization: Digest username=")
        writer.appendQuoted(user)
        writer.append(", realm=")
        writer.appendQuoted(realm)
        writer.append(", nonce=")
        writer.appendQuoted(nonce)
        writer.append(", uri=")
        writer.appendQuoted("sip:\(uri)")
        writer.append(", response=\"")
        writer.append(answer)
        writer.append("\", algorithm=AKAv1-MD5")
        if hasQop { writer.append(Array(", cnonce=\"\(cnonce)\", qop=auth, nc=\(count)".utf8)) }
        if let opaque = challenge["opaque"] {
            writer.append(", opaque=")
            writer.appendQuoted(opaque)
        }
        return writer.octets
    }

    /// Octets as they are written, or hexadecimal digits, perhaps behind `0x`.
    private static func octets(_ text: [UInt8], _ count: Int) -> [UInt8]? {
        if text.count == count { return text }
        let digits = text.starts(with: "0x".utf8) ? text.dropFirst(2) : text[...]
        guard digits.count == count * 2 else { return nil }
        var result: [UInt8] = []
        for place in stride(from: digits.startIndex, to: digits.endIndex, by: 2) {
            guard let value = UInt8(String(decoding: digits[place...place + 1], as: UTF8.self), radix: 16) else { return nil }
            result.append(value)
        }
        return result
    }
}
