// URIs of SIP: sip, sips (RFC 3261 section 19.1), tel (RFC 3966); any other scheme is kept unread.
// A URI is ranges over its octets (URIParts.swift); parts are unescaped once, when asked. Comparison is in URIComparison.swift.

package import Basics

/// A decoded URI.
package struct URI: Sendable {
    /// What a URI's scheme is.
    package enum Scheme: Sendable { case sip, sips, tel, other }

    /// The octets that the ranges point into (a message's, or its own).
    package let octets: [UInt8]
    private let parts: URIParts

    /// Reads the URI that fills `range` of `octets`.
    package init(_ octets: [UInt8], _ range: OctetRange) throws(ParseError) {
        guard !range.isEmpty else { throw ParseError(.uri, at: Int(range.start)) }
        self.octets = octets
        parts = try octets.withUnsafeBufferPointer { (buffer) throws(ParseError) in try URIParts(buffer.baseAddress!, range) }
    }

    /// Reads a URI from text.
    package init(_ text: String) throws(ParseError) {
        let octets = Array(text.utf8)
        try self.init(octets, OctetRange(0, octets.count))
    }

    /// The whole URI.
    package var range: OctetRange { parts.range }
    package var scheme: Scheme { parts.scheme }
    /// The user part, escaped, without password; empty when absent. For tel: the number.
    package var userRange: OctetRange { parts.user }
    package var passwordRange: OctetRange { parts.password }
    /// The host; an IPv6 reference with its brackets. Empty for tel and other schemes.
    package var hostRange: OctetRange { parts.host }
    package var port: UInt16? { parts.port }
    /// From the first semicolon behind the host (or number).
    package var parametersRange: OctetRange { parts.parameters }
    /// Behind the question mark.
    package var headersRange: OctetRange { parts.headers }
    /// True when there is an "@".
    package var hasUser: Bool { parts.hasUser }
    /// The URI as written.
    package var description: String { text(octets[range.indices]) }
    /// The user part (or the tel number), unescaped once.
    package var user: String { text(unescaped(octets[userRange.indices])) }
    /// The host as written, an IPv6 reference with brackets.
    package var host: String { text(octets[hostRange.indices]) }
    /// The host when it is an address literal.
    package var address: IPAddress? {
        let four = octets.withUnsafeBufferPointer { IPAddress(dotted: UnsafeBufferPointer(rebasing: $0[hostRange.indices])) }
        return four ?? IPAddress(host)
    }
    /// The port, or the scheme's own: 5060, for sips 5061.
    package var portOrDefault: UInt16 { port ?? (scheme == .sips ? 5061 : 5060) }
    /// True for sip and sips.
    package var isSIP: Bool { scheme == .sip || scheme == .sips }

    /// All URI parameters in order, unescaped once; nil for a flag.
    package var parameters: [(name: String, value: String?)] {
        pairs(parametersRange, separator: Octet.semicolon).map { name, value in
            (text(unescaped(octets[name.indices])), value.map { text(unescaped(octets[$0.indices])) })
        }
    }

    /// A parameter's value, unescaped once: empty for a flag, nil when absent.
    package func parameter(_ name: String) -> String? {
        if parametersRange.isEmpty { return nil }
        var name = name
        return name.withUTF8 { name in
            octets.withUnsafeBufferPointer { buffer in
                let base = buffer.baseAddress!
                let end = Int(parametersRange.end)
                var at = Int(parametersRange.start)
                while at < end {
                    let stop = Octet.first(Octet.semicolon, base, at, end)
                    let equals = Octet.first(Octet.equals, base, at, stop)
                    if isName(buffer[at..<equals], name) {
                        return equals < stop ? text(unescaped(octets[(equals + 1)..<stop])) : ""
                    }
                    at = stop + 1
                }
                return nil
            }
        }
    }

    private func isName(_ written: Slice<UnsafeBufferPointer<UInt8>>, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard written.count >= name.count else { return false }
        if written.contains(Octet.percent) { return equalsIgnoringCase(unescaped(written), name) }
        guard written.count == name.count else { return false }
        for index in 0..<name.count where Octet.lower(written[written.startIndex + index]) != Octet.lower(name[index]) {
            return false
        }
        return true
    }

    /// True when the parameter `lr` is there, with or without a value (loose routing, RFC 3261 section 19.1.1).
    package var isLooseRouter: Bool { parameter("lr") != nil }

    /// The headers behind "?", unescaped once.
    package var headers: [(name: String, value: String)] {
        pairs(headersRange, separator: Octet.ampersand).map { name, value in
            (
                text(unescaped(octets[name.indices])),
                value.map { text(unescaped(octets[$0.indices])) } ?? ""
            )
        }
    }

    func pairs(_ range: OctetRange, separator: UInt8) -> [(name: OctetRange, value: OctetRange?)] {
        var result: [(name: OctetRange, value: OctetRange?)] = []
        var at = Int(range.start)
        let end = Int(range.end)
        while at < end {
            if octets[at] == separator {
                at += 1
                continue
            }
            var stop = at
            while stop < end, octets[stop] != separator { stop += 1 }
            var equals = at
            while equals < stop, octets[equals] != Octet.equals { equals += 1 }
            result.append((OctetRange(at, equals), equals < stop ? OctetRange(equals + 1, stop) : nil))
            at = stop
        }
        return result
    }
}
