// The demo as a test: a caller and a server on this machine, over real SIP and RTP, about fourteen seconds.

import Foundation
import Server
import Testing

@Suite struct DemoTests {
    @Test func theCallerHearsThePromptsOfTheServer() async throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL.path()
        let folder = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        guard
            case .run(let arguments) = try CommandList.choose([
                "demo", "--server", "\(root)/flows/reception.yaml", "--caller", "\(root)/flows/caller.yaml", "--recordings",
                folder,
                "--json"
            ])
        else {
            Issue.record("the demo is not chosen")
            return
        }
        let outcome = try await DemoCommand.run(DemoOptions(arguments), version: "test", log: RunningServerTests.quiet) { _ in }
        #expect(outcome.status == .passed, "\(outcome.output)")

        struct Report: Decodable {
            struct Call: Decodable { var result: String }
            struct Prompt: Decodable {
                var prompt: String
                var found: Bool
                var correlation: Double
            }
            var call: Call
            var recording: String
            var heard: [Prompt]
        }
        let report = try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8))
        #expect(report.call.result == "passed")
        #expect(report.recording == "\(folder)/caller-heard.wav")
        #expect(FileManager.default.fileExists(atPath: report.recording))
        // The greeting and the end of the way that the caller's keys choose; the menu is cut by a key, so it is not looked for.
        #expect(report.heard.map(\.prompt).contains("welcome.wav") && report.heard.map(\.prompt).contains("leave-a-message.wav"))
        #expect(report.heard.allSatisfy { $0.found && $0.correlation > 0.8 })
        let messages = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/messages")
        #expect(messages.filter { $0.hasSuffix(".wav") }.count == 1)
    }
}
