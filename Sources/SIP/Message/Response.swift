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
        if request.fromRow >= 0 { header("From", octets: request[request.rows[Int(request.fromRow)].value]) }
        if request.toRow >= 0 {
            append("To: ")
            append(request[request.rows[Int(request.toRow)].value])
            if let tag, status > 100 || !tag.isEmpty, (try? request.to())?.tag == nil {
                append(";tag=")
                append(tag)
            }
            endLine()
        }
        if request.callIDRow >= 0 { header("Call-ID", octets: request.callID) }
        if let row = request.firstRow(.cSeq) { header("CSeq", octets: request[row.value]) }
    }

    private mutating func copyVias(_ request: Message, _ source: SocketAddress?) {
        for (index, row) in request.rows.enumerated() where row.kind == .via {
            append("Via: ")
            if index == Int(request.viaRow), let source, let via = try? request.topVia() {
                copyTopVia(request, row.value, via, source)
            } else {
                append(request[row.value])
            }
            endLine()
        }
    }

    /// The first value of the row, with `received` when sent-by is not the source, and `rport` filled when it was asked for.
    private mutating func copyTopVia(_ request: Message, _ row: OctetRange, _ via: Via, _ source: SocketAddress) {
        let octets = request.octets
        let end = octets.withUnsafeBufferPointer { elementEnd($0.baseAddress!, row) }
        var isFilled = false
        var start = Int(row.start)
        if via.hasRport, let found = via.parameters.find("rport") {
            append(octets[start..<Int(found.name.end)])
            append("=")
            append(Int(source.port))
            start = Int(found.value?.end ?? found.name.end)
            isFilled = true
        }
        var rest = octets[start..<end]
        while let last = rest.last, Octet.isBlank(last) || last == Octet.semicolon { rest = rest.dropLast() }
        append(rest)
        // RFC 3581 section 4: with rport, received is always there.
        if (isFilled || !isSentBy(via, source.ip)) && !via.parameters.has("received") {
            append(";received=")
            if case .v4 = source.ip { append(source.ip) } else { append(safe: source.ip.description) }
        }
        append(octets[end..<Int(row.end)])
    }

    private func isSentBy(_ via: Via, _ ip: IPAddress) -> Bool {
        guard let first = via.octets[via.hostRange.indices].first, Octet.isDigit(first) || first == Octet.openBracket else {
            return false
        }
        return IPAddress(via.host) == ip
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
