// Evaluates a tree: a walk with a budget of steps (CEL language definition, "Evaluation").

struct Evaluator {
    private let scope: any Scope
    private var locals: [(name: String, value: Value)] = []
    private var steps: Int

    init(scope: any Scope, limits: ExpressionLimits) {
        self.scope = scope
        steps = limits.steps
    }

    mutating func charge(_ cost: Int, at place: Int) throws(ExpressionError) {
        steps -= cost
        if steps < 0 { throw ExpressionError(.limit, "the expression takes more steps than allowed", offset: place) }
    }

    mutating func value(_ node: Node) throws(ExpressionError) -> Value {
        try charge(1, at: node.offset)
        switch node.kind {
        case .literal(let value): return value
        case .name(let name): return try named(name, at: node.offset)
        case .select(let target, let field, let optional):
            return try placed(node) { () throws(ExpressionError) in
                try Access.element(try value(target), .string(field), optional: optional, isField: true)
            }
        case .presence(let target, let field):
            let container = try value(target)
            return try placed(node) { () throws(ExpressionError) in .bool(try Access.has(container, field)) }
        case .index(let target, let index, let optional):
            let container = try value(target)
            let key = try value(index)
            return try placed(node) { () throws(ExpressionError) in
                try Access.element(container, key, optional: optional, isField: false)
            }
        case .call(let call): return try called(call, node)
        case .not(let operand):
            guard case .bool(let truth) = try value(operand) else {
                throw ExpressionError(.noSuchOverload, "\"!\" takes bool only", offset: node.offset)
            }
            return .bool(!truth)
        case .negate(let operand):
            let number = try value(operand)
            return try placed(node) { () throws(ExpressionError) in try Operators.negate(number) }
        case .binary(let operation, let left, let right):
            let first = try value(left)
            let second = try value(right)
            try charge(Evaluator.cost(of: operation, first, second), at: node.offset)
            return try placed(node) { () throws(ExpressionError) in try Operators.apply(operation, first, second) }
        case .both(let left, let right): return try logic(left, right, decides: false)
        case .either(let left, let right): return try logic(left, right, decides: true)
        case .choice(let condition, let yes, let no):
            return try value(try truth(condition, "the condition before \"?\"") ? yes : no)
        case .list(let items): return try list(items)
        case .map(let items): return try map(items)
        case .comprehension(let comprehension): return try go(over: comprehension, at: node.offset)
        case .optionalMap(let target, let variable, let body, let flat):
            return try optionalMap(target, variable, body, flat: flat, at: node.offset)
        }
    }

    /// Gives errors that have no place yet the place of the node.
    private func placed(
        _ node: Node, _ body: () throws(ExpressionError) -> Value
    ) throws(ExpressionError) -> Value {
        do { return try body() } catch { throw error.placed(at: node.offset) }
    }

    private func named(_ name: String, at place: Int) throws(ExpressionError) -> Value {
        if let local = locals.last(where: { $0.name == name }) { return local.value }
        if let value = scope.value(named: name) { return value }
        if let type = ValueType(rawValue: name) { return .type(type) }
        throw ExpressionError(.unknownName, "there is no name \"\(name)\"", offset: place)
    }

    /// What the size of the operands adds to an operation's cost.
    private static func cost(of operation: BinaryOperator, _ left: Value, _ right: Value) -> Int {
        switch operation {
        case .add, .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual: weight(left) + weight(right)
        case .isIn: if case .list(let elements) = right { elements.count } else { 0 }
        default: 0
        }
    }

    /// The work to handle a value once, in steps.
    static func weight(_ value: Value) -> Int {
        switch value {
        case .string(let text): text.utf8.count / 16
        case .bytes(let bytes): bytes.count / 16
        case .list(let elements): elements.count
        case .map(let map): map.count
        default: 0
        }
    }

    // MARK: Logic

    private mutating func truth(_ node: Node, _ what: String) throws(ExpressionError) -> Bool {
        let value = try value(node)
        guard case .bool(let truth) = value else {
            throw ExpressionError(.noSuchOverload, "\(what) is \(value.type.word), it must be bool", offset: node.offset)
        }
        return truth
    }

