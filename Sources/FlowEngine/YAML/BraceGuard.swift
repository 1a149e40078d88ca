// Lets `${…}` stand without quotes inside `{ … }` and `[ … ]`, where YAML would take its brace for a mapping.
// The signs that YAML would read are exchanged for private ones, one for one, so that places stay true, and given back in the
// scalars. Quoted text is left alone. Nothing is done to a file that uses these private signs itself.

enum BraceGuard {
    private static let signs: [(plain: Character, guarded: Character)] = [
        ("{", "\u{E0F0}"), ("}", "\u{E0F1}"), (",", "\u{E0F2}"), ("[", "\u{E0F3}"), ("]", "\u{E0F4}"), (":", "\u{E0F5}"),
        ("#", "\u{E0F6}"), ("?", "\u{E0F7}")
    ]

    /// The text with every unquoted `${…}` guarded; nil when there is none (or the file uses the private signs).
    static func guarded(_ text: String) -> String? {
        guard text.contains("${"), !text.unicodeScalars.contains(where: { (0xE0F0...0xE0F7).contains($0.value) }) else {
            return nil
        }
        var changed = false
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            guard line.contains("${"), let result = guardedLine(Array(line)) else { return String(line) }
            changed = true
            return result
        }
        return changed ? lines.joined(separator: "\n") : nil
    }

    static func restored(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { (0xE0F0...0xE0F7).contains($0.value) }) else { return text }
        return String(text.map { sign in signs.first { $0.guarded == sign }?.plain ?? sign })
    }

    private static func guardedLine(_ line: [Character]) -> String? {
        var result = line
        var quote: Character?
        var changed = false
        var index = 0
        while index < line.count {
            let sign = line[index]
            if let open = quote {
                if open == "\"", sign == "\\" { index += 1 } else if sign == open { quote = nil }
            } else if sign == "\"" || sign == "'" {
                let before = index == 0 ? " " : line[index - 1]
                if " \t[{,:".contains(before) { quote = sign }
            } else if sign == "$", index + 1 < line.count, line[index + 1] == "{", let end = end(of: line, from: index + 1) {
                for inside in index + 1...end {
                    if let pair = signs.first(where: { $0.plain == line[inside] }) { result[inside] = pair.guarded }
                }
                changed = true
                index = end
            }
            index += 1
        }
        return changed ? String(result) : nil
    }

    /// The index of the brace that closes the one at `start`; braces in an expression's own quotes don't count.
    private static func end(of line: [Character], from start: Int) -> Int? {
        var depth = 0
        var quote: Character?
        for index in start..<line.count {
            let sign = line[index]
            if let open = quote {
                if sign == open, line[index - 1] != "\\" { quote = nil }
                continue
            }
            switch sign {
            case "\"", "'": quote = sign
            case "{": depth += 1
            case "}":
                depth -= 1
                if depth == 0 { return index }
            default: break
            }
        }
        return nil
    }
}
