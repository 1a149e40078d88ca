// Which flow a call gets, and which servers do not start at all.

import Basics
import CallEngine
import FlowEngine
import Foundation
import Server
import Testing

@Suite struct FlowTableTests {
    static let inbound = "flow: NAME\nvars: { shop: \"\" }\nsections:\n  start:\n    - answer\n    - hangup\n"

    /// A folder with two flows and a configuration.
    func table(_ configuration: String, flow: String? = nil) throws -> FlowTable {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["one", "two"] {
            try Data(Self.inbound.replacing("NAME", with: name).utf8).write(to: folder.appending(path: "\(name).yaml"))
        }
        try Data("flow: out\ndirection: outbound\nsections:\n  start:\n    - answer\n    - hangup\n".utf8)
            .write(to: folder.appending(path: "out.yaml"))
        let result = ConfigurationReader.read(
            text: configuration, file: "\(folder.path())/ringwright.yaml", sources: .process)
        #expect(result.findings == [])
        return try FlowTable(result.configuration, flow: flow.map { "\(folder.path())/\($0)" })
    }

    func call(to user: String, line: String = "") -> CallInfo {
        var info = CallInfo(
            id: "a", direction: .inbound, from: CallParty(uri: "sip:x@y"), to: CallParty(uri: "sip:\(user)@z", user: user),
            started: .zero)
        info.line = line
        return info
    }

    @Test func routesThenTheFlowOfTheCommand() throws {
        let table = try table(
            """
            routes:
              - { to: "100", flow: one.yaml, vars: { shop: north } }
              - { to: "/^2/", bridge: "sip:${call.to.user}@pbx.example.com" }
            allow: { bridge: "sip:*@pbx.example.com" }
            """, flow: "two.yaml")
        let first = try #require(table.choice(for: call(to: "100")))
        #expect(first.flow.name == "one" && first.arguments == ["shop": .string("north")])
        #expect(table.choice(for: call(to: "200"))?.flow.name == "bridge")
        #expect(table.choice(for: call(to: "300"))?.flow.name == "two")
        #expect(table.choice(for: call(to: "300"))?.arguments == [:])
    }

    @Test func withoutAFlowOfTheCommandOtherCallsGetNone() throws {
        let table = try table("routes: [ { to: \"100\", flow: one.yaml } ]")
        #expect(table.choice(for: call(to: "101")) == nil)
    }

    @Test func nothingToAnswerWithIsAMistake() {
        let failure = #expect(throws: CommandFailure.self) { try table("") }
        #expect(failure?.status == .wrong)
        #expect(failure?.message == "there is no flow that could answer a call")
    }

    @Test func aFlowForOutboundDoesNotAnswer() {
        let failure = #expect(throws: CommandFailure.self) { try table("", flow: "out.yaml") }
        #expect(failure?.message.hasSuffix("/out.yaml is a flow for calls that go out") == true)
        #expect(failure?.status == .wrong)
    }

    @Test func aFlowThatIsNotThere() {
        let failure = #expect(throws: CommandFailure.self) { try table("", flow: "nowhere.yaml") }
        #expect(failure?.status == .wrong)
        #expect(failure?.message.contains("nowhere.yaml:1:1: error: there is no such file") == true)
    }

    @Test func whatTheConfigurationAllows() {
        var configuration = Configuration()
        configuration.allow = Allowance(bridge: ["sip:*@pbx.example.com"], request: ["https://example.com/*"])
        configuration.environment = ["A": "1"]
        configuration.recordings = "/recordings"
        let environment = configuration.flowEnvironment(arguments: ["x": .int(1)])
        #expect(environment.refusesBridge("sip:a@pbx.example.com") == nil)
        #expect(environment.refusesBridge("sip:a@evil.example")?.contains("allow.bridge") == true)
        #expect(environment.refusesRequest("https://example.com/a") == nil)
        #expect(environment.refusesRequest("http://192.0.2.1/")?.contains("allow.request") == true)
        #expect(environment.variables == ["A": "1"] && environment.arguments == ["x": .int(1)])
        #expect(environment.recordingsFolder == "/recordings")
    }
}
