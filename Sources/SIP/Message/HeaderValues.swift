// Decoding of header rows when somebody asks: lists over several rows and commas, addresses, Via, numbers, tokens.

extension Message {
    /// The ranges of all values of a kind: every row, split at the commas that stand outside quotes and brackets.
    /// Empty elements are left out.
    package func values(_ kind: HeaderKind) -> [OctetRange] {
        guard has(kind) else { return [] }
        var result: [OctetRange] = []
        for row in rows where row.kind == kind {
            octets.withUnsafeBufferPointer { splitList($0.baseAddress!, row.value, keepingEmpty: false, into: &result) }
        }
        return result
    }

    /// The values of a header by name, as `values(_:)`.
    package func values(named name: String) -> [OctetRange] {
        let kind = HeaderKind(name: name)
        if kind != .other { return values(kind) }
        var result: [OctetRange] = []
        for row in rows where row.kind == .other && equalsIgnoringCase(self[row.name], Array(name.utf8)) {
            octets.withUnsafeBufferPointer { splitList($0.baseAddress!, row.value, keepingEmpty: false, into: &result) }
        }
        return result
    }

    /// All Via values, the top one first.
    package func vias() throws(ParseError) -> [Via] {
        try octets.withUnsafeBufferPointer { (buffer) throws(ParseError) in
            var result: [Via] = []
            for row in rows where row.kind == .via {
                var ranges: [OctetRange] = []
                splitList(buffer.baseAddress!, row.value, keepingEmpty: true, into: &ranges)
                for range in ranges { result.append(Via(octets, try ViaParts(buffer.baseAddress!, range))) }
            }
            return result
        }
    }

    /// The top Via.
    package func topVia() throws(ParseError) -> Via {
        guard let via = index.via else { throw ParseError(.missingHeader, at: 0) }
        return Via(octets, try via.parts.get())
    }

    /// From.
    package func from() throws(ParseError) -> NameAddress {
        guard let from = index.from else { throw ParseError(.missingHeader, at: 0) }
        return NameAddress(octets, try from.parts.get())
    }

    /// To.
    package func to() throws(ParseError) -> NameAddress {
        guard let to = index.to else { throw ParseError(.missingHeader, at: 0) }
        return NameAddress(octets, try to.parts.get())
    }

    /// A request that belongs to no dialog yet: To has no tag.
    package var isOutsideDialog: Bool { (try? index.to?.parts.get())?.tag.isEmpty ?? true }

    /// All addresses of a kind: Contact, Route, Record-Route, P-Asserted-Identity, …
    package func addresses(_ kind: HeaderKind) throws(ParseError) -> [NameAddress] {
        var result: [NameAddress] = []
        for range in values(kind) { result.append(try NameAddress(octets, range)) }
        return result
    }

    /// All Contact values.
    package func contacts() throws(ParseError) -> [NameAddress] { try addresses(.contact) }

    /// The first Contact value; nil when there is none.
    package func firstContact() throws(ParseError) -> NameAddress? {
        for row in rows where row.kind == .contact && !row.value.isEmpty {
            let end = octets.withUnsafeBufferPointer { elementEnd($0.baseAddress!, row.value) }
            if end > Int(row.value.start) { return try NameAddress(octets, OctetRange(Int(row.value.start), end)) }
        }
        return try contacts().first
    }

    /// The tokens of a list such as Require, Supported or Allow.
    package func tokens(_ kind: HeaderKind) -> [String] { values(kind).map { text(self[$0]) } }

    /// Whether a list holds a token, given in lower case; case does not count.
    package func lists(_ kind: HeaderKind, _ token: StaticString) -> Bool {
        has(kind)
            && rows.contains { row in
                row.kind == kind
                    && octets.withUnsafeBufferPointer { buffer in
                        let base = buffer.baseAddress!
                        var start = Int(row.value.start)
                        while start < Int(row.value.end) {
                            let end = elementEnd(base, OctetRange(start, Int(row.value.end)))
                            if equalsIgnoringCase(base, trimmed(base, start, end), token) { return true }
                            start = end + 1
                        }
                        return false
                    }
            }
    }

    /// The leading decimal number of a header: Max-Forwards, Expires, Retry-After, RSeq, Session-Expires, Min-SE.
    /// Nil when the header is absent or does not start with a number below 2^32.
    package func number(_ kind: HeaderKind) -> Int? {
        guard let row = firstRow(kind) else { return nil }
        return octets.withUnsafeBufferPointer { buffer in
            var cursor = Cursor(buffer.baseAddress!, row.value)
            return cursor.number(upTo: 0xffff_ffff).map { Int($0) }
        }
    }

