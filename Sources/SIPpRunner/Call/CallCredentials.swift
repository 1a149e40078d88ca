// Digest credentials of a call (RFC 7616, RFC 3310): what `[authentication]` writes and `verifyauth` checks.

import Basics
import SIP

struct CallCredentials {
    var user: String
    var password: String
    /// The digest's URI, without its scheme.
    var uri: String
    var nonceCount: UInt32

    /// The row Authorization or Proxy-Authorization, without its line end; nil when no challenge in the message can be answered.
    func row(for message: Message, method: [UInt8], body: [UInt8]) -> [UInt8]? {
        guard
            let challenge = DigestChallenge.all(in: message).first(where: { $0.isProxy == (message.status == 407) })
                ?? DigestChallenge.all(in: message).first
        else { return nil }
        var writer = MessageWriter(capacity: 384)
        DigestClient.write(
            challenge, Credentials(user: user, password: password), method: method, uri: Array("sip:\(uri)".utf8), body: body,
            count: nonceCount, cnonce: Array(String(UInt64.random(in: .min ... .max), radix: 16).utf8), into: &writer)
        return Array(writer.octets.dropLast(2))
    }

    /// Whether a request's credentials are those of a user with a password. The nonce is not checked: the scenario's challenge wrote it.
    static func verify(_ message: Message, user: String, password: String) -> Bool {
        for row in message.rows where row.kind == .authorization || row.kind == .proxyAuthorization {
            let given = AuthParameters(Array(message.unfolded(row.value).utf8))
            guard given.scheme == "digest", given["username"] == user, let response = given["response"],
                let realm = given["realm"],
                let nonce = given["nonce"], let uri = given["uri"]
            else { continue }
            let algorithm: DigestAlgorithm
            switch (given["algorithm"] ?? "MD5").lowercased() {
            case "md5": algorithm = .md5
            case "sha-256": algorithm = .sha256
            default: continue
            }
            func hash(_ text: String) -> String { String(decoding: algorithm.hash(Array(text.utf8)), as: UTF8.self) }
            var target = "\(message.methodName):\(uri)"
            var middle = ""
            if let qop = given["qop"], let count = given["nc"], let cnonce = given["cnonce"] {
                middle = "\(count):\(cnonce):\(qop):"
                if qop == "auth-int" { target += ":" + String(decoding: algorithm.hash(Array(message.body)), as: UTF8.self) }
            }
            let expected = hash("\(hash("\(user):\(realm):\(password)")):\(nonce):\(middle)\(hash(target))")
            if expected == response.lowercased() { return true }
        }
        return false
    }
}
