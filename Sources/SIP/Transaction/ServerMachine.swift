// Server transaction of every other request (RFC 3261 section 17.2.2, figure 8).
//
//   state       event             next         actions
//   -           start             trying       deliver
//   trying      respond 1xx       proceeding   send
//   proceeding  request           proceeding   send
//               respond 1xx       proceeding   send
//   trying,     respond 2xx-6xx   completed    send, J          (reliable transport: terminated)
//   proceeding
//   completed   request           completed    send
//               J                 terminated
//   any         transport error   terminated   transport failed
// Anything else is absorbed.

/// The non-INVITE server transaction.
package struct ServerMachine: Sendable {
    package enum State: UInt8, Sendable { case trying, proceeding, completed, terminated }

    package private(set) var state = State.trying
    let isReliable: Bool

    package init(isReliable: Bool) {
        self.isReliable = isReliable
    }

    package mutating func start() -> TransactionStep { .deliver }

    /// The request came again.
    package func repeated() -> TransactionStep {
        state == .proceeding || state == .completed ? .send : .nothing
    }

    /// The user gives a response.
    package mutating func respond(status: Int) -> TransactionStep {
        guard state == .trying || state == .proceeding else { return .nothing }
        if status < 200 {
            state = .proceeding
            return .send
        }
        state = isReliable ? .terminated : .completed
        return isReliable ? [.send, .ended] : [.send, .arm(.j)]
    }

    package mutating func fired(_ timer: TransactionTimer) -> TransactionStep {
        guard state == .completed, timer == .j else { return .nothing }
        state = .terminated
        return .ended
    }

    package mutating func transportFailed() -> TransactionStep {
        guard state != .terminated else { return .nothing }
        state = .terminated
        return [.transportFailed, .ended]
    }
}
