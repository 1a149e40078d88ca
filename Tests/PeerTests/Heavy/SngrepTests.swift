// sngrep, with which operators look at captures: it reads what a trace has written.

import CallEngine
import Foundation
import Reactor
import TestKit
import Testing

@Suite("sngrep", .serialized, HeavyPeer.sngrep.isWanted)
struct SngrepTests {
    @Test("the dialog of a traced call is found", arguments: ["udp", "tcp", "tls"])
    func reads(_ transport: String) throws {
        let folder = try TemporaryFolder()
        let tls = transport == "tls" ? try TLSContext(#require(TestCertificates.standard).settings("address")) : nil
        let engine = try EngineUnderTest(tls: tls) { call, _ in
            try await call.answer()
            try await call.stay(.milliseconds(300))
        }
        let caller = try EngineUnderTest(tls: tls, traces: TraceSettings(folder: folder.path("traces")))
        let port = engine.port(try #require(EngineSettings.Listener.Transport(rawValue: transport)))
        caller.call(CallRequest(target: "sip:ivr@127.0.0.1:\(port);transport=\(transport)")) { call, _ in
            _ = try await call.wait(for: .answered, timeout: .seconds(5))
            try await call.stay(.seconds(5))
        }
        #expect(caller.reports(1).count == 1)
        caller.close()
        engine.close()
        let call = try #require(try FileManager.default.contentsOfDirectory(atPath: folder.path("traces")).first)
        let sngrep = try HeavyPeer.sngrep.start(["-N", "-I", folder.path("traces/\(call)/call.pcap")], in: folder, limit: 20)
        #expect(sngrep.wait(.seconds(20)) == 0, "\(sngrep.output)")
        #expect(sngrep.output.contains("Dialog count: 1"), "\(sngrep.output)")
    }
}
