// The functions of expressions: their names and the types they take (CEL standard library and the usual string extensions).

/// A function or method by its name in expressions.
enum Function: String, Sendable, CaseIterable {
    case size, type, dyn, int, uint, double, string, bytes, bool, duration, timestamp
    case contains, startsWith, endsWith, matches
    case charAt, indexOf, lastIndexOf, lowerAscii, upperAscii, replace, split, substring, trim, join, reverse
    case getFullYear, getMonth, getDate, getDayOfMonth, getDayOfWeek, getDayOfYear
    case getHours, getMinutes, getSeconds, getMilliseconds
    case hasValue, value, or, orValue
    case optionalOf = "optional.of"
    case optionalNone = "optional.none"
    case optionalOfNonZero = "optional.ofNonZeroValue"
    case greatest = "math.greatest"
    case least = "math.least"
    case ceil = "math.ceil"
    case floor = "math.floor"
    case round = "math.round"
    case trunc = "math.trunc"
    case abs = "math.abs"
    case sign = "math.sign"
    case base64Encode = "base64.encode"
    case base64Decode = "base64.decode"

    /// The words before the point of functions that are no methods.
    static let namespaces: Set<String> = ["optional", "math", "base64"]

    /// Names for "did you mean": functions and macros.
    static let allNames =
        allCases.map(\.rawValue) + Comprehension.Macro.allCases.map(\.rawValue) + ["has", "optMap", "optFlatMap"]

    /// One way to call a function.
    struct Overload: Sendable {
        /// Nil for a function, the type before the point for a method.
        let target: StaticType?
        let parameters: [StaticType]
        let result: StaticType
    }

    private static func function(_ parameters: StaticType..., gives result: StaticType) -> Overload {
        Overload(target: nil, parameters: parameters, result: result)
    }

    private static func method(_ target: StaticType, _ parameters: StaticType..., gives result: StaticType) -> Overload {
        Overload(target: target, parameters: parameters, result: result)
    }

    private static func conversion(_ from: [StaticType], to result: StaticType) -> [Overload] {
        from.map { function($0, gives: result) }
    }

    private static let numbers: [StaticType] = [.int, .uint, .double]

    /// Every way to call it. The arguments of `greatest` and `least` are any number of numbers, or one list.
    var overloads: [Overload] {
        switch self {
        case .size:
            [StaticType.string, .bytes, .list(.any), .map(.any)].flatMap {
                [Self.function($0, gives: .int), Self.method($0, gives: .int)]
            }
        case .type: [Self.function(.any, gives: .type)]
        case .dyn: [Self.function(.any, gives: .any)]
        case .int: Self.conversion([.int, .uint, .double, .string, .timestamp], to: .int)
        case .uint: Self.conversion([.int, .uint, .double, .string], to: .uint)
        case .double: Self.conversion([.int, .uint, .double, .string], to: .double)
        case .string:
            Self.conversion([.bool, .int, .uint, .double, .string, .bytes, .duration, .timestamp], to: .string)
        case .bytes: Self.conversion([.string, .bytes], to: .bytes)
        case .bool: Self.conversion([.bool, .string], to: .bool)
        case .duration: Self.conversion([.string, .duration], to: .duration)
        case .timestamp: Self.conversion([.string, .int, .timestamp], to: .timestamp)
        case .contains, .startsWith, .endsWith: [Self.method(.string, .string, gives: .bool)]
        case .matches: [Self.method(.string, .string, gives: .bool), Self.function(.string, .string, gives: .bool)]
        case .charAt: [Self.method(.string, .int, gives: .string)]
        case .indexOf, .lastIndexOf:
            [Self.method(.string, .string, gives: .int), Self.method(.string, .string, .int, gives: .int)]
        case .lowerAscii, .upperAscii, .trim: [Self.method(.string, gives: .string)]
        case .reverse: [Self.method(.string, gives: .string), Self.method(.list(.any), gives: .list(.any))]
        case .replace:
            [
                Self.method(.string, .string, .string, gives: .string),
                Self.method(.string, .string, .string, .int, gives: .string)
            ]
        case .split:
            [Self.method(.string, .string, gives: .list(.string)), Self.method(.string, .string, .int, gives: .list(.string))]
        case .substring: [Self.method(.string, .int, gives: .string), Self.method(.string, .int, .int, gives: .string)]
        case .join:
            [Self.method(.list(.string), gives: .string), Self.method(.list(.string), .string, gives: .string)]
        case .getFullYear, .getMonth, .getDate, .getDayOfMonth, .getDayOfWeek, .getDayOfYear:
            [Self.method(.timestamp, gives: .int), Self.method(.timestamp, .string, gives: .int)]
        case .getHours, .getMinutes, .getSeconds, .getMilliseconds:
            [
                Self.method(.timestamp, gives: .int), Self.method(.timestamp, .string, gives: .int),
                Self.method(.duration, gives: .int)
            ]
        case .hasValue: [Self.method(.optional(.any), gives: .bool)]
        case .value: [Self.method(.optional(.any), gives: .any)]
        case .or: [Self.method(.optional(.any), .optional(.any), gives: .optional(.any))]
        case .orValue: [Self.method(.optional(.any), .any, gives: .any)]
        case .optionalOf, .optionalOfNonZero: [Self.function(.any, gives: .optional(.any))]
        case .optionalNone: [Self.function(gives: .optional(.any))]
        case .greatest, .least: []
        case .ceil, .floor, .round, .trunc: [Self.function(.double, gives: .double)]
        case .abs, .sign: Self.numbers.map { Self.function($0, gives: $0) }
        case .base64Encode: [Self.function(.bytes, gives: .string)]
        case .base64Decode: [Self.function(.string, gives: .bytes)]
        }
    }
}
