// An expression as text again: with the fewest parentheses, one space around operators. What it prints parses to an equal tree.

import Basics

extension Expression {
    /// The expression in its normal form.
    package var printed: String { Printer.write(root) }
}

enum Printer {
    // How tight each form binds; `BinaryOperator.precedence` gives the operators' own.
    private static let choice = 0
    private static let either = 1
    private static let both = 2
    private static let unary = 6
    private static let member = 7

    static func write(_ node: Node) -> String { write(node, atLeast: choice) }

    private static func precedence(_ kind: Node.Kind) -> Int {
        switch kind {
        case .choice: choice
        case .either: either
        case .both: both
        case .binary(let operation, _, _): operation.precedence
        case .not, .negate: unary
        case .literal(.int(let number)) where number < 0: unary
        case .literal(.double(let number)) where number.sign == .minus: unary
        default: member
        }
    }

    private static func write(_ node: Node, atLeast needed: Int) -> String {
        let text = form(node.kind)
        return precedence(node.kind) < needed ? "(\(text))" : text
    }

    private static func form(_ kind: Node.Kind) -> String {
        switch kind {
        case .literal(let value): literal(value)
        case .name(let name): name
        case .select(let target, let field, let optional):
            write(target, atLeast: member) + (optional ? ".?" : ".") + fieldName(field)
        case .presence(let target, let field): "has(\(write(target, atLeast: member)).\(fieldName(field)))"
        case .index(let target, let key, let optional):
            write(target, atLeast: member) + (optional ? "[?" : "[") + write(key) + "]"
        case .call(let call):
            (call.target.map { write($0, atLeast: member) + "." } ?? "") + call.name + "("
                + call.arguments.map(write).joined(separator: ", ") + ")"
        case .not(let operand): "!" + (isNot(operand) ? form(operand.kind) : write(operand, atLeast: member))
        case .negate(let operand): "-" + negated(operand)
        case .binary(let operation, let left, let right):
            write(left, atLeast: operation.precedence) + " \(operation.rawValue) "
                + write(right, atLeast: operation.precedence + 1)
        case .both(let left, let right): write(left, atLeast: both) + " && " + write(right, atLeast: both + 1)
        case .either(let left, let right): write(left, atLeast: either) + " || " + write(right, atLeast: either + 1)
        case .choice(let condition, let yes, let no):
            write(condition, atLeast: either) + " ? " + write(yes, atLeast: either) + " : " + write(no)
        case .list(let items):
            "[" + items.map { ($0.optional ? "?" : "") + write($0.value) }.joined(separator: ", ") + "]"
        case .map(let items):
            "{" + items.map { ($0.optional ? "?" : "") + write($0.key) + ": " + write($0.value) }.joined(separator: ", ") + "}"
        case .comprehension(let macro):
            write(macro.range, atLeast: member) + ".\(macro.macro.rawValue)(\(macro.variable), "
                + (macro.filter.map { write($0) + ", " } ?? "") + write(macro.body) + ")"
        case .optionalMap(let target, let variable, let body, let flat):
            write(target, atLeast: member) + (flat ? ".optFlatMap(" : ".optMap(") + "\(variable), \(write(body)))"
        }
    }

    private static func isNot(_ node: Node) -> Bool {
        if case .not = node.kind { true } else { false }
    }

    /// `-` before a number would become part of it, so what begins with one stands in parentheses.
    private static func negated(_ node: Node) -> String {
        if case .negate = node.kind { return form(node.kind) }
        let text = write(node, atLeast: member)
        return text.utf8.first.map { (0x30...0x39).contains($0) } == true ? "(\(text))" : text
    }

    private static func fieldName(_ name: String) -> String {
        let letters = name.utf8.allSatisfy {
            $0 == UInt8(ascii: "_") || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
        }
        let startsWithDigit = name.utf8.first.map { (0x30...0x39).contains($0) } ?? true
        return letters && !startsWithDigit && !["true", "false", "null", "in"].contains(name) ? name : "`\(name)`"
    }

    private static func literal(_ value: Value) -> String {
        switch value {
        case .null: "null"
        case .uint(let number): "\(number)u"
        case .double(let number) where number.isInfinite: number < 0 ? "-1e999" : "1e999"
        case .double(let number): number.description
        // JSON's escapes are some of those of expressions.
        case .string(let text): JSONText.string(text).text
        case .bytes(let bytes): "b\"" + bytes.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "\""
        case .type(let type): type.rawValue
        default: value.text
        }
    }
}
