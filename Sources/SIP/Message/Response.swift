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
                header("Record-Route", row.value, of: request)
            }
        }
        if let from = request.index.from { header("From", from.value, of: request) }
        if let to = request.index.to {
            if let tag, status > 100 || !tag.isEmpty, ((try? to.parts.get())?.tag ?? .none).isEmpty {
                append("To: ")
                // A semicolon at its end is let through in what comes; two in a row are a fault.
                append(withoutEnd(to.value, of: request.octets), of: request)
                append(";tag=")
                append(tag)
                endLine()
            } else {
                header("To", to.value, of: request)
            }
        }
        if let callID = request.index.callID { header("Call-ID", callID, of: request) }
        if let row = request.firstRow(.cSeq) { header("CSeq", row.value, of: request) }
    }

    /// The value without semicolons and blanks at its end.
    private func withoutEnd(_ value: OctetRange, of octets: [UInt8]) -> OctetRange {
        var result = value
        while !result.isEmpty, octets[Int(result.end) - 1] == Octet.semicolon || Octet.isBlank(octets[Int(result.end) - 1]) {
            result.end -= 1
        }
        return result
    }

    private mutating func copyVias(_ request: Message, _ source: SocketAddress?) {
        let top = request.index.via
        for row in request.rows where row.kind == .via {
            append("Via: ")
            if let source, let top, top.value == row.value, let via = try? top.parts.get() {
                copyTopVia(request, row.value, via, source)
            } else {
                append(row.value, of: request)
            }
            endLine()
        }
    }

    /// The first value of the row, with `received` when sent-by is not the source, and `rport` filled when it was asked for.
    private mutating func copyTopVia(_ request: Message, _ row: OctetRange, _ via: ViaParts, _ source: SocketAddress) {
        var rest = OctetRange(Int(row.start), Int(via.range.end))
        if via.hasRport {
            let rport = via.rportParameter
            append(OctetRange(Int(rest.start), Int(rport.start) + 5), of: request)
            append("=")
            append(Int(source.port))
            rest.start = rport.end
        }
        append(withoutEnd(rest, of: request.octets), of: request)
        // RFC 3581 section 4: with rport, received is always there.
        if !via.hasReceived, via.hasRport || !isSentBy(request[via.host], source.ip) {
            append(";received=")
            if case .v4 = source.ip { append(source.ip) } else { append(safe: source.ip.description) }
        }
        append(OctetRange(Int(via.range.end), Int(row.end)), of: request)
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
