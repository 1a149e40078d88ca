// Reads `cases:`.

import CallEngine

struct FlowCaseReader {
    let flow: Flow
    let sink: DiagnosticSink

    init(flow: Flow, sink: DiagnosticSink) {
        self.flow = flow
        self.sink = sink
    }

    func cases(_ node: YAMLNode) -> [FlowCase] {
        guard case .sequence(let items) = node.content else {
            NodeRead.wrongType(node, "`cases`", expected: "a list", sink)
            return []
        }
        var names: Set<String> = []
        return items.compactMap { item in
            guard let flowCase = self.flowCase(item) else { return nil }
            if !names.insert(flowCase.name).inserted {
                sink.error(at: item.place, "two cases are named `\(flowCase.name)`", mend: "rename one")
            }
            return flowCase
        }
    }

    private func flowCase(_ node: YAMLNode) -> FlowCase? {
        guard let map = MappingReader(node, "a case", sink) else { return nil }
        var result = FlowCase(place: node.place)
        result.name = map.requiredString("name", mend: "name: what it shows") ?? ""
        result.direction = direction(map)
        for key in ["caller", "callee"] {
            if let script = map.node(key) { result.script = NodeRead.list(script).compactMap { step($0, of: result.direction) } }
        }
        if let from = map.string("from") { result.from = from.contains(":") ? from : "sip:\(from)@bench.example" }
        if let to = map.string("to") { result.to = to.contains(":") ? to : "sip:\(to)@bench.example" }
        if let headers = map.mapping("headers") {
            for pair in headers.entries {
                if let value = NodeRead.string(pair.value, "`\(pair.key.text)`", sink) {
                    result.headers.append(CallHeader(name: pair.key.text, value: value))
                }
            }
        }
        if let text = map.string("now") {
            if let time = Timestamp(rfc3339: text) {
                result.startedAt = Double(time.seconds)
            } else {
                sink.error(at: map.place(of: "now"), "`now` is a time such as 2026-01-05T10:00:00Z, not `\(text)`")
            }
        }
        readSurroundings(map, &result)
        if let limit = map.duration("limit") { result.limit = limit }
        if let expect = map.required("expect", mend: "expect: [ { played: welcome.wav } ]") {
            result.expectations = NodeRead.list(expect).flatMap { CaseExpectationReader(sink: sink, flow: flow).read($0) }
        }
        map.finish()
        return result
    }

    private func direction(_ map: MappingReader) -> CallInfo.Direction {
        let written = map.string("direction")
        if let written, CallInfo.Direction(rawValue: written) == nil {
            NodeRead.unknown(
                "value", written, of: "`direction`", at: map.place(of: "direction"), known: ["inbound", "outbound"], sink)
        }
        let standard: CallInfo.Direction = flow.direction == .outbound || map.has("callee") ? .outbound : .inbound
        let direction = written.flatMap(CallInfo.Direction.init(rawValue:)) ?? standard
        if !flow.direction.allows(direction) {
            sink.error(at: map.place, "the flow is for \(flow.direction.rawValue) calls; this case is \(direction.rawValue)")
        }
        return direction
    }

    private func readSurroundings(_ map: MappingReader, _ result: inout FlowCase) {
        let data = FlowReader(file: flow.file, sink: sink)
        func values(_ key: String) -> [String: Value] {
            var values: [String: Value] = [:]
            for pair in map.mapping(key)?.entries ?? [] {
                if let value = data.data(pair.value, "`\(pair.key.text)`")?.constant { values[pair.key.text] = value }
            }
            return values
        }
        result.arguments = values("vars")
        result.environment = values("env").mapValues(\.text)
        if let node = map.node("target"), let value = data.data(node, "`target`")?.constant { result.target = value }
        for pair in map.mapping("bridges")?.entries ?? [] {
            if let behaviour = behaviour(pair.value) { result.bridges.append((pair.key.text, behaviour)) }
        }
        for pair in map.mapping("conferences")?.entries ?? [] {
            if let behaviour = room(pair.value) { result.rooms.append((pair.key.text, behaviour)) }
        }
        for pair in map.mapping("web")?.entries ?? [] {
            result.web.append((pair.key.text, NodeRead.list(pair.value).compactMap { answer($0, data) }))
        }
    }

    // MARK: The far side

    private func step(_ node: YAMLNode, of direction: CallInfo.Direction) -> FarSideStep? {
        switch node.content {
        case .scalar(let scalar): return bare(scalar.text, node, direction)
        case .sequence:
            sink.error(at: node.place, "a list inside the script")
            return nil
        case .mapping: break
        }
        guard let map = MappingReader(node, "a step of the script", sink) else { return nil }
        defer { map.finish() }
        let whole = map.bool("whole") ?? false
        let length = map.duration("for")
        if let name = map.string("hears") { return .hears(name, whole: whole, node.place) }
        if let keys = map.string("press") ?? map.string("presses") {
            if let wrong = keys.first(where: { Digit($0) == nil && $0 != "w" }) {
                sink.error(at: node.place, "`\(wrong)` is no key")
            }
            return .press(keys)
        }
        if let text = map.string("texts") { return .texts(text) }
        if let length = map.duration("waits") ?? map.duration("wait") ?? map.duration("silent") { return .waits(length) }
        if let length = map.duration("says") ?? map.duration("speaks") { return .says(length) }
        if let tone = map.node("tone") {
            if case .sequence(let items) = tone.content {
                let frequencies = items.compactMap { NodeRead.double($0, "`tone`", in: 20...4000, sink) }
                return .tone(.frequencies(frequencies, cadence: [], level: -13), length ?? .seconds(2))
            }
            return ToneSpec.read(tone, sink).map { .tone($0, length ?? .seconds(2)) }
        }
        if let name = map.string("plays") { return plays(name, node) }
        if let keys = map.string("receives") { return .receives(keys, node.place) }
        if direction == .outbound, let status = map.int("rejects", in: 300...699) { return .rejects(status) }
        if map.has("rejects") { sink.error(at: node.place, "only a callee rejects") }
        return nil
    }

