// The grammar of CEL (language definition, "Syntax"): precedence climbing, bounded in depth.

struct Parser {
    private let bytes: [UInt8]
    private let limits: ExpressionLimits
    private var lexer: Lexer
    private var token: Token = .end
    /// Where `token` begins.
    private(set) var offset: Int
    /// Where the token before ended.
    private var levels = 0

    /// Reads the expression in `bytes[start..<end]`.
    init(_ bytes: [UInt8], from start: Int = 0, to end: Int? = nil, limits: ExpressionLimits) {
        self.bytes = bytes
        self.limits = limits
        lexer = Lexer(bytes, from: start, to: end ?? bytes.count)
        offset = start
    }

    /// Reads the whole text as one expression.
    mutating func parseAll() throws(ExpressionError) -> Node {
        try advance()
        if token == .end { throw ExpressionError(.syntax, "the expression is empty", offset: offset) }
        let node = try expression()
        guard token == .end else { throw unexpected("an operator or the end") }
        return node
    }

    /// Reads an expression that a `}` ends, as in a template; gives the place after that `}`.
    mutating func parseUntilBrace() throws(ExpressionError) -> (node: Node, end: Int) {
        try advance()
        if token == .symbol("}") { throw ExpressionError(.syntax, "the expression is empty", offset: offset) }
        let node = try expression()
        if token == .end { throw ExpressionError(.syntax, "the } that ends ${ is missing", offset: offset) }
        guard token == .symbol("}") else { throw unexpected("an operator or }") }
        return (node, offset + 1)
    }

    // MARK: Tokens

    private mutating func advance() throws(ExpressionError) {
        (token, offset) = try lexer.token()
    }

    private mutating func take(_ symbol: String) throws(ExpressionError) -> Bool {
        guard token == .symbol(symbol) else { return false }
        try advance()
        return true
    }

    private mutating func need(_ symbol: String) throws(ExpressionError) {
        guard try take(symbol) else { throw unexpected("\"\(symbol)\"") }
    }

    private func unexpected(_ wanted: String) -> ExpressionError {
        let found =
            switch token {
            case .end: "the expression ends where \(wanted) is needed"
            case .name(let name): "\"\(name.prefix(40))\" stands where \(wanted) is needed"
            case .symbol(let symbol): "\"\(symbol)\" stands where \(wanted) is needed"
            case .string, .bytes: "a string stands where \(wanted) is needed"
            case .int, .uint, .double: "a number stands where \(wanted) is needed"
            case .quotedName: "a name in backticks stands where \(wanted) is needed"
            }
        var mend = ""
        if case .name(let name) = token {
            switch name {
            case "and": mend = "; write && for \"and\""
            case "or": mend = "; write || for \"or\""
            case "not": mend = "; write ! for \"not\""
            case "is": mend = "; write == to compare"
            default: break
            }
        }
        return ExpressionError(.syntax, found + mend, offset: offset)
    }

    private func made(_ kind: Node.Kind, at place: Int) throws(ExpressionError) -> Node {
        let node = Node(kind, at: place)
        guard node.depth <= limits.depth else { throw tooDeep(place) }
        return node
    }

    private func tooDeep(_ place: Int) -> ExpressionError {
        ExpressionError(.limit, "the expression is nested more than \(limits.depth) levels deep", offset: place)
    }

    // MARK: Operators

    private mutating func expression() throws(ExpressionError) -> Node {
        levels += 1
        defer { levels -= 1 }
        guard levels <= limits.depth else { throw tooDeep(offset) }
        let condition = try operators(from: 1)
        let place = offset
        guard try take("?") else { return condition }
        let yes = try operators(from: 1)
        guard try take(":") else {
            let hint = condition.kind.children.isEmpty ? "" : "; an optional field is written .?field"
            throw ExpressionError(.syntax, unexpected("the \":\" of a choice").message + hint, offset: offset)
        }
        return try made(.choice(condition, yes, try expression()), at: place)
    }

    private func binary() -> (precedence: Int, operation: BinaryOperator?)? {
        switch token {
        case .symbol("||"): return (1, nil)
        case .symbol("&&"): return (2, nil)
        case .name("in"): return (BinaryOperator.isIn.precedence, .isIn)
        case .symbol(let symbol):
            guard let operation = BinaryOperator(rawValue: symbol) else { return nil }
            return (operation.precedence, operation)
        default: return nil
        }
    }

    /// Operators that bind at least as tight as `lowest`; all of them group to the left.
    private mutating func operators(from lowest: Int) throws(ExpressionError) -> Node {
        var left = try unary()
        while let (precedence, operation) = binary(), precedence >= lowest {
            let place = offset
            try advance()
            let right = try operators(from: precedence + 1)
            let kind: Node.Kind =
                if let operation {
                    .binary(operation, left, right)
                } else {
                    precedence == 1 ? .either(left, right) : .both(left, right)
                }
            left = try made(kind, at: place)
        }
        return left
    }

    private mutating func unary() throws(ExpressionError) -> Node {
        let place = offset
        var marks = 0
        for mark in ["!", "-"] where token == .symbol(mark) {
            while token == .symbol(mark) {
                try advance()
                marks += 1
            }
            guard marks <= limits.depth else { throw tooDeep(place) }
            var node: Node
            if mark == "-", let literal = try negativeLiteral(at: place) {
                node = try suffixes(of: literal)
                marks -= 1
            } else {
                node = try suffixes(of: try primary())
            }
            for _ in 0..<marks { node = try made(mark == "!" ? .not(node) : .negate(node), at: place) }
            return node
        }
        return try suffixes(of: try primary())
    }

