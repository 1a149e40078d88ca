// Conversions between types (CEL language definition, "Type Conversions").
internal import Basics

enum Conversions {
    private static func outOfRange(_ value: Value, _ type: String) -> ExpressionError {
        ExpressionError(.overflow, "\(value.text) is out of the range of \(type)")
    }

    private static func noNumber(_ text: String, _ type: String) -> ExpressionError {
        ExpressionError(.invalidArgument, "\(type)() of \"\(text.prefix(40))\", which is not one")
    }

    static func int(_ value: Value) throws(ExpressionError) -> Value? {
        switch value {
        case .int: return value
        case .uint(let number):
            guard let whole = Int64(exactly: number) else { throw outOfRange(value, "int") }
            return .int(whole)
        case .double(let number):
            // The standard leaves the lowest int out, since a double there may stand for a number below it.
            guard number > -0x1p63, number < 0x1p63 else { throw outOfRange(value, "int") }
            return .int(Int64(number))
        case .string(let text):
            guard let number = Int64(text) else { throw noNumber(text, "int") }
            return .int(number)
        case .timestamp(let time): return .int(time.seconds)
        default: return nil
        }
    }

    static func uint(_ value: Value) throws(ExpressionError) -> Value? {
        switch value {
        case .uint: return value
        case .int(let number):
            guard number >= 0 else { throw outOfRange(value, "uint") }
            return .uint(UInt64(number))
        case .double(let number):
            guard number > -1, number < 0x1p64 else { throw outOfRange(value, "uint") }
            return .uint(UInt64(number))
        case .string(let text):
            guard let number = UInt64(text) else { throw noNumber(text, "uint") }
            return .uint(number)
        default: return nil
        }
    }

    static func double(_ value: Value) throws(ExpressionError) -> Value? {
        switch value {
        case .double: return value
        case .int(let number): return .double(Double(number))
        case .uint(let number): return .double(Double(number))
        case .string(let text):
            guard let number = Double(text) else { throw noNumber(text, "double") }
            return .double(number)
        default: return nil
        }
    }

    static func string(_ value: Value) throws(ExpressionError) -> Value? {
        switch value {
        case .string: return value
        case .bool, .int, .uint, .double, .timestamp: return .string(value.text)
        case .bytes(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw ExpressionError(.invalidArgument, "string() of bytes that are not UTF-8")
            }
            return .string(text)
        case .duration(let length): return .string(seconds(length))
        default: return nil
        }
    }

    /// A duration as the standard writes it: `90s`, `-1.5s`.
    private static func seconds(_ length: Duration) -> String {
        let (seconds, attoseconds) = length.components
        let nanoseconds = (attoseconds / 1_000_000_000).magnitude
        var text = (seconds < 0 || attoseconds < 0 ? "-" : "") + String(seconds.magnitude)
        if nanoseconds > 0 {
            var digits = String(String(nanoseconds + 1_000_000_000).dropFirst())
            while digits.hasSuffix("0") { digits.removeLast() }
            text += "." + digits
        }
        return text + "s"
    }

    static func bytes(_ value: Value) -> Value? {
        switch value {
        case .bytes: value
        case .string(let text): .bytes(Array(text.utf8))
        default: nil
        }
    }

    static func bool(_ value: Value) throws(ExpressionError) -> Value? {
        switch value {
        case .bool: return value
        case .string(let text):
            switch text {
            case "1", "t", "T", "true", "TRUE", "True": return .bool(true)
            case "0", "f", "F", "false", "FALSE", "False": return .bool(false)
            default: throw noNumber(text, "bool")
            }
        default: return nil
        }
    }

    static func duration(_ value: Value) throws(ExpressionError) -> Value? {
        switch value {
        case .duration: return value
        case .string(let text):
            guard let length = parseDuration(text) else {
                throw ExpressionError(
                    .invalidArgument, "duration() of \"\(text.prefix(40))\"; write one such as 90s, 1h30m, 1.5s or -300ms")
            }
            return .duration(try Operators.bounded(length))
        default: return nil
        }
    }

    static func timestamp(_ value: Value) throws(ExpressionError) -> Value? {
        switch value {
        case .timestamp: return value
        case .int(let seconds):
            guard let time = Timestamp(seconds: 0).advanced(by: .seconds(seconds)) else { throw outOfRange(value, "timestamp") }
            return .timestamp(time)
        case .string(let text):
            guard let time = Timestamp(rfc3339: text) else {
                throw ExpressionError(
                    .invalidArgument, "timestamp() of \"\(text.prefix(40))\"; write one such as 2026-03-01T12:00:00Z")
            }
            return .timestamp(time)
        default: return nil
        }
    }

    /// The standard's durations: a sign, then decimal numbers with the units h, m, s, ms, us, ns; or `0`.
    static func parseDuration(_ text: String) -> Duration? {
        var rest = Array(text.utf8.prefix(200))[...]
        let negative = rest.first == UInt8(ascii: "-")
        if negative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        if Array(rest) == [UInt8(ascii: "0")] { return .zero }
        guard !rest.isEmpty else { return nil }
        var total = Duration.zero
        while !rest.isEmpty {
            let whole = rest.prefix { (0x30...0x39).contains($0) }
            rest = rest.dropFirst(whole.count)
            var fraction = rest.prefix(0)
            if rest.first == UInt8(ascii: ".") {
                fraction = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
                rest = rest.dropFirst(1 + fraction.count)
            }
            let unit = rest.prefix { !(0x30...0x39).contains($0) && $0 != UInt8(ascii: ".") }
            rest = rest.dropFirst(unit.count)
            guard whole.count + fraction.count > 0, whole.count <= 15,
                let scale = nanoseconds(String(decoding: unit, as: UTF8.self))
            else { return nil }
            let count = whole.reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) }
            // Beyond any range the result is refused anyway; the multiplication must only not trap.
            guard count <= 400_000_000_000_000_000 / max(1, scale / 1_000_000_000) else { return nil }
            total += part(count, scale)
            var place = scale
            for digit in fraction {
                place /= 10
                guard place > 0 else { break }
                total += .nanoseconds(Int64(digit - 0x30) * place)
            }
        }
        return negative ? .zero - total : total
    }

    private static func part(_ count: Int64, _ scale: Int64) -> Duration {
        scale >= 1_000_000_000
            ? .seconds(count * (scale / 1_000_000_000))
            : .seconds(count / (1_000_000_000 / scale)) + .nanoseconds(count % (1_000_000_000 / scale) * scale)
    }

    private static func nanoseconds(_ unit: String) -> Int64? {
        switch unit {
        case "h": 3_600_000_000_000
        case "m": 60_000_000_000
        case "s": 1_000_000_000
        case "ms": 1_000_000
        case "us", "µs", "μs": 1000
        case "ns": 1
        default: nil
        }
    }
}
