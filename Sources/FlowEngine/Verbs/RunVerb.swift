// `run`: another flow as a sub-flow: its `vars` are the arguments, its variables at the end are the result.

import CallEngine

/// Runs another flow.
package struct RunVerb: Verb {
    package static let name = "run"
    package static let needs = VerbNeed.nothing
    package static let example = "run: { flow: pin.yaml, with: { tries: 3 }, into: pin }"

    private let file: FlowText
    private let arguments: [(name: String, value: FlowData)]

    package init?(_ step: StepReader) {
        var arguments: [(name: String, value: FlowData)] = []
        let text: FlowText?
        if let plain = step.plain {
            text = step.flow.text(plain, "`run`")
        } else {
            guard step.argument != nil, let map = step.open() else {
                step.wrong("a flow file")
                return nil
            }
            text = step.requiredText("flow", mend: "flow: other.yaml")
            if case .map(let pairs)? = step.data("with") {
                arguments = pairs.map { ($0.key, $0.value) }
            } else if map.has("with") {
                step.sink.error(at: map.place(of: "with"), "`with` is a mapping of names to values")
            }
        }
        guard let text else { return nil }
        guard text.constant != nil else {
            step.sink.error(at: text.place, "`run` takes the name of a file, not an expression", mend: "use `switch`")
            return nil
        }
        file = text
        self.arguments = arguments
        step.flow.note(subflow: text)
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        guard let flow = run.frame.flow.subflows[file.constant ?? ""] else {
            throw FlowError("run: the flow `\(file.source)` is not loaded", at: file.place)
        }
        guard flow.direction.allows(run.call.direction) else {
            throw FlowError("run: the flow `\(flow.name)` is for \(flow.direction.rawValue) calls")
        }
        var values: [String: Value] = [:]
        for (name, data) in arguments { values[name] = try run.value(data) }
        let secrets = arguments.filter { run.isSecret($0.value) }.map(\.name)
        let outer = run.frame
        defer { run.frame = outer }
        run.frame = FlowFrame(flow: flow, isSubflow: true)
        run.frame.secretNames = Set(secrets)
        try run.beginFrame(arguments: values)
        do {
            try await run.runSections()
        } catch let error as FlowError {
            guard let failed = flow.failed, !Task.isCancelled else { throw error }
            run.emit(.failed(error.message, at: error.place))
            try await run.runFailed(failed)
        }
        var result = ValueMap()
        for (name, value) in run.frame.variables.sorted(by: { $0.key < $1.key }) { result[name] = value }
        var step = StepResult(value: .map(result))
        step.isSecret = !run.frame.secretNames.isEmpty
        return step
    }
}
