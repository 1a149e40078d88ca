// linphonec as caller and as callee, over UDP and TCP: both sides' audio is found by correlation, keys, hold and resume of both sides,
// hang-up of both sides.

import Audio
import CallEngine
import TestKit
import Testing

@Suite("linphonec", .serialized, HeavyPeer.linphonec.isWanted)
struct LinphonecTests {
    /// What it heard has the prompt piece by piece, since its jitter buffer leaves out 10 ms here and there on a busy machine: then the
    /// rest no longer lies where the beginning says.
    func expectPhoneHeard(_ prompt: String, in path: String, not other: String, _ place: SourceLocation = #_sourceLocation) throws
    {
        #expect(try Self.share(of: prompt, in: path) > 0.6, "\(prompt) was not heard", sourceLocation: place)
        #expect(try Self.share(of: other, in: path) < 0.3, "\(other)", sourceLocation: place)
    }

    /// How much of a prompt is in a recording, from 0 to 1, looked for in pieces of 400 ms.
    static func share(of prompt: String, in path: String) throws -> Double {
        let heard = try PromptFile.read(path)
        let speech = try PromptFile.read(Files.prompt(prompt)).resampled(to: heard.rate).samples
        let length = heard.rate * 2 / 5
        let starts = Array(stride(from: 0, through: speech.count - length, by: length))
        let found = starts.filter {
            Correlation.search(Array(speech[$0..<$0 + length]), in: heard.samples, overlap: 1).peak > 0.85
        }
        return Double(found.count) / Double(starts.count)
    }

    @Test("it calls, hears the menu, presses keys and hears the choice, and we hear it", arguments: Sipp.Transport.allCases)
    func caller(_ transport: Sipp.Transport) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("said.wav")
        let engine = try EngineUnderTest { call, notes in
            try call.ring()
            try await call.answer()
            try call.startRecording(path, notes: notes)
            try await call.stay(.milliseconds(500))
            try await call.say("menu-short")
            notes.add("asks")
            try await call.keysOneByOne(3, notes: notes)
            try await call.say("sales")
            try await call.stay(.milliseconds(300))
            notes.add("said")
        }
        defer { engine.close() }
        let phone = try Linphonec(speaking: "probe")
        defer { phone.stop() }
        phone.type("call \(engine.uri("ivr", transport))")
        #expect(phone.waitForOutput("Media streams established"), "\(phone.output)")
        engine.expectMenu { phone.type($0) }
        let report = try #require(engine.reports(1, within: .seconds(15)).first, "\(phone.output)")
        #expect(report.notes == ["asks", "key 1", "key 2", "key #", "said"])
        #expect(report.keys == "12#")
        #expect(report.end == CallEnd(by: .callee, cause: .normal))
        #expect(report.info.codec == "PCMU/8000")
        #expect(phone.waitForOutput("ended"))
        let heard = phone.stopAndListen()
        try expectPhoneHeard("menu-short", in: heard, not: "welcome")
        try expectPhoneHeard("sales", in: heard, not: "welcome")
        expectHeard("probe", in: [path], not: "sales")
    }

