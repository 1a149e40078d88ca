package import Basics

/// A ladder of messages between two parties as text, line by line, so that it can be printed while the call goes on.
///
///     caller                                reception
///       │────── INVITE sip:reception ────────▶│     0.000 s
///       │◀───────── 180 Ringing ──────────────│     0.004 s
///       │                       plays welcome │     2.010 s
package struct Ladder {
    private let left: String
    private let right: String
    private let start: Instant
    /// Characters between the two lines.
    private static let width = 46

    package init(left: String, right: String, start: Instant) {
        self.left = left
        self.right = right
        self.start = start
    }

    /// The names above the two lines.
    package var heading: String {
        let gap = max(1, Self.width + 4 - left.count)
        return "  \(left)\(String(repeating: " ", count: gap - 2))\(right)"
    }

    package enum Side: Sendable {
        case left
        case right
    }

    /// A message from one side to the other.
    package func message(_ label: String, from side: Side, at instant: Instant) -> String {
        let text = " \(Self.fit(label, Self.width - 6)) "
        let dashes = Self.width - 1 - text.count
        let before = String(repeating: "─", count: dashes / 2)
        let after = String(repeating: "─", count: dashes - dashes / 2)
        let arrow = side == .left ? "\(before)\(text)\(after)▶" : "◀\(before)\(text)\(after)"
        return "    │\(arrow)│  \(time(instant))"
    }

    /// Something that one side did or noticed.
    package func note(_ text: String, on side: Side, at instant: Instant) -> String {
        let fitted = Self.fit(text, Self.width - 2)
        let blank = String(repeating: " ", count: Self.width - 1 - fitted.count)
        return side == .left ? "    │ \(fitted)\(blank)│  \(time(instant))" : "    │\(blank)\(fitted) │  \(time(instant))"
    }

    private func time(_ instant: Instant) -> String {
        let milliseconds = max(0, (instant - start).nanoseconds / 1_000_000)
        let fraction = String(milliseconds % 1000)
        return "\(milliseconds / 1000).\(String(repeating: "0", count: 3 - fraction.count))\(fraction) s"
    }

    private static func fit(_ text: String, _ length: Int) -> String {
        text.count <= length ? text : text.prefix(length - 1) + "…"
    }

    /// What a ladder calls a message: method and Request-URI, or status and phrase; with the codec when it carries SDP.
    package static func label(of bytes: [UInt8]) -> String {
        let head = bytes.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
        let words = String(decoding: head, as: UTF8.self).split(separator: " ", maxSplits: 2).map(String.init)
        guard words.count >= 2 else { return "(unreadable)" }
        if words[0].hasPrefix("SIP/") { return "\(words[1]) \(words.count > 2 ? words[2] : "")" }
        return "\(words[0]) \(words[1])"
    }
}
