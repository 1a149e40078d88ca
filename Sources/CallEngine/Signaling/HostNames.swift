// Host names as numbers, so that a hop can say which name its peer's certificate has to be for without carrying text.

import Reactor

/// The names that were called over TLS, for all loops of an engine.
package final class HostNames: Sendable {
    private struct State {
        var numbers: [String: UInt32] = [:]
        var names: [UInt32: String] = [:]
        var last: UInt32 = 0
    }

    private let state = Locked(State())
    /// Then it starts anew: a call that is older than so many other names cannot connect again.
    private static let capacity = 100_000

    package init() {}

    package func number(of name: String) -> UInt32 {
        state.withLock { state in
            if let known = state.numbers[name] { return known }
            if state.names.count >= Self.capacity { (state.numbers, state.names) = ([:], [:]) }
            state.last += 1
            state.numbers[name] = state.last
            state.names[state.last] = name
            return state.last
        }
    }

    package func name(_ number: UInt32) -> String? { state.withLock { $0.names[number] } }
}
