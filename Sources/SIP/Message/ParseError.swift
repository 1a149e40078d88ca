// What can be wrong with a message from outside, where it is, and which status a server answers (RFC 3261 sections 8.2, 16.3, 18.3).

/// A fault of a received message.
package struct ParseError: Error, Equatable, Sendable {
    /// What is wrong.
    package enum Fault: String, Sendable {
        case empty, startLine, version, tooLarge, tooManyHeaders, headerName, missingColon, noEndOfHeaders
        case missingHeader, duplicateHeader, via, nameAddress, uri, scheme, cSeq, methodMismatch, unknownMethod
        case contentLength, truncatedBody, number, parameter, quotedString, list, callID
    }

    package var fault: Fault
    /// The octet in the message at which it was noticed.
    package var offset: Int
    /// The status that a server answers when the message is a request that can be answered.
    package var status: Int {
        switch fault {
        case .version: 505
        case .scheme: 416
        case .unknownMethod: 501
        case .tooLarge, .tooManyHeaders: 513
        default: 400
        }
    }

    package init(_ fault: Fault, at offset: Int) {
        self.fault = fault
        self.offset = offset
    }
}

/// Bounds against hostile input.
package struct MessageLimits: Sendable {
    /// The largest message, head and body, in octets.
    package var messageSize = 65_535
    /// The largest head (start line and header fields) on a stream, in octets.
    package var headSize = 32_768
    /// The largest number of header rows.
    package var headerCount = 200

    package init() {}
    package static let standard = MessageLimits()
}
