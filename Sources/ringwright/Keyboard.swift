// Single keys of a terminal, without Enter and without echo; the terminal is as before at the end.

import Foundation
import Reactor

final class Keyboard: Sendable {
    private let isOver = Locked(false)

    /// nil when nobody sits there: standard input is no terminal, or nobody sees what keys do, or this process is in its background, where
    /// the terminal stops whoever changes its settings.
    /// - Parameter suspends: whether Ctrl-Z stops the process.
    init?(suspends: Bool = true, _ action: @escaping @Sendable (Character) -> Void) {
        guard isatty(STDIN_FILENO) == 1, Terminal.isWatched || FullScreen.isPossible, tcgetpgrp(STDIN_FILENO) == getpgrp(),
            TerminalState.takeKeys(suspends: suspends)
        else { return nil }
        let isOver = self.isOver
        Thread.detachNewThread {
            while !isOver.withLock({ $0 }) {
                var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                guard poll(&input, 1, 200) > 0 else { continue }
                var byte: UInt8 = 0
                guard read(STDIN_FILENO, &byte, 1) == 1 else { return }
                action(Character(UnicodeScalar(byte)))
            }
        }
    }

    func stop() {
        isOver.withLock { $0 = true }
        TerminalState.restore()
    }
}
