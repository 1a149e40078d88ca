// sipp calls the engine by scenarios of our own: what real callers do right, wrong and in an unusual order. The names B… are those of
// public reports about other products.

import CallEngine
import Testing

@Suite("sipp calls, signaling", .serialized, .enabled(if: Sipp.isInstalled, "sipp is not installed"))
struct SippCallerTests {
    /// What the engine does with the call.
    enum Reaction {
        case stay
        case early
        case answerAndHangUp
        case ring
        case busy
        case redirect
        case hold
        case holdEarly

        var flow: TestFlow {
            switch self {
            case .stay:
                { call, notes in
                    try await call.answer()
                    notes.add("media")
                    try await call.stay(.seconds(12))
                }
            case .early:
                { call, notes in
                    try call.progress()
                    try await call.stay(.milliseconds(300))
                    try await call.answer()
                    notes.add("media")
                    try await call.stay(.seconds(12))
                }
            case .answerAndHangUp:
                { call, _ in
                    try await call.answer()
                    try await call.stay(.milliseconds(400))
                }
            case .ring:
                { call, _ in
                    try call.ring()
                    try await call.stay(.seconds(10))
                }
            case .holdEarly:
                { call, notes in
                    try call.progress()
                    try await call.hold(music: nil)
                    notes.add("held")
                    try await call.answer()
                    try await call.stay(.seconds(12))
                }
            case .busy: { call, _ in try call.reject(status: 486, reason: nil, headers: []) }
            case .redirect: { call, _ in try call.redirect(to: ["sip:first@192.0.2.1", "sip:second@192.0.2.2"]) }
            case .hold:
                { call, notes in
                    try await call.answer()
                    for _ in 0..<3 {
                        do {
                            try await call.hold(music: nil)
                            notes.add("held")
                        } catch CallControlError.refused(_, let status, _) {
                            notes.add("\(status)")
                        }
                    }
                    try await call.unhold()
                    notes.add("resumed")
                }
            }
        }
    }

    struct Row: CustomTestStringConvertible {
        var scenario: String
        var reports = ""
        var reaction = Reaction.stay
        var end = CallEnd(by: .caller, cause: .normal)
        var keys = ""
        var notes = ["media"]
        var transport = Sipp.Transport.udp
        var error: String?

        var testDescription: String { "\(scenario) \(transport) \(reports)" }
    }

    static let ourEnd = CallEnd(by: .callee, cause: .normal)
    static let rows = [
        Row(
            scenario: "caller-offerless-no-answer", reports: "B007",
            end: CallEnd(by: .engine, cause: .rejected, detail: "the ACK has no answer to our offer"), notes: [],
            error: "noMedia(operation: \"answer\")"),
        Row(scenario: "caller-reinvite-parameters", reports: "B014"),
        Row(scenario: "caller-reinvites-before-ack", reports: "B068"),
        Row(scenario: "caller-info-keys", reports: "B038 B039 B041", keys: "56*7"),
        Row(scenario: "caller-byes-before-ack", reports: "B056"),
        Row(
            scenario: "caller-cancels-twice", reports: "B062", reaction: .ring, end: CallEnd(by: .caller, cause: .cancelled),
            notes: []),
        Row(scenario: "caller-octets-after-body", reports: "B086"),
        Row(scenario: "caller-multipart", transport: .tcp),
        Row(scenario: "caller-multipart"),
        Row(scenario: "caller-refused", reports: "B055", reaction: .busy, end: CallEnd(by: .callee, cause: .busy), notes: []),
        Row(scenario: "caller-redirected", reaction: .redirect, end: ourEnd, notes: []),
        Row(scenario: "caller-merged", reaction: .answerAndHangUp, end: ourEnd, notes: []),
        Row(scenario: "caller-late-ack"),
        Row(scenario: "caller-record-routes", reports: "B044 B047", reaction: .answerAndHangUp, end: ourEnd, notes: []),
        Row(
            scenario: "caller-held-by-us", reports: "B012", reaction: .hold, end: ourEnd, notes: ["488", "500", "held", "resumed"]
        ),
        Row(scenario: "caller-reinvites-without-offer"),
        Row(scenario: "caller-holds", reports: "B003"),
        Row(scenario: "caller-requires-prack", reports: "B071 B072", reaction: .early),
        Row(scenario: "caller-offerless-prack", reaction: .early),
        Row(scenario: "caller-held-early", reaction: .holdEarly, notes: ["held"]),
        Row(scenario: "caller-updates")
    ]

