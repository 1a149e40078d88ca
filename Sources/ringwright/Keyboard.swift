// Single keys of a terminal, without Enter and without echo; the terminal is as before at the end.

import Foundation
import Reactor

final class Keyboard: Sendable {
    private let before: termios
    private let isOver = Locked(false)

    /// nil when nobody sits there: standard input or error is no terminal, or this process is in its background, where the terminal
    /// stops whoever changes its settings.
    init?(_ action: @escaping @Sendable (Character) -> Void) {
        guard isatty(STDIN_FILENO) == 1, Terminal.isWatched, tcgetpgrp(STDIN_FILENO) == getpgrp() else { return nil }
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        before = settings
        // Ctrl-C stays a signal.
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
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
        var settings = before
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }
}
