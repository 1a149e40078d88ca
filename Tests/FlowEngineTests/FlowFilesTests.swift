// The flows that people start from: each is valid and passes its own cases.

import FlowEngine
import Foundation
import Testing

@Suite struct FlowFilesTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("flows").path

    static let names = [
        "reception", "caller", "voicemail", "echo", "after-hours", "probe", "reminder", "conference", "agent", "on-call"
    ]

    @Test(arguments: names)
    func isValidAndPassesItsCases(name: String) throws {
        let result = FlowLoader.load(path: "\(Self.folder)/\(name).yaml")
        #expect(result.diagnostics.map(\.description) == [])
        let flow = try #require(result.flow)
        #expect(flow.name == name)
        #expect(!flow.cases.isEmpty)
        for verdict in FlowBench.run(flow) {
            #expect(
                verdict.passed,
                "\(verdict.name)\n\(verdict.failures.joined(separator: "\n"))\n\(verdict.transcript.joined(separator: "\n"))")
        }
    }

    @Test func casesGiveTheSameResultEveryTime() throws {
        let flow = try #require(FlowLoader.load(path: "\(Self.folder)/reception.yaml").flow)
        let first = FlowBench.run(flow).map(\.transcript)
        #expect(first == FlowBench.run(flow).map(\.transcript))
    }

    @Test func everyFlowOfTheFolderIsTested() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder).filter { $0.hasSuffix(".yaml") }
        #expect(Set(files) == Set(Self.names.map { "\($0).yaml" }))
    }
}
