// Indexing of a message: one pass over its head that records where each header row lies (RFC 3261 section 7, 7.3, 18.3).
// What can no longer be answered (no start line) is thrown; faults that a status can answer are kept as `defect`.
// Lenient: CRLFs before the start line, LF alone as line end. Strict: names are tokens, one SP in the start line.

extension Message {
    /// Reads one message that fills `octets`: a datagram, a WebSocket frame, or what the stream framer cut out.
    /// Throws when it is no SIP message at all; otherwise see `defect` and `check()`.
    package init(parsing octets: [UInt8], limits: MessageLimits = .standard) throws(ParseError) {
        self.init(octets: octets)
        guard octets.count <= limits.messageSize else { throw ParseError(.tooLarge, at: limits.messageSize) }
        rows.reserveCapacity(20)
        let result: Result<Void, ParseError> = octets.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return .failure(ParseError(.empty, at: 0)) }
            do throws(ParseError) {
                try index(base, buffer.count, limits)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    private mutating func note(_ fault: ParseError.Fault, at offset: Int) {
        if defect == nil { defect = ParseError(fault, at: offset) }
    }

    private mutating func index(_ base: UnsafePointer<UInt8>, _ count: Int, _ limits: MessageLimits) throws(ParseError) {
        var at = 0
        while at < count, base[at] == Octet.cr || base[at] == Octet.lf { at += 1 }
        guard at < count else { throw ParseError(.empty, at: at) }
        guard let firstEnd = lineFeed(base, at, count) else { throw ParseError(.startLine, at: at) }
        try indexStartLine(base, at, firstEnd > at && base[firstEnd - 1] == Octet.cr ? firstEnd - 1 : firstEnd)
        at = firstEnd + 1
        while true {
            guard at < count, let lineEnd = lineFeed(base, at, count) else {
                note(.noEndOfHeaders, at: count)
                at = count
                break
            }
            if base[at] == Octet.lf || (base[at] == Octet.cr && lineEnd == at + 1) {
                at = lineEnd + 1
                break
            }
            var end = lineEnd
            while end + 1 < count, base[end + 1] == Octet.space || base[end + 1] == Octet.tab {
                guard let next = lineFeed(base, end + 1, count) else { break }
                end = next
            }
            guard rows.count < limits.headerCount else { throw ParseError(.tooManyHeaders, at: at) }
            indexRow(base, at, end)
            at = end + 1
        }
        indexBody(at, count)
    }

    /// The next line feed, eight octets at a time: `word` holds a zero octet where an LF stands.
    @inline(__always)
    private func lineFeed(_ base: UnsafePointer<UInt8>, _ start: Int, _ count: Int) -> Int? {
        var at = start
        while at + 8 <= count {
            let loaded = UnsafeRawPointer(base).loadUnaligned(fromByteOffset: at, as: UInt64.self).littleEndian
            let word = loaded ^ 0x0a0a_0a0a_0a0a_0a0a
            let hits = (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
            if hits != 0 { return at + (hits.trailingZeroBitCount >> 3) }
            at += 8
        }
        while at < count {
            if base[at] == Octet.lf { return at }
            at += 1
        }
        return nil
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
        for place in startRange.indices where !Octet.isURI(base[place]) {
            note(.uri, at: place)
            break
        }
    }

    private mutating func indexRow(_ base: UnsafePointer<UInt8>, _ start: Int, _ lineFeed: Int) {
        var colon = start
        while colon < lineFeed, Octet.isToken(base[colon]) { colon += 1 }
        let nameEnd = colon
        while colon < lineFeed, base[colon] == Octet.space || base[colon] == Octet.tab { colon += 1 }
        guard nameEnd > start, base[colon] == Octet.colon, nameEnd - start < 65_536 else {
            note((start..<lineFeed).contains { base[$0] == Octet.colon } ? .headerName : .missingColon, at: colon)
            return
        }
        let kind = HeaderKind.of(base, OctetRange(start, nameEnd))
        let value = trimmed(base, colon + 1, lineFeed)
        let place = Int16(truncatingIfNeeded: rows.count)
        rows.append(
            HeaderRow(kind: kind, nameLength: UInt16(nameEnd - start), nameStart: UInt32(start), value: value))
        switch kind {
        case .via: if viaRow < 0 { viaRow = place }
        case .from: if fromRow < 0 { fromRow = place } else { note(.duplicateHeader, at: start) }
        case .to: if toRow < 0 { toRow = place } else { note(.duplicateHeader, at: start) }
        case .callID: if callIDRow < 0 { callIDRow = place } else { note(.duplicateHeader, at: start) }
        case .cSeq: indexCSeq(base, value)
        case .contentLength: indexContentLength(base, value)
        default: break
        }
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
