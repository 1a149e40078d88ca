// Strangers log in at our registrar: sipp by scenarios, baresip as a phone that is then rung as `user:anna`. And baresip is what a line of
// ours is called by, over the registration.

import Basics
import CallEngine
import Glibc
import SIP
import Testing

@Suite("Registrar and strangers", .serialized, .enabled(if: Sipp.isInstalled, "sipp is not installed"))
struct RegistrarPeerTests {
    static func settings(_ algorithms: [DigestAlgorithm] = [.md5]) -> RegistrarSettings {
        RegistrarSettings(
            realm: "example.com", users: ["anna": DigestSecret(user: "anna", realm: "example.com", password: "geheim")],
            algorithms: algorithms)
    }

    @Test("sipp logs in, is told about too brief a time, and logs out", arguments: Sipp.Transport.allCases)
    func sippLogsIn(_ transport: Sipp.Transport) throws {
        let engine = try EngineUnderTest(registrar: Self.settings())
        defer { engine.close() }
        let port = transport == .udp ? engine.udpPort : engine.tcpPort
        let sipp = try Sipp(.own("caller-registers"), target: port, transport: transport, calls: 1)
        sipp.expectSuccess()
        let figures = try #require(engine.engine.registrar?.figures)
        #expect(figures.bindings == 0)
        #expect(figures.answers[200] == 2 && figures.answers[423] == 1)
    }

    @Test("sipp with a wrong password is refused") func wrongPassword() throws {
        let engine = try EngineUnderTest(registrar: Self.settings())
        defer { engine.close() }
        try Sipp(.own("caller-registers-wrongly"), target: engine.udpPort).expectSuccess()
        #expect(engine.engine.registrar?.figures.answers == [401: 1, 403: 1])
    }

    @Test("sipp calls as a user of the registrar and proves it", arguments: Sipp.Transport.allCases)
    func sippProvesWhoItIs(_ transport: Sipp.Transport) throws {
        let engine = try EngineUnderTest(registrar: Self.settings([.md5])) { call, notes in
            notes.add(call.info.user)
            try await call.answer()
            try await call.stay(.seconds(12))
        }
        defer { engine.close() }
        let report = try #require(try sippCalls("caller-proves-who-it-is", transport: transport, engine: engine))
        #expect(report.end == CallEnd(by: .caller, cause: .normal))
        #expect(report.notes == ["anna"])
    }

    @Test(
        "baresip logs in and is rung as user:anna", .enabled(if: Baresip.isInstalled, "baresip is not installed"))
    func baresipIsRung() throws {
        let engine = try EngineUnderTest(registrar: Self.settings()) { call, notes in
            let result = try await call.bridge(BridgeRequest(targets: ["user:anna"], timeout: .seconds(8)))
            notes.add("\(result.outcome) \(result.target)")
        }
        defer { engine.close() }
        let baresip = try Baresip(speaking: "probe", registering: "sip:anna@example.com", at: engine.udpPort, password: "geheim")
        #expect(
            engine.wait(.seconds(8)) { engine.engine.registrar?.figures.bindings == 1 },
            "\(baresip.output)\n\(engine.messages.map(\.text).joined(separator: "\n"))")
        let caller = try EngineUnderTest()
        defer { caller.close() }
        caller.call(CallRequest(target: "sip:hub@127.0.0.1:\(engine.udpPort)")) { call, notes in
            notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
            try await call.stay(.milliseconds(700))
        }
        let report = try #require(caller.reports(1).first, "\(baresip.output)")
        #expect(report.notes == ["reached"], "\(engine.messages.map(\.text).joined(separator: "\n"))")
        #expect(report.info.media.received > 20)
    }
}
