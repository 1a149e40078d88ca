// Arithmetic and comparison of values (CEL language definition, "Overflow" and "List of Standard Definitions").
internal import Basics

enum Operators {
    static func apply(_ operation: BinaryOperator, _ left: Value, _ right: Value) throws(ExpressionError) -> Value {
        switch operation {
        case .equal: return .bool(left == right)
        case .notEqual: return .bool(left != right)
        case .isIn: return .bool(try contains(right, left))
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            guard let order = left.order(against: right) else { throw noOverload(operation, left, right) }
            switch operation {
            case .less: return .bool(order == .less)
            case .lessOrEqual: return .bool(order == .less || order == .equal)
            case .greater: return .bool(order == .greater)
            default: return .bool(order == .greater || order == .equal)
            }
        case .add, .subtract, .multiply, .divide, .remainder: return try arithmetic(operation, left, right)
        }
    }

    static func noOverload(_ operation: BinaryOperator, _ left: Value, _ right: Value) -> ExpressionError {
        ExpressionError(
            .noSuchOverload,
            message(operation, StaticType(of: left), StaticType(of: right)))
    }

    /// Why an operator does not take two types, with the mend for the usual cases.
    static func message(_ operation: BinaryOperator, _ left: StaticType, _ right: StaticType) -> String {
        var mend = ""
        if left.isNumber, right.isNumber, left != right {
            mend = "; write double(…) or int(…) around one of them"
        } else if operation == .add, (left == .string) != (right == .string), left != .null, right != .null {
            mend = "; write string(…) around the other one"
        } else if left.isNumber, right == .string {
            mend = "; write int(…) or double(…) around the string"
        } else if left == .string, right.isNumber {
            mend = "; write int(…) or double(…) around the string"
        }
        return "\"\(operation.rawValue)\" does not take \(left.word) and \(right.word)\(mend)"
    }

    private static func contains(_ container: Value, _ element: Value) throws(ExpressionError) -> Bool {
        switch container {
        case .list(let elements): return elements.contains(element)
        case .map(let map): return map[element] != nil
        default: throw noOverload(.isIn, element, container)
        }
    }

    private static func arithmetic(
        _ operation: BinaryOperator, _ left: Value, _ right: Value
    ) throws(ExpressionError) -> Value {
        switch (left, right) {
        case (.int(let left), .int(let right)): return .int(try whole(operation, left, right))
        case (.uint(let left), .uint(let right)): return .uint(try whole(operation, left, right))
        case (.double(let left), .double(let right)):
            switch operation {
            case .add: return .double(left + right)
            case .subtract: return .double(left - right)
            case .multiply: return .double(left * right)
            case .divide: return .double(left / right)
            default: break
            }
        case (.string(let left), .string(let right)) where operation == .add: return .string(left + right)
        case (.bytes(let left), .bytes(let right)) where operation == .add: return .bytes(left + right)
        case (.list(let left), .list(let right)) where operation == .add: return .list(left + right)
        case (.timestamp(let time), .duration(let length)) where operation == .add: return try moved(time, length)
        case (.duration(let length), .timestamp(let time)) where operation == .add: return try moved(time, length)
        case (.timestamp(let time), .duration(let length)) where operation == .subtract: return try moved(time, .zero - length)
        case (.timestamp(let later), .timestamp(let earlier)) where operation == .subtract:
            let length = later.since(earlier)
            // The standard's tests want this range, the one of nanoseconds in 64 bits, for differences.
            guard length.components.seconds.magnitude < UInt64(Int64.max) / 1_000_000_000 else {
                throw ExpressionError(.overflow, "the times are more than 292 years apart")
            }
            return .duration(length)
        case (.duration(let left), .duration(let right)) where operation == .add: return .duration(try bounded(left + right))
        case (.duration(let left), .duration(let right)) where operation == .subtract:
            return .duration(try bounded(left - right))
        default: break
        }
        throw noOverload(operation, left, right)
    }

    private static func whole<Number: FixedWidthInteger>(
        _ operation: BinaryOperator, _ left: Number, _ right: Number
    ) throws(ExpressionError) -> Number {
        let (result, overflow): (Number, Bool)
        switch operation {
        case .add: (result, overflow) = left.addingReportingOverflow(right)
        case .subtract: (result, overflow) = left.subtractingReportingOverflow(right)
        case .multiply: (result, overflow) = left.multipliedReportingOverflow(by: right)
        case .divide:
            guard right != 0 else { throw ExpressionError(.divisionByZero, "division of \(left) by zero") }
            (result, overflow) = left.dividedReportingOverflow(by: right)
        default:
            guard right != 0 else { throw ExpressionError(.divisionByZero, "remainder of \(left) by zero") }
            (result, overflow) = left.remainderReportingOverflow(dividingBy: right)
        }
        guard !overflow else {
            throw ExpressionError(.overflow, "the result of \(left) \(operation.rawValue) \(right) is out of range")
        }
        return result
    }

    static func negate(_ value: Value) throws(ExpressionError) -> Value {
        switch value {
        case .int(let number):
            guard number != .min else { throw ExpressionError(.overflow, "-(\(number)) is out of range") }
            return .int(-number)
        case .double(let number): return .double(-number)
        default: throw ExpressionError(.noSuchOverload, "\"-\" does not take \(value.type.word)")
        }
    }

    private static func moved(_ time: Timestamp, _ length: Duration) throws(ExpressionError) -> Value {
        guard let moved = time.advanced(by: length) else {
            throw ExpressionError(.overflow, "the time is outside the years 1 to 9999")
        }
        return .timestamp(moved)
    }

    /// CEL durations reach ten thousand years.
    static func bounded(_ length: Duration) throws(ExpressionError) -> Duration {
        let limit = Duration.seconds(315_576_000_000)
        guard length <= limit, length >= .zero - limit else {
            throw ExpressionError(.overflow, "the duration is longer than ten thousand years")
        }
        return length
    }
}
