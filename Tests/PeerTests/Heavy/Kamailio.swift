// Kamailio as the proxy between callers and callees; Scenarios/kamailio-proxy.cfg says what it does.

import Basics
import CallEngine
import Foundation

/// One proxy on a free port, over UDP and TCP.
final class Kamailio {
    let port = Ports.free()
    private let program: PeerProgram

    /// - Parameters:
    ///   - first: whom most calls go to.
    ///   - second: the other callee of forks and hunts.
    ///   - targets: URIs among which it balances.
    ///   - nonceLife: seconds.
    init(
        first: String, second: String = "sip:nobody@127.0.0.1:9", targets: [String] = [], algorithm: String = "MD5",
        nonceLife: Int = 20
    ) throws {
        let folder = try TemporaryFolder()
        try folder.write(targets.map { "1 \($0) 0\n" }.joined(), to: "targets")
        guard let libraries = HeavyPeer.libraries("kamailio") else { throw PeerError.missing("Kamailio's modules") }
        let definitions = [
            "FIRST=\"\(first)\"", "SECOND=\"\(second)\"", "TARGETS=\"\(folder.path("targets"))\"", "ALGORITHM=\"\(algorithm)\"",
            "NONCE_EXPIRE=\(nonceLife)"
        ]
        program = try HeavyPeer.kamailio.start(
            [
                "-f", Files.root.appendingPathComponent("Tests/PeerTests/Scenarios/kamailio-proxy.cfg").path, "-DD", "-E",
                "-L", "\(libraries)/modules", "-Y", folder.url.path, "-w", folder.url.path, "-m", "16", "-M", "4",
                "-l", "udp:127.0.0.1:\(port)", "-l", "tcp:127.0.0.1:\(port)"
            ] + definitions.flatMap { ["-A", $0] }, in: folder)
        // It says nothing when it is ready: its sockets do. The process that listens on TCP starts last.
        _ = waitUntil(.seconds(10)) {
            ["udp", "tcp"].allSatisfy { table in
                let needle = String(format: ":%04X ", Int(self.port))
                return (try? String(contentsOfFile: "/proc/net/\(table)", encoding: .utf8))?.contains(needle) ?? false
            }
        }
    }

    /// A line that goes out through it.
    func line(_ transport: Sipp.Transport, username: String? = nil, password: String? = nil) -> LineSettings {
        LineSettings(
            name: "proxy", server: "127.0.0.1", port: port, transport: transport == .udp ? .udp : .tcp, username: username,
            password: password.map { Secret($0) })
    }

    /// What it told about its decisions.
    var decisions: [String] {
        program.output.split(separator: "\n").compactMap { line in
            line.range(of: "proxy: ").map { String(line[$0.upperBound...]) }
        }
    }

    func decisions(_ start: String) -> [String] { decisions.filter { $0.hasPrefix(start) } }

    var output: String { program.output }
    func stop() { program.stop() }
}
