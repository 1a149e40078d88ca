// REFER (RFC 3515) as values: what one asks for, and the message/sipfrag bodies that tell how it goes. Attended transfer names the
// dialog to be replaced (RFC 3891) in the headers of the Refer-To URI. Without a subscription of its own: both belong to the dialog of
// the call, and a transfer ends with its last NOTIFY.

/// What a REFER asks for.
package struct Referral: Equatable, Sendable {
    /// The URI to call, without headers.
    package var target: String
    /// The value of Replaces for the new INVITE; nil for a blind transfer.
    package var replaces: String?
    /// Who asks, as in Referred-By.
    package var referredBy: String?
    /// No NOTIFY is wanted (Refer-Sub: false, RFC 4488).
    package var isQuiet: Bool

    /// Throws when there is not exactly one Refer-To with a URI that can be called: answer 400.
    package init(_ request: Message) throws(ParseError) {
        let targets = try request.addresses(.referTo)
        guard targets.count == 1 else { throw ParseError(.missingHeader, at: 0) }
        let uri = try targets[0].uri()
        guard uri.isSIP || uri.scheme == .tel else { throw ParseError(.scheme, at: Int(targets[0].uriRange.start)) }
        let end = uri.headersRange.isEmpty ? Int(uri.range.end) : Int(uri.headersRange.start) - 1
        target = text(uri.octets[Int(uri.range.start)..<end])
        replaces = uri.headers.first { $0.name.lowercased() == "replaces" }?.value
        referredBy = request.header(.referredBy)
        isQuiet = request.header("Refer-Sub")?.lowercased().hasPrefix("false") == true
    }

    /// The value of Refer-To for an attended transfer: whoever calls `target` so takes the place of the dialog (RFC 3891 section 3).
    /// - Parameters:
    ///   - dialog: the dialog of this end with the target.
    ///   - localTag: this end's tag in it.
    package static func value(replacing dialog: Dialog, localTag: [UInt8]) -> [UInt8] {
        var writer = MessageWriter(capacity: 160)
        writer.append("<")
        writer.append(dialog.remoteTarget)
        writer.append("?Replaces=")
        writer.append(escaped(dialog.callID))
        writer.append("%3Bto-tag%3D")
        writer.append(escaped(dialog.remoteTag))
        writer.append("%3Bfrom-tag%3D")
        writer.append(escaped(localTag))
        writer.append(">")
        return writer.octets
    }

    /// The status in a message/sipfrag body (RFC 3420); nil when there is none.
    package static func status(inFragment body: some Sequence<UInt8>) -> Int? {
        let line = body.prefix { $0 != Octet.cr && $0 != Octet.lf }
        guard line.count >= 11, text(Array(line[..<8])) == "SIP/2.0 " else { return nil }
        guard let status = Int(text(Array(line[8..<11]))), (100...699).contains(status) else { return nil }
        return status
    }

    /// Whether a NOTIFY is the last of its subscription.
    package static func isLast(_ notify: Message) -> Bool {
        notify.header(.subscriptionState)?.lowercased().hasPrefix("terminated") ?? false
    }

    /// The rows and the body of a NOTIFY about the call that was asked for.
    package static func notification(_ status: Int, isLast: Bool) -> (rows: [UInt8], body: [UInt8]) {
        var rows = MessageWriter(capacity: 96)
        rows.append("Event: refer\r\nSubscription-State: ")
        if isLast { rows.append("terminated;reason=noresource\r\n") } else { rows.append("active;expires=60\r\n") }
        var body = MessageWriter(capacity: 48)
        body.append("SIP/2.0 ")
        body.append(status)
        body.append(" ")
        body.append(statusPhrase(status))
        body.endLine()
        return (rows.octets, body.octets)
    }

    /// What is no unreserved octet of a header in a URI as %HH (RFC 3261 section 25.1).
    private static func escaped(_ octets: some Sequence<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        for octet in octets {
            let isPlain =
                (48...57).contains(octet) || (65...90).contains(octet) || (97...122).contains(octet) || octet == 45 || octet == 46
                || octet == 95 || octet == 126
            if isPlain {
                result.append(octet)
            } else {
                result += [Octet.percent, hexadecimalDigit(octet >> 4), hexadecimalDigit(octet & 15)]
            }
        }
        return result
    }

    private static func hexadecimalDigit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 55 + value }
}
