// Starts a real program (sipp, baresip, tshark, and those of Heavy/) for a test: in a folder of its own, without input unless the test
// types, its output kept in a file, for a bounded time, and ended by its own process.

import Foundation
import Reactor

/// A program that runs beside the test. Whoever makes it calls `stop()` or waits for its end; it is ended with the object.
final class PeerProgram {
    let name: String
    let folder: TemporaryFolder
    private let process = Process()
    private let ended = Locked(false)
    private let outputPath: String
    private let keyboard: Pipe?

    /// Whether the program is there; a test that needs it is skipped otherwise.
    static func isInstalled(_ name: String) -> Bool { path(of: name) != nil }

    private static func path(of name: String) -> String? {
        if name.hasPrefix("/") { return FileManager.default.isExecutableFile(atPath: name) ? name : nil }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") + ["/usr/bin", "/usr/sbin"]
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// - Parameters:
    ///   - name: a program on the PATH, or the path of one.
    ///   - more: added to this process's environment.
    ///   - reads: whether the program gets what `type` writes; it has no input otherwise.
    init(
        _ name: String, _ arguments: [String], in folder: TemporaryFolder, environment more: [String: String] = [:],
        reads: Bool = false
    ) throws {
        guard let path = name.hasPrefix("/") ? name : Self.path(of: name) else { throw PeerError.missing(name) }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        self.name = name
        self.folder = folder
        outputPath = folder.path("\(URL(fileURLWithPath: path).lastPathComponent)-\(UInt32.random(in: .min ... .max)).out")
        _ = FileManager.default.createFile(atPath: outputPath, contents: nil)
        guard let output = FileHandle(forWritingAtPath: outputPath) else { throw PeerError.missing(outputPath) }
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.currentDirectoryURL = folder.url
        // It may be gone when something is typed.
        if reads { ProcessSignal.ignoreBrokenPipes() }
        keyboard = reads ? Pipe() : nil
        process.standardInput = keyboard ?? FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        var environment = ProcessInfo.processInfo.environment
        environment["TERM"] = "dumb"
        environment["HOME"] = folder.url.path
        process.environment = environment.merging(more) { _, new in new }
        process.terminationHandler = { [ended] _ in ended.withLock { $0 = true } }
        try Self.withoutBlockedSignals { try process.run() }
        try? output.close()
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

    /// Waits for its end and returns its exit status; nil when it had to be ended because it still ran after `limit`.
    func wait(_ limit: Duration) -> Int32? {
        guard hasEnded(within: limit) else {
            stop()
            return nil
        }
        return process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
    }

    private func hasEnded(within limit: Duration) -> Bool {
        let end = ContinuousClock.now + limit
        while !ended.withLock({ $0 }) {
            guard ContinuousClock.now < end else { return false }
            usleep(5000)
        }
        return true
    }

    /// Writes a line to its standard input.
    func type(_ line: String) {
        guard process.isRunning else { return }
        try? keyboard?.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Asks it to end (SIGTERM), and ends it when it does not within five seconds.
    func stop() {
        guard !hasEnded(within: .zero) else { return }
        process.terminate()
        if !hasEnded(within: .seconds(5)) {
            kill(process.processIdentifier, SIGKILL)
            _ = hasEnded(within: .seconds(2))
        }
    }

    /// Everything that it wrote so far.
    var output: String {
        (try? Data(contentsOf: URL(fileURLWithPath: outputPath))).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Waits until its output has `text`.
    func waitForOutput(_ text: String, _ limit: Duration = .seconds(5)) -> Bool {
        waitUntil(limit) { self.output.contains(text) || self.process.isRunning == false } && output.contains(text)
    }
}

enum Peers {
    /// Whether the slower ways through the same code are taken too (`scripts/test --peers`).
    static let isAll = ProcessInfo.processInfo.environment["RINGWRIGHT_PEERS"] == "all"
}

enum PeerError: Error {
    case missing(String)
}

/// A folder that goes with its object.
final class TemporaryFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("ringwright-peers-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: url.appendingPathComponent(name))
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: url.appendingPathComponent(name))
    }

    /// The files whose names end so, sorted.
    func files(endingWith end: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
        return names.filter { $0.hasSuffix(end) }.sorted().map(path)
    }

    func text(_ name: String) -> String {
        (try? Data(contentsOf: url.appendingPathComponent(name))).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

/// Looks every few milliseconds whether something real came true, since real programs have no virtual time.
func waitUntil(_ limit: Duration, _ condition: () -> Bool) -> Bool {
    let deadline = ContinuousClock.now + limit
    while !condition() {
        if ContinuousClock.now > deadline { return condition() }
        usleep(5_000)
    }
    return true
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
