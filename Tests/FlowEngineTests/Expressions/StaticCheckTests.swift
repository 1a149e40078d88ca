// What the check finds before an expression runs, with place and nearest word.
import FlowEngine
import Testing

@Suite struct StaticCheckTests {
    let names: DeclaredNames = [
        "choice": .any, "count": .int, "name": .string, "open": .bool, "tags": .list(.string), "wait": .duration,
        "now": .timestamp, "headers": .map(.string), "ratio": .double, "size2": .uint, "maybe": .optional(.int),
        "call": .record([
            "id": .string, "duration": .duration, "from": .record(["user": .string, "host": .string]), "headers": .map(.string)
        ])
    ]

    @Test(arguments: [
        "choice == '1'", "choice + 1", "choice.anything['x'][3]", "count + 1 > 2", "name + 'x'", "open && !open",
        "tags.all(t, t.size() > 1)", "tags[0].startsWith('a')", "call.from.user == 'anna'", "call['id'] + 'x'",
        "headers['X-Id'].contains('a')", "call.headers.anything", "has(call.from.user)", "wait > duration('5s')",
        "now - wait < now", "now.getHours('Europe/Paris') >= 9", "choice in ['1', '2']", "count in [1, 2]", "'a' in headers",
        "open ? 'a' : 1", "count == 1.0", "count < ratio", "choice == null", "name == null", "[1, 'a'].exists(x, x == 'a')",
        "{'a': 1}.a + 1", "{}.?a.orValue(1)", "{'a': {'b': 'c'}}.?a.?b.orValue('x')", "maybe.orValue(0) + 1",
        "maybe.optMap(x, x + 1).value() == 2", "size(name) + size(tags)", "type(count) == int", "string(count) + name",
        "math.greatest(count, 2, 3) > 1", "name.matches('^a+$')", "tags.map(t, size(t))[0] + 1", "tags + ['b']",
        "tags.filter(t, t != 'a').join(',')", "call.headers.map(k, k.lowerAscii())", "optional.of(1).value()", "-count",
        "choice ? 1 : 2", "call.map(k, k + 'x')"
    ])
    func nothingIsFound(_ text: String) throws {
        #expect(try Expression.parse(text).check(names: names) == [])
    }

