// `registrar`: phones, bots and browsers that log in here.

import CallEngine
import FlowEngine
import SIP

struct RegistrarSchema {
    let schema: ConfigurationSchema
    private var sink: DiagnosticSink { schema.sink }

    init(schema: ConfigurationSchema) {
        self.schema = schema
    }

    private static let words = ["realm", "users", "contacts", "shortest", "longest", "algorithms", "qop", "file"]

    /// nil: nobody can log in.
    func read(_ top: FieldReader) -> Configuration.Registrar? {
        guard let fields = top.section("registrar", known: Self.words) else { return nil }
        guard let realm = fields.text("realm") else {
            sink.error(
                at: fields.node.place, "`registrar` has no `realm`",
                mend: "write the domain that phones log in to: realm: example.com")
            return nil
        }
        var settings = RegistrarSettings(realm: realm.text, users: users(fields, realm: realm.text))
        if let count = fields.integer("contacts", in: 1...100) { settings.contactLimit = count }
        if let seconds = fields.integer("longest", in: 60...86_400) { settings.longest = seconds }
        if let seconds = fields.integer("shortest", in: 10...86_400) { settings.shortest = seconds }
        if settings.shortest > settings.longest, let place = (fields.field("shortest") ?? fields.field("longest"))?.place {
            sink.error(
                at: place, "`registrar.shortest` (\(settings.shortest)) is longer than `registrar.longest` (\(settings.longest))")
        }
        if let values = fields.texts("algorithms") { settings.algorithms = algorithms(values, fields) }
        if let values = fields.texts("qop") { settings.offersIntegrity = offersIntegrity(values, fields) }
        let file = fields.text("file")?.text ?? "registrations"
        return Configuration.Registrar(settings: settings, file: file == "off" ? nil : schema.path(file))
    }

    private func algorithms(_ values: [LocatedText], _ fields: FieldReader) -> [DigestAlgorithm] {
        let known: [(String, DigestAlgorithm)] = [("sha-256", .sha256), ("md5", .md5)]
        var result: [DigestAlgorithm] = []
        for value in values {
            if let algorithm = known.first(where: { $0.0 == value.text.lowercased() })?.1 {
                if !result.contains(algorithm) { result.append(algorithm) }
            } else {
                fields.report(value, key: "algorithms", known: known.map(\.0), later: [:])
            }
        }
        if values.isEmpty { sink.error(at: fields.node.place, "`registrar.algorithms` is empty: nobody could log in") }
        return result
    }

    /// `qop`: auth is always offered.
    private func offersIntegrity(_ values: [LocatedText], _ fields: FieldReader) -> Bool {
        for value in values where !["auth", "auth-int"].contains(value.text) {
            fields.report(value, key: "qop", known: ["auth", "auth-int"])
        }
        return values.contains { $0.text == "auth-int" }
    }

    private func users(_ fields: FieldReader, realm: String) -> [String: DigestSecret] {
        guard let users = fields.field("users") else {
            sink.error(
                at: fields.node.place, "`registrar` has no `users`", mend: "write users: { anna: { password: ${env.ANNA} } }")
            return [:]
        }
        guard case .mapping(let pairs) = users.content else {
            sink.error(at: users.place, "`registrar.users` is a mapping of names to users, not \(users.kind)")
            return [:]
        }
        var result: [String: DigestSecret] = [:]
        for pair in pairs {
            guard pair.key.text.wholeMatch(of: /[A-Za-z0-9+][A-Za-z0-9_.+-]*/) != nil else {
                sink.error(at: pair.key.place, "a user's name has letters, digits, `-`, `_`, `+` and `.` only")
                continue
            }
            result[pair.key.text] = user(pair, fields, realm)
        }
        return result
    }

    private func user(_ pair: YAMLPair, _ fields: FieldReader, _ realm: String) -> DigestSecret? {
        let path = fields.full("users.\(pair.key.text)")
        guard
            let user = FieldReader(
                pair.value, path: path, known: ["password", "ha1", "algorithm"], sources: schema.sources, sink: sink)
        else { return nil }
        switch (user.text("password"), user.text("ha1")) {
        case (let password?, nil):
            schema.checkSecret(password)
            return DigestSecret(user: pair.key.text, realm: realm, password: password.text)
        case (nil, let ha1?):
            let isMD5 = user.text("algorithm")?.text.lowercased() != "sha-256"
            guard ha1.text.count == (isMD5 ? 32 : 64), ha1.text.allSatisfy(\.isHexDigit) else {
                sink.error(
                    at: ha1.place, "`\(path).ha1` is the hash of user:realm:password in \(isMD5 ? 32 : 64) hexadecimal digits")
                return nil
            }
            return DigestSecret(ha1: ha1.text, algorithm: isMD5 ? .md5 : .sha256)
        case (nil, nil):
            if user.node["password"] == nil, user.node["ha1"] == nil {
                sink.error(at: pair.key.place, "`\(path)` has no `password`", mend: "write password: ${env.NAME}")
            }
            return nil
        case (_?, let ha1?):
            sink.error(at: ha1.place, "`\(path)` has a password or its hash, not both")
            return nil
        }
    }
}
