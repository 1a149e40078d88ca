// The words of `ringwright.yaml` and what each takes. Lines are in LineSchema, routes in RouteSchema.

import Basics
import CallEngine
import FlowEngine
import Foundation
import Reactor
import SDP
import SIP

/// Turns the tree of a file into a `Configuration`.
struct ConfigurationSchema {
    let sources: ConfigurationSources
    let sink: DiagnosticSink
    /// The file's folder, which relative paths start from; empty: the current one.
    let folder: String

    private static let known = [
        "sip", "rtp", "limits", "lines", "registrar", "routes", "allow", "env", "recordings", "prompts", "cache", "speech",
        "control",
        "log", "trace"
    ]
    private static let later = [
        "store": "a database", "push": "waking sleeping devices"
    ]

    func read(_ root: YAMLNode) -> Configuration {
        var result = Configuration()
        guard
            let top = FieldReader(root, path: "", known: Self.known, later: Self.later, sources: sources, sink: sink)
        else { return result }
        readSIP(top, into: &result.sip)
        readRTP(top, into: &result.rtp)
        readLimits(top, into: &result.limits)
        result.lines = LineSchema(schema: self).read(top, security: result.rtp.security)
        readAllow(top, into: &result.allow)
        result.registrar = RegistrarSchema(schema: self).read(top)
        checkUserTargets(top, result)
        checkNames(top, result)
        result.routes = RouteSchema(
            schema: self, lines: result.lines.map(\.name), allow: result.allow, hasRegistrar: top.field("registrar") != nil
        ).read(top)
        readEnvironment(top, into: &result)
        if let folder = top.text("recordings") { result.recordings = path(folder.text) }
        PromptSchema(schema: self).read(top, into: &result)
        readControl(top, into: &result.control)
        readLog(top, into: &result.log)
        result.trace = TraceSchema(schema: self, lines: result.lines.map(\.name)).read(top)
        checkPorts(result, at: top)
        TLSSchema(schema: self).check(result, top)
        return result
    }

    /// A secret has to come from outside of the file, and never from the command line.
    func checkSecret(_ secret: LocatedText) {
        guard !secret.isFromOutside else {
            if secret.text.isEmpty { sink.error(at: secret.place, "the password is empty") }
            return
        }
        let mend = "write ${env.NAME} or ${file./run/secrets/name}"
        if secret.place.file.hasPrefix("--") {
            sink.error(at: secret.place, "a password in an argument is visible to everyone on this machine", mend: mend)
        } else {
            sink.warning(at: secret.place, "a password is written out", mend: mend)
        }
    }

    private func checkUserTargets(_ top: FieldReader, _ result: Configuration) {
        guard top.field("registrar") == nil, let allow = top.field("allow"),
            result.allow.bridge.contains(where: { $0.hasPrefix("user:") })
        else { return }
        sink.warning(at: allow.place, "`allow.bridge`: targets `user:…` have no effect without a `registrar`")
    }

    /// A line that is known by digest and a user with one name: nobody could say who calls.
    private func checkNames(_ top: FieldReader, _ result: Configuration) {
        guard let place = top.field("registrar")?.place, let users = result.registrar?.settings.users else { return }
        for line in result.lines where line.isKnownByDigest && line.username.map({ users[$0] != nil }) == true {
            sink.error(
                at: place, "a user of the registrar has the `username` by which `\(line.name)` is known",
                mend: "give each its own")
        }
    }

    /// A path of the file as this process can open it.
    func path(_ written: String) -> String {
        written.hasPrefix("/") || folder.isEmpty ? written : "\(folder)/\(written)"
    }

    // MARK: Parts

    private func readSIP(_ top: FieldReader, into sip: inout Configuration.SIP) {
        guard
            let fields = top.section(
                "sip",
                known: ["listen", "external", "session-timer", "connections", "idle", "redirects", "segmentation", "tls"])
        else { return }
        if let listeners = fields.texts("listen") {
            sip.listen = listeners.compactMap { listener($0, fields) }
            if listeners.isEmpty { sink.error(at: fields.node.place, "`sip.listen` is empty: nobody could call") }
            for (index, listener) in sip.listen.enumerated()
            where sip.listen[..<index].contains(listener) && listener.address.port != 0 {
                sink.error(at: listeners[index].place, "`sip.listen` has \(listeners[index].shown) twice")
            }
        }
        readSessionTimer(fields, into: &sip)
        readStreams(fields, into: &sip.streams)
        sip.tls = TLSSchema(schema: self).read(fields)
        if let count = fields.integer("redirects", in: 0...20) { sip.redirects = count }
        if let choice = fields.word("segmentation", DatagramSegmentation.self) { sip.segmentation = choice }
        if let external = fields.text("external") {
            sip.external = IPAddress(external.text)
            if sip.external == nil {
                sink.error(
                    at: external.place, "`sip.external` is an address, not \(external.shown)",
                    mend: "write the numeric address under which others reach this machine, such as 203.0.113.10")
            }
        }
    }

