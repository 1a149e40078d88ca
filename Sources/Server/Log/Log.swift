// The log of a server. Writing may block (a pipe whose reader is slow), so lines go to a thread of their own, which writes those of some
// milliseconds in one piece; when too many wait, new ones are dropped and counted, and the next line that gets through says how many.

package import Reactor

package final class Log: Sendable {
    private struct State {
        var settings: Configuration.Log
        var lines: [LogLine] = []
        /// The log's thread is on its way.
        var isAnnounced = false
        var dropped: UInt64 = 0
    }

    private let loop: EventLoop
    private let write: @Sendable (String) -> Void
    private let state: Locked<State>
    private let capacity: Int
    /// Lines wait so long for others, to be written with them.
    private static let gathering = Duration.milliseconds(5)

    /// - Parameters:
    ///   - loop: of the log's own thread; nothing else runs there.
    ///   - write: takes whole lines, with their line breaks; it may block.
    package init(
        _ settings: Configuration.Log, on loop: EventLoop, capacity: Int = 10_000, write: @escaping @Sendable (String) -> Void
    ) {
        state = Locked(State(settings: settings))
        self.loop = loop
        self.capacity = capacity
        self.write = write
    }

    /// Lines that were dropped so far and not told yet.
    package var dropped: UInt64 { state.withLock { $0.dropped } }

    /// Whether lines of this level are written: ask before making a costly one.
    package func takes(_ level: Configuration.Log.Level) -> Bool { level >= state.withLock { $0.settings.level } }

    /// Lines from now on are of this level and format.
    package func change(to settings: Configuration.Log) { state.withLock { $0.settings = settings } }

    /// From any thread.
    package func add(_ line: LogLine) {
        let mustAnnounce = state.withLock { state in
            guard line.level >= state.settings.level else { return false }
            guard state.lines.count < capacity else {
                state.dropped += 1
                return false
            }
            state.lines.append(line)
            defer { state.isAnnounced = true }
            return !state.isAnnounced
        }
        guard mustAnnounce else { return }
        loop.execute { [self] in loop.schedule(after: Self.gathering) { self.flush() } }
    }

    /// Writes what waits, in one piece. On the log's thread.
    package func flush() {
        let (lines, dropped, format) = state.withLock { state in
            defer {
                state.lines = []
                state.dropped = 0
                state.isAnnounced = false
            }
            return (state.lines, state.dropped, state.settings.format)
        }
        var text = ""
        if dropped > 0 {
            text += LogLine(.warning, "\(dropped) lines of the log were dropped: its reader is too slow").text(format) + "\n"
        }
        for line in lines { text += line.text(format) + "\n" }
        if !text.isEmpty { write(text) }
    }
}
