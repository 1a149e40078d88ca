// `goto`: another section.

/// Goes to a section.
package struct GotoVerb: Verb {
    package static let name = "goto"
    package static let needs = VerbNeed.nothing
    package static let example = "goto: menu"

    private let section: String
    private let place: SourcePlace

    package init?(_ step: StepReader) {
        guard let node = step.plain else {
            step.wrong("the name of a section")
            return nil
        }
        guard let section = NodeRead.string(node, "`goto`", step.sink) else { return nil }
        if section.contains("${") {
            step.sink.error(at: node.place, "`goto` takes the name of a section, not an expression", mend: "use `switch`")
            return nil
        }
        self.section = section
        place = node.place
    }

    package var shape: StepShape { StepShape(continues: false, goto: (section, place)) }

    package func run(_ run: FlowRun) async throws -> StepResult { throw FlowTransfer.goto(section, at: place) }
}
