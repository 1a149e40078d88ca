// A SIP message (RFC 3261 section 7): its octets, and an index of ranges over them that is made once (MessageIndexer.swift).
// Header fields are decoded when somebody asks (Via.swift, NameAddress.swift, HeaderValues.swift). No String is kept.

/// One header row: its kind and where its name and its value lie. A folded value holds its line ends.
package struct HeaderRow: Sendable {
    package var kind: HeaderKind
    package var nameLength: UInt16
    package var nameStart: UInt32
    package var value: OctetRange

    /// Where the name lies, as it was written.
    package var name: OctetRange { OctetRange(Int(nameStart), Int(nameStart) + Int(nameLength)) }
}

/// A request or a response. It never changes, so that one is shared by all that look at it.
package final class Message: Sendable {
    /// The octets as they came, from the first of the start line to the last of the body.
    package let octets: [UInt8]
    let index: MessageIndex

    /// Reads one message that fills `octets`: a datagram, a WebSocket frame, or what the stream framer cut out.
    /// Throws when it is no SIP message at all; otherwise see `defect` and `check()`.
    package init(parsing octets: [UInt8], limits: MessageLimits = .standard) throws(ParseError) {
        guard octets.count <= limits.messageSize else { throw ParseError(.tooLarge, at: limits.messageSize) }
        guard !octets.isEmpty else { throw ParseError(.empty, at: 0) }
        self.octets = octets
        index = try octets.withUnsafeBufferPointer { (buffer) throws(ParseError) in
            try MessageIndex(buffer.baseAddress!, buffer.count, limits)
        }
    }

    /// All header rows in their order.
    package var rows: [HeaderRow] { index.rows }
    /// The request's method; `other` for an unknown one; nil for a response.
    package var method: Method? { index.method }
    /// The response's status, 100 to 699; 0 for a request.
    package var status: Int { index.status }
    /// A request's method octets.
    package var methodRange: OctetRange { index.methodRange }
    /// A request's Request-URI, or a response's reason phrase.
    package var startRange: OctetRange { index.startRange }
    /// The body, as long as Content-Length says or, without one, to the end.
    package var bodyRange: OctetRange { index.bodyRange }
    /// The CSeq number; 0 when there is none or it could not be read (then `defect` says so).
    package var cSeq: UInt32 { index.cSeq }
    /// The method in CSeq.
    package var cSeqMethod: Method { index.cSeqMethod }
    package var cSeqMethodRange: OctetRange { index.cSeqMethodRange }
    /// Content-Length as stated; nil without the header.
    package var contentLength: Int? { index.contentLength }
    /// The first fault that indexing met and that a status can still answer; nil for a well-formed message.
    package var defect: ParseError? { index.defect }

    /// True for a request.
    package var isRequest: Bool { method != nil }

    /// The octets of a range of this message.
    package subscript(range: OctetRange) -> ArraySlice<UInt8> { octets[range.indices] }

    /// The body's octets.
    package var body: ArraySlice<UInt8> { octets[bodyRange.indices] }

    /// The Request-URI's octets; empty for a response.
    package var requestURIOctets: ArraySlice<UInt8> { isRequest ? self[startRange] : [] }

    /// The Request-URI, decoded.
    package func requestURI() throws(ParseError) -> URI { try URI(octets, startRange) }

    /// The method's name, also of an unknown one.
    package var methodName: String { text(self[methodRange]) }

    /// A response's reason phrase.
    package var reasonPhrase: String { isRequest ? "" : text(self[startRange]) }

    /// The first row of a kind.
    package func firstRow(_ kind: HeaderKind) -> HeaderRow? {
        guard has(kind) else { return nil }
        for row in rows where row.kind == kind { return row }
        return nil
    }

    /// True when there is a row of that kind.
    package func has(_ kind: HeaderKind) -> Bool { index.kinds &>> UInt64(kind.rawValue) & 1 == 1 }

    /// Call-ID's octets; empty when absent.
    package var callID: ArraySlice<UInt8> { self[index.callID ?? .none] }
    /// The whole values of From and To; empty when absent.
    var fromValue: ArraySlice<UInt8> { self[index.from?.value ?? .none] }
    var toValue: ArraySlice<UInt8> { self[index.to?.value ?? .none] }

    /// The first value of a header by name (any case, compact or long), unfolded; nil when absent.
    package func header(_ name: String) -> String? { headers(name).first }

    /// Every row's value of a header by name, unfolded, in order.
    package func headers(_ name: String) -> [String] {
        let kind = HeaderKind(name: name)
        let wanted = Array(name.utf8)
        return rows.filter { row in
            row.kind == kind && (kind != .other || equalsIgnoringCase(self[row.name], wanted))
        }.map { unfolded($0.value) }
    }

    /// The first value of a kind, unfolded.
    package func header(_ kind: HeaderKind) -> String? { firstRow(kind).map { unfolded($0.value) } }

    /// The text of a value, where each fold is one blank (RFC 3261 section 7.3.1).
    package func unfolded(_ range: OctetRange) -> String {
        let slice = self[range]
        guard slice.contains(Octet.lf) else { return text(slice) }
        var result: [UInt8] = []
        var index = slice.startIndex
        while index < slice.endIndex {
            if slice[index] == Octet.cr || slice[index] == Octet.lf {
                while let last = result.last, Octet.isBlank(last) { result.removeLast() }
                while index < slice.endIndex, Octet.isBlank(slice[index]) { index += 1 }
                result.append(Octet.space)
            } else {
                result.append(slice[index])
                index += 1
            }
        }
        return text(result)
    }
}
