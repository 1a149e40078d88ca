// What a verb reads its parameters from: a bare word, a scalar, a list or a mapping, with the settings that every verb has
// (`into:`, `on:`).

package import CallEngine

/// The argument of one step.
package final class StepReader {
    package let name: String
    package let place: SourcePlace
    /// nil: the verb stands alone.
    package let argument: YAMLNode?
    package let flow: FlowReader
    /// The variable that takes the result.
    package private(set) var into: String?
    package private(set) var on: [String: Block] = [:]
    /// The mapping, once `open` was called.
    package private(set) var map: MappingReader?
    private let outcomes: [String]

    init(name: String, outcomes: [String], place: SourcePlace, argument: YAMLNode?, flow: FlowReader) {
        self.name = name
        self.outcomes = outcomes
        self.place = place
        self.argument = argument
        self.flow = flow
    }

    package var sink: DiagnosticSink { flow.sink }

    /// The argument, when it is neither missing nor a mapping.
    package var plain: YAMLNode? {
        guard let argument, !argument.isNull || isHidden(argument) else { return nil }
        if case .mapping = argument.content { return nil }
        return argument
    }

    private func isHidden(_ node: YAMLNode) -> Bool {
        if case .scalar(let scalar) = node.content { scalar.isHiddenByHash } else { false }
    }

    /// The mapping of settings; an empty one when the verb stands alone. Reads `into:` and `on:`. nil when the argument is
    /// something else (reported).
    @discardableResult
    package func open() -> MappingReader? {
        if let map { return map }
        let node = argument ?? YAMLNode(.mapping([]), at: place)
        guard let map = MappingReader(node, "`\(name)`", sink) else { return nil }
        self.map = map
        if let into = map.node("into") { self.into = flow.variable(into, "`into`") }
        readOutcomes(map)
        return map
    }

    private func readOutcomes(_ map: MappingReader) {
        guard let node = map.node("on") else { return }
        guard let handlers = MappingReader(node, "`on`", sink) else { return }
        for outcome in outcomes + ["failed"] {
            if let steps = handlers.node(outcome) { on[outcome] = flow.block(steps) }
        }
        handlers.finish()
    }

    func finish() { map?.finish() }

    /// Says that the argument is missing or of the wrong type.
    package func wrong(_ expected: String) {
        if let argument {
            NodeRead.wrongType(argument, "`\(name)`", expected: expected, sink)
        } else {
            sink.error(at: place, "`\(name)` needs \(expected)")
        }
    }

    // MARK: Settings of the mapping

    package func text(_ key: String, wanted: StaticType = .any) -> FlowText? {
        map?.node(key).flatMap { flow.text($0, "`\(key)`", wanted: wanted) }
    }

    package func requiredText(_ key: String, mend: String? = nil) -> FlowText? {
        map?.required(key, mend: mend).flatMap { flow.text($0, "`\(key)`") }
    }

    package func texts(_ key: String) -> [FlowText]? {
        map?.node(key).map { node in NodeRead.list(node).compactMap { flow.text($0, "`\(key)`") } }
    }

    package func length(_ key: String) -> FlowLength? {
        map?.node(key).flatMap { flow.length($0, "`\(key)`") }
    }

    package func data(_ key: String) -> FlowData? {
        map?.node(key).flatMap { flow.data($0, "`\(key)`") }
    }

    package func block(_ key: String) -> Block? {
        map?.node(key).map { flow.block($0) }
    }

    /// One key (`finish-on`); `.some(nil)` for `""`.
    package func key(_ key: String) -> Digit?? {
        guard let node = map?.node(key), let text = NodeRead.string(node, "`\(key)`", sink) else { return nil }
        if text.isEmpty { return .some(nil) }
        guard text.count == 1, let digit = Digit(text.first!) else {
            sink.error(at: node.place, "`\(key)` is one key of 0-9, *, #, A-D, ! (or \"\" for none), not `\(text)`")
            return nil
        }
        return digit
    }

    /// Keys, ranges allowed: `0-9*#`.
    package func keys(_ node: YAMLNode, _ what: String) -> Set<Digit>? {
        guard let text = NodeRead.string(node, what, sink) else { return nil }
        var keys: Set<Digit> = []
        let signs = Array(text)
        var index = 0
        while index < signs.count {
            if index + 2 < signs.count, signs[index + 1] == "-", let first = signs[index].wholeNumberValue,
                let last = signs[index + 2].wholeNumberValue, first <= last
            {
                for number in first...last { keys.insert(Digit(Character("\(number)"))!) }
                index += 3
                continue
            }
            guard let digit = Digit(signs[index]) else {
                sink.error(at: node.place, "\(what) holds keys of 0-9, *, #, A-D, !, not `\(signs[index])`")
                return nil
            }
            keys.insert(digit)
            index += 1
        }
        return keys
    }

    /// Header fields: a mapping of names to texts.
    package func headers(_ key: String) -> [(name: String, value: FlowText)] {
        guard let node = map?.node(key) else { return [] }
        guard case .mapping(let pairs) = node.content else {
            NodeRead.wrongType(node, "`\(key)`", expected: "a mapping of names to values", sink)
            return []
        }
        return pairs.compactMap { pair in
            let isToken =
                !pair.key.text.isEmpty
                && pair.key.text.unicodeScalars.allSatisfy {
                    $0.isASCII
                        && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || "-.!%*_+`'~".unicodeScalars.contains($0))
                }
            guard isToken else {
                sink.error(at: pair.key.place, "`\(pair.key.text)` is no name of a header field")
                return nil
            }
            return flow.text(pair.value, "`\(pair.key.text)`").map { (pair.key.text, $0) }
        }
    }
}
