// Texts, lengths and data of a flow file that may hold expressions, with their places.

/// A string of a flow with its place; `${…}` in it are expressions.
package struct FlowText: Sendable {
    package let template: Template
    package let place: SourcePlace

    package var constant: String? { template.constant }
    /// As it was written.
    package var source: String { template.source }
}

/// A bare expression (`if:`) with its place.
package struct FlowCondition: Sendable {
    package let expression: Expression
    package let place: SourcePlace
}

/// A length of time: written out, or the value of an expression.
package enum FlowLength: Sendable {
    case fixed(Duration)
    case text(FlowText)
}

/// A value of any type, as YAML wrote it, with templates in its texts.
package indirect enum FlowData: Sendable {
    case fixed(Value)
    case text(FlowText)
    case list([FlowData])
    case map([(key: String, value: FlowData)])

    package var texts: [FlowText] {
        switch self {
        case .fixed: []
        case .text(let text): [text]
        case .list(let items): items.flatMap(\.texts)
        case .map(let pairs): pairs.flatMap(\.value.texts)
        }
    }
}

extension Template {
    /// The names that its expressions read (bound variables of macros among them).
    var names: Set<String> {
        var names: Set<String> = []
        for case .expression(let expression) in pieces { expression.root.collectNames(into: &names) }
        return names
    }

    var expressions: [Expression] {
        pieces.compactMap { if case .expression(let expression) = $0 { expression } else { nil } }
    }
}

extension Node {
    func collectNames(into names: inout Set<String>) {
        if case .name(let name) = kind { names.insert(name) }
        for child in kind.children { child.collectNames(into: &names) }
    }
}
