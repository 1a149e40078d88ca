// A log with a thread of its own, and its orderly end: nothing that was taken is lost.

import Reactor

package final class LogThread: Sendable {
    package let log: Log
    private let loop: EpollLoop

    /// - Parameter write: takes whole lines, on the log's thread; it may block.
    package init(_ settings: Configuration.Log, write: @escaping @Sendable (String) -> Void) throws(CommandFailure) {
        do throws(SystemError) {
            loop = try EpollLoop(name: "log")
            try loop.start()
        } catch {
            throw CommandFailure(.unable, "the log has no thread: \(error)")
        }
        log = Log(settings, on: loop, write: write)
    }

    /// Writes what waits, and ends the thread. Lines that come later are lost. Once, and not from a loop.
    package func stop() {
        loop.runAndWait { self.log.flush() }
        loop.stop()
    }
}
