// The syntax tree of an expression.

/// A node of the tree with its place in the text. Two nodes are equal when they mean the same; places do not count.
struct Node: Sendable, Equatable {
    let kind: Kind
    /// In bytes from the start of the text.
    let offset: Int
    /// Levels below this node, itself included: evaluation recurses this deep.
    let depth: Int

    init(_ kind: Kind, at offset: Int) {
        self.kind = kind
        self.offset = offset
        depth = (kind.children.map(\.depth).max() ?? 0) + 1
    }

    static func == (left: Node, right: Node) -> Bool { left.kind == right.kind }

    indirect enum Kind: Sendable, Equatable {
        case literal(Value)
        case name(String)
        case select(Node, String, optional: Bool)
        /// `has(e.f)`
        case presence(Node, String)
        case index(Node, Node, optional: Bool)
        case call(Call)
        case not(Node)
        case negate(Node)
        case binary(BinaryOperator, Node, Node)
        case both(Node, Node)
        case either(Node, Node)
        case choice(Node, Node, Node)
        case list([ListItem])
        case map([MapItem])
        case comprehension(Comprehension)
        /// `optMap` (flat: `optFlatMap`): subject, variable, body
        case optionalMap(Node, String, Node, flat: Bool)

        var children: [Node] {
            switch self {
            case .literal, .name: []
            case .select(let node, _, _), .presence(let node, _), .not(let node), .negate(let node): [node]
            case .index(let left, let right, _), .binary(_, let left, let right), .both(let left, let right),
                .either(let left, let right), .optionalMap(let left, _, let right, _):
                [left, right]
            case .choice(let condition, let yes, let no): [condition, yes, no]
            case .call(let call): (call.target.map { [$0] } ?? []) + call.arguments
            case .list(let items): items.map(\.value)
            case .map(let items): items.flatMap { [$0.key, $0.value] }
            case .comprehension(let comprehension):
                [comprehension.range] + (comprehension.filter.map { [$0] } ?? []) + [comprehension.body]
            }
        }
    }
}

struct ListItem: Sendable, Equatable {
    let value: Node
    /// `[?e]`: left out when `e` is none.
    let optional: Bool
}

struct MapItem: Sendable, Equatable {
    let key: Node
    let value: Node
    let optional: Bool
}

/// A function or method call.
struct Call: Sendable, Equatable {
    let name: String
    /// Nil when no function has that name.
    let function: Function?
    let target: Node?
    let arguments: [Node]
    /// For `matches` with a literal pattern: compiled once.
    var pattern: Result<Pattern, ExpressionError>?

    static func == (left: Call, right: Call) -> Bool {
        left.name == right.name && left.target == right.target && left.arguments == right.arguments
    }
}

/// The macros that go over a list or the keys of a map.
struct Comprehension: Sendable, Equatable {
    enum Macro: String, Sendable, CaseIterable {
        case all
        case exists
        case existsOne = "exists_one"
        case map
        case filter
    }

    let macro: Macro
    let range: Node
    let variable: String
    /// Only of `map` with three arguments.
    let filter: Node?
    let body: Node
}

enum BinaryOperator: String, Sendable {
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case remainder = "%"
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case isIn = "in"

    /// Higher binds tighter; `||` is 1 and `&&` is 2.
    var precedence: Int {
        switch self {
        case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .isIn: 3
        case .add, .subtract: 4
        case .multiply, .divide, .remainder: 5
        }
    }
}
