// The static check of calls: does the function exist, for these types, with this many arguments.

extension StaticCheck {
    mutating func called(_ call: Call, at place: Int) -> StaticType {
        if case .name(let space)? = call.target?.kind, Function.namespaces.contains(space), names[space] == nil {
            let name = space + "." + call.name
            report(
                .unknownFunction, "there is no function \"\(name)\"", at: place,
                suggestion: NearestWord.find(name, in: Function.allNames))
            return .any
        }
        let target = call.target.map { type(of: $0) }
        let arguments = call.arguments.map { type(of: $0) }
        guard let function = call.function else {
            report(
                .unknownFunction, "there is no function \"\(call.name)\"", at: place,
                suggestion: NearestWord.find(call.name, in: Function.allNames))
            return .any
        }
        if case .failure(let error)? = call.pattern { problems.append(error.placed(at: call.arguments.last?.offset ?? place)) }
        if function == .greatest || function == .least {
            if target != nil || arguments.isEmpty {
                report(.noSuchOverload, "\(call.name)() takes one number or more, or a list of them", at: place)
            }
            return arguments.count > 1 ? arguments.dropFirst().reduce(arguments[0]) { $0.joined($1) } : .any
        }
        return result(of: function, target, arguments, at: place)
    }

    private mutating func result(
        of function: Function, _ target: StaticType?, _ arguments: [StaticType], at place: Int
    ) -> StaticType {
        let name = function.rawValue
        let overloads = function.overloads
        let sameForm = overloads.filter { ($0.target == nil) == (target == nil) }
        guard !sameForm.isEmpty else {
            let mend =
                target == nil
                ? "\(name)() stands after a value: value.\(name)(…)" : "\(name)() is no method: write \(name)(value)"
            report(.noSuchOverload, mend, at: place)
            return .any
        }
        let onTarget = sameForm.filter { overload in
            guard let target, let wanted = overload.target else { return true }
            return target.canBe(wanted)
        }
        guard !onTarget.isEmpty else {
            report(.noSuchOverload, "\(name)() is not for \(target?.word ?? "this")", at: place)
            return .any
        }
        let counts = Set(onTarget.map(\.parameters.count))
        guard counts.contains(arguments.count) else {
            let wanted = counts.sorted().map(String.init).joined(separator: " or ")
            let noun = counts == [1] ? "argument" : "arguments"
            report(.noSuchOverload, "\(name)() takes \(wanted) \(noun), here are \(arguments.count)", at: place)
            return .any
        }
        let fitting = onTarget.filter { overload in
            overload.parameters.count == arguments.count && zip(arguments, overload.parameters).allSatisfy { $0.canBe($1) }
        }
        guard let first = fitting.first else {
            let types = arguments.map(\.word).joined(separator: ", ")
            report(.noSuchOverload, "\(name)() does not take \(types)", at: place)
            return .any
        }
        if case .optional(let inner)? = target {
            switch function {
            case .value: return inner
            case .orValue: return inner == .any ? .any : inner.joined(arguments[0])
            default: break
            }
        }
        if function == .optionalOf { return .optional(arguments[0]) }
        return fitting.dropFirst().reduce(first.result) { $0.joined($1.result) }
    }
}
