// linphonec with an account: it registers at our registrar, over UDP and TLS, is rung as user:anna, and calls over the same connection.

import CallEngine
import Reactor
import TestKit
import Testing

@Suite(
    "linphonec, account", .serialized, HeavyPeer.linphonec.isWanted,
    .enabled(if: TestCertificates.standard != nil, "there is no openssl program"))
struct LinphonecAccountTests {
    @Test("it registers, is rung as user:anna and heard, and calls us", arguments: ["udp", "tls"])
    func account(_ transport: String) throws {
        let made = try #require(TestCertificates.standard)
        let engine = try EngineUnderTest(
            registrar: RegistrarPeerTests.settings(), tls: try TLSContext(made.settings("local"))
        ) { call, notes in
            if call.info.to.user == "ivr" {
                try await call.answer()
                try await call.say("welcome")
                notes.add("greeted \(call.info.from.user)")
                return
            }
            let result = try await call.bridge(BridgeRequest(targets: ["user:anna"], timeout: .seconds(8)))
            notes.add("\(result.outcome) \(result.target)")
        }
        defer { engine.close() }
        let port = transport == "tls" ? engine.tlsPort : engine.udpPort
        let phone = try Linphonec(
            speaking: "probe", answers: true,
            account: ("anna", "example.com", "geheim", "sip:localhost:\(port);transport=\(transport)"),
            authority: transport == "tls" ? made.path("ca.pem") : nil)
        defer { phone.stop() }
        #expect(
            engine.wait(.seconds(10)) { engine.engine.registrar?.figures.bindings == 1 },
            "\(phone.output)\n\(engine.messages.map(\.text).joined(separator: "\n"))")
        let caller = try EngineUnderTest()
        defer { caller.close() }
        caller.call(CallRequest(target: "sip:hub@127.0.0.1:\(engine.udpPort)")) { call, notes in
            notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
            try await call.stay(.seconds(1))
        }
        let report = try #require(caller.reports(1).first, "\(phone.output)")
        #expect(report.notes == ["reached"] && report.info.media.received > 30, "\(phone.output)")
        #expect(phone.waitForOutput("ended (No error)"), "\(phone.output)")
        phone.type("call sip:ivr@localhost:\(port);transport=\(transport)")
        #expect(engine.waitForNote("greeted anna"), "\(phone.output)")
        if transport == "tls" {
            let counters = engine.engine.signalingCounters
            #expect(counters.streamsOpened == 0 && counters.streamsAccepted == 1, "all by the connection that it made")
        }
        #expect(engine.reports(2).count == 2)
    }
}