    /// The parameters behind the first semicolon of a header's value (Session-Expires, Content-Type, Reason, Event, …).
    package func parameters(_ kind: HeaderKind) -> Parameters? {
        firstRow(kind).map { Parameters(octets: octets, range: parameterRange($0.value)) }
    }

    /// The parameters of one value of a list.
    package func parameters(in value: OctetRange) -> Parameters {
        Parameters(octets: octets, range: parameterRange(value))
    }

    private func parameterRange(_ value: OctetRange) -> OctetRange {
        octets.withUnsafeBufferPointer { buffer in
            var cursor = Cursor(buffer.baseAddress!, value)
            while !cursor.isAtEnd, cursor.current != Octet.semicolon {
                if cursor.current == Octet.quote { _ = cursor.quotedString() } else { cursor.at += 1 }
            }
            return OctetRange(min(cursor.at, Int(value.end)), Int(value.end))
        }
    }

    /// Content-Type without parameters, in lower case, without blanks: `application/sdp`; nil when absent.
    package var contentType: String? {
        guard let row = firstRow(.contentType) else { return nil }
        let slice = self[row.value].prefix { $0 != Octet.semicolon && $0 != Octet.comma }
        return text(slice.filter { !Octet.isBlank($0) }.map(Octet.lower))
    }

    /// True when the body is of the type, given in lower case (`application/sdp`). False without a body.
    package func hasBody(ofType type: StaticString) -> Bool {
        guard !bodyRange.isEmpty, let row = firstRow(.contentType) else { return false }
        return octets.withUnsafeBufferPointer { buffer in
            let base = buffer.baseAddress!
            var end = Int(row.value.start)
            while end < Int(row.value.end), base[end] != Octet.semicolon { end += 1 }
            return equalsIgnoringCase(base, trimmed(base, Int(row.value.start), end), type)
        }
    }

    /// The Info-Packages that the sender takes (RFC 6086 section 5.2), in lower case, without parameters: none for a row without a value.
    /// nil: it says nothing.
    package var infoPackages: [String]? {
        guard has(.recvInfo) else { return nil }
        return values(.recvInfo).map { value in
            text(self[value].prefix { $0 != Octet.semicolon && !Octet.isBlank($0) }).lowercased()
        }.filter { $0 != "nil" }
    }

    /// RAck: the RSeq, the CSeq number and the method's name (RFC 3262 section 7.2); nil when absent or malformed.
    package func rAck() -> (rSeq: UInt32, cSeq: UInt32, method: String)? {
        guard let row = firstRow(.rAck) else { return nil }
        return octets.withUnsafeBufferPointer { buffer in
            var cursor = Cursor(buffer.baseAddress!, row.value)
            guard let first = cursor.number(upTo: 0xffff_ffff) else { return nil }
            cursor.skipBlanks()
            guard let second = cursor.number(upTo: 0xffff_ffff) else { return nil }
            cursor.skipBlanks()
            let name = cursor.token()
            guard !name.isEmpty, cursor.isAtEnd else { return nil }
            return (UInt32(first), UInt32(second), text(self[name]))
        }
    }

    /// Reason's protocol and cause: `SIP;cause=200` or `Q.850;cause=16` (RFC 3326).
    package func reasons() -> [(protocolName: String, cause: Int?, text: String?)] {
        values(.reason).map { value in
            let parameters = parameters(in: value)
            let name = self[value].prefix { $0 != Octet.semicolon && !Octet.isBlank($0) }
            return (text(name), parameters.number("cause"), parameters["text"].map { text($0) })
        }
    }
}

/// Where the first element of a list ends: the comma outside quotes and brackets, or the end.
func elementEnd(_ base: UnsafePointer<UInt8>, _ range: OctetRange) -> Int {
    var cursor = Cursor(base, range)
    if Octet.first(Octet.comma, base, cursor.at, cursor.end) == cursor.end { return cursor.end }
    var isBracketed = false
    while cursor.at < cursor.end {
        switch base[cursor.at] {
        case Octet.comma where !isBracketed: return cursor.at
        case Octet.quote:
            _ = cursor.quotedString()
            continue
        case Octet.less: isBracketed = true
        case Octet.greater: isBracketed = false
        default: break
        }
        cursor.at += 1
    }
    return cursor.end
}

func splitList(
    _ base: UnsafePointer<UInt8>, _ range: OctetRange, keepingEmpty: Bool, into result: inout [OctetRange]
) {
    var start = Int(range.start)
    while start <= Int(range.end) {
        let end = elementEnd(base, OctetRange(start, Int(range.end)))
        let element = trimmed(base, start, end)
        if keepingEmpty || !element.isEmpty { result.append(element) }
        start = end + 1
    }
}
