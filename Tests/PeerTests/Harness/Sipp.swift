// sipp as the other side: its built-in scenarios and those of the folder Scenarios.

import Foundation
import TestKit
import Testing

/// One run of sipp. Its ports are free ones; its messages are kept for the failure's report.
final class Sipp {
    enum Scenario {
        /// One of those that sipp brings: `uac`, `uas`.
        case builtIn(String)
        /// A file of Scenarios.
        case own(String)
    }

    enum Transport: String, CaseIterable {
        case udp = "u1"
        case tcp = "t1"
    }

    static let isInstalled = PeerProgram.isInstalled("sipp")

    let folder: TemporaryFolder
    /// Where it is called.
    let port: UInt16
    /// Where it takes RTP.
    let mediaPort: UInt16
    private let program: PeerProgram

    /// - Parameters:
    ///   - target: the port that it calls; nil when it waits for calls.
    ///   - calls: ends after so many.
    ///   - port: where it is called; nil: a free one.
    ///   - limit: seconds after which sipp ends by itself.
    init(
        _ scenario: Scenario, target: UInt16? = nil, transport: Transport = .udp, calls: Int = 1, limit: Int = 15,
        folder: TemporaryFolder? = nil, port: UInt16? = nil, more: [String] = []
    ) throws {
        self.folder = try folder ?? TemporaryFolder()
        self.port = port ?? Ports.free()
        mediaPort = Ports.freeMedia()
        var arguments: [String]
        switch scenario {
        case .builtIn(let name): arguments = ["-sn", name]
        case .own(let name): arguments = ["-sf", Files.scenario(name)]
        }
        arguments += [
            "-i", "127.0.0.1", "-p", "\(self.port)", "-mi", "127.0.0.1", "-mp", "\(mediaPort)", "-cp", "\(Ports.free())"
        ]
        arguments += ["-t", transport.rawValue, "-m", "\(calls)", "-timeout", "\(limit)s", "-timeout_error", "-nostdin"]
        arguments += ["-trace_msg", "-message_file", "messages.log", "-trace_err", "-error_file", "errors.log"] + more
        if let target { arguments.append("127.0.0.1:\(target)") }
        program = try PeerProgram("sipp", arguments, in: self.folder, environment: PeerProgram.announcing())
        // A server is called only once it listens.
        if target == nil { program.waitUntilOpen([(transport == .udp ? .udp : .tcp, self.port)]) }
    }

    /// Waits until it listens on another port of its own.
    func waitUntilOpen(_ kind: Ports.Kind, _ port: UInt16) { program.waitUntilOpen([(kind, port)]) }

    /// Waits for its end; 0 when every call went as its scenario says.
    func status(_ limit: Duration = .seconds(20)) -> Int32? { program.wait(limit) }

    /// Checks that every call went as the scenario says; a failure shows what sipp complained about and what passed.
    func expectSuccess(_ place: SourceLocation = #_sourceLocation) {
        let status = status()
        if status != 0 {
            Issue.record(
                "sipp ended with \(status.map { "\($0)" } ?? "no status in time"): \(folder.text("errors.log").suffix(1500))\n\(messages.suffix(6000))",
                sourceLocation: place)
        }
    }

    var messages: String { folder.text("messages.log") }
    func stop() { program.stop() }
}
