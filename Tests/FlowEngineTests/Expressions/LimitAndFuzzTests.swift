// Expressions end and never crash: limits, random texts, random trees printed and read again.
import Basics
import FlowEngine
import Testing

@Suite struct LimitAndFuzzTests {
    private func kind(_ body: () throws -> Void) -> ExpressionError.Kind? {
        do { try body() } catch { return (error as? ExpressionError)?.kind }
        return nil
    }

    @Test(arguments: [
        String(repeating: "(", count: 5000), String(repeating: "[", count: 5000), String(repeating: "{1:", count: 3000),
        String(repeating: "!", count: 5000) + "true", String(repeating: "-", count: 5000) + "1",
        "a" + String(repeating: ".a", count: 5000),
        "1" + String(repeating: "+1", count: 5000), String(repeating: "true?1:", count: 2000) + "2",
        "[]" + String(repeating: ".map(x,x)", count: 1000), "'" + String(repeating: "a", count: 20_000) + "'",
        String(repeating: "f(", count: 3000), "a" + String(repeating: "[0]", count: 3000)
    ])
    func deepOrLongTextsAreRefused(_ text: String) {
        #expect(kind { _ = try Expression.parse(text) } == .limit)
        #expect(kind { _ = try Template.parse("${" + text + "}") } == .limit)
    }

    @Test func usualDepthsAreAllowed() throws {
        let sum = "1" + String(repeating: " + 1", count: 60)
        #expect(try Expression.parse(sum).evaluate(in: MapScope()) == 61)
        let brackets = String(repeating: "(", count: 60) + "1" + String(repeating: ")", count: 60)
        #expect(try Expression.parse(brackets).evaluate(in: MapScope()) == 1)
    }

    @Test(arguments: [
        "l.all(a, l.all(b, l.all(c, true)))", "l.exists(a, l.exists(b, l.exists(c, 1 / 0 > 1)))",
        "l.map(a, l.map(b, l.map(c, 1)))",
        "l.map(a, l).map(b, b + l + l)", "false && l.all(a, l.all(b, l.all(c, true))) || l.all(a, l.all(b, l.all(c, true)))",
        "l.map(a, s + s + s)", "l.all(a, s.contains('b') || s.matches('b') || true)"
    ])
    func workIsBounded(_ text: String) throws {
        let scope = MapScope(["l": .list((0..<1000).map { .int($0) }), "s": .string(String(repeating: "a", count: 10_000))])
        #expect(kind { _ = try Expression.parse(text).evaluate(in: scope) } == .limit)
    }

    @Test func nothingAbsorbsALimit() throws {
        var limits = ExpressionLimits()
        limits.steps = 50
        let scope = MapScope(["l": .list((0..<40).map { .int($0) })])
        let expression = try Expression.parse("l.all(a, a >= 0) || true", limits: limits)
        #expect(kind { _ = try expression.evaluate(in: scope) } == .limit)
    }

    @Test func callersTextIsNeverEvaluated() throws {
        let scope = MapScope(["digits": "${1 + 1}", "pattern": "("])
        #expect(try Template.parse("got ${digits}").evaluate(in: scope) == "got ${1 + 1}")
        #expect(kind { _ = try Expression.parse("'a'.matches(pattern)").evaluate(in: scope) } == .invalidArgument)
    }

    @Test(arguments: [
        ("1+2*3", "1 + 2 * 3"), ("(1+2)*3", "(1 + 2) * 3"), ("1-(2-3)", "1 - (2 - 3)"), ("(1-2)-3", "1 - 2 - 3"),
        ("!(a&&b)||c", "!(a && b) || c"),
        ("a?b:c?d:e", "a ? b : c ? d : e"), ("(a?b:c)?d:e", "(a ? b : c) ? d : e"), ("-(-1)", "-(-1)"), ("(-1).x", "(-1).x"),
        ("--a", "--a"),
        ("'it\\'s'", "\"it's\""), ("b'\\xff'", "b\"\\xff\""), ("{?'a':b,1u:2.0}", "{?\"a\": b, 1u: 2.0}"), ("[?a, b]", "[?a, b]"),
        ("a.?b[?c]", "a.?b[?c]"),
        ("has(a.b)", "has(a.b)"), ("a.`x-y`", "a.`x-y`"), ("a.map(x,x>1,x)", "a.map(x, x > 1, x)"),
        ("a.existsOne(x,x)", "a.exists_one(x, x)"),
        ("optional.of(1)", "optional.of(1)"), ("a.optMap(x,x+1)", "a.optMap(x, x + 1)"),
        ("google.protobuf.Duration", "google.protobuf.Duration"), ("1e999", "1e999")
    ])
    func printing(_ text: String, _ wanted: String) throws {
        let expression = try Expression.parse(text)
        #expect(expression.printed == wanted)
        #expect(try Expression.parse(wanted) == expression)
    }

