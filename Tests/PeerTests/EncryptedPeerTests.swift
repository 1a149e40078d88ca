// SRTP with strangers: baresip and linphonec call and are called, with keys in the description (SDES). What was heard is found by
// correlation, so each side has decrypted the other.

import CallEngine
import SDP
import TestKit
import Testing

@Suite("SRTP with baresip", .serialized, .enabled(if: Baresip.isInstalled, "baresip is not installed"))
struct EncryptedPeerTests {
    private static let suite = "AES_CM_128_HMAC_SHA1_80"

    @Test("it calls: speech both ways, a key, a hold of ours", arguments: ["srtp-mand", "srtp-mandf"])
    func caller(encryption: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("said.wav")
        let engine = try EngineUnderTest(security: .required) { call, notes in
            try await call.answer()
            try call.startRecording(path, notes: notes)
            try await call.say("welcome")
            try await call.stay(.milliseconds(1500))
            try await call.hold(music: nil)
            try await call.unhold()
            notes.add("asks")
            notes.add(try await call.keys(1))
        }
        defer { engine.close() }
        let baresip = try Baresip(speaking: "probe", dial: "sip:ivr@127.0.0.1:\(engine.udpPort)", encryption: encryption)
        #expect(engine.waitForNote("asks"), "\(baresip.output)")
        baresip.press("7")
        let report = try #require(engine.reports(1, within: .seconds(15)).first, "\(baresip.output)")
        #expect(report.notes == ["asks", "7"] && report.error == nil)
        #expect(report.info.media.srtp == Self.suite)
        expectHeard("welcome", in: baresip.stopAndListen(), not: "menu")
        expectHeard("probe", in: [path], not: "welcome")
        #expect(engine.engine.mediaCounters.droppedUnauthentic == 0)
    }

    @Test(
        "it is called: with an encrypted offer, and plain after it has refused",
        arguments: [(.required, "srtp-mand", true), (.offered, "srtp", true), (.offered, nil, false)]
            as [(MediaSecurity, String?, Bool)])
    func callee(security: MediaSecurity, encryption: String?, isSecure: Bool) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("said.wav")
        let engine = try EngineUnderTest(security: security)
        defer { engine.close() }
        let baresip = try Baresip(speaking: "probe", encryption: encryption)
        engine.call(CallRequest(target: "sip:bot@127.0.0.1:\(baresip.port)")) { call, notes in
            try await call.greet(recording: path, notes: notes)
        }
        let report = try #require(engine.reports(1).first, "\(baresip.output)")
        #expect(report.notes == ["reached"] && report.error == nil, "\(baresip.output)")
        #expect(report.info.media.srtp == (isSecure ? Self.suite : ""))
        expectHeard("welcome", in: baresip.stopAndListen(), not: "menu")
        expectHeard("probe", in: [path], not: "welcome")
        #expect(engine.invites(sent: true).count == (isSecure ? 1 : 2))
    }

    @Test("it wants what is off here, and hears no more than a refusal") func refused() throws {
        let engine = try EngineUnderTest(security: .off) { call, notes in notes.add("came") }
        defer { engine.close() }
        let baresip = try Baresip(speaking: "probe", dial: "sip:ivr@127.0.0.1:\(engine.udpPort)", encryption: "srtp-mand")
        #expect(baresip.waitForOutput("488"), "\(baresip.output)")
        #expect(engine.reports(1, within: .milliseconds(1)).isEmpty)
    }
}

@Suite("SRTP with linphonec", .serialized, HeavyPeer.linphonec.isWanted)
struct EncryptedLinphonecTests {
    @Test("it calls and is called: speech both ways, a key", arguments: [true, false]) func both(calls: Bool) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("said.wav")
        let flow: TestFlow = { call, notes in
            if call.direction == .inbound {
                try await call.answer()
            } else {
                _ = try await call.wait(for: .answered, timeout: .seconds(8))
            }
            try call.startRecording(path, notes: notes)
            try await call.stay(.milliseconds(500))
            try await call.say("welcome")
            try await call.stay(.milliseconds(1500))
            notes.add("greeted")
            notes.add(try await call.keys(1, patience: .seconds(10)))
        }
        let engine = try EngineUnderTest(security: .required, flow: flow)
        defer { engine.close() }
        let phone = try Linphonec(speaking: "probe", encryption: "srtp", answers: !calls)
        defer { phone.stop() }
        if calls {
            phone.type("call \(engine.uri("ivr", .udp))")
        } else {
            engine.call(CallRequest(target: "sip:phone@127.0.0.1:\(phone.port)"), flow: flow)
        }
        #expect(engine.waitForNote("greeted"), "\(phone.output)")
        phone.type("5")
        let report = try #require(engine.reports(1, within: .seconds(15)).first, "\(phone.output)")
        #expect(report.notes == ["greeted", "5"] && report.error == nil, "\(phone.output)")
        #expect(report.info.media.srtp.hasPrefix("A"), "\(phone.output)")
        let heard = phone.stopAndListen()
        #expect(try LinphonecTests.share(of: "welcome", in: heard) > 0.6)
        expectHeard("probe", in: [path], not: "welcome")
        #expect(engine.engine.mediaCounters.droppedUnauthentic == 0)
    }
}
