// What functions do: conversions, optionals, numbers. Strings and times have files of their own.
internal import Basics

enum Functions {
    static func call(_ function: Function, _ target: Value?, _ arguments: [Value]) throws(ExpressionError) -> Value {
        let result: Value? =
            if let target {
                try method(function, target, arguments)
            } else {
                try plain(function, arguments)
            }
        guard let result else { throw noOverload(function, target, arguments) }
        return result
    }

    private static func noOverload(_ function: Function, _ target: Value?, _ arguments: [Value]) -> ExpressionError {
        let types = arguments.map(\.type.word).joined(separator: ", ")
        let on = target.map { " of \($0.type.word)" } ?? ""
        return ExpressionError(
            .noSuchOverload, "\(function.rawValue)()\(on) does not take \(types.isEmpty ? "no arguments" : "(\(types))")")
    }

    private static func plain(_ function: Function, _ arguments: [Value]) throws(ExpressionError) -> Value? {
        switch function {
        case .greatest, .least: return try extreme(function, arguments)
        case .optionalNone: return arguments.isEmpty ? .optional(nil) : nil
        case .matches:
            guard arguments.count == 2 else { return nil }
            return try method(.matches, arguments[0], [arguments[1]])
        default: break
        }
        guard arguments.count == 1 else { return nil }
        let argument = arguments[0]
        switch function {
        case .size: return size(argument)
        case .type: return .type(argument.type)
        case .dyn: return argument
        case .int: return try Conversions.int(argument)
        case .uint: return try Conversions.uint(argument)
        case .double: return try Conversions.double(argument)
        case .string: return try Conversions.string(argument)
        case .bytes: return Conversions.bytes(argument)
        case .bool: return try Conversions.bool(argument)
        case .duration: return try Conversions.duration(argument)
        case .timestamp: return try Conversions.timestamp(argument)
        case .optionalOf: return .optional(argument)
        case .optionalOfNonZero: return .optional(argument.isZero ? nil : argument)
        case .ceil, .floor, .round, .trunc: return rounded(function, argument)
        case .abs, .sign: return try signed(function, argument)
        case .base64Encode:
            guard case .bytes(let bytes) = argument else { return nil }
            return .string(Base64.encode(bytes))
        case .base64Decode:
            guard case .string(let text) = argument else { return nil }
            guard let bytes = Base64.decode(text) else {
                throw ExpressionError(.invalidArgument, "base64.decode() of a text that is no base64")
            }
            return .bytes(bytes)
        default: return nil
        }
    }

    private static func method(
        _ function: Function, _ target: Value, _ arguments: [Value]
    ) throws(ExpressionError) -> Value? {
        switch (function, target, arguments.count) {
        case (.size, _, 0): return size(target)
        case (.reverse, .list(let elements), 0): return .list(elements.reversed())
        case (.join, .list(let elements), 0...1): return try StringFunctions.join(elements, arguments.first)
        case (.hasValue, .optional(let inner), 0): return .bool(inner != nil)
        case (.value, .optional(let inner), 0):
            guard let inner else { throw ExpressionError(.invalidArgument, "value() of an optional that is empty") }
            return inner
        case (.or, .optional(nil), 1):
            guard case .optional = arguments[0] else { return nil }
            return arguments[0]
        case (.orValue, .optional(nil), 1): return arguments[0]
        case (_, .string(let text), _): return try StringFunctions.call(function, text, arguments)
        case (_, .timestamp(let time), 0...1): return try TimeFunctions.call(function, time, arguments.first)
        case (_, .duration(let length), 0): return TimeFunctions.call(function, length)
        default: return nil
        }
    }

    private static func size(_ value: Value) -> Value? {
        switch value {
        case .string(let text): .int(Int64(text.unicodeScalars.count))
        case .bytes(let bytes): .int(Int64(bytes.count))
        case .list(let elements): .int(Int64(elements.count))
        case .map(let map): .int(Int64(map.count))
        default: nil
        }
    }

    private static func extreme(_ function: Function, _ arguments: [Value]) throws(ExpressionError) -> Value? {
        var numbers = arguments
        if arguments.count == 1, case .list(let elements) = arguments[0] { numbers = elements }
        guard var best = numbers.first else {
            throw ExpressionError(.invalidArgument, "\(function.rawValue)() of nothing")
        }
        for number in numbers {
            guard let order = Value.compareNumbers(number, best) else { return nil }
            if order == (function == .greatest ? .greater : .less) { best = number }
        }
        return best
    }

    private static func rounded(_ function: Function, _ value: Value) -> Value? {
        guard case .double(let number) = value else { return nil }
        let rule: FloatingPointRoundingRule =
            switch function {
            case .ceil: .up
            case .floor: .down
            case .round: .toNearestOrAwayFromZero
            default: .towardZero
            }
        return .double(number.rounded(rule))
    }

    private static func signed(_ function: Function, _ value: Value) throws(ExpressionError) -> Value? {
        switch value {
        case .int(let number):
            if function == .sign { return .int(number.signum()) }
            return number < 0 ? try Operators.negate(value) : value
        case .uint(let number): return function == .sign ? .uint(number == 0 ? 0 : 1) : value
        case .double(let number):
            if function == .abs { return .double(number.magnitude) }
            return .double(number > 0 ? 1 : number < 0 ? -1 : number)
        default: return nil
        }
    }
}