    @Test(arguments: 0..<8)
    func randomExpressionsReadAgainAsThemselves(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let scope = MapScope(["a": 1, "b": [1, 2.5, "x"], "c": ["d": "e"], "n": .null])
        for round in 0..<600 {
            var maker = ExpressionMaker(random: random)
            let text = maker.make(depth: 5)
            random = maker.random
            guard let expression = try? Expression.parse(text) else {
                Issue.record("seed \(seed), round \(round): no expression: \(text)")
                continue
            }
            let again = try Expression.parse(expression.printed)
            #expect(again == expression, "seed \(seed), round \(round): \(text) printed as \(expression.printed)")
            #expect(again.printed == expression.printed)
            _ = expression.check(names: ["a": .int, "b": .list(.any), "c": .map(.any), "n": .any])
            // Both give the same value or fail in the same way.
            let first = Result { try expression.evaluate(in: scope) }
            let second = Result { try again.evaluate(in: scope) }
            switch (first, second) {
            case (.success(let one), .success(let other)): #expect(one.json == other.json, "seed \(seed): \(text)")
            case (.failure(let one as ExpressionError), .failure(let other as ExpressionError)):
                #expect(one.kind == other.kind, "seed \(seed): \(text)")
            default: Issue.record("seed \(seed), round \(round): \(text) differs from \(expression.printed)")
            }
        }
    }

    @Test(arguments: 0..<8)
    func randomTextsAreReadOrRefusedWithAPlace(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let parts = [
            "a", "1", "1.5", "'x'", "\"", "'", "(", ")", "[", "]", "{", "}", "?", ":", ".", ",", "+", "-", "!", "&&", "||", "==",
            "in", " ", "\\", "é",
            "😀", "$", "${", "$${", "`", "b'", "r\"", "'''", "0x", "u", "e5", "\n", "//", "has(", ".map(x,", "matches('(')",
            "null", "=", "|"
        ]
        for _ in 0..<2000 {
            let text = (0..<Int.random(in: 1...14, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
                .joined()
            do {
                let expression = try Expression.parse(text)
                #expect(try Expression.parse(expression.printed) == expression, "\(text)")
                _ = try? expression.evaluate(in: MapScope(["a": 1]))
            } catch {
                #expect(error.offset >= 0 && error.offset <= text.utf8.count, "\(text): \(error)")
            }
            do { _ = try Template.parse(text).evaluate(in: MapScope(["a": 1])) } catch {
                #expect(error.offset >= 0 && error.offset <= text.utf8.count, "\(text): \(error)")
            }
        }
    }
}

/// Makes random expressions that are correct in form.
private struct ExpressionMaker {
    var random: SeededRandom

    private mutating func pick(_ choices: [String]) -> String { choices.randomElement(using: &random) ?? "" }

    mutating func make(depth: Int) -> String {
        guard depth > 0 else {
            return pick([
                "a", "b", "c", "n", "1", "0", "-3", "2u", "1.5", "-0.5", "'x'", "\"y\\n\"", "b'z'", "true", "false", "null",
                "int", "[]", "{}"
            ])
        }
        func inner(_ maker: inout ExpressionMaker) -> String {
            maker.make(depth: depth - Int.random(in: 1...2, using: &maker.random))
        }
        let (first, second, third) = (inner(&self), inner(&self), inner(&self))
        switch Int.random(in: 0..<16, using: &random) {
        case 0...3:
            return "(\(first)) \(pick(["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||"])) (\(second))"
        case 4: return "(\(first)) ? (\(second)) : (\(third))"
        case 5: return "!(\(first))"
        case 6: return "-(\(first))"
        case 7: return "[\(first), \(second)]"
        case 8: return "{\(pick(["'k'", "1", "true", "2u"])): \(first)}"
        case 9: return "(\(first)).\(pick(["d", "`x-y`", "?d"]))"
        case 10: return "(\(first))[\(pick(["", "?"]))\(second)]"
        case 11: return "(\(first)).\(pick(["all", "exists", "exists_one", "map", "filter"]))(v, \(second))"
        case 12: return "\(pick(["size", "string", "int", "double", "type", "optional.of", "dyn"]))(\(first))"
        case 13: return "(\(first)).\(pick(["contains", "orValue", "startsWith", "split", "matches"]))(\(second))"
        case 14: return "[?(\(first)), \(second)]"
        default: return "(\(first)).optMap(w, \(second))"
        }
    }
}
