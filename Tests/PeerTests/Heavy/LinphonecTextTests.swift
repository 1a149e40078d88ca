// linphonec reads our texts, in a call and outside, and writes some to us.

import CallEngine
import TestKit
import Testing

@Suite("linphonec, texts", .serialized, HeavyPeer.linphonec.isWanted)
struct LinphonecTextTests {
    @Test("texts go both ways")
    func bothWays() throws {
        let engine = try EngineUnderTest(registrar: RegistrarPeerTests.settings()) { call, notes in
            try await call.answer()
            notes.add("in the call: \(try await call.send(TextRequest("Your ticket is 7")))")
            notes.add("to the user: \(try await call.send(TextRequest("Somebody called", to: "user:anna")))")
            try await call.stay(.milliseconds(300))
        }
        defer { engine.close() }
        let phone = try Linphonec(
            speaking: "probe", account: ("anna", "example.com", "geheim", "sip:localhost:\(engine.udpPort)"), routes: true)
        defer { phone.stop() }
        #expect(engine.wait(.seconds(10)) { engine.engine.registrar?.figures.bindings == 1 }, "\(phone.output)")
        phone.type("call sip:ivr@127.0.0.1:\(engine.udpPort)")
        let report = try #require(engine.reports(1).first, "\(phone.output)")
        #expect(report.notes.count == 2 && report.notes.allSatisfy { $0.contains("delivered") }, "\(report.notes)")
        #expect(phone.waitForOutput("Your ticket is 7"), "\(phone.output)")
        #expect(phone.waitForOutput("Somebody called"), "\(phone.output)")
        // It leaves out the port of whom it writes to.
        phone.type("chat sip:ivr@example.com thank you")
        #expect(
            engine.wait(.seconds(8)) { engine.texts.contains { $0.text == "thank you" && $0.user == "anna" } }, "\(phone.output)")
    }
}
