// `switch`: the case whose text, or /pattern/, a value matches first.

/// Takes one of several ways.
package struct SwitchVerb: Verb {
    package static let name = "switch"
    package static let needs = VerbNeed.nothing
    package static let example = """
        switch:
          value: "${call.to.user}"
          cases: { "100": { log: front desk }, "/^2/": { log: workshop } }
          default: hangup
        """

    private struct Case: Sendable {
        let key: String
        let pattern: Pattern?
        let block: Block
    }

    private let value: FlowText
    private let cases: [Case]
    private let otherwise: Block?

    package init?(_ step: StepReader) {
        guard step.argument != nil, let map = step.open() else {
            step.wrong("a mapping with `value` and `cases`")
            return nil
        }
        guard let value = step.requiredText("value", mend: "value: \"${choice}\"") else {
            _ = map.entries
            return nil
        }
        self.value = value
        var cases: [Case] = []
        if let node = map.required("cases"), let entries = MappingReader(node, "`cases`", step.sink)?.entries {
            for pair in entries {
                let key = pair.key.text
                var pattern: Pattern?
                if key.count > 1, key.hasPrefix("/"), key.hasSuffix("/") {
                    do { pattern = try Pattern(String(key.dropFirst().dropLast())) } catch {
                        step.sink.error(at: pair.key.place, error.message)
                    }
                }
                cases.append(Case(key: key, pattern: pattern, block: step.flow.block(pair.value)))
            }
        }
        self.cases = cases
        otherwise = step.block("default")
    }

    package var shape: StepShape {
        StepShape(branches: cases.map(\.block) + (otherwise.map { [$0] } ?? []), continues: otherwise == nil)
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        let text = try run.text(value)
        let match = cases.first { $0.pattern.map { $0.matches(text) } ?? ($0.key == text) }
        return StepResult(then: match?.block ?? otherwise)
    }
}
