// `ringwright serve` as a process of its own, as a service manager sees it: what it says, its signals, its exit status.

import Foundation
import Server
import TestKit

/// A server that runs until it is told to end; one that is left over is ended.
final class ServeProcess {
    let folder: URL
    private let files: TemporaryFolder
    private let program: PeerProgram
    /// Sanitizers and busy machines are slow.
    private static let patience = Duration.seconds(30)

    /// Starts it with a flow and a configuration of the folder's, which is FOLDER in `arguments`.
    /// - Parameter closing: the shell's words for streams that are closed from the start.
    init(
        flow: String, configuration: String = "log: { level: info }\n", sip: String = "udp:127.0.0.1:0",
        arguments: [String] = [], closing: String? = nil
    ) throws {
        let files = try TemporaryFolder()
        self.files = files
        folder = files.url
        try files.write(flow, to: "flow.yaml")
        try files.write(configuration, to: "ringwright.yaml")
        let shell = closing.map { ["-c", "exec \"$@\" \($0)", "sh", PeerProgram.ringwright] }
        program = try PeerProgram(
            path: shell == nil ? PeerProgram.ringwright : "/bin/sh",
            (shell ?? []) + [
                "serve", files.path("flow.yaml"), "--config", files.path("ringwright.yaml"), "--sip", sip, "--http", "127.0.0.1:0"
            ] + arguments.map { $0.replacing("FOLDER", with: files.url.path) }, in: files)
    }

    func write(_ text: String, _ name: String) throws { try files.write(text, to: name) }

    /// What it said so far.
    var stderr: String { program.output }

    /// What follows `words` in a line of what it says, waited for; nil when it does not come.
    func line(after words: String) -> String? {
        func found(_ text: String) -> String? {
            guard let range = text.range(of: words), let end = text[range.upperBound...].firstIndex(of: "\n") else { return nil }
            return String(text[range.upperBound..<end])
        }
        return program.wait(Self.patience) { found($0.output) != nil } ? found(stderr) : nil
    }

    /// Waits until it has said this so many times.
    func says(_ words: String, times: Int = 1) -> Bool { program.waitForOutput(words, times: times, Self.patience) }

    /// Where it takes calls, and where its pages are.
    var address: String? { line(after: "listening on udp:") }
    var secureAddress: String? { line(after: "listening on tls:") }
    var page: String? { line(after: "health and metrics on ") }

    /// Calls it. The caller expects to hear this, and stays until the server hangs up.
    func call(hearing sound: String) async throws -> CommandOutcome {
        guard let address else { throw CommandFailure(.unable, "it takes no calls: \(stderr)") }
        let caller = try TemporaryFolder()
        try caller.write(
            """
            flow: listens
            direction: outbound
            sections: { start: [ answer, { expect: { hears: \(sound), within: 20s } }, { wait: 10m } ] }
            """, to: "listens.yaml")
        guard
            case .run(let arguments) = try CommandList.choose(
                ["call", "sip:1@\(address)", "--flow", caller.path("listens.yaml"), "--json"])
        else { throw CommandFailure(.wrong, "no run") }
        return try await CallCommand.run(CallOptions(arguments)) { _ in }
    }

    var processIdentifier: Int32 { program.processIdentifier }

    func signal(_ number: Int32) { program.signal(number) }

    /// The exit status, waited for; nil when it goes on.
    func status() -> Int32? { program.wait(Self.patience) }
}
