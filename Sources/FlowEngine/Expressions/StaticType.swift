// What is known about the type of a value before a flow runs.

/// The type that a name or an expression has as far as it is known.
package indirect enum StaticType: Sendable, Equatable {
    /// Not known: everything is allowed. For values that begin as null this is the right one.
    case any
    case null
    case bool
    case int
    case uint
    case double
    case string
    case bytes
    case duration
    case timestamp
    case type
    case list(StaticType)
    /// A map whose keys are open, with the type of its values.
    case map(StaticType)
    /// A map whose fields are declared: another field is a mistake.
    case record([String: StaticType])
    case optional(StaticType)

    /// For messages.
    package var word: String {
        switch self {
        case .any: "any value"
        case .list: "list"
        case .map, .record: "map"
        case .optional: "optional"
        case .null: "null"
        case .bool: "bool"
        case .int: "int"
        case .uint: "uint"
        case .double: "double"
        case .string: "string"
        case .bytes: "bytes"
        case .duration: "duration"
        case .timestamp: "timestamp"
        case .type: "type"
        }
    }

    /// The type of a value as it is now.
    package init(of value: Value) {
        switch value {
        case .null: self = .null
        case .bool: self = .bool
        case .int: self = .int
        case .uint: self = .uint
        case .double: self = .double
        case .string: self = .string
        case .bytes: self = .bytes
        case .duration: self = .duration
        case .timestamp: self = .timestamp
        case .type: self = .type
        case .list(let elements):
            self = .list(elements.dropFirst().reduce(elements.first.map(Self.init(of:)) ?? .any) { $0.joined(Self(of: $1)) })
        case .map: self = .map(.any)
        case .optional(let inner): self = .optional(inner.map(Self.init(of:)) ?? .any)
        }
    }

    var isNumber: Bool { self == .int || self == .uint || self == .double }

    /// Whether a value of this type can stand where `wanted` is needed.
    package func canBe(_ wanted: StaticType) -> Bool {
        switch (self, wanted) {
        case (.any, _), (_, .any): true
        case (.list(let own), .list(let other)), (.map(let own), .map(let other)), (.optional(let own), .optional(let other)):
            own.canBe(other)
        case (.record, .map), (.map, .record), (.record, .record): true
        default: self == wanted
        }
    }

    /// The type of something that is one or the other.
    func joined(_ other: StaticType) -> StaticType { self == other ? self : .any }
}

/// The names that an expression may use, with what is known about their types.
package typealias DeclaredNames = [String: StaticType]
