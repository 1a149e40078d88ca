// Methods of requests. They are case-sensitive (RFC 3261 section 7.1), and "%" in them is no escape.

/// A request method. A method that is none of these is `other`; its octets are in the message.
package enum Method: UInt8, Sendable, CaseIterable {
    case invite, ack, bye, cancel, options, register, info, update, prack, message, notify, subscribe, refer, publish
    case other

    /// The method as it goes over the wire; empty for `other`.
    package var name: StaticString {
        switch self {
        case .invite: "INVITE"
        case .ack: "ACK"
        case .bye: "BYE"
        case .cancel: "CANCEL"
        case .options: "OPTIONS"
        case .register: "REGISTER"
        case .info: "INFO"
        case .update: "UPDATE"
        case .prack: "PRACK"
        case .message: "MESSAGE"
        case .notify: "NOTIFY"
        case .subscribe: "SUBSCRIBE"
        case .refer: "REFER"
        case .publish: "PUBLISH"
        case .other: ""
        }
    }

    init(_ base: UnsafePointer<UInt8>, _ range: OctetRange) {
        let candidate: Method
        switch (range.count, range.isEmpty ? 0 : base[Int(range.start)]) {
        case (6, 73): candidate = .invite
        case (3, 65): candidate = .ack
        case (3, 66): candidate = .bye
        case (6, 67): candidate = .cancel
        case (7, 79): candidate = .options
        case (8, 82): candidate = .register
        case (4, 73): candidate = .info
        case (6, 85): candidate = .update
        case (5, 80): candidate = .prack
        case (7, 77): candidate = .message
        case (6, 78): candidate = .notify
        case (9, 83): candidate = .subscribe
        case (5, 82): candidate = .refer
        case (7, 80): candidate = .publish
        default: candidate = .other
        }
        let name = candidate.name
        let start = Int(range.start)
        for index in 0..<name.utf8CodeUnitCount where base[start + index] != name.utf8Start[index] {
            self = .other
            return
        }
        self = candidate
    }
}
