// An expression of a flow, in CEL.

/// A parsed expression. Parse once, evaluate often; it holds no state.
package struct Expression: Sendable, Equatable {
    /// As it was written.
    package let text: String
    let root: Node
    let base: Int
    private let limits: ExpressionLimits

    /// Reads an expression. Errors carry the place in `text`; `at` (characters) is added to columns of its first line.
    package static func parse(
        _ text: String, at base: Int = 0, limits: ExpressionLimits = ExpressionLimits()
    ) throws(ExpressionError) -> Expression {
        do throws(ExpressionError) {
            guard text.utf8.count <= limits.length else {
                throw ExpressionError(.limit, "the expression is longer than \(limits.length) bytes")
            }
            var parser = Parser(Array(text.utf8), limits: limits)
            return Expression(text: text, root: try parser.parseAll(), base: base, limits: limits)
        } catch {
            throw error.located(in: text, at: base)
        }
    }

    init(text: String, root: Node, base: Int, limits: ExpressionLimits) {
        self.text = text
        self.root = root
        self.base = base
        self.limits = limits
    }

    package static func == (left: Expression, right: Expression) -> Bool { left.root == right.root }

    /// The value. Errors carry the place in `text`; nothing but the scope is asked, and the steps are bounded.
    package func evaluate(in scope: any Scope) throws(ExpressionError) -> Value {
        var evaluator = Evaluator(scope: scope, limits: limits)
        do throws(ExpressionError) { return try evaluator.value(root) } catch { throw error.located(in: text, at: base) }
    }

    /// The truth value; another type is an error of the kind `noSuchOverload`.
    package func isTrue(in scope: any Scope) throws(ExpressionError) -> Bool {
        let value = try evaluate(in: scope)
        guard case .bool(let truth) = value else {
            throw ExpressionError(.noSuchOverload, "the condition is \(value.type.word), it must be bool", offset: root.offset)
                .located(in: text, at: base)
        }
        return truth
    }
}
