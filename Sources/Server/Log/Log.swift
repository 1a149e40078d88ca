// The log of a server. Writing may block (a pipe whose reader is slow), so lines go to a thread of their own; when too many wait, new
// ones are dropped and counted, and the next line that gets through says how many.

package import Reactor

package final class Log: Sendable {
    private struct State {
        var settings: Configuration.Log
        var waiting = 0
        var dropped: UInt64 = 0
    }

    private let loop: EventLoop
    private let write: @Sendable (String) -> Void
    private let state: Locked<State>
    private let capacity: Int

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
    package func add(_ line: @autoclosure () -> LogLine) {
        let line = line()
        guard takes(line.level) else { return }
        let isTaken = state.withLock { state in
            guard state.waiting < capacity else {
                state.dropped += 1
                return false
            }
            state.waiting += 1
            return true
        }
        guard isTaken else { return }
        loop.execute { [self] in
            let (dropped, format) = state.withLock { state in
                state.waiting -= 1
                defer { state.dropped = 0 }
                return (state.dropped, state.settings.format)
            }
            if dropped > 0 {
                write(
                    LogLine(.warning, "\(dropped) lines of the log were dropped: its reader is too slow").text(format)
                        + "\n")
            }
            write(line.text(format) + "\n")
        }
    }
}
