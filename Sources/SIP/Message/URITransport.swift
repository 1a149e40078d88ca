// Which transport and port a URI leads to (RFC 3261 sections 19.1.1 and 26.2.2, RFC 3263 section 4.1, RFC 7118 section 5.5), as far as
// the URI itself says so: look-ups in the DNS are not done here.

extension URI {
    /// The transport that the URI asks for, nil when it names none; `other` for one that is not known, or not possible with SIPS.
    package var transport: Transport? {
        guard let name = parameter("transport")?.lowercased() else { return scheme == .sips ? .tls : nil }
        switch name {
        case "udp": return scheme == .sips ? .other : .udp
        case "tcp": return scheme == .sips ? .tls : .tcp
        case "tls": return .tls
        case "ws": return scheme == .sips ? .wss : .ws
        case "wss": return .wss
        default: return .other
        }
    }

    /// The port, or the one that the transport has where a URI names none.
    package func port(over transport: Transport) -> UInt16 { port ?? transport.usualPort }
}

extension Transport {
    /// Where the transport is spoken without a port in the URI.
    package var usualPort: UInt16 {
        switch self {
        case .udp, .tcp, .other: 5060
        case .tls: 5061
        case .ws: 80
        case .wss: 443
        }
    }
}

extension Message {
    /// Whether the dialog that this request begins is one of SIPS URIs, so that Contact has to be one (RFC 3261 section 12.1.1).
    package var beginsSecureDialog: Bool {
        if (try? requestURI().scheme) == .sips { return true }
        if let route = values(.recordRoute).first { return (try? NameAddress(octets, route).uri().scheme) == .sips }
        return (try? firstContact()?.uri().scheme) == .sips
    }
}
