// Reads the parts that all verbs share (steps, texts, lengths, data) and notes what the checker asks about afterwards: names,
// prompts, expressions.

/// The state of reading one flow file.
package final class FlowReader {
    package let sink: DiagnosticSink
    package let file: String
    /// The flow's: what is spoken is in it unless a step says otherwise.
    var language = "en"
    /// Names that `into:` and `set:` make.
    private(set) var names: [String: SourcePlace] = [:]
    /// Every template, for the check of its names and types.
    private(set) var texts: [(text: FlowText, wanted: StaticType)] = []
    private(set) var conditions: [FlowCondition] = []
    /// Prompts that steps play.
    private(set) var prompts: [FlowText] = []
    /// Flow files that `run` names.
    private(set) var subflows: [FlowText] = []
    /// Verbs with a limited direction, by place.
    private(set) var directed: [(verb: String, direction: FlowDirection, place: SourcePlace)] = []

    package init(file: String, sink: DiagnosticSink) {
        self.file = file
        self.sink = sink
    }

    // MARK: Steps

    /// One step or a list of them.
    package func block(_ node: YAMLNode?) -> Block {
        guard let node else { return Block() }
        if node.isNull { return Block() }
        return Block(NodeRead.list(node).compactMap(step))
    }

    private func step(_ node: YAMLNode) -> Step? {
        switch node.content {
        case .scalar(let scalar):
            guard case .string = scalar.value else {
                sink.error(at: node.place, "a step is a verb with its argument, not \(node.kind)")
                return nil
            }
            return step(verb: scalar.text, at: node.place, argument: nil)
        case .sequence:
            sink.error(at: node.place, "a list inside a list of steps", mend: "remove one level of `-` or brackets")
            return nil
        case .mapping(let pairs):
            guard let pair = pairs.first else {
                sink.error(at: node.place, "an empty step")
                return nil
            }
            // `if` alone has its parts beside it: `if: …`, `then: …`, `else: …`.
            if let verb = pairs.first(where: { $0.key.text == IfVerb.name }), verb.key.text != pair.key.text || pairs.count > 1 {
                return step(verb: IfVerb.name, at: verb.key.place, argument: YAMLNode(.mapping(pairs), at: node.place))
            }
            guard pairs.count == 1 else {
                let verbs = pairs.filter { VerbRegistry.byName[$0.key.text] != nil }
                let second = verbs.count > 1 ? verbs[1] : pairs[1]
                sink.error(
                    at: second.key.place, "`\(second.key.text)` stands beside `\(pair.key.text)` in one step",
                    mend: verbs.count > 1
                        ? "begin it with `- ` as a step of its own"
                        : "indent it below `\(pair.key.text)` if it is one of its settings")
                return nil
            }
            return step(verb: pair.key.text, at: pair.key.place, argument: pair.value)
        }
    }

    private func step(verb name: String, at place: SourcePlace, argument: YAMLNode?) -> Step? {
        guard let type = VerbRegistry.byName[name] else {
            if VerbRegistry.notBuilt.contains(name) {
                sink.error(at: place, "`\(name)` is not built yet", mend: "remove the step")
            } else {
                NodeRead.unknown("verb", name, of: "a step", at: place, known: Array(VerbRegistry.byName.keys).sorted(), sink)
            }
            return nil
        }
        if type.directions != .both { directed.append((name, type.directions, place)) }
        let reader = StepReader(name: name, outcomes: type.outcomes, place: place, argument: argument, flow: self)
        let errors = sink.found.count
        guard let verb = type.init(reader) else {
            if sink.found.count == errors { sink.error(at: place, "`\(name)` cannot be read") }
            return nil
        }
        reader.finish()
        return Step(verb: verb, place: place, into: reader.into, on: reader.on)
    }

    // MARK: Texts

    package func text(_ node: YAMLNode, _ what: String, wanted: StaticType = .any) -> FlowText? {
        guard let string = NodeRead.string(node, what, sink) else { return nil }
        return text(string, at: node, wanted: wanted)
    }

    func text(_ string: String, at node: YAMLNode, wanted: StaticType = .any) -> FlowText? {
        do {
            let text = FlowText(template: try Template.parse(string), place: node.place)
            if !text.template.isConstant { texts.append((text, wanted)) }
            return text
        } catch {
            report(error, at: node)
            return nil
        }
    }

    package func condition(_ node: YAMLNode, _ what: String) -> FlowCondition? {
        var text: String
        if case .scalar(let scalar) = node.content, case .bool(let flag) = scalar.value {
            text = flag ? "true" : "false"
        } else {
            guard let string = NodeRead.string(node, what, sink) else { return nil }
            text = string
        }
        if text.hasPrefix("${"), text.hasSuffix("}"), !text.dropFirst(2).contains("${") {
            sink.warning(at: node.place, "\(what) takes a bare expression", mend: "write it without `${` and `}`")
            text = String(text.dropFirst(2).dropLast())
        }
        do {
            let condition = FlowCondition(expression: try Expression.parse(text), place: node.place)
            conditions.append(condition)
            return condition
        } catch {
            report(error, at: node)
            return nil
        }
    }

    package func length(_ node: YAMLNode, _ what: String) -> FlowLength? {
        if case .scalar(let scalar) = node.content, scalar.text.contains("${") {
            return text(node, what, wanted: .any).map(FlowLength.text)
        }
        return NodeRead.duration(node, what, sink).map(FlowLength.fixed)
    }

    package func data(_ node: YAMLNode, _ what: String) -> FlowData? {
        switch node.content {
        case .scalar(let scalar):
            switch scalar.value {
            case .null:
                if scalar.isHiddenByHash { NodeRead.wrongType(node, what, expected: "a value", sink) }
                return .fixed(.null)
            case .bool(let flag): return .fixed(.bool(flag))
            case .int(let number):
                guard scalar.readsAsWritten else { return text(node, what).map(FlowData.text) }
                return .fixed(.int(number))
            case .float(let number): return .fixed(.double(number))
            case .string(let string):
                guard let text = text(string, at: node) else { return nil }
                return text.constant.map { .fixed(.string($0)) } ?? .text(text)
            }
        case .sequence(let items): return .list(items.compactMap { data($0, what) })
        case .mapping(let pairs):
            return .map(pairs.compactMap { pair in data(pair.value, what).map { (pair.key.text, $0) } })
        }
    }

    /// The place of an expression's mistake: within the scalar when that stands in one line.
    private func report(_ error: ExpressionError, at node: YAMLNode) {
        sink.error(at: Self.place(of: error, in: node), error.message, mend: error.suggestion.map { "did you mean `\($0)`?" })
    }

    static func place(of error: ExpressionError, in node: YAMLNode) -> SourcePlace {
        guard case .scalar(let scalar) = node.content, error.line == 1, !scalar.text.contains("\n") else { return node.place }
        var place = node.place
        place.column += error.column - 1 + (scalar.isQuoted ? 1 : 0)
        return place
    }

    // MARK: Notes for the checker

    package func note(prompt: FlowText) { prompts.append(prompt) }
    package func note(subflow: FlowText) { subflows.append(subflow) }

    package func note(name: String, at place: SourcePlace) {
        if names[name] == nil { names[name] = place }
    }

    /// A name that a flow may give a value: a word of the expression language, and none that the engine has.
    package func variable(_ node: YAMLNode, _ what: String) -> String? {
        guard let name = NodeRead.string(node, what, sink) else { return nil }
        return variable(name, at: node.place) ? name : nil
    }

    package func variable(_ name: String, at place: SourcePlace) -> Bool {
        let isWord =
            name.first.map { $0 == "_" || $0.isASCII && $0.isLetter } == true
            && name.allSatisfy { $0 == "_" || $0.isASCII && ($0.isLetter || $0.isNumber) }
        guard isWord else {
            sink.error(
                at: place, "`\(name)` cannot be read in expressions as a name",
                mend: "use letters, digits and _: `\(String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }))`"
            )
            return false
        }
        guard !FlowNames.reserved.contains(name) else {
            sink.error(at: place, "`\(name)` is a name of the engine", mend: "take another name")
            return false
        }
        note(name: name, at: place)
        return true
    }
}

/// The names that the engine gives values.
package enum FlowNames {
    package static let builtIn: Set<String> = ["call", "result", "recording", "campaign", "target", "env", "now"]
    /// Words that CEL keeps for itself or that would read as something else.
    package static let reserved: Set<String> = builtIn.union([
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let",
        "loop",
        "package", "namespace", "return", "var", "void", "while"
    ])
}
