// Reading of a URI (RFC 3261 section 19.1, RFC 3966): where its parts lie. What they mean is URI.swift's.
// Lenient: any printable octet in the user part (also a bare "#"), an empty user, empty parameter values, "_" in host names.

/// Where the parts of a URI lie in the octets that it was read from.
struct URIParts: Sendable {
    /// The whole URI.
    let range: OctetRange
    private(set) var scheme = URI.Scheme.other
    private(set) var hasUser = false
    private(set) var port: UInt16?
    private(set) var user = OctetRange.none
    private(set) var password = OctetRange.none
    private(set) var host = OctetRange.none
    private(set) var parameters = OctetRange.none
    private(set) var headers = OctetRange.none

    /// Reads the URI that fills `range`.
    /// - Parameter isClean: its octets are known to be such as may stand in a URI.
    init(_ base: UnsafePointer<UInt8>, _ range: OctetRange, isClean: Bool = false) throws(ParseError) {
        self.range = range
        var cursor = Cursor(base, range)
        guard Octet.isLetter(cursor.current) else { throw ParseError(.uri, at: cursor.at) }
        if !isClean {
            let foreign = Octet.firstForeignToURI(base, cursor.at, cursor.end)
            guard foreign == cursor.end else { throw ParseError(.uri, at: foreign) }
        }
        let colon = Octet.first(Octet.colon, base, cursor.at, cursor.end)
        for place in cursor.at..<colon where !Octet.isScheme(base[place]) { throw ParseError(.uri, at: place) }
        guard colon + 1 < cursor.end else { throw ParseError(.uri, at: colon) }
        cursor.at = colon + 1
        let name = OctetRange(Int(range.start), colon)
        if equalsIgnoringCase(base, name, "sip") {
            scheme = .sip
        } else if equalsIgnoringCase(base, name, "sips") {
            scheme = .sips
        } else if equalsIgnoringCase(base, name, "tel") {
            scheme = .tel
        }
        switch scheme {
        case .other: return
        case .tel: try readNumber(&cursor)
        case .sip, .sips: try readAddress(&cursor)
        }
    }

    private mutating func readAddress(_ cursor: inout Cursor) throws(ParseError) {
        readUser(&cursor)
        guard let end = hostEnd(cursor) else { throw ParseError(.uri, at: cursor.at) }
        host = OctetRange(cursor.at, end)
        cursor.at = end
        if cursor.take(Octet.colon) {
            guard let number = cursor.number(upTo: 65_535) else { throw ParseError(.uri, at: cursor.at) }
            port = UInt16(number)
        }
        try readTail(&cursor)
    }

    private mutating func readNumber(_ cursor: inout Cursor) throws(ParseError) {
        let start = cursor.at
        cursor.at = Octet.first(Octet.semicolon, cursor.base, start, cursor.end)
        user = OctetRange(start, cursor.at)
        guard !user.isEmpty else { throw ParseError(.uri, at: start) }
        try readTail(&cursor)
    }

    private mutating func readUser(_ cursor: inout Cursor) {
        let start = cursor.at
        let end = Octet.first(Octet.at, cursor.base, start, cursor.end)
        guard end < cursor.end else { return }
        hasUser = true
        let colon = Octet.first(Octet.colon, cursor.base, start, end)
        user = OctetRange(start, colon)
        if colon < end { password = OctetRange(colon + 1, end) }
        cursor.at = end + 1
    }

    private mutating func readTail(_ cursor: inout Cursor) throws(ParseError) {
        if cursor.current == Octet.semicolon {
            let start = cursor.at
            cursor.at = Octet.first(Octet.question, cursor.base, start, cursor.end)
            parameters = OctetRange(start, cursor.at)
        }
        if cursor.take(Octet.question) {
            headers = OctetRange(cursor.at, cursor.end)
            cursor.at = cursor.end
        }
        guard cursor.isAtEnd else { throw ParseError(.uri, at: cursor.at) }
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
