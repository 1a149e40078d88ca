package import Basics

/// A ladder of messages between parties as text, line by line, so that it can be printed while the call goes on.
///
///     caller                                reception
///       │────── INVITE sip:reception ────────▶│     0.000 s
///       │◀───────── 180 Ringing ──────────────│     0.004 s
///       │                       plays welcome │     2.010 s
package struct Ladder {
    private let names: [String]
    private let start: Instant
    /// Characters from one upright to the next.
    private let pitch: Int
    private static let margin = 4

    /// - Parameter names: from left to right, at least two.
    package init(_ names: [String], start: Instant) {
        precondition(names.count >= 2, "a ladder has two sides")
        self.names = names
        self.start = start
        pitch = names.count == 2 ? 47 : 36
    }

    /// The names above the uprights.
    package var heading: String {
        var line = ""
        for (index, name) in names.enumerated() {
            let place = max(0, Self.margin + index * pitch - 2)
            line += String(repeating: " ", count: max(index == 0 ? 0 : 1, place - line.count))
            line += index + 1 < names.count ? Self.fit(name, pitch - 2) : name
        }
        return line
    }

    /// A message from one side to another.
    package func message(_ label: String, from: Int, to: Int, at instant: Instant) -> String {
        precondition(from != to, "a message goes from one side to another")
        let width = abs(to - from) * pitch - 1
        let text = " \(Self.fit(VisibleText.escaped(label), width - 5)) "
        let dashes = width - 1 - text.count
        let before = String(repeating: "─", count: dashes / 2)
        let after = String(repeating: "─", count: dashes - dashes / 2)
        return line(to > from ? "\(before)\(text)\(after)▶" : "◀\(before)\(text)\(after)", after: min(from, to), at: instant)
    }

    /// Something that one side did or noticed.
    package func note(_ text: String, on side: Int, at instant: Instant) -> String {
        let fitted = Self.fit(VisibleText.escaped(text), pitch - 3)
        let blank = String(repeating: " ", count: pitch - 2 - fitted.count)
        return side + 1 < names.count
            ? line(" \(fitted)\(blank)", after: side, at: instant) : line("\(blank)\(fitted) ", after: side - 1, at: instant)
    }

    /// All uprights, with `text` between those from `side` on that it reaches.
    private func line(_ text: String, after side: Int, at instant: Instant) -> String {
        let gap = String(repeating: " ", count: pitch - 1)
        let reach = (text.count + 1) / pitch
        var line = String(repeating: " ", count: Self.margin) + "│"
        var place = 0
        while place < names.count - 1 {
            line += (place == side ? text : gap) + "│"
            place += place == side ? reach : 1
        }
        return "\(line)  \(Self.time(instant, since: start))"
    }

    /// `12.345 s`
    static func time(_ instant: Instant, since start: Instant) -> String {
        let milliseconds = max(0, (instant - start).nanoseconds / 1_000_000)
        let fraction = String(milliseconds % 1000)
        return "\(milliseconds / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction) s"
    }

    static func fit(_ text: String, _ length: Int) -> String {
        text.count <= length ? text : text.prefix(length - 1) + "…"
    }

    /// What a ladder calls a message: method and Request-URI, or status and phrase.
    package static func label(of bytes: [UInt8]) -> String {
        let head = bytes.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
        let words = String(decoding: head, as: UTF8.self).split(separator: " ", maxSplits: 2).map(String.init)
        guard words.count >= 2 else { return "(unreadable)" }
        if words[0].hasPrefix("SIP/") { return "\(words[1]) \(words.count > 2 ? words[2] : "")" }
        return "\(words[0]) \(words[1])"
    }
}
