// A screen of a terminal as text: lines that fit its size, colours where they are wanted, and small curves. Pure.

/// How a terminal can show things.
package struct ScreenStyle: Equatable, Sendable {
    package var columns: Int
    package var rows: Int
    /// Not with NO_COLOR (no-color.org).
    package var hasColor: Bool
    /// Whether it can show more than ASCII.
    package var isUnicode: Bool

    package init(columns: Int, rows: Int, hasColor: Bool, isUnicode: Bool) {
        (self.columns, self.rows, self.hasColor, self.isUnicode) = (columns, rows, hasColor, isUnicode)
    }
}

/// A piece of a line, with its meaning.
struct ScreenSpan: Equatable {
    enum Tone {
        case plain
        case label
        case good
        case bad
        case strong

        /// Select Graphic Rendition (ECMA-48, 8.3.117).
        var code: String {
            switch self {
            case .plain: ""
            case .label: "2"
            case .good: "32"
            case .bad: "1;31"
            case .strong: "1"
            }
        }
    }

    var text: String
    var tone: Tone

    init(_ text: String, _ tone: Tone = .plain) { (self.text, self.tone) = (text, tone) }
}

/// One line.
struct ScreenLine: Equatable {
    var spans: [ScreenSpan]
    /// Lines that a small screen can do without go first: 0 stays.
    var importance: Int

    init(_ spans: [ScreenSpan], importance: Int = 0) { (self.spans, self.importance) = (spans, importance) }

    /// Cut to the width. A terminal gives every character of these one column.
    func text(_ style: ScreenStyle) -> String {
        var room = style.columns
        var text = ""
        for span in spans where room > 0 {
            let cut = String(span.text.prefix(room))
            room -= cut.count
            let isPlain = !style.hasColor || span.tone == .plain || cut.isEmpty
            text += isPlain ? cut : "\u{1B}[\(span.tone.code)m\(cut)\u{1B}[0m"
        }
        return text
    }
}

enum ScreenText {
    /// The lines as one screen, drawn from its upper left corner; nothing of what was there before is left. Where there is no room for
    /// all, the least important go.
    static func frame(_ lines: [ScreenLine], _ style: ScreenStyle) -> String {
        var kept = Array(lines.enumerated())
        while kept.count > max(1, style.rows) {
            guard let least = kept.max(by: { ($0.element.importance, $0.offset) < ($1.element.importance, $1.offset) }) else {
                break
            }
            kept.removeAll { $0.offset == least.offset }
        }
        // Home; each line, emptied first: after the last column a terminal would erase the character that stands there; then everything
        // below, where there is something (ECMA-48: CUP, EL, ED). No line break after the last row: it would scroll.
        let text = kept.map { "\u{1B}[K" + $0.element.text(style) }.joined(separator: "\r\n")
        return "\u{1B}[H\(text)" + (kept.count < style.rows ? "\r\n\u{1B}[J" : "")
    }

    private static let blocks: [Character] = Array("▁▂▃▄▅▆▇█")
    private static let letters: [Character] = Array(".:-=+*#@")

    /// A curve of one line, the newest value at its right; as many values as there are columns.
    static func curve(_ values: [Double], columns: Int, isUnicode: Bool) -> String {
        let shown = values.suffix(max(0, columns))
        let steps = isUnicode ? blocks : letters
        let most = shown.max() ?? 0
        return String(
            shown.map { value in
                guard value > 0, most > 0 else { return " " }
                return steps[min(steps.count - 1, Int(value / most * Double(steps.count - 1) + 0.5))]
            })
    }
}
