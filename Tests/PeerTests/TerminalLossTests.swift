// Commands whose terminal is gone (SIGHUP) end as by Ctrl-C, with a BYE to every call; those that were started to outlive it go on.

import CallEngine
import Foundation
import TestKit
import Testing

@Suite("a terminal that is lost", .serialized) struct TerminalLossTests {
    private static let flow = "flow: stays\ndirection: outbound\nsections: { call: [ answer, { wait: 50s }, hangup ] }\n"

    /// A target that answers, and the program that calls it until it is told to end.
    private static func start(
        _ command: String, _ folder: TemporaryFolder, ignoring: Bool
    ) throws -> (EngineUnderTest, PeerProgram) {
        let target = try EngineUnderTest { call, notes in
            try await call.answer()
            notes.add("answered")
            try await call.stay(.seconds(60))
        }
        try folder.write(flow, to: "stays.yaml")
        try folder.write("number\n1\n", to: "list.csv")
        let uri = target.uri("1", .udp)
        let words: [String]
        switch command {
        case "call": words = [uri, "--flow", "stays.yaml"]
        case "campaign": words = ["--list", "list.csv", "--flow", "stays.yaml", "--to", uri, "--report", "report"]
        default: words = [uri, "--rate", "1", "--calls", "1", "--hold", "50s"]
        }
        let arguments = [PeerProgram.ringwright, command] + words + ["--set", "rtp.ports=\(LoadPeerTests.ports())"]
        let shell = ["-c", "\(ignoring ? "trap '' HUP; " : "")exec \"$@\"", "sh"]
        return (target, try PeerProgram(path: "/bin/sh", shell + arguments, in: folder))
    }

    @Test(arguments: ["call", "campaign", "load"]) func itEndsWithByes(_ command: String) throws {
        let folder = try TemporaryFolder()
        let (target, program) = try Self.start(command, folder, ignoring: false)
        defer { target.close() }
        #expect(target.waitForNote("answered"), "\(program.output)")
        // The first one drains, as Ctrl-C does; the next one does not wait.
        program.signal(SIGHUP)
        if command != "call" {
            target.pass(.milliseconds(500))
            program.signal(SIGHUP)
        }
        let reports = target.reports(1)
        #expect(reports.map(\.end.by) == [.caller], "\(program.output)")
        let status = try #require(program.wait(.seconds(20)))
        #expect(status > 0 && status < 128, "\(program.output)")
    }

    @Test(arguments: ["call", "load"]) func whatIsToOutliveItGoesOn(_ command: String) throws {
        let folder = try TemporaryFolder()
        let (target, program) = try Self.start(command, folder, ignoring: true)
        defer { target.close() }
        #expect(target.waitForNote("answered"), "\(program.output)")
        program.signal(SIGHUP)
        program.signal(SIGHUP)
        target.pass(.seconds(1))
        #expect(target.reports(1, within: .zero).isEmpty && program.isRunning, "\(program.output)")
        program.signal(SIGTERM)
        if command == "load" {
            target.pass(.milliseconds(500))
            program.signal(SIGTERM)
        }
        #expect(target.reports(1).map(\.end.by) == [.caller], "\(program.output)")
        #expect(program.wait(.seconds(20)) != nil)
    }
}
