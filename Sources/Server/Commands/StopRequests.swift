// Ctrl-C and SIGTERM of a command that ends in an orderly way: the first drains, the next ends.

import Reactor

/// Hands requests to stop to whoever can, also those that came before. From any thread.
package final class StopRequests: Sendable {
    private struct State: Sendable {
        var count = 0
        var handler: (@Sendable (Int) -> Void)?
    }

    private let state = Locked(State())

    package init() {}

    /// How often it was asked for.
    package var count: Int { state.withLock { $0.count } }

    /// Somebody wants the command to end.
    /// - Parameter atOnce: calls that run are not waited for, as if it had been asked for before.
    package func request(atOnce: Bool = false) {
        let (count, handler) = state.withLock { state in
            state.count = max(state.count + 1, atOnce ? 2 : 1)
            return (state.count, state.handler)
        }
        handler?(count)
    }

    /// `action` gets how often it was asked for; nil: nobody listens any more.
    package func handle(_ action: (@Sendable (Int) -> Void)?) {
        let count = state.withLock { state in
            state.handler = action
            return state.count
        }
        if count > 0 { action?(count) }
    }
}
