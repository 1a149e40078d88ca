// `repeat`: steps a number of times, while or until something is true.

/// Runs steps over and over.
package struct RepeatVerb: Verb {
    package static let name = "repeat"
    package static let needs = VerbNeed.nothing
    package static let example = "repeat: { times: 3, until: \"count == 2\", do: [ { set: { count: 2 } } ] }"

    private var times: Int?
    private var condition: FlowCondition?
    private var until: FlowCondition?
    private var block = Block()

    package init?(_ step: StepReader) {
        guard step.argument != nil, let map = step.open() else {
            step.wrong("a mapping with `times`, `while` or `until`, and `do`")
            return nil
        }
        times = map.int("times", in: 0...1_000_000)
        condition = map.node("while").flatMap { step.flow.condition($0, "`while`") }
        until = map.node("until").flatMap { step.flow.condition($0, "`until`") }
        if let node = map.required("do", mend: "do: [ … ]") { block = step.flow.block(node) }
    }

    package var shape: StepShape {
        let hasEnd = times != nil || condition != nil || until != nil
        return StepShape(branches: [block], continues: hasEnd, loopsForever: !hasEnd)
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        var done = 0
        while times.map({ done < $0 }) ?? true {
            if let condition, try !run.isTrue(condition) { break }
            try run.spendStep()
            try Task.checkCancellation()
            try await run.run(block)
            done += 1
            if let until, try run.isTrue(until) { break }
        }
        return .done
    }
}
