// baresip as caller and as callee: both sides' audio is found by correlation, keys, hold and resume.

import Audio
import CallEngine
import TestKit
import Testing

@Suite("baresip", .serialized, .enabled(if: Baresip.isInstalled, "baresip is not installed"))
struct BaresipTests {
    @Test("baresip answers: it hears our prompt and we hear its", arguments: zip(["pcmu", "pcma"], Sipp.Transport.allCases))
    func callee(_ codec: String, _ transport: Sipp.Transport) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("said.wav")
        let engine = try EngineUnderTest()
        defer { engine.close() }
        let baresip = try Baresip(speaking: "probe", codec: codec)
        engine.call(CallRequest(target: "sip:bot@127.0.0.1:\(baresip.port);transport=\(transport)")) { call, notes in
            try await call.greet(recording: path, notes: notes)
        }
        let report = try #require(engine.reports(1).first, "\(baresip.output)")
        #expect(report.end == CallEnd(by: .caller, cause: .normal))
        #expect(report.notes == ["reached"])
        #expect(report.error == nil)
        #expect(report.info.codec == "\(codec.uppercased())/8000")
        expectHeard("welcome", in: baresip.stopAndListen(), not: "menu")
        expectHeard("probe", in: [path], not: "welcome")
    }

    @Test(
        "wideband with baresip: both hear each other, and its key comes at the clock of the codec",
        arguments: [("G722/16000/1", "G722/8000"), ("opus/48000/2", "opus/48000/2")])
    func wideband(_ codec: String, _ name: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("said.wav")
        let engine = try EngineUnderTest(codecs: ["opus", "g722", "pcmu"]) { call, notes in
            try await call.answer()
            try call.startRecording(path, notes: notes)
            try await call.say("menu-short")
            notes.add("asks")
            notes.add(try await call.keys(1))
            try await call.stay(.milliseconds(500))
        }
        defer { engine.close() }
        let baresip = try Baresip(speaking: "probe", codec: codec, dial: "sip:ivr@127.0.0.1:\(engine.udpPort)")
        #expect(engine.waitForNote("asks"), "\(baresip.output)")
        baresip.press("7")
        let report = try #require(engine.reports(1, within: .seconds(15)).first, "\(baresip.output)")
        #expect(report.notes == ["asks", "7"] && report.error == nil)
        #expect(report.info.codec == name)
        #expect(report.recording?.complete == true)
        expectHeard("menu-short", in: baresip.stopAndListen(), not: "welcome")
        expectHeard("probe", in: [path], not: "welcome")
        // What we heard has the sound above the telephone's 3.4 kHz.
        #expect(try PromptFile.read(path).rate == (codec == "opus/48000/2" ? 48000 : 16000))
    }

    @Test("baresip calls, hears the menu, presses keys and hears the choice")
    func caller() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("said.wav")
        let engine = try EngineUnderTest { call, notes in
            try call.ring()
            try await call.answer()
            try call.startRecording(path, notes: notes)
            try await call.say("menu-short")
            notes.add("asks")
            try await call.keysOneByOne(3, notes: notes)
            try await call.say("sales")
            notes.add("said")
        }
        defer { engine.close() }
        let baresip = try Baresip(speaking: "probe", dial: "sip:ivr@127.0.0.1:\(engine.udpPort)")
        engine.expectMenu { baresip.press($0) }
        let report = try #require(engine.reports(1, within: .seconds(15)).first, "\(baresip.output)")
        #expect(report.notes == ["asks", "key 1", "key 2", "key #", "said"])
        #expect(report.keys == "12#")
        #expect(report.end == CallEnd(by: .callee, cause: .normal))
        let heard = baresip.stopAndListen()
        expectHeard("menu-short", in: heard, not: "welcome")
        expectHeard("sales", in: heard, not: "welcome")
        expectHeard("probe", in: [path], not: "sales")
    }

    @Test("baresip holds and resumes, we hold and resume, and its keys come through afterwards")
    func hold() throws {
        let engine = try EngineUnderTest { call, notes in
            try await call.answer()
            try await call.say("welcome")
            notes.add("greeted")
            try await call.stay(.milliseconds(1500))
            try await call.hold(music: .file(path: Files.prompt("hold-music")))
            notes.add("held")
            try await call.stay(.milliseconds(300))
            try await call.unhold()
            notes.add("resumed")
            notes.add(try await call.keys(1))
        }
        defer { engine.close() }
        let baresip = try Baresip(speaking: "probe", dial: "sip:ivr@127.0.0.1:\(engine.udpPort)")
        #expect(engine.waitForNote("greeted"), "\(baresip.output)")
        baresip.press("x")
        #expect(engine.waitForInvites(2, sent: false), "\(baresip.output)")
        baresip.press("X")
        #expect(engine.waitForNote("resumed"), "\(baresip.output)")
        baresip.press("5")
        let report = try #require(engine.reports(1, within: .seconds(8)).first, "\(baresip.output)")
        #expect(report.notes == ["greeted", "held", "resumed", "5"])
        #expect(report.error == nil)
        #expect(engine.invites(sent: false).count == 3)
        #expect(engine.invites(sent: false).contains { $0.contains("a=sendonly") })
        #expect(engine.invites(sent: true).first?.contains("a=sendonly") == true)
        expectHeard("welcome", in: baresip.stopAndListen(), not: "menu")
    }

    @Test("baresip hangs up: the call ends by its side")
    func hangsUp() throws {
        let engine = try EngineUnderTest { call, _ in
            try await call.answer()
            try await call.stay(.seconds(10))
        }
        defer { engine.close() }
        let baresip = try Baresip(speaking: "probe", dial: "sip:ivr@127.0.0.1:\(engine.udpPort)")
        #expect(baresip.waitForOutput("Call established"), "\(baresip.output)")
        baresip.press("b")
        let report = try #require(engine.reports(1).first, "\(baresip.output)")
        #expect(report.end == CallEnd(by: .caller, cause: .normal))
    }
}
