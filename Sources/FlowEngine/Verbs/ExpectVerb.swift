// `expect`: assertions with a verdict. In a campaign they make the report; in an inbound flow they are logged.

import CallEngine

/// Checks what the far side does.
package struct ExpectVerb: Verb {
    package static let name = "expect"
    package static let needs = VerbNeed.nothing
    package static let outcomes = ["passed"]
    package static let example = "expect: { hears: speech, within: 5s }"

    private var checks: [ExpectCheck] = []
    private var within: FlowLength?
    private var title: FlowText?
    private let onlyAnswered: FlowLength?

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            guard let word = NodeRead.string(plain, "`expect`", step.sink) else { return nil }
            guard word == "answered" else {
                step.wrong("`answered` or a mapping such as { hears: speech, within: 5s }")
                return nil
            }
            checks = [.answered]
            onlyAnswered = nil
            return
        }
        guard step.argument != nil, let map = step.open() else {
            step.wrong("a mapping such as { hears: speech, within: 5s }")
            return nil
        }
        within = step.length("within")
        title = step.text("name")
        var limit: FlowLength?
        if let node = map.node("answered") {
            if case .scalar(let scalar) = node.content, scalar.text == "never" {
                checks.append(.unanswered)
            } else {
                if case .scalar(let scalar) = node.content, scalar.value == .bool(true) {
                } else {
                    limit = step.flow.length(node, "`answered` (true, never, or within how long)")
                }
                checks.append(.answered)
            }
        }
        onlyAnswered = limit
        if let node = map.node("status") { readStatus(node, step) }
        if let pattern = map.node("ended").flatMap({ EndPattern.read($0, step.sink) }) { checks.append(.ended(pattern)) }
        if let node = map.node("header") { readHeaders(node, step) }
        if let digits = step.text("digits") { checks.append(.digits(digits)) }
        if let text = step.text("text") { checks.append(.text(text)) }
        if let node = map.node("hears") { readHears(node, step, map) }
        if let node = map.node("codec") { readCodec(node, step) }
        readQuality(map, step)
        readTimes(map, step)
        let known = [
            "answered", "ended", "status", "header", "digits", "text", "hears", "codec", "mos", "loss", "jitter", "audio", "pdd",
            "duration"
        ]
        if !known.contains(where: map.has) {
            step.sink.error(at: map.place, "`expect` asks nothing", mend: "known: \(known.joined(separator: ", "))")
        }
    }

    private mutating func readQuality(_ map: MappingReader, _ step: StepReader) {
        if let score = map.double("mos", in: 1...4.5) { checks.append(.quality(.mos(score))) }
        if let node = map.node("loss"), let text = NodeRead.string(node, "`loss`", step.sink) {
            if let percent = Double(text.hasSuffix("%") ? String(text.dropLast()) : text), 0...100 ~= percent {
                checks.append(.quality(.loss(percent)))
            } else {
                step.sink.error(at: node.place, "`loss` is a share from 0% to 100%, not `\(text)`", mend: "write 1%")
            }
        }
        if let jitter = map.duration("jitter") { checks.append(.quality(.jitter(jitter))) }
        if let node = map.node("audio"), let word = NodeRead.string(node, "`audio`", step.sink) {
            if word == "two-way" {
                checks.append(.quality(.twoWay))
            } else {
                NodeRead.unknown("value", word, of: "`audio`", at: node.place, known: ["two-way"], step.sink)
            }
        }
    }

    private mutating func readTimes(_ map: MappingReader, _ step: StepReader) {
        if let delay = map.duration("pdd") { checks.append(.timing(.postDialDelay(delay))) }
        guard let node = map.node("duration"), let text = NodeRead.string(node, "`duration`", step.sink) else { return }
        if let check = TimingCheck.range(text) {
            checks.append(.timing(check))
        } else {
            step.sink.error(at: node.place, "`duration` is a range, not `\(text)`", mend: "write 10s..20s, 10s.. or ..20s")
        }
    }

    private mutating func readStatus(_ node: YAMLNode, _ step: StepReader) {
        let wanted = NodeRead.list(node).compactMap { NodeRead.string($0, "`status`", step.sink) }
        for status in wanted where status.count != 3 || !status.allSatisfy({ $0.isNumber || $0 == "x" }) {
            step.sink.error(at: node.place, "`\(status)` is no SIP status", mend: "write 200, or 4xx for all of a class")
        }
        checks.append(.status(wanted))
    }

    private mutating func readCodec(_ node: YAMLNode, _ step: StepReader) {
        let wanted = NodeRead.list(node).compactMap { NodeRead.string($0, "`codec`", step.sink) }
        for codec in wanted {
            let name = codec.lowercased().prefix { $0 != "/" }
            if !MediaSettings.knownCodecs.contains(String(name)) {
                NodeRead.unknown(
                    "value", codec, of: "`codec`", at: node.place, known: MediaSettings.knownCodecs, step.sink)
            }
        }
        checks.append(.codec(wanted))
    }

    private mutating func readHeaders(_ node: YAMLNode, _ step: StepReader) {
        if case .mapping(let pairs) = node.content {
            for pair in pairs {
                checks.append(.header(name: pair.key.text, wanted: step.flow.text(pair.value, "`\(pair.key.text)`")))
            }
        } else if let name = NodeRead.string(node, "`header`", step.sink) {
            checks.append(.header(name: name, wanted: nil))
        }
    }

    private mutating func readHears(_ node: YAMLNode, _ step: StepReader, _ map: MappingReader) {
        let lasting = map.duration("for") ?? .seconds(2)
        if case .mapping = node.content, let hears = MappingReader(node, "`hears`", step.sink) {
            if let tone = hears.node("tone"), let spec = ToneSpec.read(tone, step.sink) { checks.append(.tone(spec)) }
            if let silence = hears.duration("silence") { checks.append(.silence(silence)) }
            if let text = hears.node("prompt").flatMap({ step.flow.text($0, "`prompt`") }) {
                step.flow.note(prompt: text)
                checks.append(.prompt(text))
            }
            let known = ["tone", "silence", "prompt"]
            if !known.contains(where: hears.has) {
                step.sink.error(at: hears.place, "`hears` asks nothing", mend: "known: \(known.joined(separator: ", "))")
            }
            hears.finish()
            return
        }
        guard let word = NodeRead.string(node, "`hears`", step.sink) else { return }
        switch word {
        case "speech": checks.append(.speech)
        case "silence": checks.append(.silence(lasting))
        default:
            NodeRead.unknown(
                "value", word, of: "`hears`", at: node.place, known: ["speech", "silence", "{ tone: busy }", "{ prompt: FILE }"],
                step.sink)
        }
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        var all = true
        var last = ""
        for check in checks {
            let standard: Duration = if case .status = check { .seconds(30) } else { .seconds(10) }
            var limit = try run.length(within, default: standard)
            if case .answered = check, let onlyAnswered { limit = try run.length(onlyAnswered) }
            let name = try title.map { try run.shown($0) } ?? check.name
            let verdict: (passed: Bool, actual: String)
            do {
                verdict = try await ExpectAsker(run: run, within: limit).ask(check)
            } catch is CancellationError {
                run.add(Expectation(name: name, passed: false, actual: "the call ended first"))
                throw CancellationError()
            }
            run.add(Expectation(name: name, passed: verdict.passed, actual: verdict.actual))
            all = all && verdict.passed
            last = verdict.actual
        }
        return StepResult(value: .object(["passed": .bool(all), "actual": .string(last)]), outcome: all ? "passed" : "failed")
    }
}
