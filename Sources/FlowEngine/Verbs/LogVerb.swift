// `log`: a line in the log, with secrets masked.

/// Writes a line to the log.
package struct LogVerb: Verb {
    package static let name = "log"
    package static let needs = VerbNeed.nothing
    package static let example = "log: \"${call.from.user} calls\""

    private let text: FlowText

    package init?(_ step: StepReader) {
        guard let node = step.plain else {
            step.wrong("a text")
            return nil
        }
        guard let text = step.flow.text(node, "`log`") else { return nil }
        self.text = text
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        run.emit(.log(try run.shown(text)))
        return .done
    }
}
