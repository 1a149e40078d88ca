// Transfers (RFC 3515, RFC 5589) with linphonec on either side of REFER: it is sent away by us, and it sends our caller away.

import CallEngine
import TestKit
import Testing

@Suite("linphonec, transfers", .serialized, HeavyPeer.linphonec.isWanted)
struct LinphonecTransferTests {
    /// Answers and greets whoever comes.
    static let greets: TestFlow = { call, notes in
        try await call.answer()
        try await call.stay(.milliseconds(500))
        try await call.say("welcome")
        notes.add("greeted")
        try await call.stay(.seconds(10))
    }

    @Test("we send it to another, blind and attended: it calls there and tells us by NOTIFY", arguments: [false, true])
    func sentAway(_ attended: Bool) throws {
        let folder = try TemporaryFolder()
        let target = try EngineUnderTest { call, notes in
            try await call.answer()
            try call.startRecording(folder.path("\(call.info.id).wav"), notes: notes)
            // Long enough for the whole of what it says.
            try await call.stay(.seconds(4))
            notes.add("heard")
            try await call.stay(.seconds(10))
        }
        defer { target.close() }
        let engine = try EngineUnderTest()
        defer { engine.close() }
        let phone = try Linphonec(speaking: "probe", answers: true)
        defer { phone.stop() }
        let uri = target.uri("target")
        engine.call(CallRequest(target: "sip:phone@127.0.0.1:\(phone.port)")) { call, notes in
            notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
            try await call.stay(.milliseconds(500))
            let result = try await call.transfer(
                TransferRequest(target: uri, isAttended: attended, timeout: .seconds(10)))
            notes.add("\(result.outcome.rawValue) \(result.status)")
        }
        let report = try #require(engine.reports(1, within: .seconds(15)).first, "\(phone.output)")
        #expect(report.notes == ["reached", "transferred 200"], "\(phone.output)")
        #expect(report.error == nil)
        #expect(engine.messages.contains { !$0.sent && $0.text.hasPrefix("NOTIFY") && $0.text.contains("200") })
        #expect(target.waitForNote("heard"), "\(phone.output)")
        phone.type("terminate")
        // The phone takes the place of the call that an attended transfer has placed (Replaces): one call, whose far side is another.
        let reports = target.reports(1)
        #expect(reports.count == 1, "\(phone.output)")
        #expect(target.messages.contains { !$0.sent && $0.text.hasPrefix("INVITE") && $0.text.contains("Replaces:") } == attended)
        #expect(reports.last?.end == CallEnd(by: .caller, cause: .normal))
        try SippMediaTests.expectHeard("probe", in: reports.last)
    }

    @Test("it is called in a bridge and sends the caller to another, whom the caller hears")
    func sendsAway() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("heard.wav")
        let target = try EngineUnderTest(flow: Self.greets)
        defer { target.close() }
        let phone = try Linphonec(speaking: "probe", answers: true)
        defer { phone.stop() }
        let agent = "sip:phone@127.0.0.1:\(phone.port)"
        let engine = try EngineUnderTest { call, notes in
            var request = BridgeRequest(targets: [agent], timeout: .seconds(10))
            request.mayTransfer = { _ in true }
            notes.add("\(try await call.bridge(request).outcome.rawValue)")
        }
        defer { engine.close() }
        let caller = try EngineUnderTest()
        defer { caller.close() }
        caller.call(CallRequest(target: engine.uri("ivr"))) { call, notes in
            notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
            try call.startRecording(path, notes: notes)
            try await call.stay(.milliseconds(2500))
            notes.add("heard")
            try await call.stay(.milliseconds(4500))
        }
        #expect(caller.waitForNote("heard"), "\(phone.output)")
        phone.type("transfer \(target.uri("target"))")
        let report = try #require(caller.reports(1).first, "\(phone.output)")
        #expect(report.end == CallEnd(by: .caller, cause: .normal), "\(phone.output)")
        #expect(report.notes == ["reached", "heard"])
        #expect(try LinphonecTests.share(of: "probe", in: path) > 0.6, "the phone was not heard")
        #expect(try LinphonecTests.share(of: "welcome", in: path) > 0.6, "the target was not heard")
        #expect(target.reports(1).first?.end == CallEnd(by: .caller, cause: .normal))
        #expect(engine.reports(1).first?.error == nil)
    }
}
