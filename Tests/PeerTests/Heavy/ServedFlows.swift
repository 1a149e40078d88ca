// `ringwright serve` as strangers meet it: the program itself, with a configuration and flows in a folder.

import Foundation
import TestKit

/// A server that runs until it is stopped.
final class ServedFlows {
    let port: UInt16
    private let program: PeerProgram

    /// - Parameters:
    ///   - configuration: `ringwright.yaml` without listeners and pages.
    ///   - flow: `flow.yaml` beside it.
    init(configuration: String, flow: String) throws {
        let folder = try TemporaryFolder()
        try folder.write(configuration, to: "ringwright.yaml")
        try folder.write(flow, to: "flow.yaml")
        program = try PeerProgram(
            PeerProgram.ringwright,
            [
                "serve", "--config", folder.path("ringwright.yaml"), "--sip", "udp:127.0.0.1:0", "--sip", "tcp:127.0.0.1:0",
                "--http", "off"
            ], in: folder)
        guard program.waitForOutput("listening on tcp:", .seconds(20)),
            let line = program.output.firstRange(of: /listening on udp:127.0.0.1:[0-9]+/),
            let port = program.output[line].split(separator: ":").last.flatMap({ UInt16($0) })
        else { throw PeerError.missing("a server that listens: \(program.output)") }
        self.port = port
    }

    /// Its log.
    var output: String { program.output }

    func waitForOutput(_ text: String, _ limit: Duration) -> Bool { program.waitForOutput(text, limit) }

    /// Asks it to end; the exit status.
    func stop() -> Int32? {
        program.stop()
        return program.wait(.seconds(5))
    }
}
