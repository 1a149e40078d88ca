// How values appear in text: in templates, in logs, as JSON (RFC 8259).

import Basics

extension Value {
    /// As it appears in a template: strings bare, numbers plain, null as nothing, durations as `1m30s`, timestamps as RFC 3339,
    /// bytes as base64, lists and maps as JSON, an optional as what it holds.
    package var text: String {
        switch self {
        case .null: ""
        case .bool(let truth): truth ? "true" : "false"
        case .int(let number): String(number)
        case .uint(let number): String(number)
        case .double(let number): Value.plain(number)
        case .string(let text): text
        case .bytes(let bytes): Base64.encode(bytes)
        case .list, .map: json
        case .duration(let length): FlowDuration.print(length)
        case .timestamp(let time): time.rfc3339
        case .type(let type): type.rawValue
        case .optional(let inner): inner?.text ?? ""
        }
    }

    /// A number as short as it can be written without loss; whole ones without a point.
    static func plain(_ number: Double) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number < 0 ? "-Infinity" : "Infinity" }
        let text = number.description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// The value as JSON in one line. Keys become strings; what JSON cannot hold becomes a string as in templates; NaN and the
    /// infinities become the strings `NaN`, `Infinity`, `-Infinity`; none becomes null.
    package var json: String { jsonText.text }

    private var jsonText: JSONText {
        switch self {
        case .null, .optional(nil): .null
        case .bool(let truth): .bool(truth)
        case .int, .uint: .figure(text)
        case .double(let number): number.isFinite ? .figure(text) : .string(text)
        case .optional(let inner?): inner.jsonText
        case .list(let elements): .array(elements.map(\.jsonText))
        case .map(let map): .object(map.entries.map { ($0.key.text, $0.value.jsonText) })
        case .string, .bytes, .duration, .timestamp, .type: .string(text)
        }
    }
}