    private func plays(_ name: String, _ node: YAMLNode) -> FarSideStep? {
        do throws(PathConfinement.Refused) {
            return .plays(path: try PathConfinement.resolve(name, under: flow.promptsFolder), name: name)
        } catch {
            sink.error(at: node.place, error.message)
            return nil
        }
    }

    private func bare(_ word: String, _ node: YAMLNode, _ direction: CallInfo.Direction) -> FarSideStep? {
        if word == "hangs-up" { return .hangsUp }
        let callee: [String: FarSideStep] = [
            "rings": .rings, "early-media": .earlyMedia, "answers": .answers, "busy": .rejects(486), "no-answer": .rejects(480),
            "rejects": .rejects(603), "unreachable": .rejects(503)
        ]
        if direction == .outbound, let step = callee[word] { return step }
        let known = ["hangs-up", "hears", "press", "texts", "waits", "says", "tone", "plays", "receives"]
        NodeRead.unknown(
            "step", word, of: "the script", at: node.place, known: direction == .outbound ? known + callee.keys.sorted() : known,
            sink)
        return nil
    }

    private func behaviour(_ node: YAMLNode) -> BridgeBehaviour? {
        var behaviour = BridgeBehaviour()
        let words = ["answers": "answered"].merging(BridgeResult.Outcome.allCases.map { ($0.rawValue, $0.rawValue) }) { $1 }
        func outcome(_ word: String, at place: SourcePlace) -> Bool {
            guard let outcome = words[word].flatMap(BridgeResult.Outcome.init(rawValue:)) else {
                NodeRead.unknown("value", word, of: "`bridges`", at: place, known: words.keys.sorted(), sink)
                return false
            }
            behaviour.outcome = outcome
            // Nobody answers: the flow's own timeout ends the attempt.
            if outcome == .noAnswer { behaviour.delay = .seconds(86_400) }
            return true
        }
        guard case .mapping(let pairs) = node.content else {
            guard let word = NodeRead.string(node, "`bridges`", sink), outcome(word, at: node.place) else { return nil }
            return behaviour
        }
        guard let map = MappingReader(node, "`bridges`", sink) else { return nil }
        for pair in pairs where !["talks", "does"].contains(pair.key.text) {
            _ = map.node(pair.key.text)
            if outcome(pair.key.text, at: pair.key.place), let delay = NodeRead.duration(pair.value, "`\(pair.key.text)`", sink) {
                behaviour.delay = delay
            }
        }
        if let talks = map.duration("talks") { behaviour.talks = talks }
        if let script = map.node("does") { behaviour.script = NodeRead.list(script).compactMap { step($0, of: .inbound) } }
        map.finish()
        return behaviour
    }

    private func room(_ node: YAMLNode) -> RoomBehaviour? {
        guard let map = MappingReader(node, "`conferences`", sink) else { return nil }
        defer { map.finish() }
        var room = RoomBehaviour()
        room.others = map.int("others", in: 0...1000) ?? room.others
        room.moderator = map.duration("moderator")
        room.ends = map.duration("ends")
        return room
    }

    private func answer(_ node: YAMLNode, _ data: FlowReader) -> WebAnswer? {
        if case .scalar(let scalar) = node.content {
            if case .int(let status) = scalar.value {
                return .response(WebResponse(status: Int(status)), after: .milliseconds(50))
            }
            if scalar.text == "failed" { return .failed("the connection was refused") }
        }
        guard let map = MappingReader(node, "`web`", sink) else { return nil }
        defer { map.finish() }
        var response = WebResponse(status: map.int("status", in: 100...599) ?? 200)
        let delay = map.duration("after") ?? .milliseconds(50)
        if let json = map.node("json"), let value = data.data(json, "`json`")?.constant {
            response.body = Array(value.json.utf8)
            response.contentType = "application/json"
        }
        if let text = map.string("text") {
            response.body = Array(text.utf8)
            response.contentType = "text/plain"
        }
        return .response(response, after: delay)
    }
}

extension FlowData {
    /// The value, when no expression is in it.
    var constant: Value? {
        switch self {
        case .fixed(let value): return value
        case .text(let text): return text.constant.map { .string($0) }
        case .list(let items):
            let values = items.compactMap(\.constant)
            return values.count == items.count ? .list(values) : nil
        case .map(let pairs):
            var map = ValueMap()
            for pair in pairs {
                guard let value = pair.value.constant else { return nil }
                map[pair.key] = value
            }
            return .map(map)
        }
    }
}
