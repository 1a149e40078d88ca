// What a message must hold before anybody acts on it (RFC 3261 sections 8.1.1, 8.2.1, 8.2.2.1; RFC 4475's refusals).
// Indexing finds faults of form (`defect`); this looks into the values that every receiver relies on.
// It leaves to the UA: methods (405, 501), extensions (420), bodies (415), dialogs (481).

extension Message {
    /// Throws the first fault. For a request the error's `status` is what a server answers; a response is dropped.
    package func check() throws(ParseError) {
        if let defect = index.defect { throw defect }
        guard let via = index.via, let from = index.from, let to = index.to, let callID = index.callID,
            !index.cSeqMethodRange.isEmpty
        else { throw ParseError(.missingHeader, at: 0) }
        try octets.withUnsafeBufferPointer { (buffer) throws(ParseError) in
            let base = buffer.baseAddress!
            guard !callID.isEmpty else { throw ParseError(.callID, at: Int(callID.start)) }
            for place in callID.indices where base[place] <= Octet.space { throw ParseError(.callID, at: place) }
            if index.method != nil {
                try checkRequest(base)
            } else {
                _ = try via.parts.get()
                _ = try from.parts.get()
                _ = try to.parts.get()
            }
        }
    }

    private func checkRequest(_ base: UnsafePointer<UInt8>) throws(ParseError) {
        // Foreign octets in it would be the defect.
        let uri = try URIParts(base, startRange, isClean: true)
        guard uri.scheme != .other else { throw ParseError(.scheme, at: Int(startRange.start)) }
        guard uri.headers.isEmpty else { throw ParseError(.uri, at: Int(uri.headers.start)) }
        if method != cSeqMethod || (method == .other && self[methodRange] != self[cSeqMethodRange]) {
            throw ParseError(method == .other ? .unknownMethod : .methodMismatch, at: Int(cSeqMethodRange.start))
        }
        var hasMaxForwards = false
        for row in index.rows {
            switch row.kind {
            case .via: try checkVias(base, row.value)
            case .from: try checkParty(base, index.from)
            case .to: try checkParty(base, index.to)
            case .contact: try checkContacts(base, row.value)
            case .maxForwards:
                guard !hasMaxForwards else { throw ParseError(.duplicateHeader, at: Int(row.nameStart)) }
                hasMaxForwards = true
                var cursor = Cursor(base, row.value)
                guard cursor.number(upTo: 0x7fff_ffff) != nil else { throw ParseError(.number, at: Int(row.value.start)) }
            default: break
            }
        }
    }

    private func checkVias(_ base: UnsafePointer<UInt8>, _ row: OctetRange) throws(ParseError) {
        var start = Int(row.start)
        if let via = index.via, via.value == row { start = Int(try via.parts.get().range.end) + 1 }
        while start <= Int(row.end) {
            let end = elementEnd(base, OctetRange(start, Int(row.end)))
            _ = try ViaParts(base, OctetRange(start, end))
            start = end + 1
        }
    }

    /// From and To. The URI of another scheme is let through: only the Request-URI's scheme is refused with 416.
    private func checkParty(_ base: UnsafePointer<UInt8>, _ party: Decoded<NameAddressParts>?) throws(ParseError) {
        guard let parts = try party?.parts.get(), !parts.isWildcard else { return }
        try checkURI(base, parts)
        if parts.hasTag, parts.tag.isEmpty { throw ParseError(.parameter, at: Int(parts.parameters.start)) }
    }

    private func checkContacts(_ base: UnsafePointer<UInt8>, _ row: OctetRange) throws(ParseError) {
        var start = Int(row.start)
        repeat {
            let end = elementEnd(base, OctetRange(start, Int(row.end)))
            let parts = try NameAddressParts(base, OctetRange(start, end))
            if !parts.isWildcard { try checkURI(base, parts) }
            start = end + 1
        } while start <= Int(row.end)
    }

    private func checkURI(_ base: UnsafePointer<UInt8>, _ address: NameAddressParts) throws(ParseError) {
        if (try? URIParts(base, address.uri)) != nil { return }
        // With the blank behind the scheme that is let through.
        _ = try NameAddress(octets, address).uri()
    }
}
