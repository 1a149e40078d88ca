// The values that flows work with: CEL's (Common Expression Language, language definition, "Values").

/// A value of a flow: what a variable holds, an expression gives, a verb returns.
///
/// `==` is CEL's equality: numbers are equal across their three types, values of different types are unequal, NaN equals nothing.
package enum Value: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case uint(UInt64)
    case double(Double)
    case string(String)
    case bytes([UInt8])
    case list([Value])
    case map(ValueMap)
    case duration(Duration)
    case timestamp(Timestamp)
    case type(ValueType)
    /// nil is CEL's `optional.none()`.
    indirect case optional(Value?)

    /// A map with string keys, in the order given; of two entries with one name the last counts.
    package static func object(_ members: KeyValuePairs<String, Value>) -> Value {
        var map = ValueMap()
        for (name, value) in members { map[name] = value }
        return .map(map)
    }
}

/// The types of values, by the names that `type()` shows.
package enum ValueType: String, Sendable, CaseIterable {
    case null = "null_type"
    case bool
    case int
    case uint
    case double
    case string
    case bytes
    case list
    case map
    case duration = "google.protobuf.Duration"
    case timestamp = "google.protobuf.Timestamp"
    case type
    case optional = "optional_type"

    /// The word for messages: `duration` instead of the full name.
    package var word: String {
        switch self {
        case .null: "null"
        case .duration: "duration"
        case .timestamp: "timestamp"
        case .optional: "optional"
        default: rawValue
        }
    }
}

extension Value {
    /// What `type()` gives.
    package var type: ValueType {
        switch self {
        case .null: .null
        case .bool: .bool
        case .int: .int
        case .uint: .uint
        case .double: .double
        case .string: .string
        case .bytes: .bytes
        case .list: .list
        case .map: .map
        case .duration: .duration
        case .timestamp: .timestamp
        case .type: .type
        case .optional: .optional
        }
    }

    /// The string, when it is one.
    package var asString: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The truth value, when it is one.
    package var asBool: Bool? {
        if case .bool(let truth) = self { truth } else { nil }
    }

    /// The whole number, when the value is a number without a fraction that fits.
    package var asInt: Int64? {
        switch self {
        case .int(let number): number
        case .uint(let number): Int64(exactly: number)
        case .double(let number): Int64(exactly: number)
        default: nil
        }
    }

    /// The number, when the value is one.
    package var asDouble: Double? {
        switch self {
        case .int(let number): Double(number)
        case .uint(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }

    /// The length of time, when the value is one.
    package var asDuration: Duration? {
        if case .duration(let length) = self { length } else { nil }
    }

    /// The elements, when it is a list.
    package var asList: [Value]? {
        if case .list(let elements) = self { elements } else { nil }
    }

    /// The map, when it is one.
    package var asMap: ValueMap? {
        if case .map(let map) = self { map } else { nil }
    }

    /// The empty value of its type: null, false, 0, "", an empty list or map, no time, 1970's first instant, none.
    package var isZero: Bool {
        switch self {
        case .null: true
        case .bool(let truth): !truth
        case .int(let number): number == 0
        case .uint(let number): number == 0
        case .double(let number): number == 0
        case .string(let text): text.isEmpty
        case .bytes(let bytes): bytes.isEmpty
        case .list(let elements): elements.isEmpty
        case .map(let map): map.entries.isEmpty
        case .duration(let length): length == .zero
        case .timestamp(let time): time == Timestamp(seconds: 0)
        case .type: false
        case .optional(let inner): inner == nil
        }
    }
}

extension Value: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int64) { self = .int(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(floatLiteral value: Double) { self = .double(value) }
    package init(arrayLiteral elements: Value...) { self = .list(elements) }
    package init(dictionaryLiteral elements: (String, Value)...) {
        var map = ValueMap()
        for (name, value) in elements { map[name] = value }
        self = .map(map)
    }
}
