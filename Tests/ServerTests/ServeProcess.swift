// `ringwright serve` as a process of its own, as a service manager sees it: its standard error, its signals, its exit status.

import Basics
import Foundation
import Server

/// A server that runs until it is told to end; one that is left over is killed.
final class ServeProcess {
    let folder: URL
    private let process = Process()

    /// Starts it with a flow and a configuration of the folder's, which is FOLDER in `arguments`.
    init(
        flow: String, configuration: String = "log: { level: info }\n", sip: String = "udp:127.0.0.1:0",
        arguments: [String] = []
    ) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try write(flow, "flow.yaml")
        try write(configuration, "ringwright.yaml")
        try write("", "stderr")
        process.executableURL = Self.program
        process.arguments =
            [
                "serve", folder.appending(path: "flow.yaml").path(), "--config", folder.appending(path: "ringwright.yaml").path(),
                "--sip", sip, "--http", "127.0.0.1:0"
            ] + arguments.map { $0.replacing("FOLDER", with: folder.path()) }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = try FileHandle(forWritingTo: folder.appending(path: "stderr"))
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Built beside the tests.
    private static let program: URL =
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(path: "ringwright")

    func write(_ text: String, _ name: String) throws { try Data(text.utf8).write(to: folder.appending(path: name)) }

    var stderr: String { (try? String(contentsOf: folder.appending(path: "stderr"), encoding: .utf8)) ?? "" }

    /// What follows `words` in a line of standard error, waited for; nil when it does not come.
    func line(after words: String) -> String? {
        var found: String?
        _ = Self.eventually {
            let text = stderr
            guard let range = text.range(of: words), let end = text[range.upperBound...].firstIndex(of: "\n") else {
                return false
            }
            found = String(text[range.upperBound..<end])
            return true
        }
        return found
    }

    /// Where it takes calls, and where its pages are.
    var address: String? { line(after: "listening on udp:") }
    var secureAddress: String? { line(after: "listening on tls:") }
    var page: String? { line(after: "health and metrics on ") }

    var processIdentifier: Int32 { process.processIdentifier }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// The exit status, waited for; nil when it goes on.
    func status() -> Int32? { Self.eventually { !process.isRunning } ? process.terminationStatus : nil }

    /// Looks again and again, for half a minute at most: sanitizers and busy machines are slow.
    static func eventually(_ condition: () -> Bool) -> Bool {
        for _ in 0..<3000 {
            if condition() { return true }
            usleep(10_000)
        }
        return condition()
    }
}
