// Via (RFC 3261 section 20.42): sent-protocol, sent-by, branch, and received/rport (RFC 3581). Blanks are allowed round the
// slashes and the colon. `received` may hold an IPv6 address with or without brackets (RFC 5118 section 4.5).

package import Basics

/// The transports a Via names.
package enum Transport: UInt8, Sendable {
    case udp, tcp, tls, ws, wss, other

    /// True when the transport delivers by itself, so that no request is repeated over it.
    package var isReliable: Bool { self != .udp }

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
}

/// One decoded Via value.
package struct Via: Sendable {
    package let octets: [UInt8]
    package private(set) var transport = Transport.other
    /// The transport as written.
    package private(set) var transportRange = OctetRange.none
    /// The host of sent-by; an IPv6 reference with brackets.
    package private(set) var hostRange = OctetRange.none
    package private(set) var port: UInt16?
    /// The branch as written; empty when absent.
    package private(set) var branchRange = OctetRange.none
    /// The port in `rport`; nil without one.
    package private(set) var rport: UInt16?
    /// True when `rport` is there, filled or not.
    package private(set) var hasRport = false
    private var parametersRange = OctetRange.none

    /// Reads the value that fills `range` of `octets`.
    package init(_ octets: [UInt8], _ range: OctetRange) throws(ParseError) {
        self.octets = octets
        let result: Result<Void, ParseError> = octets.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return .failure(ParseError(.via, at: 0)) }
            do throws(ParseError) {
                try read(base, range)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    private mutating func read(_ base: UnsafePointer<UInt8>, _ range: OctetRange) throws(ParseError) {
        var cursor = Cursor(base, range)
        cursor.skipBlanks()
        guard equalsIgnoringCase(base, cursor.token(), "sip") else { throw ParseError(.via, at: cursor.at) }
        for _ in 0..<2 {
            cursor.skipBlanks()
            guard cursor.take(Octet.slash) else { throw ParseError(.via, at: cursor.at) }
            cursor.skipBlanks()
            transportRange = cursor.token()
            guard !transportRange.isEmpty else { throw ParseError(.via, at: cursor.at) }
        }
        transport = Via.transport(base, transportRange)
        guard Octet.isBlank(cursor.current) else { throw ParseError(.via, at: cursor.at) }
        cursor.skipBlanks()
        guard let found = hostEnd(cursor) else { throw ParseError(.via, at: cursor.at) }
        hostRange = OctetRange(cursor.at, found)
        cursor.at = found
        cursor.skipBlanks()
        if cursor.take(Octet.colon) {
            cursor.skipBlanks()
            guard let number = cursor.number(upTo: 65_535) else { throw ParseError(.via, at: cursor.at) }
            port = UInt16(number)
        }
        parametersRange = OctetRange(cursor.at, Int(range.end))
        while let parameter = try Parameters.next(&cursor) {
            switch parameter.name.count {
            case 6 where equalsIgnoringCase(base, parameter.name, "branch"):
                branchRange = parameter.value ?? .none
            case 5 where equalsIgnoringCase(base, parameter.name, "rport"):
                hasRport = true
                if let value = parameter.value {
                    var digits = Cursor(base, value)
                    rport = digits.number(upTo: 65_535).map { UInt16($0) }
                }
            default: break
            }
        }
    }

    private static func transport(_ base: UnsafePointer<UInt8>, _ range: OctetRange) -> Transport {
        for kind in [Transport.udp, .tcp, .tls, .ws, .wss] where range.count == kind.name.utf8CodeUnitCount {
            var index = 0
            while index < range.count, Octet.lower(base[Int(range.start) + index]) == Octet.lower(kind.name.utf8Start[index]) {
                index += 1
            }
            if index == range.count { return kind }
        }
        return .other
    }

    /// The branch's octets; empty when absent.
    package var branch: ArraySlice<UInt8> { octets[branchRange.indices] }
    /// True when the branch identifies its transaction: the cookie z9hG4bK and something behind it.
    package var hasCookie: Bool {
        branchRange.count > 7 && octets[branchRange.indices].prefix(7).elementsEqual([122, 57, 104, 71, 52, 98, 75])
    }
    /// The host of sent-by.
    package var host: String { text(octets[hostRange.indices]) }
    /// All parameters.
    package var parameters: Parameters { Parameters(octets: octets, range: parametersRange) }
    /// The address in `received`; nil when absent or unreadable.
    package var received: IPAddress? {
        parameters["received"].flatMap { $0.count <= 45 ? IPAddress(text($0)) : nil }
    }
}
