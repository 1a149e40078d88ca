// `lines`: where calls come from and go out through: SIP trunks, known by address or by digest, and registered lines. What a line
// registers as is read in RegistrationSchema.

import Basics
import CallEngine
import FlowEngine
import SDP
import SIP

struct LineSchema {
    let schema: ConfigurationSchema
    private var sink: DiagnosticSink { schema.sink }

    init(schema: ConfigurationSchema) {
        self.schema = schema
    }

    /// `security`: what holds for lines that do not say whether their media is encrypted.
    func read(_ top: FieldReader, security: MediaSecurity) -> [LineSettings] {
        guard let lines = top.field("lines") else { return [] }
        guard case .mapping(let pairs) = lines.content else {
            sink.error(at: lines.place, "`lines` is a mapping of names to lines, not \(lines.kind)")
            return []
        }
        let result = pairs.compactMap { pair -> LineSettings? in
            guard pair.key.text.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9_.-]*/) != nil else {
                sink.error(at: pair.key.place, "a line's name has letters, digits, `-`, `_` and `.` only")
                return nil
            }
            return line(pair)
        }
        checkOverlap(result, pairs)
        checkKeys(result, pairs, top, security)
        checkNames(result, pairs)
        return result
    }

    private func line(_ pair: YAMLPair) -> LineSettings? {
        let path = "lines.\(pair.key.text)"
        guard
            let fields = FieldReader(
                pair.value, path: path, known: ["sip", "codecs", "caller-id", "srtp", "comfort-noise"],
                later: ["verto": "Verto lines", "second-call": "several calls on a line"], sources: schema.sources, sink: sink)
        else { return nil }
        guard
            let sip = fields.section(
                "sip",
                known: [
                    "server", "register", "expires", "transport", "path", "from", "username", "password", "monitor",
                    "challenge", "identity", "trust", "redirects", "history", "outbound"
                ])
        else {
            if fields.node["sip"] == nil, fields.node["verto"] == nil {
                sink.error(at: pair.key.place, "`\(path)` has no `sip`", mend: "write sip: { server: sip.example.com }")
            }
            return nil
        }
        var result = LineSettings(name: pair.key.text, server: "")
        if let server = sip.text("server") {
            readServer(server, into: &result)
        } else if sip.node["server"] == nil, sip.node["register"] == nil {
            sink.error(at: sip.node.place, "`\(path).sip` has no `server`", mend: "write the trunk's host name or address")
        }
        result.registration = RegistrationSchema(schema: schema).read(sip, line: result)
        if let registration = result.registration, sip.node["server"] == nil {
            // Without a server of its own the line goes to the registrar itself.
            if let edge = registration.edges.first {
                (result.server, result.port) = (edge.server, edge.port)
            } else if let domain = sip.text("register") {
                readServer(domain, into: &result)
            }
            if result.server.isEmpty { result.server = registration.domain }
        }
        readTransport(sip, into: &result)
        readNetworks(sip, into: &result)
        readCredentials(sip, into: &result)
        readChallenge(sip, into: &result)
        if let identity = sip.word("identity", LineSettings.Identity.self) { result.identity = identity }
        if let isTrusted = sip.flag("trust") { result.isTrusted = isTrusted }
        if let tells = sip.flag("history") { result.tellsHistory = tells }
        if let count = sip.integer("redirects", in: 0...20) { result.redirects = count }
        if let value = sip.text("monitor") {
            if let interval = try? FlowDuration.parse(value.text), interval >= .seconds(5), interval <= .seconds(3600) {
                result.monitor = interval
            } else {
                sink.error(
                    at: value.place, "`\(sip.full("monitor"))` is a time from 5s to 1h, not \(value.shown)", mend: "write 30s")
            }
        }
        result.codecs = codecs(fields)
        result.callerID = fields.text("caller-id")?.text
        result.security = fields.word("srtp", MediaSecurity.self)
        result.comfortNoise = fields.word("comfort-noise", ComfortNoisePolicy.self)
        return result
    }

    func readServer(_ server: LocatedText, into line: inout LineSettings) {
        if let address = SocketAddress(server.text) {
            line.server = address.ip.description
            line.port = address.port
        } else if let address = IPAddress(server.text) {
            line.server = address.description
        } else if let match = server.text.wholeMatch(of: /([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?\.?)(:([0-9]+))?/) {
            line.server = String(match.1)
            guard let digits = match.4 else { return }
            line.port = UInt16(digits)
            if line.port == nil || line.port == 0 {
                sink.error(at: server.place, "\(server.shown) has a port that does not exist")
            }
        } else {
            sink.error(
                at: server.place, "\(server.shown) is neither a host name nor an address",
                mend: "write sip.example.com or 192.0.2.1:5060")
        }
    }

    private func readTransport(_ sip: FieldReader, into line: inout LineSettings) {
        guard let value = sip.text("transport") else {
            line.findsTransport = true
            return
        }
        if let transport = EngineSettings.Listener.Transport(rawValue: value.text) {
            line.transport = transport
        } else {
            sip.report(
                value, key: "transport", known: EngineSettings.Listener.Transport.allCases.map(\.rawValue))
        }
        if let path = sip.text("path") {
            if path.text.hasPrefix("/"), line.transport.isWebSocket {
                line.path = path.text
            } else {
                sink.error(at: path.place, "`\(sip.full("path"))` is that of a WebSocket and begins with /: not \(path.shown)")
            }
        }
    }

    private func readNetworks(_ sip: FieldReader, into line: inout LineSettings) {
        for value in sip.texts("from") ?? [] {
            guard let network = IPNetwork(value.text) else {
                sink.error(
                    at: value.place, "`\(sip.full("from"))`: \(value.shown) is no network",
                    mend: "write an address or a network such as 198.51.100.0/24")
                continue
            }
            line.from.append(network)
        }
        // A trunk that is named by its address calls from there, unless the file says otherwise.
        if sip.field("from") == nil, line.registration == nil, let address = IPNetwork(line.server) { line.from = [address] }
    }

    private func readCredentials(_ sip: FieldReader, into line: inout LineSettings) {
        line.username = sip.text("username")?.text
        if let password = sip.text("password") {
            line.password = Secret(password.text)
            schema.checkSecret(password)
        }
        if let username = sip.field("username"), sip.field("password") == nil {
            sink.error(at: username.place, "`\(sip.full("username"))` without a `password`")
        }
        if let password = sip.field("password"), sip.field("username") == nil {
            sink.error(at: password.place, "`\(sip.full("password"))` without a `username`")
        }
    }

    /// `challenge`: the line is known by digest instead of by its address.
    private func readChallenge(_ sip: FieldReader, into line: inout LineSettings) {
        guard sip.flag("challenge") == true, let value = sip.field("challenge") else { return }
        let word = "`\(sip.full("challenge"))`"
        line.isKnownByDigest = true
        if line.registration != nil {
            sink.error(at: value.place, "\(word): a registered line is known by the contact that it has registered")
        } else if sip.node["username"] == nil {
            sink.error(at: value.place, "\(word) without a `username` and a `password` that callers prove to know")
        } else if let from = sip.field("from") {
            sink.error(
                at: from.place, "`\(sip.full("from"))` beside \(word): a line is known by its addresses or by digest, not by both"
            )
        }
        line.from = []
    }

    private func codecs(_ fields: FieldReader) -> [String]? {
        guard let values = fields.texts("codecs") else { return nil }
        let known = MediaSettings.knownCodecs
        var result: [String] = []
        for value in values {
            if !known.contains(value.text) {
                fields.report(value, key: "codecs", known: known)
            } else if result.contains(value.text) {
                sink.error(at: value.place, "`\(fields.full("codecs"))` has \(value.shown) twice")
            } else {
                result.append(value.text)
            }
        }
        if values.isEmpty { sink.error(at: fields.node.place, "`\(fields.full("codecs"))` is empty: no call could be made") }
        return result
    }

    /// The keys of SRTP stand in SIP messages: over a transport that everybody reads they protect from nobody on the way.
    private func checkKeys(_ lines: [LineSettings], _ pairs: [YAMLPair], _ top: FieldReader, _ security: MediaSecurity) {
        for line in lines where (line.security ?? security).isOffered && !line.transport.onTheWire.isSecure {
            guard let pair = pairs.first(where: { $0.key.text == line.name }),
                let place = line.security == nil ? top.field("rtp")?.place : pair.value["srtp"]?.place
            else { continue }
            sink.warning(
                at: place,
                "the keys of SRTP go readable over \(line.findsTransport ? "UDP or TCP" : "\(line.transport)") to `\(line.name)`",
                mend: "write `transport: tls` there when the line has it")
        }
    }

    /// Two lines that are known by one name: nobody could say which of them a call came by.
    private func checkNames(_ lines: [LineSettings], _ pairs: [YAMLPair]) {
        let known = lines.filter(\.isKnownByDigest)
        for (index, line) in known.enumerated() {
            guard let earlier = known[..<index].first(where: { $0.username == line.username }),
                let place = pairs.first(where: { $0.key.text == line.name })?.key.place
            else { continue }
            sink.error(
                at: place, "`\(line.name)` and `\(earlier.name)` are known by the same `username`", mend: "give each its own")
        }
    }

    /// Two lines with one network: nobody could say which of them a call came by.
    private func checkOverlap(_ lines: [LineSettings], _ pairs: [YAMLPair]) {
        for (index, line) in lines.enumerated() {
            for earlier in lines[..<index] {
                guard let network = line.from.first(where: { earlier.from.contains($0) }),
                    let place = pairs.first(where: { $0.key.text == line.name })?.key.place
                else { continue }
                sink.warning(
                    at: place,
                    "calls from \(network.base) belong to `\(earlier.name)`, which comes first; `\(line.name)` gets none of them")
            }
        }
    }
}
