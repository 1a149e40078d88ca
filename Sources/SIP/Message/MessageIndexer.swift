// Indexing of a message: one pass over its head that records where each header row lies (RFC 3261 section 7, 7.3, 18.3).
// What can no longer be answered (no start line) is thrown; faults that a status can answer are kept as `defect`.
// Lenient: CRLFs before the start line, LF alone as line end. Strict: names are tokens, one SP in the start line.

/// A header that every message has once, decoded: its whole value, and the parts or what is wrong with them.
struct Decoded<Parts: Sendable>: Sendable {
    let value: OctetRange
    let parts: Result<Parts, ParseError>
}

/// What one pass over a message finds, as ranges of its octets.
struct MessageIndex: Sendable {
    private(set) var rows: [HeaderRow] = []
    /// One bit for each kind of header that there is.
    private(set) var kinds: UInt64 = 0
    private(set) var method: Method?
    private(set) var cSeqMethod = Method.other
    private(set) var cSeq: UInt32 = 0
    private(set) var status = 0
    private(set) var methodRange = OctetRange.none
    private(set) var startRange = OctetRange.none
    private(set) var bodyRange = OctetRange.none
    private(set) var cSeqMethodRange = OctetRange.none
    private(set) var contentLength: Int?
    private(set) var defect: ParseError?
    /// The first Via row and its first value.
    private(set) var via: Decoded<ViaParts>?
    private(set) var from: Decoded<NameAddressParts>?
    private(set) var to: Decoded<NameAddressParts>?
    private(set) var callID: OctetRange?

    init(_ base: UnsafePointer<UInt8>, _ count: Int, _ limits: MessageLimits) throws(ParseError) {
        rows.reserveCapacity(16)
        var at = 0
        while at < count, base[at] == Octet.cr || base[at] == Octet.lf { at += 1 }
        guard at < count else { throw ParseError(.empty, at: at) }
        let firstEnd = Octet.first(Octet.lf, base, at, count)
        guard firstEnd < count else { throw ParseError(.startLine, at: at) }
        try indexStartLine(base, at, firstEnd > at && base[firstEnd - 1] == Octet.cr ? firstEnd - 1 : firstEnd)
        at = firstEnd + 1
        while true {
            let lineEnd = Octet.first(Octet.lf, base, at, count)
            guard lineEnd < count else {
                note(.noEndOfHeaders, at: count)
                at = count
                break
            }
            if lineEnd == at || (base[at] == Octet.cr && lineEnd == at + 1) {
                at = lineEnd + 1
                break
            }
            var end = lineEnd
            while end + 1 < count, base[end + 1] == Octet.space || base[end + 1] == Octet.tab {
                let next = Octet.first(Octet.lf, base, end + 1, count)
                guard next < count else { break }
                end = next
            }
            guard rows.count < limits.headerCount else { throw ParseError(.tooManyHeaders, at: at) }
            indexRow(base, at, end)
            at = end + 1
        }
        indexBody(at, count)
    }

    private mutating func note(_ fault: ParseError.Fault, at offset: Int) {
        if defect == nil { defect = ParseError(fault, at: offset) }
    }

    /// Request-Line = Method SP Request-URI SP SIP-Version; Status-Line = SIP-Version SP Status-Code SP Reason-Phrase.
    private mutating func indexStartLine(_ base: UnsafePointer<UInt8>, _ start: Int, _ end: Int) throws(ParseError) {
        var cursor = Cursor(base, OctetRange(start, end))
        let first = cursor.token()
        if cursor.current == Octet.slash, equalsIgnoringCase(base, first, "sip") {
            guard end - start >= 11, equalsIgnoringCase(base, OctetRange(start, start + 8), "sip/2.0 ") else {
                throw ParseError(.startLine, at: start)
            }
            cursor.at = start + 8
            guard let code = cursor.number(upTo: 699), code >= 100, cursor.at == start + 11,
                cursor.isAtEnd || cursor.current == Octet.space
            else { throw ParseError(.startLine, at: cursor.at) }
            status = Int(code)
            startRange = OctetRange(min(start + 12, end), end)
            return
        }
        guard !first.isEmpty, cursor.take(Octet.space) else { throw ParseError(.startLine, at: cursor.at) }
        // The version is what stands after the last blank; blanks at the end are let through (RFC 4475 3.1.2.10).
        var last = end
        while last > cursor.at, Octet.isBlank(base[last - 1]) { last -= 1 }
        var versionStart = last
        while versionStart > cursor.at, base[versionStart - 1] != Octet.space { versionStart -= 1 }
        let version = OctetRange(versionStart, last)
        guard version.count >= 7, versionStart > cursor.at,
            equalsIgnoringCase(base, OctetRange(versionStart, versionStart + 4), "sip/")
        else { throw ParseError(.startLine, at: versionStart) }
        method = Method(base, first)
        methodRange = first
        startRange = OctetRange(cursor.at, versionStart - 1)
        if !equalsIgnoringCase(base, version, "sip/2.0") { note(.version, at: versionStart) }
        if startRange.isEmpty { note(.uri, at: cursor.at) }
        let foreign = Octet.firstForeignToURI(base, cursor.at, versionStart - 1)
        if foreign < versionStart - 1 { note(.uri, at: foreign) }
    }