    @Test(arguments: [
        ("chioce == '1'", "unknownName", 1, "choice"), ("1 + cuont", "unknownName", 5, "count"), ("xyzzy", "unknownName", 1, ""),
        ("True", "unknownName", 1, "true"), ("[1].map(x, y)", "unknownName", 12, ""), ("t", "unknownName", 1, ""),
        ("call.form.user", "noSuchField", 6, "from"), ("call.from.usr", "noSuchField", 11, "user"),
        ("call['form']", "noSuchField", 6, "from"), ("has(call.idd)", "noSuchField", 10, "id"),
        ("{'abc': 1}.abd", "noSuchField", 12, "abc"),
        ("name.startWith('a')", "unknownFunction", 6, "startsWith"), ("sise(name)", "unknownFunction", 1, "size"),
        ("name.lower()", "unknownFunction", 6, ""), ("1 + 'a'", "noSuchOverload", 3, ""),
        ("count + name", "noSuchOverload", 7, ""),
        ("count + ratio", "noSuchOverload", 7, ""), ("count + size2", "noSuchOverload", 7, ""),
        ("name - 'a'", "noSuchOverload", 6, ""),
        ("open + 1", "noSuchOverload", 6, ""), ("ratio % 2.0", "noSuchOverload", 7, ""), ("-name", "noSuchOverload", 1, ""),
        ("!count", "noSuchOverload", 2, ""), ("count && open", "noSuchOverload", 1, ""),
        ("open || name", "noSuchOverload", 9, ""),
        ("count ? 1 : 2", "noSuchOverload", 1, ""), ("count < name", "noSuchOverload", 7, ""),
        ("count == name", "noSuchOverload", 7, ""),
        ("count == '1'", "noSuchOverload", 7, ""), ("open == 'true'", "noSuchOverload", 6, ""),
        ("tags < tags", "noSuchOverload", 6, ""),
        ("1 in name", "noSuchOverload", 3, ""), ("size(1)", "noSuchOverload", 1, ""), ("size()", "noSuchOverload", 1, ""),
        ("size(name, name)", "noSuchOverload", 1, ""), ("name.contains(1)", "noSuchOverload", 6, ""),
        ("name.contains()", "noSuchOverload", 6, ""), ("contains(name, 'a')", "noSuchOverload", 1, ""),
        ("name.int()", "noSuchOverload", 6, ""), ("count.contains('a')", "noSuchOverload", 7, ""),
        ("int(open)", "noSuchOverload", 1, ""),
        ("name.user", "noSuchField", 6, ""), ("count.x", "noSuchField", 7, ""), ("name[0]", "noSuchOverload", 5, ""),
        ("tags['a']", "noSuchOverload", 6, ""), ("name.all(c, true)", "noSuchOverload", 1, ""),
        ("tags.all(t, 1)", "noSuchOverload", 13, ""),
        ("tags.filter(t, t)", "noSuchOverload", 16, ""), ("tags.map(t, t + 1)", "noSuchOverload", 15, ""),
        ("tags.map(t, 1, t)", "noSuchOverload", 13, ""), ("name.matches('(')", "invalidArgument", 14, ""),
        ("matches(name, '[')", "invalidArgument", 15, ""), ("{1.5: 2}", "noSuchOverload", 2, ""),
        ("{'a': 1, 'a': 2}", "duplicateKey", 10, ""),
        ("[?1]", "noSuchOverload", 3, ""), ("name.optMap(x, x)", "noSuchOverload", 6, ""),
        ("name.orValue('')", "noSuchOverload", 6, ""),
        ("now + now", "noSuchOverload", 5, ""), ("wait * 2", "noSuchOverload", 6, ""),
        ("wait.getFullYear()", "noSuchOverload", 6, ""),
        ("math.greatest()", "noSuchOverload", 6, ""), ("math.grates(1)", "unknownFunction", 6, "math.greatest"),
        ("null.a", "noSuchField", 6, "")
    ])
    func isFound(_ text: String, _ kind: String, _ column: Int, _ suggestion: String) throws {
        let problems = try Expression.parse(text).check(names: names)
        #expect(problems.count == 1, "\(problems)")
        let problem = try #require(problems.first)
        #expect(problem.kind.rawValue == kind, "\(problem)")
        #expect(problem.column == column, "\(problem)")
        #expect((problem.suggestion ?? "") == suggestion, "\(problem)")
    }

    @Test func theWantedTypeIsChecked() throws {
        let condition = try Expression.parse("count").check(names: names, wanting: .bool, what: "the condition of if")
        #expect(condition.map(\.message) == ["the condition of if is int, it must be bool; compare it, such as count == …"])
        #expect(try Expression.parse("count > 1").check(names: names, wanting: .bool) == [])
        #expect(try Expression.parse("choice").check(names: names, wanting: .bool) == [])
        #expect(try Template.parse("${count}").check(names: names, wanting: .duration).count == 1)
        #expect(try Template.parse("${wait}").check(names: names, wanting: .duration) == [])
        #expect(try Template.parse("${count}${count}").check(names: names, wanting: .duration) == [])
        #expect(try Template.parse("${count}").type(names: names) == .int)
        #expect(try Template.parse("a${count}").type(names: names) == .string)
    }

    @Test func placesAreThoseOfTheTemplate() throws {
        let problems = try Template.parse("ab ${cuont} and ${1 + 'a'}", at: 10).check(names: names)
        #expect(problems.map(\.column) == [16, 31])
        let second = try Template.parse("one\ntwo ${cuont}").check(names: names)
        #expect(second.map(\.line) == [2])
        #expect(second.map(\.column) == [7])
    }

    @Test func severalProblemsComeInTheOrderOfTheText() throws {
        let problems = try Expression.parse("cuont + nmae.siz() > 1 && 1 + 'a' == 2").check(names: names)
        #expect(problems.map(\.column) == [1, 9, 14, 29])
    }
}
