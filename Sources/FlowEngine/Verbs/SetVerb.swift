// `set`: gives variables their values, from top to bottom.

/// Sets variables.
package struct SetVerb: Verb {
    package static let name = "set"
    package static let needs = VerbNeed.nothing
    package static let example = "set: { department: sales, count: \"${1 + 1}\" }"

    private let values: [(name: String, value: FlowData)]

    package init?(_ step: StepReader) {
        guard let node = step.argument, case .mapping(let pairs) = node.content, !pairs.isEmpty else {
            step.wrong("a mapping of names to values")
            return nil
        }
        values = pairs.compactMap { pair in
            guard step.flow.variable(pair.key.text, at: pair.key.place) else { return nil }
            return step.flow.data(pair.value, "`\(pair.key.text)`").map { (pair.key.text, $0) }
        }
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        for (name, data) in values {
            // What is made from a secret is one.
            let secret = run.isSecret(data)
            run.set(name, to: try run.value(data), secret: secret)
        }
        return .done
    }
}
