// The commands that do their work in one go.

import Server
import Testing

@Suite struct CheckCommandTests {
    static let sources = ConfigurationSources(
        environment: [:],
        readFile: {
            [
                "good.yaml": "log: { level: debug }\n",
                "bad.yaml": "log: { level: loud }\nlines: { a: { sip: { server: b, username: c, password: d } } }\n",
                "warned.yaml": "control: { listen: 0.0.0.0:8080 }\n"
            ][$0]
        },
        fileExists: { _ in true })

    func run(_ files: String..., json: Bool = false) throws -> CommandOutcome {
        guard case .run(let arguments) = try CommandList.choose(["check"] + files + (json ? ["--json"] : [])) else {
            throw CommandFailure(.wrong, "no run")
        }
        return CheckCommand.run(CheckOptions(arguments), sources: Self.sources)
    }

    /// The words of others (a reason phrase, a number) do not steer the terminal that they are shown on.
    @Test func aResultHasNoControlCharacters() {
        let outcome = CommandOutcome(lines: ["failed: 486 Busy\u{1B}[31m", "\tnext"], note: "a call to \u{9B}2J", status: .failed)
        #expect(outcome.output == "failed: 486 Busy\\u{1b}[31m\n\tnext\n")
        #expect(outcome.note == "a call to \\u{9b}2J")
    }

    @Test func aGoodFileHasNothingToSay() throws {
        #expect(try run("good.yaml") == CommandOutcome(note: "1 file, 0 errors, 0 warnings"))
    }

    @Test func warningsDoNotFail() throws {
        let outcome = try run("warned.yaml", "good.yaml")
        #expect(outcome.status == .passed)
        #expect(outcome.note == "2 files, 0 errors, 1 warning")
    }

    @Test func mistakesAreLinesForAnEditor() throws {
        let outcome = try run("bad.yaml", "nowhere.yaml")
        #expect(outcome.status == .wrong)
        #expect(
            outcome.output == """
                bad.yaml:1:15: error: `log.level` is not `loud`; there are: debug, info, warning, error
                bad.yaml:2:56: warning: a password is written out; write ${env.NAME} or ${file./run/secrets/name}
                nowhere.yaml:1:1: error: the file cannot be read as UTF-8 text

                """)
        #expect(outcome.note == "2 files, 2 errors, 1 warning")
    }

    @Test func asJSONOneObjectALine() throws {
        let lines = try run("bad.yaml", json: true).output.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(
            lines.first
                == #"{"file":"bad.yaml","line":1,"column":15,"severity":"error","message":"`log.level` is not `loud`","mend":"there are: debug, info, warning, error"}"#
        )
    }

    @Test(arguments: [
        ("flow: a\nsections: {}", CheckCommand.Kind.flow), ("sections:\n  a: [ answer ]", .flow), ("sip: {}", .configuration),
        ("", .configuration), ("flow: a\nsections: {", .flow), ("sip: {", .configuration)
    ])
    func kinds(_ text: String, _ kind: CheckCommand.Kind) {
        #expect(CheckCommand.kind(of: text) == kind)
    }
}
