// INVITE client transaction (RFC 3261 section 17.1.1, figure 5; RFC 6026 section 7.2).
//
//   state       event             next         actions
//   -           start             calling      send, A (datagrams), B
//   calling     A                 calling      send, A doubled
//               B                 terminated   timed out
//   calling,    1xx               proceeding   deliver
//   proceeding  2xx               accepted     deliver, M
//               3xx-6xx           completed    deliver, ACK, D   (reliable transport: terminated)
//               cancelled         same         cancelled timer
//               cancelled timer   terminated   timed out
//   completed   3xx-6xx           completed    ACK
//               D                 terminated
//   accepted    2xx               accepted     deliver
//               M                 terminated
//   any         transport error   terminated   transport failed
// Anything else is absorbed.

/// The INVITE client transaction.
package struct InviteClientMachine: Sendable {
    package enum State: UInt8, Sendable { case calling, proceeding, completed, accepted, terminated }

    package private(set) var state = State.calling
    let isReliable: Bool
    package private(set) var doublings: UInt8 = 0

    package init(isReliable: Bool) {
        self.isReliable = isReliable
    }

    /// The request goes out.
    package mutating func start() -> TransactionStep {
        isReliable ? [.send, .arm(.b)] : [.send, .arm(.a), .arm(.b)]
    }

    /// A response came.
    package mutating func received(status: Int) -> TransactionStep {
        switch (state, status) {
        case (.calling, ..<200), (.proceeding, ..<200):
            state = .proceeding
            return .deliver
        case (.calling, ..<300), (.proceeding, ..<300):
            state = .accepted
            return [.deliver, .arm(.m)]
        case (.calling, _), (.proceeding, _):
            state = isReliable ? .terminated : .completed
            return isReliable ? [.deliver, .sendACK, .ended] : [.deliver, .sendACK, .arm(.d)]
        case (.completed, 300...): return .sendACK
        case (.accepted, 200..<300): return .deliver
        default: return .nothing
        }
    }

    /// A CANCEL for it was sent.
    package mutating func cancelled() -> TransactionStep {
        state == .calling || state == .proceeding ? .arm(.cancelled) : .nothing
    }

    package mutating func fired(_ timer: TransactionTimer) -> TransactionStep {
        switch (state, timer) {
        case (.calling, .a):
            doublings += 1
            return [.send, .arm(.a)]
        case (.calling, .b), (.calling, .cancelled), (.proceeding, .cancelled):
            state = .terminated
            return [.timedOut, .ended]
        case (.completed, .d), (.accepted, .m):
            state = .terminated
            return .ended
        default: return .nothing
        }
    }

    package mutating func transportFailed() -> TransactionStep {
        guard state != .terminated, state != .accepted else { return .nothing }
        state = .terminated
        return [.transportFailed, .ended]
    }
}
