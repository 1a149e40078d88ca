// `tag`: words on the call, for results and reports.

/// Puts tags on the call.
package struct TagVerb: Verb {
    package static let name = "tag"
    package static let needs = VerbNeed.nothing
    package static let example = "tag: { department: sales }"

    private let words: [FlowText]
    private let tags: [(name: String, value: FlowText)]

    package init?(_ step: StepReader) {
        guard let node = step.argument else {
            step.wrong("a word or a mapping of names to values")
            return nil
        }
        if case .mapping(let pairs) = node.content {
            words = []
            tags = pairs.compactMap { pair in step.flow.text(pair.value, "`\(pair.key.text)`").map { (pair.key.text, $0) } }
        } else {
            words = NodeRead.list(node).compactMap { step.flow.text($0, "`tag`") }
            tags = []
        }
        guard !tags.isEmpty || !words.isEmpty else { return nil }
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        for word in words { run.add(tag: try run.shown(word), value: "") }
        for (name, value) in tags { run.add(tag: name, value: try run.shown(value)) }
        return .done
    }
}
