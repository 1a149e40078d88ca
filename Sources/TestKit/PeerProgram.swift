// Starts a real program (sipp, baresip, tshark, ringwright itself) for a test: in a folder, without input unless the test types, its
// output kept, for a bounded time, and ended by its own process.

import Foundation
import Reactor

/// A program that runs beside the test. Whoever makes it calls `stop()` or waits for its end; it is ended with the object.
package final class PeerProgram {
    package let name: String
    private let folder: TemporaryFolder
    private let process = Process()
    private let keyboard: Pipe?
    private let pipe = Pipe()
    private let said: Output
    private let hasEnded = Locked(false)
    private let changes: Changes

    /// Where a program of this name is; nil: it is not installed.
    package static func path(of name: String) -> String? {
        if name.hasPrefix("/") { return FileManager.default.isExecutableFile(atPath: name) ? name : nil }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") + ["/usr/bin", "/usr/sbin"]
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Ringwright itself, built beside the tests.
    package static let ringwright =
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(path: "ringwright").path

    /// - Parameters:
    ///   - path: of the program.
    ///   - folder: where it runs, its home as well; it stays as long as the program.
    ///   - more: added to this process's environment.
    ///   - reads: whether the program gets what `type` writes; it has no input otherwise.
    package init(
        path: String, _ arguments: [String], in folder: TemporaryFolder, environment more: [String: String] = [:],
        reads: Bool = false
    ) throws {
        name = path.split(separator: "/").last.map(String.init) ?? path
        self.folder = folder
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.currentDirectoryURL = folder.url
        // It may be gone when something is typed.
        if reads { ProcessSignal.ignoreBrokenPipes() }
        keyboard = reads ? Pipe() : nil
        process.standardInput = keyboard ?? FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        let environment = ProcessInfo.processInfo.environment.merging(["TERM": "dumb", "HOME": folder.url.path]) { _, new in new }
        process.environment = environment.merging(more) { _, new in new }
        let said = Output(pipe.fileHandleForReading.fileDescriptor)
        self.said = said
        let changes = said.changes
        self.changes = changes
        process.terminationHandler = { [hasEnded, changes] _ in
            hasEnded.withLock { $0 = true }
            changes.tell()
        }
        try Self.withoutBlockedSignals { try process.run() }
        // Its end alone is open from now on, and that of what it starts.
        try? pipe.fileHandleForWriting.close()
        Thread.detachNewThread { [reading = pipe.fileHandleForReading] in
            said.follow()
            try? reading.close()
        }
    }

    deinit { stop() }

    /// A program takes over the signal mask of the thread that starts it, and a test's thread blocks nearly all: the program would
    /// never hear SIGTERM, nor its own timers.
    private static func withoutBlockedSignals(_ body: () throws -> Void) rethrows {
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try body()
    }

    // MARK: What it says, and what it is told

    /// What came by the pipe.
    private final class Output: Sendable {
        let changes = Changes()
        private let heard = Locked((bytes: [UInt8](), isOver: false))
        private let descriptor: Int32

        init(_ descriptor: Int32) {
            self.descriptor = descriptor
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        }

        /// Takes what comes until everybody has closed the pipe. On a thread of its own: a source of Dispatch cannot be taken back safely
        /// while it reports.
        func follow() {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            repeat { poll(&waiting, 1, -1) } while !gather()
        }

        /// Takes what is in the pipe; true when everybody has closed it. Then nobody reads any more: the descriptor may be another's.
        @discardableResult
        func gather() -> Bool {
            let (hasMore, isOver) = heard.withLock { heard in
                let before = heard.bytes.count
                var buffer = [UInt8](repeating: 0, count: 65536)
                while !heard.isOver {
                    let count = read(descriptor, &buffer, buffer.count)
                    heard.isOver = count == 0
                    guard count > 0 else { break }
                    heard.bytes += buffer[..<count]
                }
                return (heard.bytes.count > before, heard.isOver)
            }
            if hasMore { changes.tell() }
            return isOver
        }

        var text: String {
            gather()
            return heard.withLock { String(decoding: $0.bytes, as: UTF8.self) }
        }
    }

    /// Everything that it wrote so far.
    package var output: String { said.text }

    /// Waits until `condition` holds, which is asked again after each output and at the program's end.
    package func wait(_ limit: Duration, until condition: (PeerProgram) -> Bool) -> Bool {
        changes.wait(within: limit) { condition(self) || !isRunning } && condition(self)
    }

    /// Waits until its output has `text` so many times.
    package func waitForOutput(_ text: String, times: Int = 1, _ limit: Duration = .seconds(5)) -> Bool {
        wait(limit) { $0.output.components(separatedBy: text).count > times }
    }

    /// Writes a line to its standard input.
    package func type(_ line: String) {
        guard isRunning else { return }
        try? keyboard?.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    }

    // MARK: Its end

    package var isRunning: Bool { !hasEnded.withLock { $0 } }
    package var processIdentifier: Int32 { process.processIdentifier }
    package func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits for its end and returns its exit status; nil when it had to be ended because it still ran after `limit`.
    package func wait(_ limit: Duration) -> Int32? {
        guard ends(within: limit) else {
            stop()
            return nil
        }
        return process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
    }

    private func ends(within limit: Duration) -> Bool { changes.wait(within: limit) { !isRunning } }

    /// Asks it to end (SIGTERM), and ends it when it does not within five seconds.
    package func stop() {
        guard isRunning else { return }
        process.terminate()
        if !ends(within: .seconds(5)) {
            signal(SIGKILL)
            _ = ends(within: .seconds(2))
        }
    }
}
