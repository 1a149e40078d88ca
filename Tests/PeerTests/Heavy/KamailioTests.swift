// Calls between two engines with Kamailio in the middle, which stays in the dialog: both transports, digest by 407, forks, failures.

import Basics
import CallEngine
import TestKit
import Testing

@Suite("kamailio, proxy", .serialized, HeavyPeer.kamailio.isWanted)
struct KamailioTests {
    struct Path: CustomTestStringConvertible {
        var caller: Sipp.Transport
        var callee: Sipp.Transport
        /// Who hangs up.
        var ends: CallEnd.Party
        var testDescription: String { "\(caller) to \(callee), the \(ends.rawValue) hangs up" }
    }

    static let paths = [
        Path(caller: .udp, callee: .udp, ends: .caller), Path(caller: .tcp, callee: .tcp, ends: .callee),
        Path(caller: .udp, callee: .tcp, ends: .caller), Path(caller: .udp, callee: .tcp, ends: .callee),
        Path(caller: .tcp, callee: .udp, ends: .caller), Path(caller: .tcp, callee: .udp, ends: .callee)
    ]

    @Test("a call through the proxy: prompt, keys, hold and resume of both sides, BYE: all by its Record-Route", arguments: paths)
    func call(_ path: Path) throws {
        let folder = try TemporaryFolder()
        let heard = folder.path("heard.wav")
        let callee = try EngineUnderTest { call, notes in
            try call.ring()
            try await call.answer()
            try await call.stay(.milliseconds(100))
            try await call.say("welcome")
            try await call.hold(music: nil)
            try await call.unhold()
            notes.add("held")
            notes.add(try await call.keys(2))
            try await call.stay(path.ends == .callee ? .milliseconds(300) : .seconds(10))
        }
        defer { callee.close() }
        let kamailio = try Kamailio(first: callee.uri("ivr", path.callee))
        defer { kamailio.stop() }
        let caller = try EngineUnderTest(lines: [kamailio.line(path.caller)])
        defer { caller.close() }
        caller.call(CallRequest(target: "sip:direct@ringwright.test", line: "proxy")) { call, notes in
            notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
            try call.startRecording(heard, notes: notes)
            try await call.stay(.milliseconds(2500))
            try await call.hold(music: nil)
            try await call.unhold()
            notes.add("held")
            try await call.sendDigits("7#", options: SendDigitsOptions(method: .rfc4733))
            try await call.stay(path.ends == .caller ? .milliseconds(300) : .seconds(10))
        }
        let calling = try #require(caller.reports(1).first, "\(kamailio.output)")
        let called = try #require(callee.reports(1, within: .seconds(2)).first, "\(kamailio.output)")
        for report in [calling, called] {
            #expect(report.end == CallEnd(by: path.ends, cause: .normal))
            #expect(report.error == nil)
        }
        #expect(calling.notes == ["reached", "held"])
        #expect(called.notes == ["held", "7#"])
        try SippMediaTests.expectHeard("welcome", in: calling)
        expectRouted(kamailio, caller, callee, byes: 1)
    }

    /// Whatever is in the dialog went by the proxy, in both directions.
    private func expectRouted(
        _ kamailio: Kamailio, _ caller: EngineUnderTest, _ callee: EngineUnderTest, byes: Int,
        _ place: SourceLocation = #_sourceLocation
    ) {
        #expect(kamailio.decisions("not routed") == [], sourceLocation: place)
        #expect(kamailio.tells("in the dialog: BYE", times: byes), sourceLocation: place)
        // Four re-INVITEs, and the ACKs of these and of the first.
        #expect(kamailio.tells("in the dialog: INVITE", times: 4), sourceLocation: place)
        #expect(kamailio.tells("in the dialog: ACK", times: 5), sourceLocation: place)
        #expect(caller.remotePorts.isDisjoint(with: [callee.udpPort, callee.tcpPort]), sourceLocation: place)
        #expect(callee.remotePorts.isDisjoint(with: [caller.udpPort, caller.tcpPort]), sourceLocation: place)
    }

    @Test("the proxy's digest challenges (407): answered, reused with a counted nonce", arguments: ["MD5", "SHA-256"])
    func digest(_ algorithm: String) throws {
        let callee = try EngineUnderTest(flow: Self.answersShortly)
        defer { callee.close() }
        let kamailio = try Kamailio(first: callee.uri("ivr"), algorithm: algorithm)
        defer { kamailio.stop() }
        let caller = try EngineUnderTest(lines: [kamailio.line(.udp, username: "trunk", password: "a-secret")])
        defer { caller.close() }
        for count in 1...3 {
            caller.call(CallRequest(target: "sip:auth@ringwright.test", line: "proxy"), flow: Self.talks)
            let reports = caller.reports(count)
            #expect(reports.count == count, "\(kamailio.output)")
            #expect(reports.last?.end == CallEnd(by: .callee, cause: .normal))
            #expect(reports.last?.notes == ["reached"])
        }
        #expect(kamailio.tells("knows trunk", times: 3))
        #expect(kamailio.tells("challenges", times: 1))
        #expect(!callee.messages.contains { $0.text.hasPrefix("INVITE") && $0.text.contains("Proxy-Authorization") })
        let counts = caller.messages.filter { $0.sent && $0.text.hasPrefix("INVITE") }.compactMap { message in
            message.text.firstRange(of: /nc=([0-9a-f]{8})/).map { String(message.text[$0].suffix(8)) }
        }
        #expect(counts == ["00000001", "00000002", "00000003"])
    }

