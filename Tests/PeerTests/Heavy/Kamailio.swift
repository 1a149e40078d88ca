// Kamailio as the proxy between callers and callees, or as the registrar of lines; Scenarios/kamailio-*.cfg say what it does.

import Basics
import CallEngine
import Foundation
import TestKit

/// One proxy on a free port, over UDP and TCP.
final class Kamailio {
    let port = Ports.free()
    /// The port of TLS; nil: there is none.
    private(set) var tlsPort: UInt16?
    private let program: PeerProgram

    /// A registrar for everybody who knows the password `a-secret`, over UDP, TCP and TLS.
    init(registrarWith made: TestCertificates) throws {
        let tls = Ports.free()
        tlsPort = tls
        program = try Self.start(
            "kamailio-registrar", port, more: ["-l", "tls:127.0.0.1:\(tls)"],
            ["CERTIFICATE=\"\(made.path("address.pem"))\"", "KEY=\"\(made.path("address.key"))\""], in: TemporaryFolder())
        program.waitUntilOpen([(.udp, port), (.tcp, port), (.tcp, tls)])
    }

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
        let definitions = [
            "FIRST=\"\(first)\"", "SECOND=\"\(second)\"", "TARGETS=\"\(folder.path("targets"))\"", "ALGORITHM=\"\(algorithm)\"",
            "NONCE_EXPIRE=\(nonceLife)"
        ]
        program = try Self.start("kamailio-proxy", port, definitions, in: folder)
        program.waitUntilOpen([(.udp, port), (.tcp, port)])
    }

    /// A proxy whose calls' media goes through the rtpengine that is controlled there.
    init(relaying first: String, by relay: String) throws {
        program = try Self.start(
            "kamailio-rtpengine", port, ["FIRST=\"\(first)\"", "RELAY=\"\(relay)\""], in: TemporaryFolder())
        program.waitUntilOpen([(.udp, port), (.tcp, port)])
    }

    private static func start(
        _ configuration: String, _ port: UInt16, more: [String] = [], _ definitions: [String], in folder: TemporaryFolder
    ) throws -> PeerProgram {
        guard let libraries = HeavyPeer.libraries("kamailio") else { throw PeerError.missing("Kamailio's modules") }
        return try HeavyPeer.kamailio.start(
            [
                "-f", Files.root.appendingPathComponent("Tests/PeerTests/Scenarios/\(configuration).cfg").path, "-DD", "-E",
                "-L", "\(libraries)/modules", "-Y", folder.url.path, "-w", folder.url.path, "-m", "32", "-M", "8",
                "-l", "udp:127.0.0.1:\(port)", "-l", "tcp:127.0.0.1:\(port)"
            ] + more + definitions.flatMap { ["-A", $0] }, in: folder, environment: PeerProgram.announcing())
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

    /// Whether so many of its decisions begin with this, and no more. It may tell of one after it has answered.
    func tells(_ start: String, times: Int) -> Bool {
        wait { $0.decisions(start).count >= times } && decisions(start).count == times
    }

    /// Waits until what it has told is as `condition` wants it.
    func wait(until condition: (Kamailio) -> Bool) -> Bool { program.wait(.seconds(5)) { _ in condition(self) } }

    var output: String { program.output }
    func stop() { program.stop() }
}
