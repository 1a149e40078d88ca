import FlowEngine
import Testing

@Suite struct YAMLTests {
    private func read(_ text: String, limits: YAMLLimits = YAMLLimits()) -> (YAMLNode?, [String]) {
        let sink = DiagnosticSink()
        let node = YAML.parse(text, file: "f.yaml", into: sink, limits: limits)
        return (node, sink.found.map(\.description))
    }

    @Test(arguments: [
        ("yes", YAMLScalar.Value.string("yes")), ("on", .string("on")), ("no", .string("no")), ("true", .bool(true)),
        ("0123", .int(123)), ("0x1F", .int(31)), ("0o17", .int(15)), ("1e3", .float(1000)), ("-7", .int(-7)), ("~", .null),
        ("12:30:45", .string("12:30:45")), ("1_000", .string("1_000")), (".5", .float(0.5)), ("5s", .string("5s")),
        ("-", .string("-")), ("2026-01-01", .string("2026-01-01")), ("5.", .float(5)), ("+", .string("+"))
    ])
    func coreSchema(text: String, value: YAMLScalar.Value) {
        #expect(YAMLScalar.resolve(text) == value)
    }

    @Test func everyNodeHasItsPlace() {
        let (node, problems) = read("flow: a\nsections:\n  main:\n    - play: x.wav\n")
        #expect(problems.isEmpty)
        let main = node?["sections"]?["main"]
        #expect(main?.place.description == "f.yaml:4:5")
        guard case .sequence(let items) = main?.content else { Issue.record("no list"); return }
        #expect(items[0]["play"]?.place.description == "f.yaml:4:13")
    }

    @Test func aByteOrderMarkIsNoPartOfIt() {
        let (node, problems) = read("\u{FEFF}flow: a\nsections: b\n")
        #expect(problems == [])
        #expect(node?["flow"]?.place.description == "f.yaml:1:7" && node?["sections"] != nil)
    }

    @Test func quotedIsText() {
        guard case .mapping(let pairs) = read("\"1\": \"0123\"").0?.content else { Issue.record("no mapping"); return }
        #expect(pairs[0].key.text == "1")
        guard case .scalar(let scalar) = pairs[0].value.content else { Issue.record("no scalar"); return }
        #expect(scalar.value == .string("0123"))
    }

    @Test(arguments: [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3:1: error: `a` is here twice: first in line 1; remove or rename one"),
        ("a: *x\n", "f.yaml:1:4: error: there is no anchor `&x` before this alias; if you mean the text, write \"*x\" in quotes"),
        ("a: *\n", "f.yaml:1:5: error: `*` has a meaning of its own in YAML; write \"*\" in quotes"),
        (
            "a: b: c\n",
            "f.yaml:1:5: error: a second `:` in one line; put text that holds `: ` in quotes, or check the indentation of this line"
        ),
        ("a:\n\t- b\n", "f.yaml:2:1: error: a tab cannot indent; use spaces"),
        ("a: !x b\n", "f.yaml:1:4: error: `!x` is a tag, which is not used here; write text that begins with `!` in quotes"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2:1: error: a second document begins here; one file is one document: remove the `---`"),
        ("012: x\n", "f.yaml:1:1: error: `012` is the number 12 here; write \"012\""),
        ("a: \"b\n", "f.yaml:2:1: error: a quote is opened and not closed; close it")
    ])
    func mistakesNamePlaceAndMend(text: String, message: String) {
        #expect(read(text).1 == [message])
    }

    @Test func expressionsNeedNoQuotesInFlowMappings() {
        let (node, problems) = read("sip: { password: ${env.A == \"x}\" ? env.B : env.C}, monitor: 30s, list: [ ${a[1]}, b ] }\n")
        #expect(problems.isEmpty)
        guard case .scalar(let scalar) = node?["sip"]?["password"]?.content else { Issue.record("no scalar"); return }
        #expect(scalar.text == "${env.A == \"x}\" ? env.B : env.C}")
        #expect(node?["sip"]?["monitor"]?.place.column == 61)
        guard case .sequence(let items) = node?["sip"]?["list"]?.content, case .scalar(let first) = items[0].content else {
            Issue.record("no list"); return
        }
        #expect(first.text == "${a[1]}")
    }

    @Test func anExpressionInQuotesIsLeftAlone() {
        let (node, problems) = read("a: { b: \"x ${c\", d: e }\n")
        #expect(problems.isEmpty)
        #expect(node?["a"]?["d"] != nil)
    }

    @Test func aliasesAreBounded() {
        var text = "a0: &a0 [ x, x, x, x, x, x, x, x, x, x ]\n"
        for level in 1...9 {
            text += "a\(level): &a\(level) [ " + Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ") + " ]\n"
        }
        let (node, problems) = read(text)
        #expect(node == nil)
        #expect(problems.count == 1 && problems[0].contains("more than 100000 values"))
    }

