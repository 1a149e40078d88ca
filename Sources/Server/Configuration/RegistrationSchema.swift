// `register`, `expires` and `outbound` of a line: where it registers, for how long, and by which edge proxies.

import CallEngine
import FlowEngine
import SIP

struct RegistrationSchema {
    let schema: ConfigurationSchema
    private var sink: DiagnosticSink { schema.sink }

    init(schema: ConfigurationSchema) {
        self.schema = schema
    }

    /// nil: the line does not register.
    func read(_ sip: FieldReader, line: LineSettings) -> LineSettings.Registration? {
        guard let domain = sip.text("register") else {
            if let expires = sip.field("expires") {
                sink.error(at: expires.place, "`\(sip.full("expires"))` without `register`", mend: "a trunk does not expire")
            }
            if let outbound = sip.field("outbound") {
                sink.error(
                    at: outbound.place, "`\(sip.full("outbound"))` without `register`",
                    mend: "the edge proxies of a registered line; a trunk has a `server`")
            }
            return nil
        }
        guard let uri = try? URI("sip:\(domain.text)"), !uri.hasUser, uri.description == "sip:\(domain.text)" else {
            sink.error(
                at: domain.place, "`\(sip.full("register"))`: \(domain.shown) is no domain", mend: "write pbx.example.com")
            return nil
        }
        if sip.field("username") == nil {
            sink.error(
                at: domain.place, "`\(sip.full("register"))` without a `username`",
                mend: "a registrar asks for a user and a password")
        }
        var result = LineSettings.Registration(domain: domain.text)
        if let expires = sip.integer("expires", in: 60...86_400) { result.expires = expires }
        result.edges = edges(sip)
        result.instance = instance(of: "\(line.name) \(domain.text) \(sip.text("username")?.text ?? "")")
        return result
    }

    /// The edge proxies, each of which gets a flow of its own.
    private func edges(_ sip: FieldReader) -> [LineSettings.Registration.Edge] {
        guard let list = sip.field("outbound"), let values = sip.texts("outbound") else { return [] }
        if let server = sip.field("server") {
            sink.error(
                at: server.place, "`\(sip.full("server"))` beside `outbound`: the line's messages go to its edge proxies",
                mend: "leave out one of them")
        }
        guard 1...Self.mostEdges ~= values.count else {
            sink.error(at: list.place, "`\(sip.full("outbound"))` has 1 to \(Self.mostEdges) edge proxies, not \(values.count)")
            return []
        }
        return values.compactMap { value in
            var line = LineSettings(name: "", server: "")
            LineSchema(schema: schema).readServer(value, into: &line)
            return line.server.isEmpty ? nil : .init(server: line.server, port: line.port)
        }
    }

    private static let mostEdges = 4

    /// The name of this device for its registrar (RFC 5626 section 4.1): a UUID made of the machine's id and the line, so that it is the
    /// same after each restart (RFC 9562 section 5.8).
    private func instance(of line: String) -> String {
        let machine = schema.sources.readFile("/etc/machine-id") ?? ""
        var digits = Array(DigestAlgorithm.sha256.hash(Array("\(machine) \(line)".utf8)).prefix(32))
        digits[12] = UInt8(ascii: "8")
        digits[16] = UInt8(ascii: "a")
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(decoding: digits[$0], as: UTF8.self) }
        return "urn:uuid:\(parts.joined(separator: "-"))"
    }
}
