// `check` on campaigns: the file, its flow and its list are looked at together.

import FlowEngine
import Foundation
import Server
import TestKit
import Testing

@Suite struct CampaignCheckTests {
    static func findings(_ campaign: String, list: String, flow: String) throws -> [String] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in [("c.yaml", campaign), ("list.csv", list), ("f.yaml", flow)] {
            try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
        }
        let file = folder.appending(path: "c.yaml").path()
        return CheckCommand.check(file, .process).map { $0.description.replacing(folder.path() + "/", with: "") }
    }

    static let campaign = "campaign: c\ntargets: list.csv\nflow: f.yaml\nto: \"sip:${target.number}@h\"\n"
    static let flow = "flow: f\nsections: { call: [ answer, hangup ] }\n"

    @Test func allIsWell() throws {
        #expect(try Self.findings(Self.campaign, list: "number\n1\n", flow: Self.flow) == [])
    }

    @Test func mistakesOfAllThreeFiles() throws {
        #expect(
            try Self.findings(Self.campaign + "concurency: 2\n", list: "number\n1\n", flow: Self.flow)
                == ["c.yaml:5:1: error: unknown key `concurency` of the campaign; did you mean `concurrency`?"])
        #expect(
            try Self.findings(Self.campaign, list: "number\n1\n", flow: Self.flow.replacing("answer", with: "anser")).first?
                .hasPrefix("f.yaml:2:") == true)
        #expect(
            try Self.findings(Self.campaign, list: "number\n1\n1,2\n", flow: Self.flow)
                == ["list.csv:3:1: error: 2 fields, and the header has 1; a field with a comma in it stands in quotes"])
        #expect(
            try Self.findings(Self.campaign, list: "number\n", flow: Self.flow)
                == ["list.csv:1:1: error: the list has no rows; nobody would be called"])
        #expect(
            try Self.findings(Self.campaign, list: "phone\n1\n", flow: Self.flow).first?
                .hasPrefix("list.csv:2:1: error: this row cannot be called: ") == true)
    }

    @Test func partiesAreCheckedWithTheirFlows() throws {
        let one = Self.campaign + "parties: { agent: { flow: f.yaml, number: \"${target.agent}\" } }\n"
        #expect(try Self.findings(one, list: "number,agent\n1,2\n", flow: Self.flow) == [])
        #expect(
            try Self.findings(one, list: "number\n1\n", flow: Self.flow).first?
                .hasPrefix("list.csv:2:1: error: this row cannot be called: ") == true)
        #expect(
            try Self.findings(one, list: "number,agent\n1,2\n", flow: "direction: outbound\n" + Self.flow)
                == [
                    "f.yaml:1:1: error: the party `agent` is called, and this flow is for calls that go out; "
                        + "write `direction: inbound` or `both`"
                ])
        // At no number nobody is called; a name that is too long for files of that name.
        #expect(
            try Self.findings(one, list: "number,agent\n1,\n", flow: Self.flow)
                == ["list.csv:2:1: error: this row cannot be called: `number` of the party `agent` is empty; look at the columns"]
        )
        let long = String(repeating: "a", count: 65)
        #expect(
            try Self.findings(one.replacing("agent:", with: "\(long):"), list: "number,agent\n1,2\n", flow: Self.flow)
                == ["c.yaml:5:12: error: a party's name has at most 64 signs; write `agent:`"])
        let missing = one.replacing("f.yaml, number", with: "g.yaml, number")
        #expect(try Self.findings(missing, list: "number,agent\n1,2\n", flow: Self.flow).first?.contains("g.yaml") == true)
    }

    /// A list that is refused leaves nothing behind: mended, the same line runs.
    @Test(arguments: [
        ("number\n", "the list has no rows"), ("phone\n1\n", "this row cannot be called"),
        ("number\n1\n2,3\n", "2 fields, and the header has 1")
    ]) func aRefusedListBeginsNoCampaign(list: String, message: String) async throws {
        let folder = try TemporaryFolder()
        for (name, text) in [("c.yaml", Self.campaign), ("list.csv", list), ("f.yaml", Self.flow)] {
            try folder.write(text, to: name)
        }
        let arguments = try CampaignOptions.syntax.parse([folder.path("c.yaml"), "--report", folder.path("report")])
        let error = await #expect(throws: CommandFailure.self) {
            try await CampaignCommand.run(CampaignOptions(arguments), stops: StopRequests()) { _ in }
        }
        #expect(error?.status == .wrong && error?.message.contains(message) == true, "\(error as Any)")
        #expect(!FileManager.default.fileExists(atPath: folder.path("report/campaign.db")))
    }
}