    /// `session-timer`: the interval that is asked for, or `off`.
    private func readSessionTimer(_ fields: FieldReader, into sip: inout Configuration.SIP) {
        guard let interval = fields.text("session-timer"), interval.text != "off" else { return }
        guard let duration = try? FlowDuration.parse(interval.text), case let seconds = duration.components.seconds,
            (90...86_400).contains(seconds)
        else {
            return sink.error(
                at: interval.place, "`sip.session-timer` is a time from 90s to 24h or `off`, not \(interval.shown)",
                mend: "30m is usual (RFC 4028)")
        }
        sip.sessionTimer = SessionTimer.Settings(interval: Int(seconds))
    }

    private func readStreams(_ fields: FieldReader, into streams: inout EngineSettings.Streams) {
        if let limit = fields.integer("connections", in: 1...1_000_000) { streams.limit = limit }
        if let idle = fields.duration("idle", in: .seconds(1) ... .seconds(86_400)) { streams.idle = idle }
    }

    private func listener(_ value: LocatedText, _ fields: FieldReader) -> EngineSettings.Listener? {
        let colon = value.text.firstIndex(of: ":") ?? value.text.endIndex
        let scheme = String(value.text[..<colon])
        guard let transport = EngineSettings.Listener.Transport(rawValue: scheme) else {
            let known = EngineSettings.Listener.Transport.allCases.map(\.rawValue)
            sink.error(
                at: value.place, "`sip.listen`: \(value.shown) has no transport that is known",
                mend: NearestWord.find(scheme, in: known).map { "did you mean `\($0)`?" } ?? "write udp:0.0.0.0:5060")
            return nil
        }
        let rest = value.text[colon...].dropFirst()
        let slash = transport.isWebSocket ? rest.firstIndex(of: "/") ?? rest.endIndex : rest.endIndex
        guard let address = SocketAddress(String(rest[..<slash])) else {
            sink.error(
                at: value.place, "`sip.listen`: \(value.shown) has no address and port",
                mend: "write \(scheme):0.0.0.0:5060, or \(scheme):[::]:5060 for IPv6")
            return nil
        }
        var listener = EngineSettings.Listener(transport, address)
        if slash < rest.endIndex { listener.path = String(rest[slash...]) }
        return listener
    }

    private func readRTP(_ top: FieldReader, into rtp: inout Configuration.RTP) {
        guard let fields = top.section("rtp", known: ["ports", "srtp", "comfort-noise", "timeout"]) else { return }
        if let ports = fields.text("ports") {
            if let range = Self.portRange(ports.text) {
                rtp.ports = range
            } else {
                sink.error(
                    at: ports.place,
                    "`rtp.ports` is a range such as 20000-29999 (from 1024 on, two ports or more), not \(ports.shown)")
            }
        }
        if fields.text("timeout")?.text == "off" {
            rtp.timeout = .zero
        } else if let timeout = fields.duration("timeout", in: .seconds(1) ... .seconds(86_400), or: "off") {
            rtp.timeout = timeout
        }
        if let security = fields.word("srtp", MediaSecurity.self) { rtp.security = security }
        if let policy = fields.word("comfort-noise", ComfortNoisePolicy.self) { rtp.comfortNoise = policy }
    }

