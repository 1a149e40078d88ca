// A line of the log, as text for people or as JSON for collectors.

import Basics
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
            var text = "\(time) \(level.rawValue)\(padding) \(VisibleText.escaped(message))"
            for field in fields { text += " \(field.name)=\(Self.quoted(field.value))" }
            return text
        }
    }

    /// UTC with milliseconds: `2026-01-02T03:04:05.678Z` (RFC 3339).
    private var time: String {
        let milliseconds = Int64((at * 1000).rounded())
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return String(unsafeUninitializedCapacity: 24) { buffer in
            var end = 0
            func put(_ value: Int, _ digits: Int, then mark: Unicode.Scalar) {
                var rest = value
                for index in (end..<end + digits).reversed() {
                    buffer[index] = UInt8(48 + rest % 10)
                    rest /= 10
                }
                buffer[end + digits] = UInt8(ascii: mark)
                end += digits + 1
            }
            put(Int(parts.tm_year) + 1900, 4, then: "-")
            put(Int(parts.tm_mon) + 1, 2, then: "-")
            put(Int(parts.tm_mday), 2, then: "T")
            put(Int(parts.tm_hour), 2, then: ":")
            put(Int(parts.tm_min), 2, then: ":")
            put(Int(parts.tm_sec), 2, then: ".")
            put(Int(milliseconds % 1000), 3, then: "Z")
            return end
        }
    }

    private static func quoted(_ value: String) -> String {
        let plain =
            !value.isEmpty
            && value.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "=") && $0 != 0x7F }
        return plain ? VisibleText.escaped(value) : JSONText.string(value).text
    }
}
