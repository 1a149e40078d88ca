// Strings with expressions in them: `text ${expression} more $${literal`.

/// A string of a flow. `${…}` holds an expression, `$${` is the text `${`.
package struct Template: Sendable {
    enum Piece: Sendable {
        case text(String)
        case expression(Expression)
    }

    /// As it was written.
    package let source: String
    let pieces: [Piece]

    /// Whether there is no expression in it.
    package var isConstant: Bool {
        !pieces.contains { if case .expression = $0 { true } else { false } }
    }

    /// The text, when there is no expression in it.
    package var constant: String? {
        switch pieces.first {
        case nil: ""
        case .text(let text)? where pieces.count == 1: text
        default: nil
        }
    }

    /// Reads a template. Errors carry the place in `source`; `at` (characters) is added to columns of its first line.
    package static func parse(
        _ source: String, at base: Int = 0, limits: ExpressionLimits = ExpressionLimits()
    ) throws(ExpressionError) -> Template {
        do { return try read(source, base, limits) } catch { throw error.located(in: source, at: base) }
    }

    private static func read(
        _ source: String, _ base: Int, _ limits: ExpressionLimits
    ) throws(ExpressionError) -> Template {
        let bytes = Array(source.utf8)
        let dollar = UInt8(ascii: "$")
        let brace = UInt8(ascii: "{")
        var pieces: [Piece] = []
        var text: [UInt8] = []
        var next = 0
        while next < bytes.count {
            guard bytes[next] == dollar else {
                text.append(bytes[next])
                next += 1
                continue
            }
            if next + 2 < bytes.count, bytes[next + 1] == dollar, bytes[next + 2] == brace {
                text += [dollar, brace]
                next += 3
            } else if next + 1 < bytes.count, bytes[next + 1] == brace {
                let start = next
                var parser = Parser(bytes, from: next + 2, limits: limits)
                let (node, end) = try parser.parseUntilBrace()
                guard end - start <= limits.length else {
                    throw ExpressionError(.limit, "the expression is longer than \(limits.length) bytes", offset: start)
                }
                if !text.isEmpty { pieces.append(.text(String(decoding: text, as: UTF8.self))) }
                text = []
                // The whole source is the expression's text, so that its places are places of the template.
                pieces.append(.expression(Expression(text: source, root: node, base: base, limits: limits)))
                next = end
            } else {
                text.append(dollar)
                next += 1
            }
        }
        if !text.isEmpty { pieces.append(.text(String(decoding: text, as: UTF8.self))) }
        return Template(source: source, pieces: pieces)
    }

    /// The value: of a template that is one `${…}` the expression's own value, of any other a string.
    package func evaluate(in scope: any Scope) throws(ExpressionError) -> Value {
        if pieces.count == 1, case .expression(let expression) = pieces[0] { return try expression.evaluate(in: scope) }
        return .string(try text(in: scope))
    }

    /// The value as text, whatever its type.
    package func text(in scope: any Scope) throws(ExpressionError) -> String {
        var output = ""
        for piece in pieces {
            switch piece {
            case .text(let text): output += text
            case .expression(let expression): output += try expression.evaluate(in: scope).text
            }
        }
        return output
    }
}
