// Words of strangers where people read them: in a terminal, in a line of a log.

package enum VisibleText {
    /// Control characters (Unicode's Cc: U+0000 to U+001F, U+007F to U+009F) as `\u{1b}`, so that what another end wrote neither steers a
    /// terminal nor begins a line of its own.
    /// - Parameter keepsLines: line breaks and tabs stay.
    package static func escaped(_ text: String, keepsLines: Bool = false) -> String {
        // Most are printable ASCII.
        guard text.utf8.contains(where: { $0 < 0x20 || $0 >= 0x7F }) else { return text }
        return text.unicodeScalars.map { scalar in
            guard scalar.properties.generalCategory == .control else { return String(scalar) }
            return keepsLines && (scalar == "\n" || scalar == "\t") ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
        }.joined()
    }

    /// As above, and no longer than this.
    package static func escaped(_ text: String, atMost length: Int) -> String {
        let whole = escaped(text)
        return whole.count <= length ? whole : whole.prefix(max(0, length - 1)) + "…"
    }
}
