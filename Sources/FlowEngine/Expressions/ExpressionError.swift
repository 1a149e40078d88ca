// What can be wrong with an expression, with its place.

/// A mistake in an expression, found while reading it, checking it or evaluating it.
package struct ExpressionError: Error, Equatable, Sendable {
    package enum Kind: String, Sendable {
        /// The text is no expression.
        case syntax
        case unknownName
        case unknownFunction
        /// The function or operator exists, but not for these types or this many arguments.
        case noSuchOverload
        case noSuchKey
        case noSuchField
        case indexOutOfBounds
        case divisionByZero
        case overflow
        case invalidArgument
        case duplicateKey
        /// Too deep, too long, or more steps than allowed.
        case limit
    }

    package let kind: Kind
    /// One sentence without full stop; it names the mend where one is known.
    package let message: String
    /// In bytes from the start of the text that was given to `parse`.
    package internal(set) var offset: Int
    /// From 1, in the text given to `parse`.
    package internal(set) var line: Int
    /// From 1, in characters within the line. In the first line the `at` of `parse` is added.
    package internal(set) var column: Int
    /// The known word that was probably meant.
    package internal(set) var suggestion: String?

    init(_ kind: Kind, _ message: String, offset: Int = -1, suggestion: String? = nil) {
        self.kind = kind
        self.message = message
        self.offset = offset
        self.suggestion = suggestion
        line = 1
        column = 1
    }

    /// The place, unless a deeper one is known already.
    func placed(at place: Int) -> ExpressionError {
        guard offset < 0 else { return self }
        var error = self
        error.offset = place
        return error
    }

    /// Line and column from the offset.
    func located(in text: String, at base: Int) -> ExpressionError {
        var error = self
        error.offset = max(0, offset)
        let before = text.utf8.prefix(error.offset)
        let text = String(decoding: before, as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        error.line = lines.count
        error.column = (lines.last?.count ?? 0) + 1 + (lines.count == 1 ? base : 0)
        return error
    }
}

/// How much an expression may take. What exceeds a limit is an error of the kind `limit`, which nothing absorbs.
package struct ExpressionLimits: Sendable {
    /// Bytes of an expression's text.
    package var length = 16_384
    /// Levels of nesting.
    package var depth = 120
    /// Steps of one evaluation: a node, a list element, or sixteen bytes of text handled count as one.
    package var steps = 100_000

    package init() {}
}
