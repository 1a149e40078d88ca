// Keys that somebody presses while a command runs.

import Reactor

/// Hands keys to whoever listens at the moment; others are lost. From any thread.
package final class KeyPresses: Sendable {
    private let handler = Locked<(@Sendable (Character) -> Void)?>(nil)

    package init() {}

    package func press(_ key: Character) { handler.withLock { $0 }?(key) }

    /// nil: nobody listens any more.
    package func handle(_ action: (@Sendable (Character) -> Void)?) { handler.withLock { $0 = action } }
}