    /// `20000-29999`, whole pairs of ports.
    static func portRange(_ text: String) -> ClosedRange<UInt16>? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let low = UInt16(parts[0]), let high = UInt16(parts[1]), low >= 1024, low < high else {
            return nil
        }
        return low...high
    }

    private func readLimits(_ top: FieldReader, into limits: inout Admission.Limits) {
        guard let fields = top.section("limits", known: ["calls", "calls-per-second", "per-source", "lag"]) else { return }
        if let calls = fields.integer("calls", in: 1...1_000_000) { limits.calls = calls }
        if let rate = rate("calls-per-second", of: fields) { limits.callsPerSecond = rate }
        if let rate = rate("per-source", of: fields) { limits.perSource = rate }
        if fields.text("lag")?.text == "off" {
            limits.lag = nil
        } else if let lag = fields.duration("lag", in: LagWatch.least ... .seconds(10), or: "off") {
            limits.lag = lag
        }
    }

    /// `20/s`, `20` (a second), `30/m`.
    private func rate(_ key: String, of fields: FieldReader) -> Double? {
        guard let value = fields.text(key) else { return nil }
        let parts = value.text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let unit = parts.count == 1 ? 1 : ["s": 1, "m": 60][String(parts[1])] ?? 0
        guard unit > 0, let number = Double(String(parts[0])), number > 0, number <= 1_000_000 else {
            sink.error(
                at: value.place, "`\(fields.full(key))` is a number of calls in a time, such as 20/s or 30/m, not \(value.shown)")
            return nil
        }
        return number / Double(unit)
    }

    private func readAllow(_ top: FieldReader, into allow: inout Allowance) {
        guard let fields = top.section("allow", known: ["bridge", "request"]) else { return }
        if let patterns = fields.texts("bridge") {
            allow.bridge = patterns.map(\.text)
            for pattern in patterns where !["sip:", "sips:", "tel:", "user:", "line:"].contains(where: pattern.text.hasPrefix) {
                sink.error(
                    at: pattern.place, "`allow.bridge`: \(pattern.shown) begins with none of sip:, sips:, tel:, user:, line:",
                    mend: "write sip:*@pbx.example.com for everyone at that host")
            }
        }
        if let patterns = fields.texts("request") {
            allow.request = patterns.map(\.text)
            for pattern in patterns where !pattern.text.hasPrefix("https://") && !pattern.text.hasPrefix("http://") {
                sink.error(
                    at: pattern.place, "`allow.request`: \(pattern.shown) begins with neither https:// nor http://",
                    mend: "write https://example.com/* for everything there")
            }
        }
    }

    private func readEnvironment(_ top: FieldReader, into result: inout Configuration) {
        for name in top.texts("env") ?? [] {
            guard name.text.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_]*/) != nil else {
                sink.error(at: name.place, "`env` lists names of environment variables; \(name.shown) is none")
                continue
            }
            result.environmentNames.append(name.text)
            result.environment[name.text] = sources.environment[name.text]
            if sources.environment[name.text] == nil {
                sink.warning(at: name.place, "the environment has no \(name.text): expressions that read it fail")
            }
        }
    }

    private func readControl(_ top: FieldReader, into control: inout Configuration.Control) {
        guard
            let fields = top.section(
                "control", known: ["listen"], later: ["tokens": "the control API"])
        else { return }
        guard let listen = fields.text("listen") else { return }
        if listen.text == "off" {
            control.listen = nil
        } else if let address = SocketAddress(listen.text) {
            control.listen = address
            if address.ip != .loopback4 && address.ip != IPAddress("::1") {
                sink.warning(
                    at: listen.place, "health and metrics are readable for everyone who reaches \(listen.text)",
                    mend: "listen on 127.0.0.1 unless a firewall protects it")
            }
        } else {
            sink.error(
                at: listen.place, "`control.listen` is an address and port, or off; not \(listen.shown)",
                mend: "write 127.0.0.1:8080")
        }
    }

    private func readLog(_ top: FieldReader, into log: inout Configuration.Log) {
        guard let fields = top.section("log", known: ["level", "format"]) else { return }
        if let level = fields.word("level", Configuration.Log.Level.self) { log.level = level }
        if let format = fields.word("format", Configuration.Log.Format.self) { log.format = format }
    }

    private func checkPorts(_ result: Configuration, at top: FieldReader) {
        let pairs = result.rtp.ports.count / 2
        guard pairs < result.limits.calls, let place = (top.field("rtp") ?? top.field("limits"))?.place else { return }
        sink.warning(
            at: place, "`rtp.ports` has room for \(pairs) calls (two ports a call), `limits.calls` is \(result.limits.calls)",
            mend: "widen the one or lower the other")
    }
}