    @Test(
        "it is called and answers: it hears our prompt and we hear it; we hang up",
        arguments: zip(["PCMU", "PCMA", "opus"], Sipp.Transport.allCases + [.udp]))
    func callee(_ codec: String, _ transport: Sipp.Transport) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("said.wav")
        let engine = try EngineUnderTest(codecs: ["opus", "pcmu", "pcma"])
        defer { engine.close() }
        let phone = try Linphonec(speaking: "probe", codec: codec, answers: true)
        defer { phone.stop() }
        engine.call(CallRequest(target: "sip:phone@127.0.0.1:\(phone.port);transport=\(transport)")) { call, notes in
            try await call.greet(recording: path, notes: notes, before: .milliseconds(500), after: .milliseconds(1500))
        }
        let report = try #require(engine.reports(1).first, "\(phone.output)")
        #expect(report.end == CallEnd(by: .caller, cause: .normal), "\(phone.output)")
        #expect(report.notes == ["reached"])
        #expect(report.error == nil)
        #expect(report.info.codec == (codec == "opus" ? "opus/48000/2" : "\(codec)/8000"))
        #expect(phone.waitForOutput("ended"))
        try expectPhoneHeard("welcome", in: phone.stopAndListen(), not: "menu")
        expectHeard("probe", in: [path], not: "welcome")
    }

    @Test("it holds and resumes, we hold and resume, its keys come through afterwards, and it hangs up")
    func hold() throws {
        let engine = try EngineUnderTest { call, notes in
            try await call.answer()
            notes.add(try await call.keys(1, patience: .seconds(10)))
            try await call.hold(music: .file(path: Files.prompt("hold-music")))
            notes.add("held")
            try await call.stay(.milliseconds(300))
            try await call.unhold()
            notes.add("resumed")
            notes.add(try await call.keys(1, patience: .seconds(10)))
            try await call.stay(.seconds(10))
        }
        defer { engine.close() }
        let phone = try Linphonec(speaking: "probe")
        defer { phone.stop() }
        phone.type("call \(engine.uri("ivr"))")
        #expect(phone.waitForOutput("Media streams established"), "\(phone.output)")
        phone.type("pause")
        #expect(phone.waitForOutput("is now paused"), "\(phone.output)")
        phone.type("resume")
        #expect(phone.waitForOutput("Media streams established", times: 2), "\(phone.output)")
        phone.type("4")
        // It takes a second over a key before it answers our re-INVITE.
        #expect(phone.waitForOutput("has been paused by"), "\(phone.output)")
        #expect(phone.waitForOutput("Media streams established", times: 3), "\(phone.output)")
        phone.type("5")
        #expect(engine.waitForNote("5"))
        phone.type("terminate")
        let report = try #require(engine.reports(1).first, "\(phone.output)")
        let passed = engine.messages.map { ($0.sent ? "> " : "< ") + $0.text.prefix(40) }
        #expect(report.notes == ["4", "held", "resumed", "5"], "\(passed)")
        #expect(report.error == nil)
        #expect(report.end == CallEnd(by: .caller, cause: .normal))
        #expect(engine.invites(sent: false).count == 3)
        #expect(engine.invites(sent: false).contains { $0.contains("a=sendonly") || $0.contains("a=inactive") })
        #expect(engine.invites(sent: true).first?.contains("a=sendonly") == true)
    }

    @Test("it is called and hangs up; it declines; we give up while it rings")
    func ends() throws {
        let engine = try EngineUnderTest()
        defer { engine.close() }
        let phone = try Linphonec(speaking: "probe")
        defer { phone.stop() }
        let target = "sip:phone@127.0.0.1:\(phone.port)"
        func call() { engine.call(CallRequest(target: target), flow: KamailioTests.talks) }

        call()
        #expect(phone.waitForOutput("Receiving new incoming call"), "\(phone.output)")
        phone.type("answer")
        #expect(phone.waitForOutput("Media streams established"), "\(phone.output)")
        phone.type("terminate")
        var reports = engine.reports(1)
        #expect(reports.last?.end == CallEnd(by: .callee, cause: .normal), "\(phone.output)")
        #expect(reports.last?.notes == ["reached"])

        call()
        #expect(phone.waitForOutput("Receiving new incoming call", times: 2), "\(phone.output)")
        phone.type("terminate")
        reports = engine.reports(2)
        #expect(reports.last?.end == CallEnd(by: .callee, cause: .rejected), "\(phone.output)")
        #expect(reports.last?.info.sipStatus == 603)

        engine.call(CallRequest(target: target)) { call, notes in
            notes.add("\(try await call.wait(for: .ringing, timeout: .seconds(8)))")
            try await call.stay(.milliseconds(300))
        }
        reports = engine.reports(3)
        #expect(reports.last?.end == CallEnd(by: .caller, cause: .cancelled), "\(phone.output)")
        #expect(reports.last?.notes == ["reached"])
    }
}
