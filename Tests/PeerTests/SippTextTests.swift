// Texts in a call with sipp, which computes the digest itself and looks at what it gets.

import Basics
import CallEngine
import TestKit
import Testing

@Suite("sipp gets texts", .serialized, .enabled(if: Sipp.isInstalled, "sipp is not installed"))
struct SippTextTests {
    @Test("in a call: one is challenged and delivered, the next is accepted", arguments: Sipp.Transport.allCases)
    func inTheCall(_ transport: Sipp.Transport) throws {
        let port = Ports.free()
        let line = LineSettings(
            name: "trunk", server: "127.0.0.1", port: port, transport: transport == .udp ? .udp : .tcp, username: "trunk",
            password: Secret("a-secret"))
        let engine = try EngineUnderTest(lines: [line])
        defer { engine.close() }
        let report = try #require(
            try sippIsCalled("callee-texts", transport: transport, engine: engine, line: "trunk", port: port) { call, notes in
                notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
                for text in ["Your ticket is 7", "Good bye"] {
                    let result = try await call.send(TextRequest(text))
                    notes.add("\(result.outcome) \(result.status)")
                }
            })
        #expect(report.notes == ["reached", "delivered 200", "accepted 202"])
        #expect(report.error == nil && report.end == CallEnd(by: .caller, cause: .normal))
    }
}
