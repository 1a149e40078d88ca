// `ringwright test`: runs the cases of flows.

import Basics
import FlowEngine

package enum TestCommand {
    package static func run(_ options: TestOptions) -> CommandOutcome {
        var lines: [String] = []
        var status = ExitStatus.passed
        var passed = 0
        var failed = 0
        for file in options.flows {
            let loaded = FlowFiles.load(file)
            guard let flow = loaded.flow else {
                status = max(status, .wrong)
                lines += loaded.diagnostics.map { options.json ? CheckCommand.json(of: $0).text : $0.description }
                continue
            }
            let results = FlowBench.run(flow, prompts: AudioPromptInspector())
            if results.isEmpty, !options.json { lines.append("\(file): no cases") }
            for result in results {
                if result.passed { passed += 1 } else { failed += 1 }
                lines += options.json ? [json(of: result, flow.name).text] : text(of: result, flow.name)
            }
        }
        if failed > 0 { status = max(status, .failed) }
        return CommandOutcome(lines: lines, note: "\(passed) passed, \(failed) failed", status: status)
    }

    private static func text(of result: CaseResult, _ flow: String) -> [String] {
        guard !result.passed else {
            return ["passed  \(flow): \(result.name) (\(FlowDuration.print(wholeMilliseconds(result.took))) of virtual time)"]
        }
        return ["FAILED  \(flow): \(result.name) (\(result.place))"] + result.failures.map { "        \($0)" }
            + ["        what happened:"] + result.transcript.map { "          \($0)" }
    }

    private static func wholeMilliseconds(_ duration: Duration) -> Duration {
        .milliseconds(duration.nanoseconds / 1_000_000)
    }

    private static func json(of result: CaseResult, _ flow: String) -> JSONText {
        .object([
            ("flow", .string(flow)), ("case", .string(result.name)), ("passed", .bool(result.passed)),
            ("failures", .array(result.failures.map { .string($0) })), ("virtual_ms", .milliseconds(result.took))
        ])
    }
}
