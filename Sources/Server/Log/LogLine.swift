// A line of the log, as text for people or as JSON for collectors.

import Foundation

package struct LogLine: Sendable {
    package var level: Configuration.Log.Level
    package var message: String
    /// In the order given; `call` for the call's id.
    package var fields: [(name: String, value: String)]
    /// Seconds since 1970.
    package var at: Double

    package init(
        _ level: Configuration.Log.Level, _ message: String, fields: [(name: String, value: String)] = [],
        at: Double = Date().timeIntervalSince1970
    ) {
        self.level = level
        self.message = message
        self.fields = fields
        self.at = at
    }

    /// One line without its line break. What callers sent cannot begin another line or reach the terminal: control characters are
    /// escaped.
    package func text(_ format: Configuration.Log.Format) -> String {
        switch format {
        case .json:
            return JSONText.object(
                [("time", .string(time)), ("level", .string(level.rawValue)), ("message", .string(message))]
                    + fields.map { ($0.name, .string($0.value)) }
            ).text
        case .text:
            let padding = String(repeating: " ", count: 7 - level.rawValue.count)
            let tail = fields.map { " \($0.name)=\(Self.quoted($0.value))" }.joined()
            return "\(time) \(level.rawValue)\(padding) \(Self.safe(message))\(tail)"
        }
    }

    /// UTC with milliseconds: `2026-01-02T03:04:05.678Z` (RFC 3339).
    private var time: String {
        let milliseconds = Int64((at * 1000).rounded())
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func digits(_ value: some BinaryInteger, _ count: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let date = "\(digits(parts.tm_year + 1900, 4))-\(digits(parts.tm_mon + 1, 2))-\(digits(parts.tm_mday, 2))"
        let clock = "\(digits(parts.tm_hour, 2)):\(digits(parts.tm_min, 2)):\(digits(parts.tm_sec, 2))"
        return "\(date)T\(clock).\(digits(milliseconds % 1000, 3))Z"
    }

    private static func quoted(_ value: String) -> String {
        let plain =
            !value.isEmpty && value.unicodeScalars.allSatisfy { $0.value > 0x20 && $0 != "\"" && $0 != "=" && $0.value != 0x7F }
        return plain ? safe(value) : JSONText.string(value).text
    }

    private static func safe(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return text }
        return text.unicodeScalars.map {
            $0.properties.generalCategory == .control ? "\\u{\(String($0.value, radix: 16))}" : String($0)
        }.joined()
    }
}
