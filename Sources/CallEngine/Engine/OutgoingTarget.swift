// Whom a call goes to: the Request-URI, and the host, port and transport that it is sent to.

import SIP

/// A target that can be called.
struct OutgoingTarget {
    let uri: URI
    let host: String
    let port: UInt16
    let transport: Transport
    let line: LineSettings?

    init(_ request: CallRequest, settings: EngineSettings) throws(CallControlError) {
        func invalid(_ why: String) -> CallControlError { .invalid(operation: "call", why: why) }
        var line: LineSettings?
        if let name = request.line {
            line = settings.lines.first { $0.name == name }
            guard line != nil else { throw invalid("there is no line \"\(name)\"") }
        }
        var text = request.target
        if let line, !text.hasPrefix("sip:") {
            let user = text.hasPrefix("tel:") ? String(text.dropFirst(4)) : text
            let port = line.port.map { ":\($0)" } ?? ""
            text = "sip:\(user)@\(line.server)\(port)"
        }
        guard let uri = try? URI(text) else { throw invalid("\"\(request.target)\" is no SIP URI (sip:user@host)") }
        guard uri.scheme == .sip else {
            throw invalid(
                "\"\(request.target)\": only sip: targets can be called\(uri.scheme == .sips ? "; sips: is not built yet" : "")")
        }
        self.uri = uri
        self.line = line
        host = line?.server ?? uri.host
        if let line {
            port = line.port ?? 5060
            transport = line.transport == .tcp ? .tcp : .udp
        } else {
            port = uri.portOrDefault
            switch uri.parameter("transport")?.lowercased() {
            case nil, "udp": transport = .udp
            case "tcp": transport = .tcp
            case let other?: throw invalid("transport \(other) is not built yet")
            }
        }
        let needed: EngineSettings.Listener.Transport = transport == .tcp ? .tcp : .udp
        guard needed == .tcp || settings.listeners.contains(where: { $0.transport == needed }) else {
            throw invalid("no \(needed.rawValue) socket is open to call from")
        }
        for header in request.headers where Self.reserved.contains(header.name.lowercased()) {
            throw invalid("the header \(header.name) belongs to the protocol")
        }
    }

    /// Headers that the engine writes itself.
    private static let reserved: Set<String> = [
        "via", "v", "from", "f", "to", "t", "call-id", "i", "cseq", "contact", "m", "max-forwards", "content-length", "l",
        "content-type", "c", "route", "record-route", "authorization", "proxy-authorization", "allow", "user-agent"
    ]
}
