// What every message of ours says about this end: Via's sent-by, Contact, and the headers that are the same in all of them.

package import Basics

/// This end of a call, as octets that are ready to be written. It never changes, so that all calls over one socket share it.
package final class LocalEnd: Sendable {
    package let transport: Transport
    /// Host and port for Via: `192.0.2.1:5060`.
    package let sentBy: [UInt8]
    /// The value of Contact: `<sip:bot@192.0.2.1:5060>`.
    package let contact: [UInt8]
    /// Whole header rows, each ended by CRLF, for requests and for answers that make or change a dialog:
    /// Allow, Supported, User-Agent.
    package let headers: [UInt8]

    /// - Parameters:
    ///   - host: stands for the address where that is of no use to the peer.
    ///   - user: the user part of Contact, escaped; empty for none.
    ///   - secure: Contact is a SIPS URI, as a dialog that was asked for by one needs it (RFC 3261 sections 8.1.1.8, 12.1.1).
    package init(
        transport: Transport, address: SocketAddress, host: [UInt8]? = nil, user: String = "", secure: Bool = false,
        headers: [UInt8] = []
    ) {
        self.transport = transport
        var writer = MessageWriter(capacity: 48)
        writer.append(address)
        sentBy = host ?? writer.octets
        writer = MessageWriter(capacity: 64)
        writer.append(secure ? "<sips:" : "<sip:")
        if !user.isEmpty {
            writer.append(safe: user)
            writer.append("@")
        }
        writer.append(sentBy)
        switch transport {
        case .tcp: writer.append(";transport=tcp")
        // TLS is what a SIPS URI means; the parameter is for SIP URIs alone (RFC 5630 section 3.1.4).
        case .tls: if !secure { writer.append(";transport=tls") }
        case .ws, .wss: writer.append(";transport=ws")
        case .udp, .other: break
        }
        writer.append(">")
        contact = writer.octets
        self.headers = headers
    }

    private init(_ end: LocalEnd, contact: [UInt8]) {
        transport = end.transport
        sentBy = end.sentBy
        headers = end.headers
        self.contact = contact
    }

    /// This end with another value of Contact.
    package func with(contact: [UInt8]) -> LocalEnd { LocalEnd(self, contact: contact) }
}

extension LocalEnd {
    /// This end with a user and a parameter of our own in its contact, by which requests to it are told apart.
    package func marked(user: String, parameter: String, value: String) -> LocalEnd {
        guard let colon = contact.firstIndex(of: Octet.colon), let close = contact.lastIndex(of: Octet.greater) else {
            return self
        }
        return with(
            contact: contact[...colon] + Array("\(Self.escaped(user: user))@".utf8) + contact[(colon + 1)..<close]
                + Array(";\(parameter)=\(value)>".utf8))
    }

    /// A user name as the user part of a URI (RFC 3261 section 25.1).
    package static func escaped(user: String) -> String {
        var result: [UInt8] = []
        for octet in user.utf8 {
            if Octet.isLetter(octet) || Octet.isDigit(octet) || "-_.!~*'()&=+$,;?/".utf8.contains(octet) {
                result.append(octet)
            } else {
                result += [Octet.percent] + hexadecimal(UInt64(octet)).suffix(2)
            }
        }
        return text(result)
    }
}

/// A request that is ready for a client transaction.
package struct OutgoingRequest: Sendable {
    package var octets: [UInt8]
    package var method: Method
    package var branch: [UInt8]
    /// The URI whose host is to be found and sent to: the first route or the target.
    package var nextHop: [UInt8]
    /// How often it was sent again for a challenge.
    package internal(set) var challenges: UInt8 = 0
}

/// Random branches and tags.
package struct TokenSource: Sendable {
    private var random: SeededRandom

    package init(seed: UInt64) { random = SeededRandom(seed: seed) }

    /// 16 hexadecimal digits.
    package mutating func token() -> [UInt8] { hexadecimal(random.next()) }
    /// A branch with the cookie.
    package mutating func branch() -> [UInt8] { hexadecimal(random.next(), after: branchCookie) }
    /// A number in the range.
    package mutating func number(in range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
}

/// What branches of RFC 3261 begin with.
let branchCookie: StaticString = "z9hG4bK"

/// 16 hexadecimal digits of a number, after `prefix`.
func hexadecimal(_ value: UInt64, after prefix: StaticString = "") -> [UInt8] {
    var octets: [UInt8] = []
    octets.append(addingCapacity: prefix.utf8CodeUnitCount + 16) { output in
        output.append(prefix)
        output.withUnsafeMutableBufferPointer { buffer, count in
            for index in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - index * 4)) & 15
                buffer[count + index] = digit < 10 ? 48 + digit : 87 + digit
            }
            count += 16
        }
    }
    return octets
}

extension MessageWriter {
    /// Starts a request outside a dialog (RFC 3261 section 8.1.1): start line, Via, Max-Forwards, Route, From, To, Call-ID, CSeq,
    /// Contact (not of MESSAGE, RFC 3428 section 4) and the end's own headers. More headers and `finish` follow.
    /// - Parameters:
    ///   - from: the value of From with its tag; `to`: the value of To without one.
    ///   - routes: values of preloaded Route rows.
    package mutating func request(
        _ method: Method, uri: [UInt8], end: LocalEnd, branch: [UInt8], routes: [[UInt8]] = [], from: [UInt8], to: [UInt8],
        callID: [UInt8], cSeq: UInt32
    ) {
        startLine(method, uri, end, branch)
        for route in routes { header("Route", octets: route) }
        header("From", octets: from)
        header("To", octets: to)
        header("Call-ID", octets: callID)
        append("CSeq: ")
        cSeqValue(cSeq, method)
        if method != .register, method != .message { header("Contact", octets: end.contact) }
        append(end.headers)
    }

    mutating func startLine(_ method: Method, _ uri: [UInt8], _ end: LocalEnd, _ branch: [UInt8]) {
        append(capacity: uri.count + end.sentBy.count + branch.count + 128) { output in
            output.append(method.name)
            output.append(" ")
            output.append(uri)
            output.append(" SIP/2.0\r\nVia: SIP/2.0/")
            output.append(end.transport.name)
            output.append(" ")
            output.append(end.sentBy)
            output.append(";branch=")
            output.append(branch)
            // The peer may send its own requests by this connection (RFC 5923 section 8).
            if end.transport == .tls { output.append(";alias") }
            output.append(";rport\r\nMax-Forwards: 70\r\n")
        }
    }

    mutating func cSeqValue(_ number: UInt32, _ method: Method) {
        append(capacity: 64) { output in
            output.append(decimal: UInt(number))
            output.append(" ")
            output.append(method.name)
            output.append("\r\n")
        }
    }
}
