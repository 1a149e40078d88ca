// Finds what is certainly wrong with an expression before it runs: unknown names and functions, wrong types, bad patterns.
// What cannot be known (values that begin as null, answers from the web) is left to the evaluation.

extension Expression {
    /// The problems, in the order of the text. `names`: what is in scope; a name outside it is a problem with the nearest word.
    /// `wanting`: the type that is needed where the expression stands, such as `.bool` for a condition; `what` names that place.
    package func check(
        names: DeclaredNames, wanting: StaticType = .any, what: String = "the expression"
    ) -> [ExpressionError] {
        var check = StaticCheck(names: names)
        let type = check.type(of: root)
        if !type.canBe(wanting) {
            let mend = wanting == .bool ? "; compare it, such as \(printed) == …" : ""
            check.report(
                .noSuchOverload, "\(what) is \(type.word), it must be \(wanting.word)" + (printed.count > 30 ? "" : mend),
                at: root.offset)
        }
        return check.problems.sorted { $0.offset < $1.offset }.map { $0.located(in: text, at: base) }
    }

    /// The type as far as it is known, `.any` where it is not.
    package func type(names: DeclaredNames) -> StaticType {
        var check = StaticCheck(names: names)
        return check.type(of: root)
    }
}

extension Template {
    /// The problems of all its expressions. `wanting` is needed of a template that is one expression only: any other is a string.
    package func check(
        names: DeclaredNames, wanting: StaticType = .any, what: String = "the expression"
    ) -> [ExpressionError] {
        let alone = pieces.count == 1
        return pieces.flatMap { piece in
            guard case .expression(let expression) = piece else { return [ExpressionError]() }
            return expression.check(names: names, wanting: alone ? wanting : .any, what: what)
        }
    }

    /// The type of what `evaluate` gives, `.any` where it is not known.
    package func type(names: DeclaredNames) -> StaticType {
        if pieces.count == 1, case .expression(let expression) = pieces[0] { return expression.type(names: names) }
        return .string
    }
}

struct StaticCheck {
    var names: DeclaredNames
    var problems: [ExpressionError] = []

    init(names: DeclaredNames) {
        self.names = names
    }

    mutating func report(
        _ kind: ExpressionError.Kind, _ message: String, at place: Int, suggestion: String? = nil
    ) {
        let mend = suggestion.map { "; did you mean \"\($0)\"" } ?? ""
        problems.append(ExpressionError(kind, message + mend, offset: place, suggestion: suggestion))
    }

    mutating func type(of node: Node) -> StaticType {
        switch node.kind {
        case .literal(let value): return StaticType(of: value)
        case .name(let name): return named(name, at: node.offset)
        case .select(let target, let field, let optional):
            return self.field(field, of: type(of: target), optional: optional, at: node.offset)
        case .presence(let target, let field):
            _ = self.field(field, of: type(of: target), optional: true, at: node.offset)
            return .bool
        case .index(let target, let key, let optional): return index(target, key, optional: optional, at: node.offset)
        case .call(let call): return called(call, at: node.offset)
        case .not(let operand):
            need(.bool, of: operand, "what \"!\" turns round")
            return .bool
        case .negate(let operand):
            let type = type(of: operand)
            guard [.any, .int, .double].contains(type) else {
                report(.noSuchOverload, "\"-\" does not take \(type.word)", at: node.offset)
                return .any
            }
            return type
        case .binary(let operation, let left, let right):
            let (first, second) = (type(of: left), type(of: right))
            return result(of: operation, first, second, at: node.offset)
        case .both(let left, let right):
            need(.bool, of: left, "a side of \"&&\"")
            need(.bool, of: right, "a side of \"&&\"")
            return .bool
        case .either(let left, let right):
            need(.bool, of: left, "a side of \"||\"")
            need(.bool, of: right, "a side of \"||\"")
            return .bool
        case .choice(let condition, let yes, let no):
            need(.bool, of: condition, "the condition before \"?\"")
            let first = type(of: yes)
            return first.joined(type(of: no))
        case .list(let items):
            let types = items.map { item in included(item.value, item.optional) }
            return .list(types.dropFirst().reduce(types.first ?? .any) { $0.joined($1) })
        case .map(let items): return map(items)
        case .comprehension(let comprehension): return go(over: comprehension, at: node.offset)
        case .optionalMap(let target, let variable, let body, let flat):
            let subject = type(of: target)
            var inner = StaticType.any
            if case .optional(let held) = subject {
                inner = held
            } else if subject != .any {
                report(.noSuchOverload, "optMap() needs an optional, this is \(subject.word)", at: node.offset)
            }
            let result = with(variable, inner) { $0.type(of: body) }
            return flat ? (result == .any ? .optional(.any) : result) : .optional(result)
        }
    }

