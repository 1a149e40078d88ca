// Templates: pieces, escapes, typed values, places of errors.
import FlowEngine
import Testing

@Suite struct TemplateTests {
    let scope = MapScope([
        "choice": "3", "count": 4, "call": ["from": ["user": "anna"], "headers": ["X-Id": "7"]], "nothing": .null,
        "list": ["a", 1]
    ])

    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("a ${choice} b", "a 3 b"), ("${choice}${count}", "34"), ("$${choice}", "${choice}"),
        ("$$${choice}", "$${choice}"), ("a $ b $5 }{", "a $ b $5 }{"), ("${call.from.user}@x", "anna@x"),
        ("x${ {'a': {'b': 1}}.a.b }y", "x1y"), ("x${'}'}y", "x}y"), ("x${\"a'}\" + '\"}'}", "xa'}\"}"),
        ("-${nothing}-", "--"), ("-${list}-", "-[\"a\",1]-"), ("-${call.headers['X-Id']}", "-7"), ("ä${choice}ö", "ä3ö"),
        ("-${1.0}-${2.5}-${true}", "-1-2.5-true"), ("-${duration('90s')}", "-1m30s"),
        ("-${timestamp('2026-03-01T12:00:00+01:00')}", "-2026-03-01T11:00:00Z"), ("-${b'hi'}", "-aGk="), ("${choice} ", "3 ")
    ])
    func text(_ source: String, _ wanted: String) throws {
        #expect(try Template.parse(source).evaluate(in: scope) == .string(wanted))
    }

    @Test func aSingleExpressionKeepsItsType() throws {
        #expect(try Template.parse("${count + 1}").evaluate(in: scope) == 5)
        #expect(try Template.parse("${call}").evaluate(in: scope).asMap?.count == 2)
        #expect(try Template.parse("${nothing}").evaluate(in: scope) == .null)
        #expect(try Template.parse("${count}").text(in: scope) == "4")
        #expect(try Template.parse("just text").constant == "just text")
        #expect(try Template.parse("a $${b").constant == "a ${b")
        #expect(try Template.parse("").constant == "")
        #expect(try Template.parse("${count}").constant == nil)
    }

    @Test(arguments: [
        ("abc ${", 7), ("abc ${choice", 13), ("ab ${}", 6), ("ä ${1 +}", 8), ("${a} ${b c}", 10), ("${'x}", 3),
        ("a\n ${1 +* 2}", 7)
    ])
    func errorsCarryTheColumn(_ source: String, _ column: Int) {
        #expect { try Template.parse(source) } throws: { ($0 as? ExpressionError)?.column == column }
    }

    @Test func runtimeErrorsCarryThePlaceInTheTemplate() throws {
        let template = try Template.parse("ab ${choice} ${count / 0}", at: 10)
        #expect { try template.evaluate(in: scope) } throws: {
            guard let error = $0 as? ExpressionError else { return false }
            return error.kind == .divisionByZero && error.column == 32 && error.offset == 21 && error.line == 1
        }
    }
}
