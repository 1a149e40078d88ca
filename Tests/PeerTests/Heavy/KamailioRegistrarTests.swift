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

    @Test(
        "a private caller is reached by the temporary GRUU that Kamailio gave it, in its call and by another one",
        .enabled(if: TestCertificates.standard != nil, "there is no openssl program"))
    func temporaryGRUU() throws {
        let made = try #require(TestCertificates.standard)
        let kamailio = try Kamailio(registrarWith: made)
        defer { kamailio.stop() }
        func phone(_ user: String, _ instance: String, flow: @escaping TestFlow) throws -> EngineUnderTest {
            var line = Self.line(kamailio, .udp, registers: true)
            (line.name, line.username) = (user, user)
            line.registration?.instance = "urn:uuid:\(instance)"
            let engine = try EngineUnderTest(lines: [line], flow: flow)
            engine.engine.startLines()
            #expect(engine.wait(.seconds(8)) { engine.engine.lines.statuses.first?.state == .registered }, "\(kamailio.output)")
            return engine
        }
        let desk = try phone("desk", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6") { call, notes in
            notes.add("rings for \(call.info.to.user)")
            try await call.answer()
            try await call.stay(.seconds(10))
        }
        defer { desk.close() }
        let bot = try phone("bot", "f81d4fae-7dec-11d0-a765-00a0c91e6bf7") { call, notes in
            try await call.answer()
            notes.add(call.info.headers.first { $0.name == "Contact" }?.value ?? "")
            try await call.stay(.milliseconds(300))
            call.hangUp(.normal)
        }
        defer { bot.close() }
        var request = CallRequest(target: "sip:bot@ringwright.test", line: "desk", from: "anonymous")
        desk.call(request) { call, notes in
            notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
            try await call.stay(.seconds(10))
        }
        // The BYE goes to the GRUU, and Kamailio knows where that is.
        let heard = try #require(bot.reports(1).first, "\(kamailio.output)")
        let calling = try #require(desk.reports(1, within: .seconds(3)).first, "\(kamailio.output)")
        #expect(calling.end == CallEnd(by: .callee, cause: .normal), "\(kamailio.output)")
        let contact = try #require(heard.notes.first?.dropFirst().dropLast())
        #expect(contact.hasSuffix("@ringwright.test;gr") && !contact.contains("desk") && !contact.contains("127.0.0.1"))
        request = CallRequest(target: String(contact), line: "bot")
        bot.call(request) { call, notes in
            notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
        }
        #expect(bot.reports(2).last?.notes == ["reached"], "\(kamailio.output)")
        #expect(desk.reports(2, within: .seconds(3)).last?.info.line == "desk")
        for engine in [desk, bot] { engine.engine.stopLines() }
    }

    @Test(
        "a line registers by two edge proxies; one of them dies, and calls come and go by the other",
        .enabled(if: TestCertificates.standard != nil, "there is no openssl program"))
    func severalFlows() throws {
        let made = try #require(TestCertificates.standard)
        let (first, second) = (try Kamailio(registrarWith: made), try Kamailio(registrarWith: made))
        defer { for kamailio in [first, second] { kamailio.stop() } }
        var line = Self.line(first, .tcp, registers: true)
        line.registration?.instance = "urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf8"
        line.registration?.edges = [first, second].map { .init(server: "127.0.0.1", port: $0.port) }
        let desk = try EngineUnderTest(lines: [line]) { call, notes in
            try await call.answer()
            notes.add(call.info.line)
            try await call.stay(.milliseconds(300))
        }
        defer { desk.close() }
        desk.engine.startLines()
        for kamailio in [first, second] {
            #expect(kamailio.wait { $0.decisions("registered desk").count == 1 }, "\(kamailio.output)")
        }
        func calls(_ user: String) throws -> CallReport {
            let before = desk.reports(0).count
            desk.call(CallRequest(target: "sip:\(user)@ringwright.test", line: "desk")) { call, notes in
                notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
            }
            return try #require(desk.reports(before + 1, within: .seconds(5)).last)
        }
        #expect(desk.wait(.seconds(8)) { desk.engine.lines.statuses.first?.state == .registered })
        #expect(try calls("nobody").info.sipStatus == 480)
        #expect(first.wait { $0.decisions("nobody for nobody").count == 1 } && second.decisions("nobody for nobody") == [])
        first.stop()
        // As soon as the connection has ended.
        #expect(try calls("nobody").info.sipStatus == 480)
        #expect(second.wait { $0.decisions("nobody for nobody").count == 1 }, "\(second.output)")
        #expect(desk.engine.lines.statuses.first?.state == .registered)
        // Who calls there reaches the line by the flow that is left.
        let caller = try EngineUnderTest(lines: [Self.line(second, .tcp, registers: false)])
        defer { caller.close() }
        caller.call(CallRequest(target: "sip:desk@ringwright.test", line: "desk")) { call, notes in
            notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
            try await call.stay(.seconds(10))
        }
        #expect(try #require(caller.reports(1).first, "\(second.output)").notes == ["reached"])
        #expect(desk.reports(3, within: .seconds(3)).last?.notes == ["desk"])
        desk.engine.stopLines()
        #expect(second.wait { $0.decisions("registered desk").last?.hasSuffix(" for 0") == true }, "\(second.decisions)")
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
