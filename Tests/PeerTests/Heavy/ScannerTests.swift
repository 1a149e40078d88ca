// sipvicious, with which strangers look for servers and numbers: what they learn from `ringwright serve`.

import TestKit
import Testing

@Suite("sipvicious", .serialized, HeavyPeer.svmap.isWanted)
struct ScannerTests {
    /// A server for the calls of one carrier, whose network is not the scanner's.
    static let closed = """
        lines: { carrier: { sip: { server: 192.0.2.1, from: ["192.0.2.0/24", "127.0.0.2/32"] } } }
        routes: [ { to: "100", line: carrier, flow: flow.yaml } ]

        """
    static let flow = """
        flow: hundred
        direction: inbound
        sections:
          start:
            - answer
            - wait: 1s
            - hangup

        """
    static let methods = ["OPTIONS", "REGISTER", "INVITE"]

    /// What a scanner printed, its standard error included.
    private func scan(_ scanner: HeavyPeer, _ method: String, _ port: UInt16, _ more: [String] = []) throws -> String {
        // A port of its own, or it takes late answers to an earlier scan for its own.
        let program = try scanner.start(
            ["-p", "\(port)", "-P", "\(Ports.free())", "-m", method] + more + ["127.0.0.1"], in: TemporaryFolder(), limit: 30)
        #expect(program.wait(.seconds(30)) == 0, "\(program.output)")
        return program.output
    }

    @Test("svmap gets an answer that names no product", arguments: methods)
    func map(_ method: String) throws {
        let server = try ServedFlows(configuration: Self.closed, flow: Self.flow)
        let found = try scan(.svmap, method, server.port)
        #expect(found.contains("| 127.0.0.1:\(server.port) | unknown "), "\(found)")
        #expect(!found.lowercased().contains("ringwright"))
        #expect(server.stop() == 0)
    }

    @Test("svwar finds no number, also not the one that the carrier may call", arguments: methods)
    func war(_ method: String) throws {
        let server = try ServedFlows(configuration: Self.closed, flow: Self.flow)
        let found = try scan(.svwar, method, server.port, ["-e", "95-105"])
        #expect(found.contains("found nothing"), "\(found)")
        #expect(!found.contains("| Extension"), "\(found)")
        #expect(!server.output.contains("call began"))
        // The number is there for the carrier.
        if method == "INVITE" {
            let sipp = try Sipp(
                .builtIn("uac"), target: server.port, more: ["-s", "100", "-d", "100", "-i", "127.0.0.2", "-mi", "127.0.0.2"])
            sipp.expectSuccess()
            #expect(server.output.contains("call began"))
        }
        #expect(server.stop() == 0)
    }

    /// A server with users: a name that exists and one that does not get the same answer, and no password is found.
    @Test("svwar tells no users apart, and svcrack finds no password")
    func crack() throws {
        let server = try ServedFlows(
            configuration:
                Self.closed
                + "registrar: { realm: example.com, file: \"off\", users: { \"100\": { password: \"${env.HOME}\" } } }\n",
            flow: Self.flow)
        let found = try scan(.svwar, "REGISTER", server.port, ["-e", "98-102"])
        #expect(found.contains("found nothing") || (98...102).allSatisfy { found.contains("| \($0) ") }, "\(found)")
        let folder = try TemporaryFolder()
        try folder.write((0..<50).map { "guess-\($0)\n" }.joined(), to: "words")
        let cracker = try HeavyPeer.svcrack.start(
            ["-p", "\(server.port)", "-P", "\(Ports.free())", "-u", "100", "-d", folder.path("words"), "127.0.0.1"], in: folder,
            limit: 30)
        #expect(cracker.wait(.seconds(30)) != nil, "\(cracker.output)")
        #expect(!cracker.output.contains("| Password"), "\(cracker.output)")
        #expect(server.stop() == 0)
    }
}
