// Responses built from their requests (RFC 3261 sections 8.2.6, 12.1.1, 18.2.1; RFC 3581): Via, From, To, Call-ID and CSeq are
// copied as octets, the top Via gets `received` and `rport`, To gets our tag, Record-Route is copied for dialogs.

package import Basics

extension MessageWriter {
    /// Starts a response: status line and the copied headers; header rows and `finish` follow.
    /// - Parameters:
    ///   - tag: our tag, appended when To has none; nil for 100.
    ///   - source: where the request came from, for `received` and `rport`; nil leaves the top Via as it is.
    ///   - recordRoute: copies Record-Route (responses that make a dialog).
    package mutating func response(
        _ status: Int, reason: String? = nil, to request: Message, tag: ArraySlice<UInt8>?, source: SocketAddress?,
        recordRoute: Bool = false
    ) {
        statusLine(status, reason: reason)
        copyVias(request, source)
        if recordRoute {
            for row in request.rows where row.kind == .recordRoute {
                header("Record-Route", octets: request[row.value])
            }
        }
        if request.index.from != nil { header("From", octets: request.fromValue) }
        if let to = request.index.to {
            append("To: ")
            var value = request[to.value]
            if let tag, status > 100 || !tag.isEmpty, ((try? to.parts.get())?.tag ?? .none).isEmpty {
                // A semicolon at its end is let through in what comes; two in a row are a fault.
                while let last = value.last, last == Octet.semicolon || Octet.isBlank(last) { value = value.dropLast() }
                append(value)
                append(";tag=")
                append(tag)
            } else {
                append(value)
            }
            endLine()
        }
        if request.index.callID != nil { header("Call-ID", octets: request.callID) }
        if let row = request.firstRow(.cSeq) { header("CSeq", octets: request[row.value]) }
    }

    private mutating func copyVias(_ request: Message, _ source: SocketAddress?) {
        let top = request.index.via
        for row in request.rows where row.kind == .via {
            append("Via: ")
            if let source, let top, top.value == row.value, let via = try? top.parts.get() {
                copyTopVia(request.octets, row.value, via, source)
            } else {
                append(request[row.value])
            }
            endLine()
        }
    }

    /// The first value of the row, with `received` when sent-by is not the source, and `rport` filled when it was asked for.
    private mutating func copyTopVia(_ octets: [UInt8], _ row: OctetRange, _ via: ViaParts, _ source: SocketAddress) {
        var start = Int(row.start)
        var end = Int(via.range.end)
        if via.hasRport {
            let rport = via.rportParameter
            append(octets[start..<(Int(rport.start) + 5)])
            append("=")
            append(Int(source.port))
            start = Int(rport.end)
        }
        while end > start, Octet.isBlank(octets[end - 1]) || octets[end - 1] == Octet.semicolon { end -= 1 }
        append(octets[start..<end])
        // RFC 3581 section 4: with rport, received is always there.
        if !via.hasReceived, via.hasRport || !isSentBy(octets[via.host.indices], source.ip) {
            append(";received=")
            if case .v4 = source.ip { append(source.ip) } else { append(safe: source.ip.description) }
        }
        append(octets[Int(via.range.end)..<Int(row.end)])
    }

    private func isSentBy(_ host: ArraySlice<UInt8>, _ ip: IPAddress) -> Bool {
        guard let first = host.first, Octet.isDigit(first) || first == Octet.openBracket else { return false }
        return (host.withUnsafeBufferPointer { IPAddress(dotted: $0) } ?? IPAddress(text(host))) == ip
    }
}

extension Message {
    /// A whole response without a body.
    package func response(
        _ status: Int, reason: String? = nil, tag: ArraySlice<UInt8>? = nil, source: SocketAddress? = nil
    ) -> [UInt8] {
        var writer = MessageWriter(capacity: octets.count + 64)
        writer.response(status, reason: reason, to: self, tag: tag, source: source)
        writer.finish()
        return writer.octets
    }
}