    /// `&&` (`decides` false) and `||` (true): a side that decides hides the error of the other, whichever side it is.
    private mutating func logic(_ left: Node, _ right: Node, decides: Bool) throws(ExpressionError) -> Value {
        let what = decides ? "a side of \"||\"" : "a side of \"&&\""
        let first: Bool
        do throws(ExpressionError) {
            first = try truth(left, what)
        } catch {
            if error.kind == .limit { throw error }
            do throws(ExpressionError) {
                if try truth(right, what) == decides { return .bool(decides) }
            } catch let second where second.kind == .limit {
                throw second
            } catch {}
            throw error
        }
        return .bool(first == decides ? decides : try truth(right, what))
    }

    // MARK: Lists, maps, macros

    private mutating func list(_ items: [ListItem]) throws(ExpressionError) -> Value {
        var elements: [Value] = []
        elements.reserveCapacity(items.count)
        for item in items {
            if let element = try included(item.value, item.optional) { elements.append(element) }
        }
        return .list(elements)
    }

    private mutating func included(_ node: Node, _ optional: Bool) throws(ExpressionError) -> Value? {
        let value = try value(node)
        guard optional else { return value }
        guard case .optional(let inner) = value else {
            throw ExpressionError(
                .noSuchOverload, "after \"?\" an optional is needed, this is \(value.type.word)", offset: node.offset)
        }
        return inner
    }

    private mutating func map(_ items: [MapItem]) throws(ExpressionError) -> Value {
        var map = ValueMap()
        for item in items {
            let key = try value(item.key)
            guard let value = try included(item.value, item.optional) else { continue }
            guard map[key] == nil else {
                throw ExpressionError(.duplicateKey, "the key \(key.json) appears twice", offset: item.key.offset)
            }
            guard map.set(value, for: key) else {
                throw ExpressionError(.noSuchOverload, "a key cannot be \(key.type.word)", offset: item.key.offset)
            }
        }
        return .map(map)
    }

    private mutating func with<Result>(
        _ name: String, _ value: Value, _ body: (inout Evaluator) throws(ExpressionError) -> Result
    ) throws(ExpressionError) -> Result {
        locals.append((name, value))
        defer { locals.removeLast() }
        return try body(&self)
    }

    private mutating func go(over macro: Comprehension, at place: Int) throws(ExpressionError) -> Value {
        let range = try value(macro.range)
        let elements: [Value]
        switch range {
        case .list(let list): elements = list
        case .map(let map): elements = map.entries.map(\.key)
        default:
            throw ExpressionError(
                .noSuchOverload, "\(macro.macro.rawValue)() goes over a list or a map, this is \(range.type.word)", offset: place)
        }
        try charge(elements.count, at: place)
        switch macro.macro {
        case .all: return .bool(try search(elements, macro, decides: false))
        case .exists: return .bool(try search(elements, macro, decides: true))
        case .existsOne:
            var count = 0
            for element in elements where try holds(macro.body, macro, element) { count += 1 }
            return .bool(count == 1)
        case .filter:
            var kept: [Value] = []
            for element in elements where try holds(macro.body, macro, element) { kept.append(element) }
            return .list(kept)
        case .map:
            var results: [Value] = []
            for element in elements {
                if let filter = macro.filter, !(try holds(filter, macro, element)) { continue }
                results.append(
                    try with(macro.variable, element) { (inner) throws(ExpressionError) in try inner.value(macro.body) })
            }
            return .list(results)
        }
    }

    private mutating func holds(
        _ node: Node, _ macro: Comprehension, _ element: Value
    ) throws(ExpressionError) -> Bool {
        try with(macro.variable, element) { (inner) throws(ExpressionError) in
            try inner.truth(node, "the condition of \(macro.macro.rawValue)()")
        }
    }

