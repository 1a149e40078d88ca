// Lines of ours that are registered at Kamailio, and calls that reach them by it, also over TLS in both hops.

import Basics
import CallEngine
import Reactor
import TestKit
import Testing

@Suite("kamailio, registrar", .serialized, HeavyPeer.kamailio.isWanted)
struct KamailioRegistrarTests {
    private static func line(
        _ kamailio: Kamailio, _ transport: EngineSettings.Listener.Transport, registers: Bool, password: String = "a-secret"
    ) -> LineSettings {
        LineSettings(
            name: "desk", server: "127.0.0.1", port: transport == .tls ? kamailio.tlsPort : kamailio.port, transport: transport,
            username: "desk", password: Secret(password),
            registration: registers ? LineSettings.Registration(domain: "ringwright.test", expires: 600) : nil)
    }

    @Test(
        "a line registers, is called by its registration and hangs up, all by the proxy",
        .enabled(if: TestCertificates.standard != nil, "there is no openssl program"),
        arguments: [EngineSettings.Listener.Transport.udp, .tcp, .tls])
    func called(_ transport: EngineSettings.Listener.Transport) throws {
        let made = try #require(TestCertificates.standard)
        let kamailio = try Kamailio(registrarWith: made)
        defer { kamailio.stop() }
        let desk = try EngineUnderTest(
            lines: [Self.line(kamailio, transport, registers: true)], tls: try TLSContext(made.settings())
        ) { call, notes in
            try await call.answer()
            notes.add(call.info.line)
            try await call.say("welcome")
            notes.add(try await call.keys(1))
            try await call.stay(.milliseconds(300))
        }
        defer { desk.close() }
        desk.engine.startLines()
        #expect(desk.wait(.seconds(8)) { desk.engine.lines.statuses.first?.state == .registered }, "\(kamailio.output)")
        // The registrar gives less than was asked for.
        #expect(kamailio.tells("challenges desk", times: 1))
        #expect(kamailio.tells("registered desk", times: 1))
        let caller = try EngineUnderTest(
            lines: [Self.line(kamailio, transport, registers: false)], tls: try TLSContext(made.settings()))
        defer { caller.close() }
        caller.call(CallRequest(target: "sip:desk@ringwright.test", line: "desk")) { call, notes in
            notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
            try await call.stay(.milliseconds(500))
            try await call.sendDigits("4", options: SendDigitsOptions(method: .rfc4733))
            try await call.stay(.seconds(10))
        }
        let calling = try #require(caller.reports(1).first, "\(kamailio.output)")
        let called = try #require(desk.reports(1, within: .seconds(2)).first, "\(kamailio.output)")
        #expect(calling.notes == ["reached"] && called.notes == ["desk", "4"], "\(kamailio.output)")
        for report in [calling, called] { #expect(report.end == CallEnd(by: .callee, cause: .normal)) }
        #expect(kamailio.decisions("not routed") == [])
        #expect(
            kamailio.tells("in the dialog: BYE by \(transport)", times: 1) && kamailio.decisions("in the dialog: BYE").count == 1)
        if transport == .tls {
            // One connection each: what was registered by is called by.
            #expect(desk.engine.signalingCounters.streamsOpened == 1 && desk.engine.signalingCounters.streamsAccepted == 0)
        }
        desk.engine.stopLines()
        #expect(desk.wait(.seconds(8)) { desk.engine.lines.areAllEnded })
        #expect(kamailio.wait { $0.decisions("registered desk").last?.hasSuffix(" for 0") == true }, "\(kamailio.decisions)")
    }

    @Test("a wrong password is given up, and nobody can be called there")
    func wrongPassword() throws {
        let made = try #require(TestCertificates.standard)
        let kamailio = try Kamailio(registrarWith: made)
        defer { kamailio.stop() }
        let desk = try EngineUnderTest(lines: [Self.line(kamailio, .udp, registers: true, password: "wrong")])
        defer { desk.close() }
        desk.engine.startLines()
        #expect(desk.wait(.seconds(8)) { desk.engine.lines.statuses.first?.state == .failed }, "\(kamailio.output)")
        #expect(kamailio.decisions("registered") == [])
        desk.call(CallRequest(target: "sip:desk@127.0.0.1:\(kamailio.port)")) { call, _ in
            _ = try await call.wait(for: .answered, timeout: .seconds(8))
        }
        let report = try #require(desk.reports(1).first)
        #expect(report.end == CallEnd(by: .callee, cause: .noAnswer) && report.info.sipStatus == 480)
        desk.engine.stopLines()
    }
}
