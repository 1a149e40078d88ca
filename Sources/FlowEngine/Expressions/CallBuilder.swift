// Turns calls into nodes: macros are expanded here, as CEL does at parse time; functions find their meaning by name.

enum CallBuilder {
    /// `name(arguments)`
    static func function(_ name: String, _ arguments: [Node], at place: Int) throws(ExpressionError) -> Node.Kind {
        if name == "has" {
            guard arguments.count == 1, case .select(let node, let field, optional: false) = arguments[0].kind else {
                throw ExpressionError(.syntax, "has() takes one field, such as has(result.value)", offset: place)
            }
            return .presence(node, field)
        }
        return call(name, nil, arguments)
    }

    /// `target.name(arguments)`
    static func method(
        _ name: String, on target: Node, _ arguments: [Node], at place: Int
    ) throws(ExpressionError) -> Node.Kind {
        if let macro = name == "existsOne" ? .existsOne : Comprehension.Macro(rawValue: name) {
            let counts = macro == .map ? 2...3 : 2...2
            guard counts.contains(arguments.count), let variable = plainName(arguments[0]) else {
                let form = macro == .map ? "map(x, expression)" : "\(name)(x, condition)"
                throw ExpressionError(.syntax, "\(name)() takes a name and an expression: \(form)", offset: place)
            }
            return .comprehension(
                Comprehension(
                    macro: macro, range: target, variable: variable, filter: arguments.count == 3 ? arguments[1] : nil,
                    body: arguments[arguments.count - 1]))
        }
        if name == "optMap" || name == "optFlatMap" {
            guard arguments.count == 2, let variable = plainName(arguments[0]) else {
                throw ExpressionError(
                    .syntax, "\(name)() takes a name and an expression: \(name)(x, expression)", offset: place)
            }
            return .optionalMap(target, variable, arguments[1], flat: name == "optFlatMap")
        }
        if case .name(let space) = target.kind, Function.namespaces.contains(space),
            Function(rawValue: space + "." + name) != nil
        {
            return call(space + "." + name, nil, arguments)
        }
        return call(name, target, arguments)
    }

    /// The long names of types, `google.protobuf.Duration` and `google.protobuf.Timestamp`.
    static func typeName(_ node: Node) -> ValueType? {
        guard case .select(let package, let last, optional: false) = node.kind,
            case .select(let root, "protobuf", optional: false) = package.kind, case .name("google") = root.kind
        else { return nil }
        return ValueType(rawValue: "google.protobuf." + last)
    }

    private static func plainName(_ node: Node) -> String? {
        if case .name(let name) = node.kind { name } else { nil }
    }

    private static func call(_ name: String, _ target: Node?, _ arguments: [Node]) -> Node.Kind {
        let function = Function(rawValue: name)
        var call = Call(name: name, function: function, target: target, arguments: arguments)
        if function == .matches, let last = arguments.last, case .literal(.string(let text)) = last.kind {
            call.pattern = Result { () throws(ExpressionError) in try Pattern(text) }
        }
        return .call(call)
    }
}
