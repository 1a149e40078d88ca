// `if`: a bare expression with `then` and `else` beside it.

/// Takes one of two ways.
package struct IfVerb: Verb {
    package static let name = "if"
    package static let needs = VerbNeed.nothing
    package static let example = """
        if: call.from.user == "anna"
        then: { log: "it is Anna" }
        else: hangup
        """

    private let condition: FlowCondition
    private let then: Block
    private let otherwise: Block?

    package init?(_ step: StepReader) {
        guard let map = step.map ?? Self.beside(step) else { return nil }
        guard let node = map.required("if"), let condition = step.flow.condition(node, "`if`") else {
            _ = map.entries
            return nil
        }
        self.condition = condition
        if !map.has("then") { step.sink.error(at: step.place, "`if` needs `then`", mend: "then: { goto: section }") }
        then = step.block("then") ?? Block()
        otherwise = step.block("else")
    }

    /// `then` and `else` stand beside `if`, so the whole step is the mapping.
    private static func beside(_ step: StepReader) -> MappingReader? {
        guard let node = step.argument else {
            step.wrong("an expression, with `then` beside it")
            return nil
        }
        if case .mapping = node.content { return step.open() }
        step.sink.error(at: step.place, "`if` needs `then`", mend: "write `then:` below `if:`, at the same indentation")
        return nil
    }

    package var shape: StepShape {
        StepShape(branches: [then] + (otherwise.map { [$0] } ?? []), continues: otherwise == nil)
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        StepResult(then: try run.isTrue(condition) ? then : otherwise)
    }
}
