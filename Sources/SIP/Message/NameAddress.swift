// name-addr and addr-spec with parameters: From, To, Contact, Route, Record-Route, Refer-To, P-Asserted-Identity, …
// (RFC 3261 sections 20, 20.10, 25.1). Without <> all parameters belong to the header and the URI holds no ? (section 20).
// Lenient: a display name without quotes may hold octets over 127, "#" and the like; a blank behind "sip:" without <>.

/// Where the parts of a value lie in the octets that it was read from.
struct NameAddressParts: Sendable {
    private(set) var display = OctetRange.none
    private(set) var uri = OctetRange.none
    private(set) var parameters = OctetRange.none
    /// The first tag, without quotes.
    private(set) var tag = OctetRange.none
    /// There is a tag parameter, perhaps without a value.
    private(set) var hasTag = false
    private(set) var isWildcard = false

    /// Reads the value that fills `range`. The URI itself is read by `URIParts`.
    init(_ base: UnsafePointer<UInt8>, _ range: OctetRange) throws(ParseError) {
        var cursor = Cursor(base, range)
        cursor.skipBlanks()
        let start = cursor.at
        if cursor.current == Octet.quote {
            guard let quoted = cursor.quotedString() else { throw ParseError(.quotedString, at: start) }
            display = quoted
            cursor.skipBlanks()
            guard cursor.current == Octet.less else { throw ParseError(.nameAddress, at: cursor.at) }
        } else {
            let bracket = Octet.first(Octet.less, base, start, cursor.end)
            let semicolon = Octet.first(Octet.semicolon, base, start, bracket)
            cursor.at = Octet.first(Octet.quote, base, start, semicolon)
        }
        if cursor.current == Octet.less {
            if display.isEmpty { display = trimmed(base, start, cursor.at) }
            try checkDisplayName(base)
            let uriStart = cursor.at + 1
            cursor.at = Octet.first(Octet.greater, base, uriStart, cursor.end)
            guard !cursor.isAtEnd else { throw ParseError(.nameAddress, at: uriStart) }
            uri = OctetRange(uriStart, cursor.at)
            cursor.at += 1
        } else {
            uri = trimmed(base, start, cursor.at)
            if uri.count == 1, base[Int(uri.start)] == 42 { isWildcard = true } else { try checkBareURI(base) }
        }
        guard !uri.isEmpty else { throw ParseError(.nameAddress, at: start) }
        parameters = OctetRange(cursor.at, Int(range.end))
        while let parameter = try Parameters.next(&cursor) {
            guard !hasTag, parameter.name.count == 3, equalsIgnoringCase(base, parameter.name, "tag") else { continue }
            hasTag = true
            if let value = parameter.value { tag = Parameters.withoutQuotes(base, value) }
        }
    }

    /// An unquoted display name holds tokens and blanks; what would end or split a value is refused.
    private func checkDisplayName(_ base: UnsafePointer<UInt8>) throws(ParseError) {
        guard !display.isEmpty, base[Int(display.start)] != Octet.quote else { return }
        for place in display.indices {
            switch base[place] {
            case Octet.comma, Octet.colon, Octet.at, Octet.greater, Octet.quote: throw ParseError(.nameAddress, at: place)
            default: break
            }
        }
    }

    /// Without brackets there is no question mark. `sip: host` is sent by some; that blank is let through: the range keeps it and
    /// `NameAddress.uri()` drops it.
    private func checkBareURI(_ base: UnsafePointer<UInt8>) throws(ParseError) {
        let end = Int(uri.end)
        let question = Octet.first(Octet.question, base, Int(uri.start), end)
        guard question == end else { throw ParseError(.uri, at: question) }
        guard Octet.firstForeignToURI(base, Int(uri.start), end) < end,
            let blank = uri.indices.first(where: { Octet.isBlank(base[$0]) })
        else { return }
        guard blank > Int(uri.start), base[blank - 1] == Octet.colon else { throw ParseError(.uri, at: blank) }
    }
}

/// One decoded value.
package struct NameAddress: Sendable {
    package let octets: [UInt8]
    let parts: NameAddressParts

    init(_ octets: [UInt8], _ parts: NameAddressParts) {
        self.octets = octets
        self.parts = parts
    }

    /// Reads the value that fills `range` of `octets`. The URI itself is read by `uri()`.
    package init(_ octets: [UInt8], _ range: OctetRange) throws(ParseError) {
        guard !octets.isEmpty else { throw ParseError(.nameAddress, at: 0) }
        self.octets = octets
        parts = try octets.withUnsafeBufferPointer { (buffer) throws(ParseError) in
            try NameAddressParts(buffer.baseAddress!, range)
        }
    }

    /// Reads a value from text.
    package init(_ text: String) throws(ParseError) {
        let octets = Array(text.utf8)
        try self.init(octets, OctetRange(0, octets.count))
    }

    /// The display name as written, with its quotes; empty when absent.
    package var displayRange: OctetRange { parts.display }
    /// The URI, without brackets.
    package var uriRange: OctetRange { parts.uri }
    /// True for `*` (Contact in a REGISTER).
    package var isWildcard: Bool { parts.isWildcard }

    /// The URI, decoded.
    package func uri() throws(ParseError) -> URI {
        do throws(ParseError) {
            return try URI(octets, uriRange)
        } catch {
            let written = uriOctets
            guard let colon = written.firstIndex(of: Octet.colon), colon + 1 < written.endIndex, octets[colon + 1] == Octet.space
            else { throw error }
            let mended = Array(written[...colon]) + written[(colon + 1)...].drop(while: Octet.isBlank)
            return try URI(mended, OctetRange(0, mended.count))
        }
    }

    /// The URI's octets as written.
    package var uriOctets: ArraySlice<UInt8> { octets[uriRange.indices] }
    /// The display name, unquoted; empty when absent.
    package var displayName: String { unquoted(octets[displayRange.indices]) }
    /// The parameters behind the URI.
    package var parameters: Parameters { Parameters(octets: octets, range: parts.parameters) }
    /// The octets of the tag; nil when absent or empty.
    package var tag: ArraySlice<UInt8>? { parts.tag.isEmpty ? nil : octets[parts.tag.indices] }
}
