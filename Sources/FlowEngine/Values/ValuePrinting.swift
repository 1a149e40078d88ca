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
    package var json: String {
        var text = ""
        writeJSON(into: &text)
        return text
    }

    private func writeJSON(into output: inout String) {
        switch self {
        case .null, .optional(nil): output += "null"
        case .bool, .int, .uint: output += text
        case .double(let number): output += number.isFinite ? text : "\"\(text)\""
        case .optional(let inner?): inner.writeJSON(into: &output)
        case .list(let elements):
            output += "["
            for (place, element) in elements.enumerated() {
                if place > 0 { output += "," }
                element.writeJSON(into: &output)
            }
            output += "]"
        case .map(let map):
            output += "{"
            for (place, entry) in map.entries.enumerated() {
                if place > 0 { output += "," }
                Value.writeJSONString(entry.key.text, into: &output)
                output += ":"
                entry.value.writeJSON(into: &output)
            }
            output += "}"
        case .string, .bytes, .duration, .timestamp, .type: Value.writeJSONString(text, into: &output)
        }
    }

    static func writeJSONString(_ text: String, into output: inout String) {
        output += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            case "\n": output += "\\n"
            case "\r": output += "\\r"
            case "\t": output += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let digits = String(scalar.value, radix: 16)
                output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: output.unicodeScalars.append(scalar)
            }
        }
        output += "\""
    }
}
