// A campaign with parties through Kamailio as the system under test: what is well, and three planted faults, each told by the half that
// missed something and in its direction.

import Basics
import Foundation
import Server
import TestKit
import Testing

@Suite("kamailio, parties", .serialized, HeavyPeer.kamailio.isWanted)
struct KamailioPartiesTests {
    static let caller = """
        flow: caller
        direction: outbound
        sections:
          call:
            - answer: { timeout: 5s }
            - play: welcome.wav
            - send-digits: { digits: "12", method: info }
            - wait: 1s
            - hangup
        """
    static let agent = """
        flow: agent
        sections: { call: [ ring, answer, { wait: 300ms }, { tone: { frequencies: [ 620 ], for: 800ms } }, { wait: 30s } ] }
        """

    @Test func eachFaultIsToldByTheHalfThatMissedIt() async throws {
        let port = Ports.free()
        let kamailio = try Kamailio(first: "sip:200@127.0.0.1:\(port)")
        defer { kamailio.stop() }
        let folder = try TemporaryFolder()
        let prompts = Files.root.appendingPathComponent("prompts").path
        try folder.write(
            Self.caller.replacing("direction: outbound", with: "direction: outbound\nprompts: \(prompts)"), to: "a.yaml")
        try folder.write(Self.agent, to: "b.yaml")
        try folder.write("number\ndirect\ndeaf\nmute\nlost\n", to: "list.csv")
        try folder.write(
            """
            campaign: through-kamailio
            targets: list.csv
            flow: a.yaml
            to: "sip:${target.number}@127.0.0.1:\(kamailio.port)"
            parties:
              agent: { flow: b.yaml, number: "200" }
            """, to: "c.yaml")
        let outcome = try await CampaignPeerTests.campaign(
            folder, [folder.path("c.yaml"), "--set", "sip.listen=[\"udp:127.0.0.1:\(port)\"]"])
        #expect(outcome.status == .failed)
        let results = try folder.text("report/results.jsonl").split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        let missed = results.map { result in
            ((result["expectations"] as? [[String: Any]]) ?? []).filter { $0["passed"] as? Bool == false }
                .map { "\($0["name"] ?? ""): \($0["actual"] ?? "")" }
        }
        #expect(missed.count == 4, "\(kamailio.output)")
        #expect(missed.first == [], "\(missed)")
        #expect(missed.dropFirst().first == ["agent hears the keys 12 of caller: none"], "\(missed)")
        #expect(missed.dropFirst(2).first == ["agent hears caller: one way: caller sent nothing"], "\(missed)")
        #expect(missed.last == ["the hang-up of caller reaches agent: no BYE came within 5s"], "\(missed)")
        // The calls came at once and to one number: the mark, which a proxy leaves alone, tells them apart.
        for result in results {
            let party = try #require((result["parties"] as? [[String: Any]])?.first)
            #expect(party["matched_by"] as? String == "mark")
            #expect(party["setup_ms"] is Double)
        }
        let ladder = folder.text("report/junit.xml")
        #expect(ladder.contains("system under test") && ladder.contains("INFO sip:"))
        #expect(folder.text("report/calls.csv").components(separatedBy: ",agent,").count == 5)
    }
}
