// A screen of the whole terminal: drawn on a thread of its own, so that a terminal that stands still holds up nothing, and taken back at
// the end, however the program ends. The terminal's other screen buffer is used (xterm's ?1049): what stood there before comes back.

import Foundation
import Reactor
import Server

final class FullScreen: Sendable {
    private let screen: LoadScreen
    private let loop: EpollLoop
    private let isWaiting = Locked(false)
    private let isOver = Locked(false)

    /// Whether standard output is a terminal that can show one, with somebody at its keys.
    static var isPossible: Bool {
        let kind = ProcessInfo.processInfo.environment["TERM"] ?? ""
        return isatty(STDOUT_FILENO) == 1 && isatty(STDIN_FILENO) == 1 && !kind.isEmpty && kind != "dumb"
            && tcgetpgrp(STDIN_FILENO) == getpgrp()
    }

    /// nil when there is no thread for it.
    init?(_ screen: LoadScreen) {
        guard let loop = try? EpollLoop(name: "screen"), (try? loop.start()) != nil else { return nil }
        (self.screen, self.loop) = (screen, loop)
        TerminalState.enterScreen()
        try? loop.runAndWait { [self] () throws(SystemError) in
            _ = try SignalSource(loop: loop, signals: [.windowChange]) { _ in self.draw() }
        }
        screen.onChange { [self] in drawSoon() }
        drawSoon()
    }

    /// Many changes while one is drawn are drawn once.
    private func drawSoon() {
        let isFirst = isWaiting.withLock { waiting in
            defer { waiting = true }
            return !waiting
        }
        guard isFirst else { return }
        loop.execute { [self] in
            isWaiting.withLock { $0 = false }
            draw()
        }
    }

    private func draw() {
        guard !isOver.withLock({ $0 }) else { return }
        TerminalState.write(screen.frame(Self.style))
    }

    /// As the terminal is at this moment.
    private static var style: ScreenStyle {
        var size = winsize()
        let isKnown = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 && size.ws_row > 0
        let environment = ProcessInfo.processInfo.environment
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        return ScreenStyle(
            columns: isKnown ? Int(size.ws_col) : 80, rows: isKnown ? Int(size.ws_row) : 24,
            hasColor: (environment["NO_COLOR"] ?? "").isEmpty, isUnicode: locale.lowercased().contains("utf"))
    }

    /// Gives the terminal back. Once.
    func stop() {
        screen.onChange(nil)
        isOver.withLock { $0 = true }
        // What is being drawn is drawn to its end.
        loop.stop(within: .seconds(1))
        TerminalState.restore()
    }
}
