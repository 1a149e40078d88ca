// An INVITE that this end sends. Whoever has written it knows what it says: it is read as a message only where somebody asks more of it.

/// An INVITE of ours: its octets, and the values of it that its dialogs are made of. It never changes, so that one is shared.
package final class OutgoingInvite: Sendable {
    /// As it is sent.
    package let octets: [UInt8]
    /// The Request-URI.
    package let uri: [UInt8]
    /// The value of From, with `tag`.
    package let from: [UInt8]
    package let tag: [UInt8]
    package let callID: [UInt8]
    package let cSeq: UInt32
    /// The offer; empty without one.
    package let body: [UInt8]

    /// - Parameter octets: what a `MessageWriter` made of the other values.
    package init(
        octets: [UInt8], uri: [UInt8], from: [UInt8], tag: [UInt8], callID: [UInt8], cSeq: UInt32, body: [UInt8]
    ) {
        self.octets = octets
        self.uri = uri
        self.from = from
        self.tag = tag
        self.callID = callID
        self.cSeq = cSeq
        self.body = body
    }

    /// As the other end reads it; read anew each time.
    package var message: Message {
        guard let message = try? Message(parsing: octets) else { preconditionFailure("our own INVITE can be read") }
        return message
    }
}