    /// `-5` is one literal: only so the smallest int can be written.
    private mutating func negativeLiteral(at place: Int) throws(ExpressionError) -> Node? {
        let value: Value
        switch token {
        case .int(let number):
            guard number <= UInt64(Int64.max) + 1 else {
                throw ExpressionError(.syntax, "the number -\(number) is too small for an int", offset: place)
            }
            value = .int(Int64(truncatingIfNeeded: 0 &- number))
        case .double(let number): value = .double(-number)
        default: return nil
        }
        try advance()
        return Node(.literal(value), at: place)
    }

    // MARK: Members

    private mutating func suffixes(of start: Node) throws(ExpressionError) -> Node {
        var node = start
        while true {
            if try take(".") {
                let optional = try take("?")
                let place = offset
                let (name, quoted) = try fieldName()
                if !optional, !quoted, token == .symbol("(") {
                    try advance()
                    let arguments = try list(until: ")")
                    node = try made(try CallBuilder.method(name, on: node, arguments, at: place), at: place)
                } else {
                    node = try made(.select(node, name, optional: optional), at: place)
                    if let type = CallBuilder.typeName(node) { node = Node(.literal(.type(type)), at: place) }
                }
            } else if token == .symbol("[") {
                let place = offset
                try advance()
                let optional = try take("?")
                let index = try expression()
                try need("]")
                node = try made(.index(node, index, optional: optional), at: place)
            } else {
                return node
            }
        }
    }

    private mutating func fieldName() throws(ExpressionError) -> (name: String, quoted: Bool) {
        switch token {
        case .name(let name) where !Self.words.contains(name):
            try advance()
            return (name, false)
        case .quotedName(let name):
            try advance()
            return (name, true)
        default: throw unexpected("a field's name")
        }
    }

    private mutating func list(until close: String) throws(ExpressionError) -> [Node] {
        var nodes: [Node] = []
        if try take(close) { return nodes }
        repeat { nodes.append(try expression()) } while try take(",")
        try need(close)
        return nodes
    }

    // MARK: Primaries

    /// Values and an operator: never names.
    private static let words: Set<String> = ["true", "false", "null", "in"]
    private static let reserved: Set<String> = [
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package", "namespace",
        "return", "var", "void", "while"
    ]

    private mutating func primary() throws(ExpressionError) -> Node {
        let place = offset
        let current = token
        switch current {
        case .int(let number):
            guard let value = Int64(exactly: number) else {
                throw ExpressionError(.syntax, "the number \(number) is too large for an int; write \(number)u", offset: place)
            }
            return try literal(.int(value))
        case .uint(let number): return try literal(.uint(number))
        case .double(let number): return try literal(.double(number))
        case .string(let text): return try literal(.string(text))
        case .bytes(let bytes): return try literal(.bytes(bytes))
        case .name("true"): return try literal(.bool(true))
        case .name("false"): return try literal(.bool(false))
        case .name("null"): return try literal(.null)
        case .name(let name): return try nameOrCall(name, at: place)
        case .symbol("."):
            try advance()
            guard case .name(let name) = token, !Self.words.contains(name) else { throw unexpected("a name") }
            return try nameOrCall(name, at: offset)
        case .symbol("("):
            try advance()
            let node = try expression()
            try need(")")
            return node
        case .symbol("["): return try listLiteral(at: place)
        case .symbol("{"): return try mapLiteral(at: place)
        default: throw unexpected("a value")
        }
    }

    private mutating func literal(_ value: Value) throws(ExpressionError) -> Node {
        let place = offset
        try advance()
        return Node(.literal(value), at: place)
    }

    private mutating func nameOrCall(_ name: String, at place: Int) throws(ExpressionError) -> Node {
        if Self.reserved.contains(name) {
            let mend = name == "if" ? "; a choice is written condition ? a : b" : ""
            throw ExpressionError(.syntax, "\"\(name)\" is reserved and cannot be a name\(mend)", offset: place)
        }
        guard name != "in" else { throw unexpected("a value") }
        if name == "not" {
            try advance()
            if case .symbol("(") = token {
            } else if token != .end, binary() == nil, token != .symbol(")") {
                throw ExpressionError(.syntax, "write ! for \"not\"", offset: place)
            }
        } else {
            try advance()
        }
        guard try take("(") else { return Node(.name(name), at: place) }
        let arguments = try list(until: ")")
        let kind = try CallBuilder.function(name, arguments, at: place)
        // Of `has(a.b)` the field is what can be wrong.
        if case .presence = kind { return try made(kind, at: arguments[0].offset) }
        return try made(kind, at: place)
    }

    private mutating func listLiteral(at place: Int) throws(ExpressionError) -> Node {
        try advance()
        var items: [ListItem] = []
        while token != .symbol("]") {
            let optional = try take("?")
            items.append(ListItem(value: try expression(), optional: optional))
            guard try take(",") else { break }
        }
        try need("]")
        return try made(.list(items), at: place)
    }

    private mutating func mapLiteral(at place: Int) throws(ExpressionError) -> Node {
        try advance()
        var items: [MapItem] = []
        while token != .symbol("}") {
            let optional = try take("?")
            let key = try expression()
            try need(":")
            items.append(MapItem(key: key, value: try expression(), optional: optional))
            guard try take(",") else { break }
        }
        try need("}")
        return try made(.map(items), at: place)
    }
}