    private mutating func indexRow(_ base: UnsafePointer<UInt8>, _ start: Int, _ lineFeed: Int) {
        var colon = Octet.first(Octet.colon, base, start, lineFeed)
        var name = OctetRange(start, colon)
        var kind = colon == start || colon == lineFeed ? .other : HeaderKind.of(base, name)
        if kind == .other {
            var nameEnd = start
            while nameEnd < lineFeed, Octet.isToken(base[nameEnd]) { nameEnd += 1 }
            colon = nameEnd
            while colon < lineFeed, base[colon] == Octet.space || base[colon] == Octet.tab { colon += 1 }
            guard nameEnd > start, base[colon] == Octet.colon, nameEnd - start < 65_536 else {
                return note((start..<lineFeed).contains { base[$0] == Octet.colon } ? .headerName : .missingColon, at: colon)
            }
            name = OctetRange(start, nameEnd)
            kind = HeaderKind.of(base, name)
        }
        let value = trimmed(base, colon + 1, lineFeed)
        kinds |= 1 &<< UInt64(kind.rawValue)
        rows.append(HeaderRow(kind: kind, nameLength: UInt16(name.count), nameStart: name.start, value: value))
        switch kind {
        case .via: indexVia(base, value)
        case .from: if from == nil { from = address(base, value) } else { note(.duplicateHeader, at: start) }
        case .to: if to == nil { to = address(base, value) } else { note(.duplicateHeader, at: start) }
        case .callID: if callID == nil { callID = value } else { note(.duplicateHeader, at: start) }
        case .cSeq: indexCSeq(base, value)
        case .contentLength: indexContentLength(base, value)
        default: break
        }
    }

    private mutating func indexVia(_ base: UnsafePointer<UInt8>, _ value: OctetRange) {
        guard via == nil else { return }
        let first = OctetRange(Int(value.start), elementEnd(base, value))
        via = Decoded(value: value, parts: Result { () throws(ParseError) in try ViaParts(base, first) })
    }

    private func address(_ base: UnsafePointer<UInt8>, _ value: OctetRange) -> Decoded<NameAddressParts> {
        Decoded(value: value, parts: Result { () throws(ParseError) in try NameAddressParts(base, value) })
    }

    /// CSeq = 1*DIGIT LWS Method; the number is below 2^31 (RFC 3261 sections 8.1.1.5, 20.16).
    private mutating func indexCSeq(_ base: UnsafePointer<UInt8>, _ value: OctetRange) {
        guard cSeqMethodRange.isEmpty else { return note(.duplicateHeader, at: Int(value.start)) }
        var cursor = Cursor(base, value)
        guard let number = cursor.number(upTo: 0x7fff_ffff), Octet.isBlank(cursor.current) else {
            return note(.cSeq, at: cursor.at)
        }
        cursor.skipBlanks()
        let name = cursor.token()
        guard !name.isEmpty, cursor.isAtEnd else { return note(.cSeq, at: cursor.at) }
        cSeq = UInt32(number)
        cSeqMethodRange = name
        cSeqMethod = Method(base, name)
    }

    private mutating func indexContentLength(_ base: UnsafePointer<UInt8>, _ value: OctetRange) {
        var cursor = Cursor(base, value)
        guard let number = cursor.number(upTo: 0x7fff_ffff), cursor.isAtEnd else {
            return note(.contentLength, at: Int(value.start))
        }
        if let stated = contentLength, stated != Int(number) { return note(.contentLength, at: Int(value.start)) }
        contentLength = Int(number)
    }

    /// RFC 3261 section 18.3: octets after Content-Length are not the message's; a body that ends early is a fault.
    private mutating func indexBody(_ start: Int, _ count: Int) {
        guard let contentLength else {
            bodyRange = OctetRange(start, count)
            return
        }
        if contentLength > count - start {
            note(.truncatedBody, at: count)
            bodyRange = OctetRange(start, count)
        } else {
            bodyRange = OctetRange(start, start + contentLength)
        }
    }
}
