// name-addr and addr-spec with parameters: From, To, Contact, Route, Record-Route, Refer-To, P-Asserted-Identity, …
// (RFC 3261 sections 20, 20.10, 25.1). Without <> all parameters belong to the header and the URI holds no ? (section 20).
// Lenient: a display name without quotes may hold octets over 127, "#" and the like; a blank behind "sip:" without <>.

/// One decoded value.
package struct NameAddress: Sendable {
    package let octets: [UInt8]
    /// The display name as written, with its quotes; empty when absent.
    package private(set) var displayRange = OctetRange.none
    /// The URI, without brackets.
    package private(set) var uriRange = OctetRange.none
    private var parametersRange = OctetRange.none
    /// True for `*` (Contact in a REGISTER).
    package private(set) var isWildcard = false

    /// Reads the value that fills `range` of `octets`. The URI itself is read by `uri()`.
    package init(_ octets: [UInt8], _ range: OctetRange) throws(ParseError) {
        self.octets = octets
        let result: Result<Void, ParseError> = octets.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return .failure(ParseError(.nameAddress, at: 0)) }
            do throws(ParseError) {
                try read(base, range)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// Reads a value from text.
    package init(_ text: String) throws(ParseError) {
        let octets = Array(text.utf8)
        try self.init(octets, OctetRange(0, octets.count))
    }

    private mutating func read(_ base: UnsafePointer<UInt8>, _ range: OctetRange) throws(ParseError) {
        var cursor = Cursor(base, range)
        cursor.skipBlanks()
        let start = cursor.at
        if cursor.current == Octet.quote {
            guard let quoted = cursor.quotedString() else { throw ParseError(.quotedString, at: start) }
            displayRange = quoted
            cursor.skipBlanks()
            guard cursor.current == Octet.less else { throw ParseError(.nameAddress, at: cursor.at) }
        } else {
            while !cursor.isAtEnd, cursor.current != Octet.less, cursor.current != Octet.semicolon,
                cursor.current != Octet.quote
            { cursor.at += 1 }
        }
        if cursor.current == Octet.less {
            if displayRange.isEmpty { displayRange = trimmed(base, start, cursor.at) }
            try checkDisplayName(base)
            cursor.at += 1
            let uriStart = cursor.at
            while !cursor.isAtEnd, cursor.current != Octet.greater { cursor.at += 1 }
            guard !cursor.isAtEnd else { throw ParseError(.nameAddress, at: uriStart) }
            uriRange = OctetRange(uriStart, cursor.at)
            cursor.at += 1
        } else {
            uriRange = trimmed(base, start, cursor.at)
            if uriRange.count == 1, base[Int(uriRange.start)] == 42 {
                isWildcard = true
            } else {
                for place in uriRange.indices where base[place] == Octet.question { throw ParseError(.uri, at: place) }
                if let blank = uriRange.indices.first(where: { Octet.isBlank(base[$0]) }) { try mendScheme(base, blank) }
            }
        }
        guard !uriRange.isEmpty else { throw ParseError(.nameAddress, at: start) }
        parametersRange = OctetRange(cursor.at, Int(range.end))
        try Parameters.check(base, parametersRange)
    }

    /// An unquoted display name holds tokens and blanks; what would end or split a value is refused.
    private func checkDisplayName(_ base: UnsafePointer<UInt8>) throws(ParseError) {
        guard !displayRange.isEmpty, base[Int(displayRange.start)] != Octet.quote else { return }
        for place in displayRange.indices {
            switch base[place] {
            case Octet.comma, Octet.colon, Octet.at, Octet.greater, Octet.quote: throw ParseError(.nameAddress, at: place)
            default: break
            }
        }
    }

    /// `sip: host` without brackets is sent by some; the blank is left out by starting the URI's host behind it, so only
    /// `uri()` can tell: the range keeps the blank and `uri()` drops it.
    private func mendScheme(_ base: UnsafePointer<UInt8>, _ blank: Int) throws(ParseError) {
        guard blank > Int(uriRange.start), base[blank - 1] == Octet.colon else { throw ParseError(.uri, at: blank) }
    }

    /// The URI, decoded.
    package func uri() throws(ParseError) -> URI {
        let slice = octets[uriRange.indices]
        if slice.contains(where: Octet.isBlank), let colon = slice.firstIndex(of: Octet.colon),
            octets[colon + 1] == Octet.space
        {
            let mended = Array(slice[...colon]) + slice[(colon + 1)...].drop(while: Octet.isBlank)
            return try URI(mended, OctetRange(0, mended.count))
        }
        return try URI(octets, uriRange)
    }

    /// The URI's octets as written.
    package var uriOctets: ArraySlice<UInt8> { octets[uriRange.indices] }
    /// The display name, unquoted; empty when absent.
    package var displayName: String { unquoted(octets[displayRange.indices]) }
    /// The parameters behind the URI.
    package var parameters: Parameters { Parameters(octets: octets, range: parametersRange) }
    /// The octets of the tag; nil when absent or empty.
    package var tag: ArraySlice<UInt8>? {
        guard let tag = parameters["tag"], !tag.isEmpty else { return nil }
        return tag
    }
}
