// The engine calls sipp, which answers by scenarios of our own: busy, moved, challenges (sipp computes the digest itself), cancelling,
// routes, early media, forks. The names B… are those of public reports about other products.

import Basics
import CallEngine
import Foundation
import TestKit
import Testing

@Suite("sipp is called, signaling", .serialized, .enabled(if: Sipp.isInstalled, "sipp is not installed"))
struct SippCalleeTests {
    /// What the engine does with its call.
    enum Conduct {
        case talk
        case hearUs
        case cancelWhenRinging
        case holdOnce

        var flow: TestFlow {
            switch self {
            case .talk:
                { call, notes in
                    notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
                    try await call.stay(.milliseconds(300))
                }
            case .hearUs:
                { call, notes in
                    notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
                    try await call.stay(.seconds(10))
                }
            case .cancelWhenRinging:
                { call, notes in notes.add("\(try await call.wait(for: .ringing, timeout: .seconds(8)))") }
            case .holdOnce:
                { call, notes in
                    notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
                    try await call.hold(music: nil)
                    notes.add("held")
                    try await call.stay(.milliseconds(200))
                }
            }
        }
    }

    struct Row: CustomTestStringConvertible {
        var scenario: String
        var reports = ""
        var conduct = Conduct.talk
        var by = CallEnd.Party.caller
        var cause = CallEnd.Cause.normal
        var status = 200
        var notes = ["reached"]
        var transport = Sipp.Transport.udp

        var testDescription: String { "\(scenario) \(transport) \(reports)" }
    }

    static let rows = [
        Row(scenario: "callee-echo"),
        Row(scenario: "callee-echo", transport: .tcp),
        Row(scenario: "callee-busy", reports: "B049", by: .callee, cause: .busy, status: 486, notes: []),
        Row(scenario: "callee-busy", reports: "B049", by: .callee, cause: .busy, status: 486, notes: [], transport: .tcp),
        Row(scenario: "callee-moved", by: .callee, cause: .rejected, status: 302, notes: []),
        Row(scenario: "callee-is-cancelled", reports: "B061", conduct: .cancelWhenRinging, cause: .cancelled, status: 180),
        Row(scenario: "callee-record-routes", reports: "B046"),
        Row(scenario: "callee-forks"),
        Row(scenario: "callee-hangs-up", reports: "B066", conduct: .hearUs, by: .callee),
        Row(scenario: "callee-repeats-200", reports: "B051", conduct: .holdOnce, notes: ["reached", "held"])
    ]

    @Test("a call goes as its scenario says", arguments: rows)
    func call(_ row: Row) throws {
        let engine = try EngineUnderTest()
        defer { engine.close() }
        let report = try #require(
            try sippIsCalled(row.scenario, transport: row.transport, engine: engine, flow: row.conduct.flow))
        #expect(report.end.by == row.by)
        #expect(report.end.cause == row.cause)
        #expect(report.info.sipStatus == row.status)
        #expect(row.notes.isEmpty || report.notes == row.notes)
        #expect(report.error == nil)
    }

    struct LineRow: CustomTestStringConvertible {
        var scenario: String
        var reports = ""
        var conduct = Conduct.talk
        var by = CallEnd.Party.caller
        var cause = CallEnd.Cause.normal
        var transport = Sipp.Transport.udp

        var testDescription: String { "\(scenario) \(transport) \(reports)" }
    }

    static let lineRows = [
        LineRow(scenario: "callee-challenges-401", reports: "B080 B081"),
        LineRow(scenario: "callee-challenges-401", reports: "B080 B081", transport: .tcp),
        LineRow(scenario: "callee-challenges-407", reports: "B083"),
        LineRow(scenario: "callee-challenges-in-dialog", conduct: .holdOnce),
        LineRow(scenario: "callee-refuses-credentials", by: .callee, cause: .rejected),
        LineRow(scenario: "callee-is-cancelled-after-401", reports: "B064", conduct: .cancelWhenRinging, cause: .cancelled)
    ]

    @Test("a line answers challenges, and sipp finds its digest right", arguments: lineRows)
    func line(_ row: LineRow) throws {
        let port = Ports.free()
        let line = LineSettings(
            name: "trunk", server: "127.0.0.1", port: port, transport: row.transport == .udp ? .udp : .tcp, username: "trunk",
            password: Secret("a-secret"))
        let engine = try EngineUnderTest(lines: [line])
        defer { engine.close() }
        let report = try #require(
            try sippIsCalled(
                row.scenario, transport: row.transport, engine: engine, line: "trunk", port: port, flow: row.conduct.flow))
        #expect(report.end.by == row.by)
        #expect(report.end.cause == row.cause)
        #expect(report.info.line == "trunk")
        #expect(!engine.messages.contains { $0.text.contains("a-secret") })
        if row.scenario.hasSuffix("407") { try expectProxyDigest(in: engine) }
    }

    @Test("a cancelled INVITE that is never answered is given up after 64 T1: B059")
    func ignoredCancel() throws {
        let timers = SIPTimers(t1: .milliseconds(20), t2: .milliseconds(160), t4: .milliseconds(200))
        let engine = try EngineUnderTest(timers: timers)
        defer { engine.close() }
        let report = try #require(
            try sippIsCalled("callee-ignores-cancel", engine: engine, flow: Conduct.cancelWhenRinging.flow))
        #expect(report.end.cause == .cancelled)
        #expect(engine.engine.collect { $0.heldCalls } == [1])
        engine.pass(timers.t1 * 64)
        #expect(engine.engine.collect { $0.heldCalls } == [0])
    }

    @Test("nobody listens at the target: the call ends at once", arguments: Sipp.Transport.allCases)
    func nobody(_ transport: Sipp.Transport) throws {
        let engine = try EngineUnderTest()
        defer { engine.close() }
        engine.call(CallRequest(target: "sip:nobody@127.0.0.1:\(Ports.free());transport=\(transport)"), flow: Conduct.talk.flow)
        let report = try #require(engine.reports(1, within: .seconds(3)).first)
        #expect(report.end.cause == .unreachable)
        #expect(report.end.by == .engine)
        #expect(report.end.detail != "")
    }

    /// sipp checks Authorization only; the digest of Proxy-Authorization is computed with md5sum.
    private func expectProxyDigest(in engine: EngineUnderTest) throws {
        let rows = engine.messages.filter { $0.sent && $0.text.hasPrefix("INVITE") }.flatMap { $0.text.split(separator: "\r\n") }
        let row = try #require(rows.first { $0.hasPrefix("Proxy-Authorization: Digest ") })
        func value(_ name: String) throws -> String {
            let start = try #require(row.range(of: "[ ,]\(name)=", options: .regularExpression)).upperBound
            return row[start...].prefix { $0 != "," }.trimmingCharacters(in: ["\"", " "])
        }
        let secret = try md5("trunk:peers:a-secret")
        let request = try md5("INVITE:\(value("uri"))")
        let whole = try md5("\(secret):\(value("nonce")):\(value("nc")):\(value("cnonce")):auth:\(request)")
        #expect(try value("response") == whole)
        #expect(row.contains("qop=auth,") || row.hasSuffix("qop=auth"))
        #expect(!row.contains("algorithm") || row.contains("algorithm=MD5"))
    }

    private func md5(_ text: String) throws -> String {
        let folder = try TemporaryFolder()
        try folder.write(text, to: "text")
        let program = try PeerProgram("md5sum", ["text"], in: folder)
        #expect(program.wait(.seconds(5)) == 0)
        return String(program.output.prefix(32))
    }
}
