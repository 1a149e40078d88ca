// What a message must hold before anybody acts on it (RFC 3261 sections 8.1.1, 8.2.1, 8.2.2.1; RFC 4475's refusals).
// Indexing finds faults of form (`defect`); this looks into the values that every receiver relies on.
// It leaves to the UA: methods (405, 501), extensions (420), bodies (415), dialogs (481).

extension Message {
    /// Throws the first fault. For a request the error's `status` is what a server answers; a response is dropped.
    package func check() throws(ParseError) {
        if let defect { throw defect }
        guard viaRow >= 0, fromRow >= 0, toRow >= 0, callIDRow >= 0, !cSeqMethodRange.isEmpty else {
            throw ParseError(.missingHeader, at: 0)
        }
        try checkCallID()
        if method != nil {
            try checkRequest()
        } else {
            _ = try topVia()
            _ = try from()
            _ = try to()
        }
    }

    private func checkCallID() throws(ParseError) {
        let range = rows[Int(callIDRow)].value
        guard !range.isEmpty else { throw ParseError(.callID, at: Int(range.start)) }
        for (offset, octet) in self[range].enumerated() where octet <= Octet.space {
            throw ParseError(.callID, at: Int(range.start) + offset)
        }
    }

    private func checkRequest() throws(ParseError) {
        let uri = try requestURI()
        guard uri.scheme != .other else { throw ParseError(.scheme, at: Int(startRange.start)) }
        guard uri.headersRange.isEmpty else { throw ParseError(.uri, at: Int(uri.headersRange.start)) }
        if method != cSeqMethod || (method == .other && self[methodRange] != self[cSeqMethodRange]) {
            throw ParseError(method == .other ? .unknownMethod : .methodMismatch, at: Int(cSeqMethodRange.start))
        }
        var hasMaxForwards = false
        for row in rows {
            switch row.kind {
            case .via: try checkVias(row.value)
            case .from, .to: try checkAddress(row.value, mayBeForeign: true)
            case .contact: try checkContacts(row.value)
            case .maxForwards:
                guard !hasMaxForwards else { throw ParseError(.duplicateHeader, at: Int(row.nameStart)) }
                hasMaxForwards = true
                guard let hops = number(.maxForwards), hops <= 0x7fff_ffff else {
                    throw ParseError(.number, at: Int(row.value.start))
                }
            default: break
            }
        }
    }

    private func checkVias(_ row: OctetRange) throws(ParseError) {
        var start = Int(row.start)
        repeat {
            let end = octets.withUnsafeBufferPointer { elementEnd($0.baseAddress!, OctetRange(start, Int(row.end))) }
            _ = try Via(octets, OctetRange(start, end))
            start = end + 1
        } while start <= Int(row.end)
    }

    /// The URI of another scheme is let through: only the Request-URI's scheme is refused with 416.
    private func checkAddress(_ range: OctetRange, mayBeForeign: Bool) throws(ParseError) {
        let address = try NameAddress(octets, range)
        if address.isWildcard { return }
        _ = try address.uri()
        if mayBeForeign, let parameter = address.parameters.find("tag"), parameter.value?.isEmpty ?? true {
            throw ParseError(.parameter, at: Int(parameter.name.start))
        }
    }

    private func checkContacts(_ row: OctetRange) throws(ParseError) {
        var start = Int(row.start)
        repeat {
            let end = octets.withUnsafeBufferPointer { elementEnd($0.baseAddress!, OctetRange(start, Int(row.end))) }
            try checkAddress(OctetRange(start, end), mayBeForeign: false)
            start = end + 1
        } while start <= Int(row.end)
    }
}
