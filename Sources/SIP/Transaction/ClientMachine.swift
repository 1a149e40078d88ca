// Client transaction of every other request (RFC 3261 section 17.1.2, figure 6).
//
//   state       event             next         actions
//   -           start             trying       send, E (datagrams), F
//   trying      E                 trying       send, E = min(doubled, T2)
//   proceeding  E                 proceeding   send, E = T2
//   trying,     F                 terminated   timed out
//   proceeding  1xx               proceeding   deliver
//               2xx-6xx           completed    deliver, K       (reliable transport: terminated)
//   completed   K                 terminated
//   any         transport error   terminated   transport failed
// Anything else is absorbed.

/// The non-INVITE client transaction.
package struct ClientMachine: Sendable {
    package enum State: UInt8, Sendable { case trying, proceeding, completed, terminated }

    package private(set) var state = State.trying
    let isReliable: Bool
    package private(set) var doublings: UInt8 = 0

    package init(isReliable: Bool) {
        self.isReliable = isReliable
    }

    /// The request goes out.
    package mutating func start() -> TransactionStep {
        isReliable ? [.send, .arm(.f)] : [.send, .arm(.e), .arm(.f)]
    }

    /// A response came.
    package mutating func received(status: Int) -> TransactionStep {
        guard state == .trying || state == .proceeding else { return .nothing }
        if status < 200 {
            state = .proceeding
            return .deliver
        }
        state = isReliable ? .terminated : .completed
        return isReliable ? [.deliver, .ended] : [.deliver, .arm(.k)]
    }

    package mutating func fired(_ timer: TransactionTimer) -> TransactionStep {
        switch (state, timer) {
        case (.trying, .e):
            doublings += 1
            return [.send, .arm(.e)]
        case (.proceeding, .e):
            doublings = 6  // 64*T1 is beyond T2, which bounds the interval
            return [.send, .arm(.e)]
        case (.trying, .f), (.proceeding, .f):
            state = .terminated
            return [.timedOut, .ended]
        case (.completed, .k):
            state = .terminated
            return .ended
        default: return .nothing
        }
    }

    package mutating func transportFailed() -> TransactionStep {
        guard state == .trying || state == .proceeding else { return .nothing }
        state = .terminated
        return [.transportFailed, .ended]
    }
}
