// What this program has changed about the terminal, and the way back: at the end, and from a signal that ends the process.

import Foundation
import Reactor

enum TerminalState {
    /// Only changed before other threads draw, and read by a signal's handler, which may take no lock.
    private nonisolated(unsafe) static var before: termios?
    private nonisolated(unsafe) static var hasScreen = false
    /// What SIGTSTP does without a screen; nil: as it does.
    private nonisolated(unsafe) static var suspension: __sighandler_t?

    /// Keys come one by one and are not shown; Ctrl-C stays a signal. False when the terminal does not do it.
    /// - Parameter suspends: Ctrl-Z stops the process; a screen would stay behind, and a load would stand still.
    static func takeKeys(suspends: Bool) -> Bool {
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return false }
        before = settings
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        if !suspends { withUnsafeMutableBytes(of: &settings.c_cc) { $0[Int(VSUSP)] = 0 } }
        restoreOnSignals()
        return tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0
    }

    /// The other screen, without its cursor. SIGTSTP, whoever sends it, does nothing while it is there.
    static func enterScreen() {
        hasScreen = true
        suspension = signal(SIGTSTP, SIG_IGN)
        restoreOnSignals()
        write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J")
    }

    /// All as it was before. As often as wanted, and from a signal's handler: it calls nothing that may not be called there.
    static func restore() {
        if hasScreen {
            hasScreen = false
            let bytes: StaticString = "\u{1B}[?25h\u{1B}[?1049l"
            _ = Glibc.write(STDOUT_FILENO, bytes.utf8Start, bytes.utf8CodeUnitCount)
            signal(SIGTSTP, suspension)
        }
        if var settings = before {
            before = nil
            tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        }
    }

    /// Signals that end the process and that nobody else hears.
    private static func restoreOnSignals() {
        for number in [SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE] {
            signal(number) { number in
                TerminalState.restore()
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }

    /// All of it, whatever time the terminal takes; one that is gone gets nothing.
    static func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var ready = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                _ = poll(&ready, 1, 100)
            } else if errno != EINTR {
                return
            }
        }
    }
}
