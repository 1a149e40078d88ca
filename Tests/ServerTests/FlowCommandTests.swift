// `ringwright test` and `check` on flow files that are made for it.

import FlowEngine
import Foundation
import Server
import Testing

@Suite struct FlowCommandTests {
    /// Writes files into a folder of their own, runs `body` with the folder's path, and removes it.
    func withFiles<Result>(_ files: [String: String], _ body: (String) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
        return try body(folder.path())
    }

    func outcome(_ words: String...) throws -> CommandOutcome {
        guard case .run(let arguments) = try CommandList.choose(words) else { throw CommandFailure(.wrong, "no run") }
        return arguments.command == "test" ? TestCommand.run(TestOptions(arguments)) : CheckCommand.run(CheckOptions(arguments))
    }

    static let flow = """
        flow: small
        sections:
          start:
            - answer
            - wait: 2s
            - hangup
        cases:
          - name: it answers
            expect: [ answered ]
          - name: it is never busy
            expect: [ { rejected: 486 } ]

        """

    @Test func casesAreCounted() throws {
        try withFiles(["small.yaml": Self.flow]) { folder in
            let outcome = try outcome("test", "\(folder)/small.yaml")
            #expect(outcome.status == .failed)
            #expect(outcome.note == "1 passed, 1 failed")
            #expect(outcome.output.contains("passed  small: it answers (2s of virtual time)\n"), "\(outcome.output)")
            #expect(outcome.output.contains("FAILED  small: it is never busy"))
            let json = try self.outcome("test", "--json", "\(folder)/small.yaml").output.split(separator: "\n")
            #expect(json.count == 2)
            #expect(json.first == #"{"flow":"small","case":"it answers","passed":true,"failures":[],"virtual_ms":2000.0}"#)
        }
    }

    @Test func aBrokenFlowIsWrongAndNotFailed() throws {
        try withFiles(["broken.yaml": "flow: broken\nsections:\n  start:\n    - anser\n"]) { folder in
            let tested = try outcome("test", "\(folder)/broken.yaml")
            #expect(tested.status == .wrong)
            let checked = try outcome("check", "\(folder)/broken.yaml")
            #expect(checked.status == .wrong)
            #expect(checked.output.contains("broken.yaml:4:7: error: "), "\(checked.output)")
            #expect(checked.output.contains("did you mean `answer`?"))
        }
    }

    @Test func aPromptThatIsNoAudioIsFound() throws {
        let flow = "flow: p\nsections:\n  start:\n    - answer\n    - play: noise.wav\n    - play: nowhere.wav\n    - hangup\n"
        try withFiles(["p.yaml": flow, "noise.wav": "this is no audio"]) { folder in
            let checked = try outcome("check", "\(folder)/p.yaml")
            #expect(checked.status == .wrong)
            #expect(checked.output.contains("p.yaml:5:13: error: "), "\(checked.output)")
            #expect(checked.output.contains("p.yaml:6:13: error: "), "\(checked.output)")
        }
    }
}
