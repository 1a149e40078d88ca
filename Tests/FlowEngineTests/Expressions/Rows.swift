// Tables of expressions: a row is `expression => expected`, where the expected side is an expression too,
// or `!kind` or `!kind@column` for an error.
import FlowEngine
import Testing

enum Rows {
    /// Evaluates each row of `table` and reports those that do not hold. Gives the number of rows.
    @discardableResult
    static func check(_ table: String, in scope: MapScope = MapScope(), at location: SourceLocation = #_sourceLocation) -> Int {
        var count = 0
        for line in table.split(separator: "\n") where !line.allSatisfy(\.isWhitespace) {
            guard let arrow = line.range(of: " => ") else {
                Issue.record("no arrow in \(line)", sourceLocation: location)
                continue
            }
            count += 1
            let text = String(line[..<arrow.lowerBound])
            let wanted = line[arrow.upperBound...].trimmed
            if wanted.hasPrefix("!") {
                checkError(text, wanted.dropFirst(), scope, location)
            } else {
                checkValue(text, wanted, scope, location)
            }
        }
        return count
    }

    private static func checkValue(_ text: String, _ wanted: String, _ scope: MapScope, _ location: SourceLocation) {
        do {
            let value = try Expression.parse(text).evaluate(in: scope)
            let other = try Expression.parse(wanted).evaluate(in: scope)
            // Equal values of different number types are not enough: the type is part of the row.
            #expect(
                value == other && value.type == other.type, "\(text) gave \(value.type) \(value.json)",
                sourceLocation: location)
        } catch {
            Issue.record("\(text): \(error)", sourceLocation: location)
        }
    }

    private static func checkError(_ text: String, _ wanted: Substring, _ scope: MapScope, _ location: SourceLocation) {
        let parts = wanted.split(separator: "@")
        do {
            let value = try Expression.parse(text).evaluate(in: scope)
            Issue.record("\(text) gave \(value.json) instead of \(wanted)", sourceLocation: location)
        } catch {
            #expect(error.kind.rawValue == parts[0], "\(text): \(error)", sourceLocation: location)
            if parts.count > 1 {
                #expect(
                    String(error.column) == parts[1], "\(text): \(error)",
                    sourceLocation: location)
            }
        }
    }
}

extension Substring {
    fileprivate var trimmed: String {
        var view = self
        while view.last?.isWhitespace == true { view.removeLast() }
        while view.first?.isWhitespace == true { view.removeFirst() }
        return String(view)
    }

    fileprivate func range(of wanted: String) -> Range<Index>? { ranges(of: wanted).last }
}