    @Test func depthAndSizeAreBounded() {
        let deep = read(String(repeating: "[", count: 100) + String(repeating: "]", count: 100)).1
        #expect(deep.count == 1 && deep[0].contains("nested deeper than 64 levels"))
        var limits = YAMLLimits()
        limits.bytes = 1024
        #expect(
            read(String(repeating: "# x\n", count: 1000), limits: limits).1 == [
                "f.yaml:1:1: error: the file is larger than 1 KiB"
            ])
    }

    @Test func notUTF8IsSaid() {
        #expect(read("a: b\nc: \u{0}").1.count == 1)
    }
}

@Suite struct MappingReaderTests {
    private enum Transport: String, CaseIterable { case udp, tcp, tls }

    private func reader(_ text: String) -> (MappingReader, DiagnosticSink) {
        let sink = DiagnosticSink()
        let node = YAML.parse(text, file: "f.yaml", into: sink)
        return (MappingReader(node!, "`sip`", sink)!, sink)
    }

    @Test func goodValuesAreRead() {
        let (map, sink) = reader(
            "server: a\nport: 5060\nwait: 1m30s\non: true\ntransport: tcp\nlist: [ a, 1 ]\none: x\nlevel: -3.5\n")
        #expect(map.string("server") == "a")
        #expect(map.int("port", in: 1...65535) == 5060)
        #expect(map.duration("wait") == .seconds(90))
        #expect(map.bool("on") == true)
        #expect(map.choice("transport", Transport.self) == .tcp)
        #expect(map.strings("list") == ["a", "1"])
        #expect(map.strings("one") == ["x"])
        #expect(map.double("level", in: -90...20) == -3.5)
        map.finish()
        #expect(sink.found.isEmpty)
    }

    @Test func allMistakesAreFoundInOneRun() {
        let (map, sink) = reader(
            "server: 0123\nport: 70000\nwait: 5\non: yes\ntransport: tpc\nfinish: # key\nsevrer: x\ntokens: 1\n")
        _ = map.string("server")
        _ = map.int("port", in: 1...65535)
        _ = map.duration("wait")
        _ = map.bool("on")
        _ = map.choice("transport", Transport.self)
        _ = map.string("finish")
        _ = map.required("realm")
        map.notBuilt("tokens")
        map.finish()
        #expect(
            sink.sorted.map(\.description) == [
                "f.yaml:1:1: error: `sip` needs `realm`",
                "f.yaml:1:9: error: `server`: `0123` without quotes is the number 123; write \"0123\"",
                "f.yaml:2:7: error: `port` is from 1 to 65535, not 70000",
                "f.yaml:3:7: error: `wait`: \"5\" has no unit at its end; write 5s for seconds or 5ms for milliseconds",
                "f.yaml:4:5: error: `on` is true or false; `yes` is a word here; write true",
                "f.yaml:5:12: error: unknown value `tpc` of `transport`; did you mean `tcp`?",
                "f.yaml:6:8: error: `finish` is empty: `#` begins a comment; write \"#\" in quotes if you mean the key",
                "f.yaml:7:1: error: unknown key `sevrer` of `sip`; did you mean `server`?",
                "f.yaml:8:1: error: `tokens` of `sip` is not built yet; remove it"
            ])
    }
}