    private mutating func need(_ wanted: StaticType, of node: Node, _ what: String) {
        let type = type(of: node)
        if !type.canBe(wanted) {
            report(.noSuchOverload, "\(what) is \(type.word), it must be \(wanted.word)", at: node.offset)
        }
    }

    private mutating func included(_ node: Node, _ optional: Bool) -> StaticType {
        let type = type(of: node)
        guard optional else { return type }
        if case .optional(let inner) = type { return inner }
        if type != .any {
            report(.noSuchOverload, "after \"?\" an optional is needed, this is \(type.word)", at: node.offset)
        }
        return .any
    }

    // MARK: Names and fields

    private mutating func named(_ name: String, at place: Int) -> StaticType {
        if let type = names[name] { return type }
        if ValueType(rawValue: name) != nil { return .type }
        let nearest = NearestWord.find(name, in: Array(names.keys) + ["true", "false", "null"])
        let mend = nearest == nil && Function(rawValue: name) != nil ? "; a function is written \(name)(…)" : ""
        report(.unknownName, "there is no name \"\(name)\"" + mend, at: place, suggestion: nearest)
        return .any
    }

    private mutating func field(_ field: String, of type: StaticType, optional: Bool, at place: Int) -> StaticType {
        switch type {
        case .any: return optional ? .optional(.any) : .any
        case .map(let value): return optional ? .optional(value) : value
        case .record(let fields):
            if let value = fields[field] { return optional ? .optional(value) : value }
            report(
                .noSuchField, "there is no field \"\(field)\" here", at: place,
                suggestion: NearestWord.find(field, in: fields.keys))
            return .any
        case .optional(let inner):
            let found = self.field(field, of: inner, optional: true, at: place)
            return found == .any ? .optional(.any) : found
        case .null:
            // What begins as null is declared `.any`; only the literal null comes here.
            if !optional { report(.noSuchField, "\"\(field)\" of null: it has no fields", at: place) }
            return .any
        default:
            report(.noSuchField, "\"\(field)\" of \(type.word): it has no fields", at: place)
            return .any
        }
    }

    private mutating func index(_ target: Node, _ key: Node, optional: Bool, at place: Int) -> StaticType {
        let container = type(of: target)
        let keyType = type(of: key)
        let found = element(container, key, keyType, at: place)
        if case .optional = container { return .optional(found) }
        return optional ? .optional(found) : found
    }

    private mutating func element(_ container: StaticType, _ key: Node, _ keyType: StaticType, at place: Int) -> StaticType {
        switch container {
        case .any: return .any
        case .list(let element):
            if keyType != .any, !keyType.isNumber {
                report(.noSuchOverload, "a place in a list is a whole number, not \(keyType.word)", at: key.offset)
            }
            return element
        case .map(let value): return value
        case .record(let fields):
            // A literal key is as good as a field.
            if case .literal(.string(let name)) = key.kind, fields[name] == nil {
                report(
                    .noSuchField, "there is no field \"\(name)\" here", at: key.offset,
                    suggestion: NearestWord.find(name, in: fields.keys))
            } else if case .literal(.string(let name)) = key.kind {
                return fields[name] ?? .any
            }
            return .any
        case .optional(let inner): return element(inner, key, keyType, at: place)
        default:
            report(.noSuchOverload, "\"[ ]\" does not take \(container.word)", at: place)
            return .any
        }
    }

    private mutating func map(_ items: [MapItem]) -> StaticType {
        var fields: [String: StaticType] = [:]
        var known = true
        var seen = ValueMap()
        for item in items {
            let keyType = type(of: item.key)
            let value = included(item.value, item.optional)
            if ![.any, .bool, .int, .uint, .string].contains(keyType) {
                report(.noSuchOverload, "a key cannot be \(keyType.word)", at: item.key.offset)
            }
            if case .literal(let key) = item.key.kind {
                if seen[key] != nil { report(.duplicateKey, "the key \(key.json) appears twice", at: item.key.offset) }
                seen.set(.null, for: key)
            }
            if case .literal(.string(let name)) = item.key.kind, !item.optional {
                fields[name] = value
            } else {
                known = false
            }
        }
        // An empty literal, or one with keys that are computed, is an open map.
        return known && !items.isEmpty ? .record(fields) : .map(.any)
    }