    /// `all` and `exists`: one element that decides hides the errors of the others.
    private mutating func search(
        _ elements: [Value], _ macro: Comprehension, decides: Bool
    ) throws(ExpressionError) -> Bool {
        var failure: ExpressionError?
        for element in elements {
            do {
                if try holds(macro.body, macro, element) == decides { return decides }
            } catch  where error.kind == .limit {
                throw error
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return !decides
    }

    private mutating func optionalMap(
        _ target: Node, _ variable: String, _ body: Node, flat: Bool, at place: Int
    ) throws(ExpressionError) -> Value {
        let subject = try value(target)
        guard case .optional(let inner) = subject else {
            throw ExpressionError(.noSuchOverload, "optMap() needs an optional, this is \(subject.type.word)", offset: place)
        }
        guard let inner else { return .optional(nil) }
        let result = try with(variable, inner) { (evaluator) throws(ExpressionError) in try evaluator.value(body) }
        guard flat else { return .optional(result) }
        guard case .optional = result else {
            throw ExpressionError(.noSuchOverload, "optFlatMap() must give an optional, not \(result.type.word)", offset: place)
        }
        return result
    }

    // MARK: Functions

    private mutating func called(_ call: Call, _ node: Node) throws(ExpressionError) -> Value {
        guard let function = call.function else {
            throw ExpressionError(.unknownFunction, "there is no function \"\(call.name)\"", offset: node.offset)
        }
        let target: Value?
        if let node = call.target { target = try value(node) } else { target = nil }
        // The other value is needed only when the optional is empty.
        if case .optional(let inner?)? = target, call.arguments.count == 1 {
            if function == .or { return .optional(inner) }
            if function == .orValue { return inner }
        }
        var arguments: [Value] = []
        arguments.reserveCapacity(call.arguments.count)
        for argument in call.arguments { arguments.append(try value(argument)) }
        var cost = target.map(Evaluator.weight) ?? 0
        for argument in arguments { cost += Evaluator.weight(argument) }
        try charge(cost, at: node.offset)
        if let pattern = call.pattern, case .string(let text)? = target ?? arguments.first {
            do { return .bool(try pattern.get().matches(text)) } catch { throw error.placed(at: node.offset) }
        }
        let result = try placed(node) { () throws(ExpressionError) in try Functions.call(function, target, arguments) }
        try charge(Evaluator.weight(result), at: node.offset)
        return result
    }
}

/// Fields and elements.
enum Access {
    /// `container.key`, `container[key]` and their optional forms.
    static func element(
        _ container: Value, _ key: Value, optional: Bool, isField: Bool
    ) throws(ExpressionError) -> Value {
        if case .optional(let inner) = container {
            guard let inner else { return .optional(nil) }
            if optional, inner == .null { return .optional(nil) }
            return .optional(try find(inner, key, isField: isField, missing: nil))
        }
        if optional {
            // What is not there yet has no fields either: `result.?status` before there is a result.
            if container == .null { return .optional(nil) }
            return .optional(try find(container, key, isField: isField, missing: nil))
        }
        var reason: ExpressionError?
        if let value = try find(container, key, isField: isField, missing: &reason) { return value }
        throw reason ?? ExpressionError(.noSuchKey, "there is no key \(key.json)")
    }

    static func has(_ container: Value, _ field: String) throws(ExpressionError) -> Bool {
        switch container {
        case .optional(let inner): return try inner.map { value throws(ExpressionError) in try has(value, field) } ?? false
        case .map(let map): return map[field] != nil
        default: throw ExpressionError(.noSuchOverload, noFields(container, field))
        }
    }

    private static func noFields(_ container: Value, _ field: String) -> String {
        if case .null = container { return "\"\(field)\" of null: there is no value yet" }
        return "\"\(field)\" of \(container.type.word): it has no fields"
    }

    private static func find(
        _ container: Value, _ key: Value, isField: Bool, missing: UnsafeMutablePointer<ExpressionError?>?
    ) throws(ExpressionError) -> Value? {
        switch container {
        case .map(let map):
            if let value = map[key] { return value }
            switch key {
            case .string(let name):
                if missing != nil {
                    let nearest = NearestWord.find(name, in: map.entries.prefix(200).compactMap(\.key.asString))
                    missing?.pointee = ExpressionError(
                        .noSuchKey, "there is no key \"\(name.prefix(60))\"" + (nearest.map { "; did you mean \"\($0)\"" } ?? ""),
                        suggestion: nearest)
                }
            case .bool, .int, .uint, .double: break
            default: throw ExpressionError(.noSuchOverload, "a key cannot be \(key.type.word)")
            }
            return nil
        case .list(let elements) where !isField:
            guard let place = key.asInt else {
                let number = key.asDouble != nil
                throw ExpressionError(
                    number ? .invalidArgument : .noSuchOverload, "a place in a list is a whole number, not \(key.json)")
            }
            if place >= 0, place < elements.count { return elements[Int(place)] }
            missing?.pointee = ExpressionError(
                .indexOutOfBounds, "place \(place) is outside the list, which has \(elements.count) elements")
            return nil
        default:
            if isField, case .string(let field) = key { throw ExpressionError(.noSuchField, noFields(container, field)) }
            throw ExpressionError(.noSuchOverload, "\"[ ]\" does not take \(container.type.word)")
        }
    }
}
