// Via (RFC 3261 section 20.42): sent-protocol, sent-by, branch, and received/rport (RFC 3581). Blanks are allowed round the
// slashes and the colon. `received` may hold an IPv6 address with or without brackets (RFC 5118 section 4.5).

package import Basics

/// The transports a Via names.
package enum Transport: UInt8, Sendable {
    case udp, tcp, tls, ws, wss, other

    /// True when the transport delivers by itself, so that no request is repeated over it.
    package var isReliable: Bool { self != .udp }

    /// True when certificates prove who the peer is.
    package var isSecure: Bool { self == .tls || self == .wss }

    /// The name in a Via.
    package var name: StaticString {
        switch self {
        case .udp, .other: "UDP"
        case .tcp: "TCP"
        case .tls: "TLS"
        case .ws: "WS"
        case .wss: "WSS"
        }
    }

    init(_ base: UnsafePointer<UInt8>, _ name: OctetRange) {
        self =
            switch name.count {
            case 3 where equalsIgnoringCase(base, name, "udp"): .udp
            case 3 where equalsIgnoringCase(base, name, "tcp"): .tcp
            case 3 where equalsIgnoringCase(base, name, "tls"): .tls
            case 2 where equalsIgnoringCase(base, name, "ws"): .ws
            case 3 where equalsIgnoringCase(base, name, "wss"): .wss
            default: .other
            }
    }
}

/// Where the parts of a Via value lie in the octets that it was read from.
struct ViaParts: Sendable {
    /// The whole value.
    let range: OctetRange
    private(set) var transport = Transport.other
    private(set) var hasRport = false
    private(set) var hasReceived = false
    /// The branch identifies its transaction: the cookie z9hG4bK and something behind it.
    private(set) var hasCookie = false
    private(set) var port: UInt16?
    private(set) var rport: UInt16?
    private(set) var transportName = OctetRange.none
    private(set) var host = OctetRange.none
    private(set) var branch = OctetRange.none
    /// `rport` with its value.
    private(set) var rportParameter = OctetRange.none
    private(set) var parameters = OctetRange.none

    /// Reads the value that fills `range`.
    init(_ base: UnsafePointer<UInt8>, _ range: OctetRange) throws(ParseError) {
        self.range = range
        var cursor = Cursor(base, range)
        cursor.skipBlanks()
        guard equalsIgnoringCase(base, cursor.token(), "sip") else { throw ParseError(.via, at: cursor.at) }
        for _ in 0..<2 {
            cursor.skipBlanks()
            guard cursor.take(Octet.slash) else { throw ParseError(.via, at: cursor.at) }
            cursor.skipBlanks()
            transportName = cursor.token()
            guard !transportName.isEmpty else { throw ParseError(.via, at: cursor.at) }
        }
        transport = Transport(base, transportName)
        guard Octet.isBlank(cursor.current) else { throw ParseError(.via, at: cursor.at) }
        cursor.skipBlanks()
        guard let end = hostEnd(cursor) else { throw ParseError(.via, at: cursor.at) }
        host = OctetRange(cursor.at, end)
        cursor.at = end
        cursor.skipBlanks()
        if cursor.take(Octet.colon) {
            cursor.skipBlanks()
            guard let number = cursor.number(upTo: 65_535) else { throw ParseError(.via, at: cursor.at) }
            port = UInt16(number)
        }
        parameters = OctetRange(cursor.at, Int(range.end))
        while let parameter = try Parameters.next(&cursor) { take(base, parameter) }
    }

    private mutating func take(_ base: UnsafePointer<UInt8>, _ parameter: Parameter) {
        switch parameter.name.count {
        case 6 where equalsIgnoringCase(base, parameter.name, "branch"):
            branch = parameter.value ?? .none
            let cookie = OctetRange(Int(branch.start), Int(branch.start) + branchCookie.utf8CodeUnitCount)
            hasCookie = branch.count > cookie.count && equals(base, cookie, branchCookie)
        case 5 where equalsIgnoringCase(base, parameter.name, "rport"):
            if !hasRport { rportParameter = OctetRange(Int(parameter.name.start), Int((parameter.value ?? parameter.name).end)) }
            hasRport = true
            if let value = parameter.value {
                var digits = Cursor(base, value)
                rport = digits.number(upTo: 65_535).map { UInt16($0) }
            }
        case 8 where equalsIgnoringCase(base, parameter.name, "received"): hasReceived = true
        default: break
        }
    }
}

/// One decoded Via value.
package struct Via: Sendable {
    package let octets: [UInt8]
    let parts: ViaParts

    init(_ octets: [UInt8], _ parts: ViaParts) {
        self.octets = octets
        self.parts = parts
    }

    package var transport: Transport { parts.transport }
    /// The transport as written.
    package var transportRange: OctetRange { parts.transportName }
    /// The host of sent-by; an IPv6 reference with brackets.
    package var hostRange: OctetRange { parts.host }
    package var port: UInt16? { parts.port }
    /// The branch as written; empty when absent.
    package var branchRange: OctetRange { parts.branch }
    /// The port in `rport`; nil without one.
    package var rport: UInt16? { parts.rport }
    /// True when `rport` is there, filled or not.
    package var hasRport: Bool { parts.hasRport }
    /// The branch's octets; empty when absent.
    package var branch: ArraySlice<UInt8> { octets[branchRange.indices] }
    /// True when the branch identifies its transaction: the cookie z9hG4bK and something behind it.
    package var hasCookie: Bool { parts.hasCookie }
    /// The host of sent-by.
    package var host: String { text(octets[hostRange.indices]) }
    /// All parameters.
    package var parameters: Parameters { Parameters(octets: octets, range: parts.parameters) }
    /// The address in `received`; nil when absent or unreadable.
    package var received: IPAddress? {
        parameters["received"].flatMap { $0.count <= 45 ? IPAddress(text($0)) : nil }
    }
}
