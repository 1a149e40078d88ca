// sipp's own scenarios against the engine, over UDP and TCP, both ways.

import CallEngine
import TestKit
import Testing

@Suite("sipp, built-in scenarios", .serialized, .enabled(if: Sipp.isInstalled, "sipp is not installed"))
struct SippBuiltInTests {
    @Test("50 calls of sipp's uac are answered", arguments: Sipp.Transport.allCases)
    func uac(_ transport: Sipp.Transport) throws {
        let engine = try EngineUnderTest { call, _ in
            try await call.answer()
            try await call.stay(.seconds(10))
        }
        defer { engine.close() }
        let sipp = try Sipp(
            .builtIn("uac"), target: transport == .udp ? engine.udpPort : engine.tcpPort, transport: transport, calls: 50,
            more: ["-r", "100", "-d", "100"])
        sipp.expectSuccess()
        let reports = engine.reports(50)
        #expect(reports.count == 50)
        #expect(reports.allSatisfy { $0.end == CallEnd(by: .caller, cause: .normal) })
        #expect(engine.engine.callCounters.answered == 50)
    }

    @Test("50 calls to sipp's uas are answered, and it hears our prompt", arguments: Sipp.Transport.allCases)
    func uas(_ transport: Sipp.Transport) throws {
        let folder = try TemporaryFolder()
        let engine = try EngineUnderTest()
        defer { engine.close() }
        let sipp = try Sipp(.builtIn("uas"), transport: transport, calls: 50, more: ["-rtp_echo"])
        for _ in 0..<49 {
            engine.call(CallRequest(target: "sip:service@127.0.0.1:\(sipp.port);transport=\(transport)")) { call, notes in
                notes.add("\(try await call.wait(for: .answered, timeout: .seconds(5)))")
                try await call.stay(.milliseconds(100))
            }
        }
        var reports = engine.reports(49)
        #expect(reports.allSatisfy { $0.end == CallEnd(by: .caller, cause: .normal) && $0.notes == ["reached"] })
        engine.call(
            CallRequest(target: "sip:service@127.0.0.1:\(sipp.port);transport=\(transport)"),
            flow: SippMediaTests.echo(into: folder.path("heard.wav")))
        reports = engine.reports(50)
        #expect(reports.count == 50)
        try SippMediaTests.expectHeard("welcome", in: reports.last)
        #expect(reports.last?.info.codec == "PCMU/8000")
        sipp.expectSuccess()
        #expect(reports.allSatisfy { $0.info.timings.ringing != nil && $0.info.sipStatus == 200 })
    }
}
