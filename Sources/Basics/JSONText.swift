// JSON for results: members stay in the order in which a person reads them, figures have as many digits as they mean.

/// A JSON value (RFC 8259) to be written.
package indirect enum JSONText: Equatable, Sendable, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral
{
    case null
    case bool(Bool)
    /// A number, written as JSON writes numbers.
    case figure(String)
    case string(String)
    case array([JSONText])
    case object([(name: String, value: JSONText)])

    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .count(value) }

    /// A whole number.
    package static func count(_ value: some BinaryInteger) -> JSONText { .figure(String(value)) }
    /// A number with so many digits after the point, without trailing zeros beyond the first; JSON has no infinity and no NaN: they are null.
    package static func number(_ value: Double, digits: Int) -> JSONText {
        guard value.isFinite, abs(value) < 1e15 else { return .null }
        var scale = 1.0
        for _ in 0..<max(1, digits) { scale *= 10 }
        let scaled = (abs(value) * scale).rounded()
        let whole = Int64(scaled / scale)
        var fraction = String(Int64(scaled) - whole * Int64(scale))
        fraction = String(repeating: "0", count: max(0, max(1, digits) - fraction.count)) + fraction
        while fraction.count > 1, fraction.hasSuffix("0") { fraction.removeLast() }
        return .figure("\(value < 0 && scaled > 0 ? "-" : "")\(whole).\(fraction)")
    }
    /// Milliseconds with one digit, or null.
    package static func milliseconds(_ value: Duration?) -> JSONText {
        guard let value else { return .null }
        let (seconds, attoseconds) = value.components
        return .number(Double(seconds) * 1000 + Double(attoseconds) / 1e15, digits: 1)
    }

    package static func == (left: JSONText, right: JSONText) -> Bool { left.text == right.text }

    /// In one line, without spaces.
    package var text: String {
        var result = ""
        write(into: &result)
        return result
    }

    private func write(into text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .figure(let value): text += value
        case .string(let value): Self.write(value, into: &text)
        case .array(let items):
            text += "["
            for (index, item) in items.enumerated() {
                if index > 0 { text += "," }
                item.write(into: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                Self.write(member.name, into: &text)
                text += ":"
                member.value.write(into: &text)
            }
            text += "}"
        }
    }

    private static func write(_ value: String, into text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
                let hex = String(scalar.value, radix: 16)
                text += "\\u\(String(repeating: "0", count: 4 - hex.count))\(hex)"
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