    @Test("a call goes as its scenario says", arguments: rows)
    func call(_ row: Row) throws {
        let engine = try EngineUnderTest(flow: row.reaction.flow)
        defer { engine.close() }
        let report = try #require(try sippCalls(row.scenario, transport: row.transport, engine: engine))
        #expect(report.end == row.end)
        #expect(report.keys == row.keys)
        #expect(report.notes == row.notes)
        #expect(report.error == row.error)
    }

    @Test(
        "what is no call leaves none",
        arguments: ["caller-unknown-dialog", "caller-no-codec", "caller-requires-unknown", "caller-options"])
    func noCall(_ scenario: String) throws {
        let engine = try EngineUnderTest(flow: Reaction.stay.flow)
        defer { engine.close() }
        #expect(try sippCalls(scenario, engine: engine, calls: 0) == nil)
    }

    @Test("an ACK that never comes ends the call by BYE after 64 T1")
    func noACK() throws {
        let engine = try EngineUnderTest(
            timers: SIPTimers(t1: .milliseconds(30), t2: .milliseconds(240), t4: .milliseconds(300)), flow: Reaction.stay.flow)
        defer { engine.close() }
        let report = try #require(try sippCalls("caller-no-ack", engine: engine))
        #expect(report.end.by == .engine)
        #expect(report.end.cause == .timeout)
    }

    @Test("sipp loses messages both ways: the retransmissions of both make every call")
    func lossy() throws {
        let engine = try EngineUnderTest(
            timers: SIPTimers(t1: .milliseconds(100), t2: .milliseconds(800), t4: .seconds(1)), flow: Reaction.stay.flow)
        defer { engine.close() }
        let sipp = try Sipp(
            .own("caller-loses"), target: engine.udpPort, calls: 20,
            // Every BYE must come through before timer J of the engine ends its transaction.
            more: ["-r", "20", "-lost", "10", "-max_retrans", "9", "-T2", "500"])
        sipp.expectSuccess()
        let reports = engine.reports(20)
        #expect(reports.count == 20)
        #expect(reports.allSatisfy { $0.end.cause == .normal })
    }

    @Test("octets that are no SIP get no answer and do no harm")
    func garbage() throws {
        let engine = try EngineUnderTest(flow: Reaction.stay.flow)
        defer { engine.close() }
        var datagrams: [[UInt8]] = [
            [0], [0, 0, 0, 0], Array("\r\n\r\n".utf8), Array("hello, is this a phone?\r\n\r\n".utf8),
            [UInt8](repeating: 0xFF, count: 1400),
            Array("INVITE\r\n\r\n".utf8), Array("INVITE sip:a@b SIP/2.0\r\n\r\n".utf8), Array("SIP/2.0 200 OK\r\n\r\n".utf8),
            Array("SIP/2.0 999999999999 \r\nVia: x\r\n\r\n".utf8), Array(repeating: UInt8(ascii: ":"), count: 60_000)
        ]
        var random = SystemRandomNumberGenerator()
        for size in [20, 200, 1400, 9000] {
            for _ in 0..<50 { datagrams.append((0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }) }
        }
        let answers = Ports.exchange(datagrams, with: engine.udpPort)
        #expect(answers.filter { !$0.starts(with: Array("SIP/2.0 400".utf8)) } == [])
        let report = try #require(try sippCalls("caller-octets-after-body", engine: engine))
        #expect(report.end == CallEnd(by: .caller, cause: .normal))
        #expect(engine.engine.signalingCounters.garbage >= 100)
    }
}
