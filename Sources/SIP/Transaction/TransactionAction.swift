// What the transaction layer gives out: what to send, and what its user must know.

/// Names one transaction of a layer; never used again.
package struct TransactionID: Hashable, Sendable {
    let slot: UInt32
    let generation: UInt32

    /// A small number that no other transaction of the layer has at the same time.
    package var place: Int { Int(slot) }
}

/// An action of the layer, to be done in order.
package enum TransactionAction: Sendable {
    /// Send the octets.
    case send([UInt8], to: Hop)
    /// A new request that passed `check()`, with its server transaction: answer it by `respond`.
    case request(Message, TransactionID, from: Hop)
    /// An ACK that belongs to a 2xx, or to nothing known: find its dialog. Never answered.
    case acknowledgement(Message, from: Hop)
    /// A CANCEL: answer 200 and end `invite` with 487, or answer 481 when `invite` is nil.
    case cancel(Message, TransactionID, invite: TransactionID?, from: Hop)
    /// A response for a client transaction (for INVITE also every further 2xx).
    case response(Message, TransactionID, from: Hop)
    /// A 2xx to an INVITE whose transaction is over: the dialog sends the ACK again.
    case strayResponse(Message, from: Hop)
    /// Client: no final response came (as 408). Server: no ACK came for a 3xx to 6xx.
    case timedOut(TransactionID)
    /// The message could not be sent (as 503).
    case transportFailed(TransactionID)
    /// The transaction is forgotten. It comes last, once for each transaction.
    case ended(TransactionID)
}
