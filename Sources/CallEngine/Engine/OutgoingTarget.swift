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
    let host: String
    /// `host`, where it is an address.
    let ip: IPAddress?
    let port: UInt16
    /// Of a WebSocket.
    let path: String
    let transport: Transport
    /// Which of the engine's lines the call goes out through.
    let line: Int?

    init(_ text: String, line lineName: String?, settings: EngineSettings) throws(CallControlError) {
        func invalid(_ why: String) -> CallControlError { .invalid(operation: "call", why: why) }
        self.text = text
        self.lineName = lineName
        line = lineName.flatMap { name in settings.lines.firstIndex { $0.name == name } }
        if let lineName, line == nil { throw invalid("there is no line \"\(lineName)\"") }
        let way = line.map { settings.lines[$0] }
        var whole = text
        if let way, !text.hasPrefix("sip:"), !text.hasPrefix("sips:") {
            let user = text.hasPrefix("tel:") ? String(text.dropFirst(4)) : text
            let port = way.port.map { ":\($0)" } ?? ""
            whole = "sip:\(user)@\(way.server)\(port)"
        }
        guard let uri = try? URI(whole) else { throw invalid("\"\(text)\" is no SIP URI (sip:user@host)") }
        guard uri.isSIP else { throw invalid("\"\(text)\": only sip: and sips: targets can be called") }
        self.uri = uri
        requestURI = Array(uri.octetsOfURI)
        to = [UInt8(ascii: "<")] + requestURI + [UInt8(ascii: ">")]
        host = way?.server ?? uri.host
        path = way?.path ?? "/"
        ip = IPAddress(host)
        if let way {
            transport = way.transport.onTheWire
            port = way.port ?? transport.usualPort
            guard uri.scheme == .sip || transport.isSecure else {
                throw invalid("\"\(text)\" asks for TLS, which the line \"\(way.name)\" does not use")
            }
        } else {
            transport = uri.transport ?? .udp
            port = uri.port(over: transport)
        }
        switch transport {
        case .udp:
            guard settings.listeners.contains(where: { $0.transport == .udp }) else {
                throw invalid("no udp socket is open to call from")
            }
        case .tcp: break
        case .tls: guard settings.tls != nil else { throw invalid("TLS is not set up") }
        case .ws, .wss: guard settings.opensWebSockets else { throw invalid("WebSockets are not set up") }
        case .other: throw invalid("\"\(text)\": transport \(uri.parameter("transport") ?? "") is not built yet")
        }
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
