// INVITE server transaction (RFC 3261 section 17.2.1, figure 7; RFC 6026 section 7.1).
//
//   state       event             next         actions
//   -           start             proceeding   deliver, trying
//   proceeding  INVITE            proceeding   send (the latest provisional response, if any)
//               trying            proceeding   100, when nothing was sent yet
//               respond 1xx       proceeding   send
//               respond 2xx       accepted     send, L
//               respond 3xx-6xx   completed    send, G (datagrams), H
//   completed   INVITE            completed    send
//               G                 completed    send, G = min(doubled, T2)
//               H                 terminated   timed out (no ACK)
//               ACK               confirmed    I                (reliable transport: terminated)
//   confirmed   I                 terminated
//   accepted    respond 2xx       accepted     send             (the user repeats it until the ACK)
//               ACK               accepted     deliver
//               L                 terminated
//   any         transport error   terminated   transport failed (accepted: absorbed, the user repeats)
// Anything else is absorbed.

/// The INVITE server transaction.
package struct InviteServerMachine: Sendable {
    package enum State: UInt8, Sendable { case proceeding, completed, confirmed, accepted, terminated }

    package private(set) var state = State.proceeding
    let isReliable: Bool
    package private(set) var doublings: UInt8 = 0
    private var hasResponded = false

    package init(isReliable: Bool) {
        self.isReliable = isReliable
    }

    package mutating func start() -> TransactionStep { [.deliver, .arm(.trying)] }

    /// The INVITE came again.
    package func repeated() -> TransactionStep {
        switch state {
        case .proceeding: hasResponded ? .send : .nothing
        case .completed: .send
        default: .nothing
        }
    }

    /// The user gives a response.
    package mutating func respond(status: Int) -> TransactionStep {
        switch (state, status) {
        case (.proceeding, ..<200):
            hasResponded = true
            return .send
        case (.proceeding, ..<300):
            state = .accepted
            return [.send, .arm(.l)]
        case (.proceeding, _):
            state = .completed
            return isReliable ? [.send, .arm(.h)] : [.send, .arm(.g), .arm(.h)]
        case (.accepted, 200..<300): return .send
        default: return .nothing
        }
    }

    /// An ACK that matches this transaction.
    package mutating func acknowledged() -> TransactionStep {
        switch state {
        case .completed:
            state = isReliable ? .terminated : .confirmed
            return isReliable ? .ended : .arm(.i)
        case .accepted: return .deliver
        default: return .nothing
        }
    }

    package mutating func fired(_ timer: TransactionTimer) -> TransactionStep {
        switch (state, timer) {
        case (.proceeding, .trying): return hasResponded ? .nothing : .sendTrying
        case (.completed, .g):
            doublings += 1
            return [.send, .arm(.g)]
        case (.completed, .h):
            state = .terminated
            return [.timedOut, .ended]
        case (.confirmed, .i), (.accepted, .l):
            state = .terminated
            return .ended
        default: return .nothing
        }
    }

    package mutating func transportFailed() -> TransactionStep {
        guard state == .proceeding || state == .completed else { return .nothing }
        state = .terminated
        return [.transportFailed, .ended]
    }
}
