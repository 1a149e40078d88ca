// Lengths of time as flows write them: `300ms`, `5s`, `2m`, `1h30m`.
internal import Basics

/// Reads and prints the durations of flow files.
package enum FlowDuration {
    /// Why a text is no duration, with the way to mend it.
    package struct Problem: Error, Equatable, Sendable {
        package let message: String
    }

    /// The longest duration a flow can write: ten years.
    package static let longest = Duration.seconds(315_360_000)

    private static let units: [(name: String, nanoseconds: Int64)] = [
        ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000)
    ]

    /// Reads whole numbers with the units h, m, s, ms, largest first, each once.
    package static func parse(_ text: String) throws(Problem) -> Duration {
        guard !text.isEmpty else { throw Problem(message: "a duration is missing, such as 5s") }
        var rest = Substring(text)
        var total: Int64 = 0
        var lastUnit = -1
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            let unit = rest.dropFirst(digits.count).prefix { !($0.isASCII && $0.isNumber) }
            guard !digits.isEmpty else { throw Problem(message: complaint(text, unit: String(unit))) }
            guard !unit.isEmpty else {
                throw Problem(
                    message: "\(quoted(text)) has no unit at its end; write \(text)s for seconds or \(text)ms for milliseconds")
            }
            guard let place = units.firstIndex(where: { $0.name == unit }) else {
                throw Problem(message: complaint(text, unit: String(unit)))
            }
            guard place > lastUnit else {
                throw Problem(
                    message: "\(quoted(text)) has its units out of order; write the largest first, each once, such as 1h30m")
            }
            guard let count = Int64(digits), count <= longest.nanoseconds / units[place].nanoseconds else {
                throw Problem(message: "\(quoted(text)) is longer than ten years")
            }
            total += count * units[place].nanoseconds
            lastUnit = place
            rest = rest.dropFirst(digits.count + unit.count)
        }
        guard total <= longest.nanoseconds else { throw Problem(message: "\(quoted(text)) is longer than ten years") }
        return .nanoseconds(total)
    }

    private static func quoted(_ text: String) -> String { "\"\(text.prefix(40))\"" }

    private static func complaint(_ text: String, unit: String) -> String {
        let word = unit.trimmingSpaces().lowercased()
        if text.hasPrefix("-") { return "\(quoted(text)) is negative; a duration is 0s or longer" }
        if text.contains(" ") { return "\(quoted(text)) has a space in it; write number and unit together, such as 1h30m" }
        if unit.hasPrefix(".") || unit.hasPrefix(",") {
            return "\(quoted(text)) has a fraction; write whole numbers with smaller units, such as 1s500ms"
        }
        let mends = [
            "d": "h (24h is a day)", "day": "h (24h is a day)", "days": "h (24h is a day)", "sec": "s", "secs": "s",
            "second": "s", "seconds": "s", "min": "m", "mins": "m", "minute": "m", "minutes": "m", "hour": "h", "hours": "h",
            "hr": "h", "hrs": "h", "msec": "ms", "millis": "ms", "milliseconds": "ms", "h": "h", "m": "m", "s": "s", "ms": "ms"
        ]
        if let mend = mends[word] { return "\(quoted(text)) has the unit \"\(unit)\"; write \(mend)" }
        return "\(quoted(text)) is not a duration; write one such as 300ms, 5s, 2m or 1h30m"
    }

    /// To whole milliseconds.
    static func rounded(_ duration: Duration) -> Duration { .milliseconds(Int64((duration / .milliseconds(1)).rounded())) }

    /// `1h30m`, `5s`, `300ms`, `0s`; parts below a millisecond as a fraction: `1.5ms`. Negative lengths begin with `-`.
    package static func print(_ duration: Duration) -> String {
        if duration == .zero { return "0s" }
        var (seconds, attoseconds) = duration.components
        var text = ""
        if seconds < 0 || attoseconds < 0 {
            text = "-"
            seconds = -seconds
            attoseconds = -attoseconds
        }
        let nanoseconds = attoseconds / 1_000_000_000
        if seconds >= 3600 { text += "\(seconds / 3600)h" }
        if seconds / 60 % 60 > 0 { text += "\(seconds / 60 % 60)m" }
        if seconds % 60 > 0 { text += "\(seconds % 60)s" }
        if nanoseconds >= 1_000_000 || nanoseconds > 0 {
            text += "\(nanoseconds / 1_000_000)"
            let below = nanoseconds % 1_000_000
            if below > 0 {
                var digits = String(String(below + 1_000_000).dropFirst())
                while digits.hasSuffix("0") { digits.removeLast() }
                text += "." + digits
            }
            text += "ms"
        }
        return text == "-" || text.isEmpty ? "0s" : text
    }
}

extension String {
    /// Without the white space at both ends.
    func trimmingSpaces() -> String {
        var view = Substring(self)
        while view.first?.isWhitespace == true { view.removeFirst() }
        while view.last?.isWhitespace == true { view.removeLast() }
        return String(view)
    }
}