    @Test("a nonce that has grown old is replaced, a wrong password is given up")
    func nonces() throws {
        // Each call is longer than a nonce lives.
        let callee = try EngineUnderTest { call, _ in
            try await call.answer()
            try await call.stay(.milliseconds(2200))
        }
        defer { callee.close() }
        let kamailio = try Kamailio(first: callee.uri("ivr"), nonceLife: 1)
        defer { kamailio.stop() }
        let caller = try EngineUnderTest(lines: [kamailio.line(.udp, username: "trunk", password: "a-secret")])
        defer { caller.close() }
        for count in 1...2 {
            caller.call(CallRequest(target: "sip:auth@ringwright.test", line: "proxy"), flow: Self.talks)
            #expect(caller.reports(count).last?.end == CallEnd(by: .callee, cause: .normal), "\(kamailio.output)")
        }
        #expect(kamailio.tells("challenges", times: 2))
        let stranger = try EngineUnderTest(lines: [kamailio.line(.udp, username: "trunk", password: "another")])
        defer { stranger.close() }
        stranger.call(CallRequest(target: "sip:auth@ringwright.test", line: "proxy"), flow: Self.talks)
        let report = try #require(stranger.reports(1).first)
        #expect(report.end == CallEnd(by: .callee, cause: .rejected))
        #expect(report.info.sipStatus == 407)
        #expect(callee.reports(2).count == 2)
    }

    @Test("a caller that gives up while it rings is cancelled all the way", arguments: Sipp.Transport.allCases)
    func cancel(_ transport: Sipp.Transport) throws {
        let callee = try EngineUnderTest(flow: Self.rings)
        defer { callee.close() }
        let kamailio = try Kamailio(first: callee.uri("ivr", transport))
        defer { kamailio.stop() }
        let caller = try EngineUnderTest(lines: [kamailio.line(transport)])
        defer { caller.close() }
        caller.call(CallRequest(target: "sip:direct@ringwright.test", line: "proxy")) { call, notes in
            notes.add("\(try await call.wait(for: .ringing, timeout: .seconds(8)))")
            try await call.stay(.milliseconds(200))
        }
        let report = try #require(caller.reports(1).first, "\(kamailio.output)")
        #expect(report.end == CallEnd(by: .caller, cause: .cancelled))
        #expect(report.notes == ["reached"])
        #expect(callee.reports(1).first?.end == CallEnd(by: .caller, cause: .cancelled))
        #expect(kamailio.tells("cancels direct", times: 1))
    }

    @Test("the proxy thinks for longer than T1: what is sent again makes no second call")
    func slow() throws {
        // The call lasts until whatever was sent again has come through.
        let callee = try EngineUnderTest { call, _ in
            try await call.answer()
            try await call.stay(.milliseconds(700))
        }
        defer { callee.close() }
        let kamailio = try Kamailio(first: callee.uri("ivr"))
        defer { kamailio.stop() }
        let caller = try EngineUnderTest(lines: [kamailio.line(.udp)])
        defer { caller.close() }
        caller.call(CallRequest(target: "sip:slow@ringwright.test", line: "proxy"), flow: Self.talks)
        let report = try #require(caller.reports(1).first, "\(kamailio.output)")
        #expect(report.end == CallEnd(by: .callee, cause: .normal))
        #expect(caller.messages.filter { $0.sent && $0.text.hasPrefix("INVITE") }.count > 1)
        #expect(callee.reports(1).count == 1)
        #expect(callee.engine.callCounters.incoming == 1)
    }

    // MARK: Flows

    static let answersShortly: TestFlow = { call, _ in
        try await call.answer()
        try await call.stay(.milliseconds(200))
    }

    static let talks: TestFlow = { call, notes in
        notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
        try await call.stay(.seconds(10))
    }

    static let rings: TestFlow = { call, _ in
        try call.ring()
        try await call.stay(.seconds(10))
    }
}

extension EngineUnderTest {
    /// Where it is called.
    func uri(_ user: String, _ transport: Sipp.Transport = .udp) -> String {
        "sip:\(user)@127.0.0.1:\(transport == .udp ? udpPort : tcpPort);transport=\(transport)"
    }
}
