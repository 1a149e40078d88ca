// sipsak, with which administrators ask whether a SIP server is alive.

import CallEngine
import TestKit
import Testing

@Suite("sipsak", .serialized, HeavyPeer.sipsak.isWanted)
struct SipsakTests {
    /// What sipsak ended with and what it said.
    private func run(_ arguments: [String], at engine: EngineUnderTest, udp: Bool = true) throws -> (Int32?, String) {
        let target = "sip:100@127.0.0.1:\(udp ? engine.udpPort : engine.tcpPort)"
        let program = try HeavyPeer.sipsak.start(arguments + ["-s", target], in: TemporaryFolder(), limit: 20)
        return (program.wait(.seconds(20)), program.output)
    }

    @Test("OPTIONS is answered with what we can do, over UDP and TCP", arguments: Sipp.Transport.allCases)
    func options(_ transport: Sipp.Transport) throws {
        let engine = try EngineUnderTest()
        defer { engine.close() }
        let (status, output) = try run(["-vv", "-E", "\(transport)"], at: engine, udp: transport == .udp)
        #expect(status == 0, "\(output)")
        #expect(output.contains("SIP/2.0 200 OK"))
        #expect(output.contains("Allow: INVITE, ACK, BYE, CANCEL, "))
        #expect(output.contains("Accept: application/sdp"))
    }

    @Test("a trace of the route ends here: Max-Forwards 0 is answered, since we are no proxy")
    func trace() throws {
        let engine = try EngineUnderTest()
        defer { engine.close() }
        let (status, output) = try run(["-T"], at: engine)
        #expect(status == 0, "\(output)")
        #expect(output.contains("SIP/2.0 200 OK"))
        #expect(engine.messages.contains { !$0.sent && $0.text.contains("Max-Forwards: 0") })
    }

    @Test("REGISTER is refused: there is no registrar")
    func register() throws {
        let engine = try EngineUnderTest()
        defer { engine.close() }
        let (status, output) = try run(["-U", "-v"], at: engine)
        #expect(status != 0)
        #expect(output.contains("SIP/2.0 405 Method Not Allowed"), "\(output)")
    }

    @Test("a flood of requests and requests with wrong octets do no harm")
    func harm() throws {
        let engine = try EngineUnderTest()
        defer { engine.close() }
        #expect(try run(["-F", "-e", "2000"], at: engine).0 == 0)
        _ = try run(["-R", "-t", "40"], at: engine)
        let (status, output) = try run(["-vv"], at: engine)
        #expect(status == 0, "\(output)")
        #expect(engine.engine.gate.active == 0)
    }
}
