// Whom a call goes to: the Request-URI, and the host, port and transport that it is sent to.

import Basics
import SIP

/// A target that can be called. An object, since calls to the same target share it.
final class OutgoingTarget {
    /// What was asked for.
    let text: String
    let lineName: String?
    let uri: URI
    /// The Request-URI and the value of To.
    let requestURI: [UInt8]
    let to: [UInt8]
    /// Whose servers are looked for.
    let server: ServerTarget
    /// Where it goes, when that is an address.
    let hop: Hop?
    /// Of a WebSocket.
    let path: String
    /// The way to a device that registered here.
    let device: CallWay?
    /// Which of the engine's lines the call goes out through.
    let line: Int?
    /// It goes by what that line has registered.
    let goesByRegistration: Bool
    /// It was redirected to somebody who is not the line's server, and gets none of its credentials.
    let leavesLine: Bool

    init(_ text: String, line lineName: String?, settings: EngineSettings) throws(CallControlError) {
        func invalid(_ why: String) -> CallControlError { .invalid(operation: "call", why: why) }
        self.text = text
        self.lineName = lineName
        line = lineName.flatMap { name in settings.lines.firstIndex { $0.name == name } }
        if let lineName, line == nil { throw invalid("there is no line \"\(lineName)\"") }
        let way = line.map { settings.lines[$0] }
        var whole = text
        if let way, !text.hasPrefix("sip:"), !text.hasPrefix("sips:") {
            if text.lowercased().hasPrefix("tel:") {
                guard let user = (try? URI(text))?.telephoneSubscriber else {
                    throw invalid("\"\(text)\" is no telephone number")
                }
                whole = "sip:\(user)@\(way.domain);user=phone"
            } else {
                whole = "sip:\(text)@\(way.domain)"
            }
        }
        guard let uri = try? URI(whole) else { throw invalid("\"\(text)\" is no SIP URI (sip:user@host)") }
        // Read leniently from others, and never written (RFC 3261 section 25.1: a user has a character at least).
        guard !uri.octetsOfURI.drop(while: { $0 != UInt8(ascii: ":") }).dropFirst().starts(with: "@".utf8) else {
            throw invalid("\"\(text)\" has no user before its @")
        }
        guard uri.scheme != .tel else { throw invalid("\"\(text)\": a number is called through a line (line:NAME/number)") }
        guard uri.isSIP else { throw invalid("\"\(text)\": only sip:, sips: and tel: targets can be called") }
        goesByRegistration = way?.registration != nil
        leavesLine = false
        self.uri = uri
        requestURI = Array(uri.octetsOfURI)
        to = [UInt8(ascii: "<")] + requestURI + [UInt8(ascii: ">")]
        device = nil
        path = way?.path ?? "/"
        if let way {
            guard uri.scheme == .sip || way.transport.onTheWire.isSecure else {
                throw invalid("\"\(text)\" asks for TLS, which the line \"\(way.name)\" does not use")
            }
            server = way.serverTarget
        } else {
            server = ServerTarget(host: uri.host, port: uri.port, transport: uri.transport)
        }
        hop = try Self.hop(server, uri, settings)
    }

    /// Where a call to `first` was redirected to: a registered line's calls go by its registration, others straight to where the URI says.
    init(redirect uri: URI, of first: OutgoingTarget, settings: EngineSettings) throws(CallControlError) {
        (text, lineName, line, to) = (first.text, first.lineName, first.line, first.to)
        self.uri = uri
        requestURI = Array(uri.octetsOfURI)
        device = nil
        let way = first.line.map { settings.lines[$0] }
        goesByRegistration = way?.registration != nil
        if let way, goesByRegistration || (uri.host.lowercased() == way.server.lowercased() && uri.port == way.port) {
            leavesLine = false
            (server, path) = (way.serverTarget, way.path)
        } else {
            leavesLine = way != nil
            (server, path) = (ServerTarget(host: uri.host, port: uri.port, transport: uri.transport), "/")
        }
        hop = try Self.hop(server, uri, settings)
    }

    /// Where a server is, when that is an address. Throws for one that this engine has no way to.
    private static func hop(
        _ server: ServerTarget, _ uri: URI, _ settings: EngineSettings
    ) throws(CallControlError) -> Hop? {
        func invalid(_ why: String) -> CallControlError { .invalid(operation: "call", why: why) }
        let hasUDP = settings.listeners.contains { $0.transport == .udp }
        switch server.transport {
        case nil, .tcp?: break
        case .udp?: guard hasUDP else { throw invalid("no udp socket is open to call from") }
        case .tls?: guard settings.tls != nil else { throw invalid("TLS is not set up") }
        case .ws?, .wss?: guard settings.opensWebSockets else { throw invalid("WebSockets are not set up") }
        case .other?:
            throw invalid("\"\(uri.description)\": transport \(uri.parameter("transport") ?? "") is not built yet")
        }
        let (port, usual) = (server.port, server.transport ?? (hasUDP ? .udp : .tcp))
        return IPAddress(server.host).map { ip in
            Hop(transport: usual, address: SocketAddress(ip: ip, port: port ?? usual.usualPort))
        }
    }

    /// A device of a registered user; `user` is what was asked for: `user:anna`.
    init(_ binding: Binding, of user: String, settings: EngineSettings) throws(CallControlError) {
        guard let uri = try? URI(binding.contact, OctetRange(0, binding.contact.count)) else {
            throw .invalid(operation: "call", why: "a device of \(user) has no SIP URI")
        }
        text = user
        lineName = nil
        line = nil
        goesByRegistration = false
        leavesLine = false
        path = "/"
        self.uri = uri
        requestURI = binding.contact
        let name = LocalEnd.escaped(user: String(user.dropFirst(5)))
        to =
            settings.registrar.map { Array("<sip:\(name)@\($0.realm)>".utf8) } ?? [UInt8(ascii: "<")] + binding.contact + [
                UInt8(ascii: ">")
            ]
        let hop = binding.nextHop
        device = CallWay(hop: hop, routes: binding.routes)
        self.hop = hop
        server = ServerTarget(host: uri.host, port: hop.address.port, transport: hop.transport)
    }

    /// Refuses rows that the engine writes itself.
    static func check(_ headers: [CallHeader]) throws(CallControlError) {
        for header in headers where reserved.contains(header.name.lowercased()) {
            throw .invalid(operation: "call", why: "the header \(header.name) belongs to the protocol")
        }
    }

    /// Headers that the engine writes itself.
    private static let reserved: Set<String> = [
        "via", "v", "from", "f", "to", "t", "call-id", "i", "cseq", "contact", "m", "max-forwards", "content-length", "l",
        "content-type", "c", "route", "record-route", "authorization", "proxy-authorization", "allow", "user-agent"
    ]
}
