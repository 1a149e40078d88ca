// The tree of a YAML document: every node knows its place. Scalars follow the core schema of YAML 1.2 (section 10.3).

/// A node of a YAML document.
package struct YAMLNode: Sendable {
    package enum Content: Sendable {
        case scalar(YAMLScalar)
        case sequence([YAMLNode])
        case mapping([YAMLPair])
    }

    package var content: Content
    package var place: SourcePlace

    package init(_ content: Content, at place: SourcePlace) {
        self.content = content
        self.place = place
    }

    /// The value under `key` of a mapping.
    package subscript(key: String) -> YAMLNode? {
        guard case .mapping(let pairs) = content else { return nil }
        return pairs.first { $0.key.text == key }?.value
    }

    /// Whether nothing was written here.
    package var isNull: Bool {
        if case .scalar(let scalar) = content, scalar.value == .null { true } else { false }
    }

    /// `text`, `number`, `list`, …: for messages.
    package var kind: String {
        switch content {
        case .sequence: "a list"
        case .mapping: "a mapping"
        case .scalar(let scalar):
            switch scalar.value {
            case .null: "nothing"
            case .bool: "true or false"
            case .int, .float: "a number"
            case .string: "text"
            }
        }
    }
}

/// A key with its value.
package struct YAMLPair: Sendable {
    package struct Key: Sendable {
        package var text: String
        package var place: SourcePlace
    }

    package var key: Key
    package var value: YAMLNode
}

/// A scalar as it was written and what it means.
package struct YAMLScalar: Sendable {
    /// What the core schema makes of it.
    package enum Value: Equatable, Sendable {
        case null
        case bool(Bool)
        case int(Int64)
        case float(Double)
        case string(String)
    }

    /// The text without quotes, escapes resolved.
    package var text: String
    /// Written in quotes or as a block: always text.
    package var isQuoted: Bool
    package var value: Value
    /// Nothing is here but a `#`, which begins a comment: `finish-on: #`.
    package var isHiddenByHash = false

    package init(text: String, isQuoted: Bool) {
        self.text = text
        self.isQuoted = isQuoted
        value = isQuoted ? .string(text) : Self.resolve(text)
    }

    /// Whether somebody who reads `text` as it stands and the schema see the same: not so for `0123` (123), `0x10` (16), `1e3`.
    package var readsAsWritten: Bool {
        switch value {
        case .string: true
        case .bool(let flag): text == (flag ? "true" : "false")
        case .int(let number): text == String(number)
        case .float(let number): text == "\(number)" || text.allSatisfy { $0.isNumber || $0 == "." } && !text.hasPrefix("00")
        case .null: false
        }
    }

    /// The core schema's rules for a plain scalar.
    package static func resolve(_ text: String) -> Value {
        switch text {
        case "", "~", "null", "Null", "NULL": return .null
        case "true", "True", "TRUE": return .bool(true)
        case "false", "False", "FALSE": return .bool(false)
        case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF": return .float(.infinity)
        case "-.inf", "-.Inf", "-.INF": return .float(-.infinity)
        case ".nan", ".NaN", ".NAN": return .float(.nan)
        default: break
        }
        guard let first = text.utf8.first, first == 0x2B || first == 0x2D || first == 0x2E || (0x30...0x39).contains(first) else {
            return .string(text)
        }
        if text.hasPrefix("0o") {
            return Int64(text.dropFirst(2), radix: 8).map(Value.int) ?? .string(text)
        }
        if text.hasPrefix("0x") {
            return Int64(text.dropFirst(2), radix: 16).map(Value.int) ?? .string(text)
        }
        return number(text)
    }

    /// `[-+]? [0-9]+` or `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
    private static func number(_ text: String) -> Value {
        var rest = Substring(text)
        func digits() -> Int {
            let run = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(run.count)
            return run.count
        }
        if rest.first == "+" || rest.first == "-" { rest = rest.dropFirst() }
        let whole = digits()
        var isFloat = false
        var fraction = 0
        if rest.first == "." {
            isFloat = true
            rest = rest.dropFirst()
            fraction = digits()
        }
        guard whole + fraction > 0 else { return .string(text) }
        if rest.first == "e" || rest.first == "E" {
            isFloat = true
            rest = rest.dropFirst()
            if rest.first == "+" || rest.first == "-" { rest = rest.dropFirst() }
            guard digits() > 0 else { return .string(text) }
        }
        guard rest.isEmpty else { return .string(text) }
        if !isFloat, let number = Int64(text) { return .int(number) }
        return Double(text.hasSuffix(".") ? text + "0" : text).map(Value.float) ?? .string(text)
    }
}
