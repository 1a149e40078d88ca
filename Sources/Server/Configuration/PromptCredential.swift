// How this server proves to those that hold its prompts who asks: `prompts.credentials`.

package import Basics
import FlowEngine
import Foundation

/// A secret for some URLs.
package struct PromptCredential: Equatable, Sendable {
    package enum Proof: Equatable, Sendable {
        /// RFC 6750 section 2.1.
        case bearer(Secret)
        /// RFC 7617 section 2; the name holds no colon.
        case basic(username: String, password: Secret)
    }

    /// A pattern as those of `allow.request`.
    package var pattern: String
    package var proof: Proof

    package init(for pattern: String, _ proof: Proof) {
        self.pattern = pattern
        self.proof = proof
    }

    /// The value of Authorization (RFC 9110 section 11.6.2).
    var authorization: Secret {
        switch proof {
        case .bearer(let token): Secret("Bearer \(token.revealed)")
        case .basic(let username, let password):
            Secret("Basic \(Data("\(username):\(password.revealed)".utf8).base64EncodedString())")
        }
    }
}

extension [PromptCredential] {
    /// What a request to `url` brings along; the first that is meant for it counts.
    func authorization(for url: String) -> Secret? {
        first { Allowance.covers(url, by: $0.pattern) }?.authorization
    }
}

/// `prompts.credentials`: a list of `for` with `bearer`, or with `username` and `password`.
struct PromptCredentialSchema {
    let schema: ConfigurationSchema
    private var sink: DiagnosticSink { schema.sink }

    init(schema: ConfigurationSchema) { self.schema = schema }

    func read(_ prompts: FieldReader) -> [PromptCredential] {
        let path = prompts.full("credentials")
        return (prompts.items("credentials") ?? []).compactMap { node in
            let known = ["for", "bearer", "username", "password"]
            return FieldReader(node, path: path, known: known, sources: schema.sources, sink: sink).flatMap(read)
        }
    }

    private func read(_ fields: FieldReader) -> PromptCredential? {
        guard let pattern = fields.text("for") else {
            sink.error(
                at: fields.node.place, "`\(fields.path)`: which URLs is it for?", mend: "write for: https://example.com/*")
            return nil
        }
        let proof = proof(fields)
        if pattern.text.hasPrefix("http://") {
            sink.warning(
                at: pattern.place, "`\(fields.full("for"))`: over http everybody on the way reads the secret",
                mend: "write https://")
        } else if !pattern.text.hasPrefix("https://") {
            sink.error(
                at: pattern.place, "`\(fields.full("for"))`: \(pattern.shown) begins with neither https:// nor http://",
                mend: "write https://example.com/* for everything there")
            return nil
        }
        return proof.map { PromptCredential(for: pattern.text, $0) }
    }

    private func proof(_ fields: FieldReader) -> PromptCredential.Proof? {
        let (bearer, username, password) = (fields.text("bearer"), fields.text("username"), fields.text("password"))
        for secret in [bearer, password].compactMap({ $0 }) { schema.checkSecret(secret) }
        for value in [bearer, username, password].compactMap({ $0 })
        where value.text.unicodeScalars.contains(where: Self.isControl) {
            sink.error(at: value.place, "`\(fields.path)`: a line break or another control sign cannot be sent")
            return nil
        }
        let words = ["bearer", "username", "password"].filter { fields.field($0) != nil }
        // What is there and has no value was told.
        guard words.count == [bearer, username, password].count(where: { $0 != nil }) else { return nil }
        switch (bearer, username, password) {
        case (let token?, nil, nil): return .bearer(Secret(token.text))
        case (nil, let username?, let password?):
            guard !username.text.contains(":") else {
                sink.error(at: username.place, "`\(fields.full("username"))` holds a colon, which ends a user name (RFC 7617)")
                return nil
            }
            return .basic(username: username.text, password: Secret(password.text))
        default:
            sink.error(
                at: fields.node.place, "`\(fields.path)` has either `bearer`, or `username` and `password`",
                mend: "write bearer: ${env.PROMPTS_TOKEN}")
            return nil
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool { scalar.value < 0x20 || scalar.value == 0x7F }
}