    // MARK: Operators and macros

    private mutating func result(
        of operation: BinaryOperator, _ left: StaticType, _ right: StaticType, at place: Int
    ) -> StaticType {
        switch operation {
        case .equal, .notEqual:
            // Values of different types are unequal: allowed, but with two known types it is a mistake.
            if isScalar(left), isScalar(right), left != right, !(left.isNumber && right.isNumber) {
                report(
                    .noSuchOverload, "\(left.word) and \(right.word) are never equal" + mend(left, right), at: place)
            }
            return .bool
        case .isIn:
            switch right {
            case .any, .list, .map, .record: return .bool
            default: break
            }
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            let ordered: [StaticType] = [.bool, .int, .uint, .double, .string, .bytes, .duration, .timestamp]
            let bothNumbers = (left.isNumber || left == .any) && (right.isNumber || right == .any)
            if (left == .any || ordered.contains(left)) && (right == .any || ordered.contains(right)),
                left == .any || right == .any || left == right || bothNumbers
            {
                return .bool
            }
        default:
            if let type = arithmetic(operation, left, right) { return type }
        }
        report(.noSuchOverload, Operators.message(operation, left, right), at: place)
        return operation == .isIn || [.less, .lessOrEqual, .greater, .greaterOrEqual].contains(operation) ? .bool : .any
    }

    private func mend(_ left: StaticType, _ right: StaticType) -> String {
        left == .string || right == .string ? "; is one of them meant to be in quotes, or without them?" : ""
    }

    private func isScalar(_ type: StaticType) -> Bool {
        type.isNumber || [.bool, .string, .bytes, .duration, .timestamp].contains(type)
    }

    /// The result's type; nil when the operator does not take these two.
    private func arithmetic(_ operation: BinaryOperator, _ left: StaticType, _ right: StaticType) -> StaticType? {
        var allowed: [(StaticType, StaticType, StaticType)] = [(.int, .int, .int), (.uint, .uint, .uint)]
        if operation != .remainder { allowed.append((.double, .double, .double)) }
        if operation == .add {
            allowed += [(.string, .string, .string), (.bytes, .bytes, .bytes), (.duration, .timestamp, .timestamp)]
        }
        if operation == .add || operation == .subtract {
            allowed += [(.duration, .duration, .duration), (.timestamp, .duration, .timestamp)]
        }
        if operation == .subtract { allowed.append((.timestamp, .timestamp, .duration)) }
        if operation == .add {
            if case .list(let first) = left, case .list(let second) = right { return .list(first.joined(second)) }
            if case .list = left, right == .any { return .list(.any) }
            if case .list = right, left == .any { return .list(.any) }
        }
        let fitting = allowed.filter { left.canBe($0.0) && right.canBe($0.1) }
        guard let first = fitting.first else { return nil }
        return fitting.dropFirst().reduce(first.2) { $0.joined($1.2) }
    }

    private mutating func with<Result>(
        _ name: String, _ type: StaticType, _ body: (inout StaticCheck) -> Result
    ) -> Result {
        let before = names[name]
        names[name] = type
        defer { names[name] = before }
        return body(&self)
    }

    private mutating func go(over macro: Comprehension, at place: Int) -> StaticType {
        let element: StaticType
        switch type(of: macro.range) {
        case .any, .map: element = .any
        case .record: element = .string
        case .list(let type): element = type
        case let other:
            report(
                .noSuchOverload, "\(macro.macro.rawValue)() goes over a list or a map, this is \(other.word)",
                at: macro.range.offset)
            element = .any
        }
        return with(macro.variable, element) { check in
            let condition = "the condition of \(macro.macro.rawValue)()"
            switch macro.macro {
            case .map:
                if let filter = macro.filter { check.need(.bool, of: filter, condition) }
                return .list(check.type(of: macro.body))
            case .filter:
                check.need(.bool, of: macro.body, condition)
                return .list(element)
            case .all, .exists, .existsOne:
                check.need(.bool, of: macro.body, condition)
                return .bool
            }
        }
    }
}
