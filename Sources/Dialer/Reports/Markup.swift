// Text for XML and HTML.

import Foundation

enum Markup {
    /// Escapes what has a meaning there; signs that XML 1.0 does not allow become U+FFFD.
    static func escaped(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "\n", "\t": result.unicodeScalars.append(scalar)
            case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF: result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// UTC as ISO 8601 has it: `2026-11-30T10:00:00.123Z`.
    static func time(_ wall: Double) -> String {
        Date(timeIntervalSince1970: wall).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
