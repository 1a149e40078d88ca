// `load` through Kamailio, whose other side is the same process: what the proxy does to calls shows in the halves and between them.

import Foundation
import Server
import TestKit
import Testing

@Suite("kamailio under load", .serialized, HeavyPeer.kamailio.isWanted)
struct KamailioLoadTests {
    /// Both halves of a run of ten calls to this number of the proxy.
    static func run(_ number: String) async throws -> (near: LoadPeerTests.Result, far: LoadPeerTests.Result) {
        let folder = try TemporaryFolder()
        try folder.write("flow: far\nsections: { start: [ answer, { wait: 1m } ] }\n", to: "far.yaml")
        let port = Ports.free()
        let kamailio = try Kamailio(first: "sip:200@127.0.0.1:\(port)")
        defer { kamailio.stop() }
        guard
            case .run(let arguments) = try CommandList.choose(
                [
                    "load", "sip:\(number)@127.0.0.1:\(kamailio.port)", "--json", "--rate", "10", "--calls", "10", "--loops", "1",
                    "--hold", "1500ms", "--media", "play", "--answer", folder.path("far.yaml"), "--set",
                    "sip.listen=[\"udp:127.0.0.1:\(port)\"]", "--set", "rtp.ports=\(LoadPeerTests.ports())"
                ])
        else { throw PeerError.missing("arguments") }
        let outcome = try await LoadCommand.run(LoadOptions(arguments), stops: StopRequests()) { _ in }
        let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        let near = LoadPeerTests.Result(status: outcome.status, json: try #require(object, "\(kamailio.output)"))
        let far = try #require(near.json["far_end"] as? [String: Any])
        return (near, LoadPeerTests.Result(status: outcome.status, json: far))
    }

    @Test func bothHalvesAgree() async throws {
        let (near, far) = try await Self.run("direct")
        #expect((near.count("answered"), near.count("failed")) == (10, 0))
        #expect((far.count("placed"), far.count("answered"), far.count("failed")) == (10, 10, 0))
        #expect(near["between", "calls"] as? Int == 0)
        #expect((far["media", "received"] as? Int ?? 0) > 500)
    }

    /// It thinks for 700 ms: the caller waits, and sends again; the far end has nothing to do with it.
    @Test func aDelayIsInTheMiddle() async throws {
        let (near, far) = try await Self.run("slow")
        #expect((near.count("answered"), near.count("failed"), far.count("answered")) == (10, 0, 10))
        #expect(try #require(near["percentiles_ms", "answer", "p50"] as? Double) >= 700)
        #expect(try #require(far["percentiles_ms", "answer", "p99"] as? Double) < 500)
        #expect(try #require(near.count("retransmissions")) >= 10)
    }

    /// It answers every BYE and gives none on: only the far end can tell.
    @Test func lostByesAreToldByTheFarEnd() async throws {
        let (near, far) = try await Self.run("lost")
        #expect((near.count("answered"), near.count("failed")) == (10, 0))
        #expect((far.count("answered"), far.counts("by_cause") ?? [:]) == (10, ["timeout": 10]))
    }
}
