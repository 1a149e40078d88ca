// URIs of SIP: sip, sips (RFC 3261 section 19.1), tel (RFC 3966); any other scheme is kept unread.
// A URI is ranges over its octets; parts are unescaped once, when asked. Comparison is in URIComparison.swift.
// Lenient: any printable octet in the user part (also a bare "#"), an empty user, empty parameter values, "_" in host names.

package import Basics

/// A decoded URI.
package struct URI: Sendable {
    /// What a URI's scheme is.
    package enum Scheme: Sendable { case sip, sips, tel, other }

    /// The octets that the ranges point into (a message's, or its own).
    package let octets: [UInt8]
    /// The whole URI.
    package let range: OctetRange
    package private(set) var scheme = Scheme.other
    /// The user part, escaped, without password; empty when absent. For tel: the number.
    package private(set) var userRange = OctetRange.none
    package private(set) var passwordRange = OctetRange.none
    /// The host; an IPv6 reference with its brackets. Empty for tel and other schemes.
    package private(set) var hostRange = OctetRange.none
    package private(set) var port: UInt16?
    /// From the first semicolon behind the host (or number).
    package private(set) var parametersRange = OctetRange.none
    /// Behind the question mark.
    package private(set) var headersRange = OctetRange.none
    /// True when there is an "@".
    package private(set) var hasUser = false

    /// Reads the URI that fills `range` of `octets`.
    package init(_ octets: [UInt8], _ range: OctetRange) throws(ParseError) {
        self.octets = octets
        self.range = range
        let result: Result<Void, ParseError> = octets.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress, !range.isEmpty else { return .failure(ParseError(.uri, at: Int(range.start))) }
            do throws(ParseError) {
                try read(base)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// Reads a URI from text.
    package init(_ text: String) throws(ParseError) {
        let octets = Array(text.utf8)
        try self.init(octets, OctetRange(0, octets.count))
    }

    private mutating func read(_ base: UnsafePointer<UInt8>) throws(ParseError) {
        var cursor = Cursor(base, range)
        guard Octet.isLetter(cursor.current) else { throw ParseError(.uri, at: cursor.at) }
        for place in range.indices where !Octet.isURI(base[place]) { throw ParseError(.uri, at: place) }
        while Octet.isLetter(cursor.current) || Octet.isDigit(cursor.current) || [43, 45, 46].contains(cursor.current) {
            cursor.at += 1
        }
        let name = OctetRange(Int(range.start), cursor.at)
        guard cursor.take(Octet.colon), !cursor.isAtEnd else { throw ParseError(.uri, at: cursor.at) }
        if equalsIgnoringCase(base, name, "sip") {
            scheme = .sip
        } else if equalsIgnoringCase(base, name, "sips") {
            scheme = .sips
        } else if equalsIgnoringCase(base, name, "tel") {
            return try readNumber(&cursor)
        } else {
            return
        }
        try readUser(&cursor)
        try readHost(&cursor)
        if cursor.take(Octet.colon) {
            guard let number = cursor.number(upTo: 65_535) else { throw ParseError(.uri, at: cursor.at) }
            port = UInt16(number)
        }
        try readTail(&cursor)
    }

    private mutating func readNumber(_ cursor: inout Cursor) throws(ParseError) {
        scheme = .tel
        let start = cursor.at
        while !cursor.isAtEnd, cursor.current != Octet.semicolon { cursor.at += 1 }
        userRange = OctetRange(start, cursor.at)
        guard !userRange.isEmpty else { throw ParseError(.uri, at: start) }
        try readTail(&cursor)
    }

    private mutating func readUser(_ cursor: inout Cursor) throws(ParseError) {
        let start = cursor.at
        var end = start
        while end < cursor.end, cursor.base[end] != Octet.at { end += 1 }
        guard end < cursor.end else { return }
        hasUser = true
        var colon = start
        while colon < end, cursor.base[colon] != Octet.colon { colon += 1 }
        userRange = OctetRange(start, colon)
        if colon < end { passwordRange = OctetRange(colon + 1, end) }
        cursor.at = end + 1
    }

    private mutating func readHost(_ cursor: inout Cursor) throws(ParseError) {
        guard let found = hostEnd(cursor) else { throw ParseError(.uri, at: cursor.at) }
        hostRange = OctetRange(cursor.at, found)
        cursor.at = found
    }

    private mutating func readTail(_ cursor: inout Cursor) throws(ParseError) {
        let start = cursor.at
        if cursor.current == Octet.semicolon {
            while !cursor.isAtEnd, cursor.current != Octet.question { cursor.at += 1 }
            parametersRange = OctetRange(start, cursor.at)
        }
        if cursor.take(Octet.question) {
            headersRange = OctetRange(cursor.at, cursor.end)
            cursor.at = cursor.end
        }
        guard cursor.isAtEnd else { throw ParseError(.uri, at: cursor.at) }
    }

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
        for found in pairs(parametersRange, separator: Octet.semicolon) {
            let written = octets[found.name.indices]
            let plain = written.contains(Octet.percent) ? unescaped(written)[...] : written
            guard equalsIgnoringCase(plain, name.utf8) else { continue }
            return found.value.map { text(unescaped(octets[$0.indices])) } ?? ""
        }
        return nil
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

/// Where a host that starts at the cursor ends: `name`, `192.0.2.1`, or `[2001:db8::1]`; nil when there is none.
func hostEnd(_ cursor: Cursor) -> Int? {
    var at = cursor.at
    if cursor.current == Octet.openBracket {
        at += 1
        var colons = 0
        while at < cursor.end, cursor.base[at] != Octet.closeBracket {
            let octet = cursor.base[at]
            guard Octet.hexValue(octet) != nil || octet == Octet.colon || octet == 46 else { return nil }
            if octet == Octet.colon { colons += 1 }
            at += 1
        }
        return at < cursor.end && colons >= 2 ? at + 1 : nil
    }
    while at < cursor.end, Octet.isHostName(cursor.base[at]) { at += 1 }
    return at > cursor.at ? at : nil
}
