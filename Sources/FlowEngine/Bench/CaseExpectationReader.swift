// Reads the `expect:` of a case, and says what an expectation found instead.

import CallEngine

struct CaseExpectationReader {
    let sink: DiagnosticSink
    let flow: Flow

    init(sink: DiagnosticSink, flow: Flow) {
        self.sink = sink
        self.flow = flow
    }

    private static let known = [
        "played", "bridged", "transferred", "conference", "message", "info", "recorded", "ended", "hung-up", "rejected",
        "redirected", "answered",
        "logged", "tag",
        "value",
        "collected", "sent", "requested", "section", "result", "held", "failed", "passed", "not"
    ]

    func read(_ node: YAMLNode) -> [CaseExpectation] {
        switch node.content {
        case .scalar(let scalar):
            switch scalar.text {
            case "answered": return [CaseExpectation(kind: .answered(true), place: node.place)]
            case "held": return [CaseExpectation(kind: .held, place: node.place)]
            case "recorded": return [CaseExpectation(kind: .recorded(nil), place: node.place)]
            default:
                NodeRead.unknown("expectation", scalar.text, of: "`expect`", at: node.place, known: Self.known, sink)
                return []
            }
        case .sequence(let items): return items.flatMap(read)
        case .mapping(let pairs):
            return pairs.flatMap { pair in
                kinds(pair.key.text, pair.value, at: pair.key.place).map { CaseExpectation(kind: $0, place: pair.key.place) }
            }
        }
    }

    private func kinds(_ key: String, _ node: YAMLNode, at place: SourcePlace) -> [CaseExpectation.Kind] {
        func text() -> String? { NodeRead.string(node, "`\(key)`", sink) }
        func texts() -> [String] { NodeRead.list(node).compactMap { NodeRead.string($0, "`\(key)`", sink) } }
        func one(_ make: (String) -> CaseExpectation.Kind) -> [CaseExpectation.Kind] { texts().map(make) }
        switch key {
        case "played": return [.played(texts())]
        case "bridged": return bridged(node)
        case "transferred": return transferred(node)
        case "conference": return conference(node)
        case "message": return message(node)
        case "info": return one { .info($0) }
        case "recorded":
            if case .scalar(let scalar) = node.content, case .bool(let flag) = scalar.value {
                return [flag ? .recorded(nil) : .not(.recorded(nil))]
            }
            return one { .recorded($0) }
        case "ended": return EndPattern.read(node, sink).map { [.ended($0)] } ?? []
        case "hung-up": return hungUp(node)
        case "rejected": return NodeRead.int(node, "`rejected`", in: 300...699, sink).map { [.rejected($0)] } ?? []
        case "redirected": return one { .redirected($0) }
        case "answered": return NodeRead.bool(node, "`answered`", sink).map { [.answered($0)] } ?? []
        case "held": return NodeRead.bool(node, "`held`", sink).map { [$0 ? .held : .not(.held)] } ?? []
        case "logged", "said": return one { .logged($0) }
        case "tag", "tagged":
            if case .mapping(let pairs) = node.content {
                return pairs.compactMap { pair in
                    NodeRead.string(pair.value, "`\(pair.key.text)`", sink).map { .tagged(pair.key.text, $0) }
                }
            }
            return one { .tagged($0, nil) }
        case "value", "values": return values(node)
        case "collected", "pressed": return one { .collected($0) }
        case "sent": return one { .sent($0) }
        case "requested": return one { .requested($0) }
        case "section":
            return texts().map { name in
                if flow.section(name) == nil {
                    NodeRead.unknown("section", name, of: "`section`", at: node.place, known: flow.sections.map(\.name), sink)
                }
                return .section(name)
            }
        case "result":
            guard let word = text() else { return [] }
            if FlowOutcome.Result(rawValue: word) == nil {
                NodeRead.unknown("value", word, of: "`result`", at: node.place, known: ["passed", "failed", "error"], sink)
            }
            return [.result(word)]
        case "failed": return one { .verdict($0, passed: false) }
        case "passed": return one { .verdict($0, passed: true) }
        case "error": return one { .failed($0) }
        case "not":
            guard case .mapping(let pairs) = node.content else {
                NodeRead.wrongType(node, "`not`", expected: "an expectation", sink)
                return []
            }
            return pairs.flatMap { kinds($0.key.text, $0.value, at: $0.key.place) }.map { .not($0) }
        default:
            NodeRead.unknown("expectation", key, of: "`expect`", at: place, known: Self.known, sink)
            return []
        }
    }

    private func bridged(_ node: YAMLNode) -> [CaseExpectation.Kind] {
        if case .scalar(let scalar) = node.content, case .bool(false) = scalar.value { return [.notBridged] }
        guard case .mapping = node.content, let map = MappingReader(node, "`bridged`", sink) else {
            return NodeRead.list(node).compactMap { NodeRead.string($0, "`bridged`", sink) }.map { .bridged($0, outcome: nil) }
        }
        defer { map.finish() }
        return [.bridged(map.requiredString("to") ?? "", outcome: map.string("outcome"))]
    }

    private func transferred(_ node: YAMLNode) -> [CaseExpectation.Kind] {
        guard case .mapping = node.content, let map = MappingReader(node, "`transferred`", sink) else {
            return NodeRead.list(node).compactMap { NodeRead.string($0, "`transferred`", sink) }.map {
                .transferred($0, outcome: TransferResult.Outcome.transferred.rawValue)
            }
        }
        defer { map.finish() }
        let outcome = map.string("outcome") ?? TransferResult.Outcome.transferred.rawValue
        return [.transferred(map.requiredString("to") ?? "", outcome: outcome)]
    }

    private func conference(_ node: YAMLNode) -> [CaseExpectation.Kind] {
        guard case .mapping = node.content, let map = MappingReader(node, "`conference`", sink) else {
            return NodeRead.list(node).compactMap { NodeRead.string($0, "`conference`", sink) }.map {
                .conference($0, outcome: nil)
            }
        }
        defer { map.finish() }
        let outcome = map.string("outcome")
        if let outcome, !ConferenceVerb.outcomes.contains(outcome) {
            NodeRead.unknown(
                "value", outcome, of: "`outcome`", at: map.place(of: "outcome"), known: ConferenceVerb.outcomes, sink)
        }
        return [.conference(map.requiredString("room", mend: "room: support") ?? "", outcome: outcome)]
    }

    private func message(_ node: YAMLNode) -> [CaseExpectation.Kind] {
        guard case .mapping = node.content, let map = MappingReader(node, "`message`", sink) else {
            return NodeRead.list(node).compactMap { NodeRead.string($0, "`message`", sink) }.map {
                .message($0, to: nil, outcome: nil)
            }
        }
        defer { map.finish() }
        let outcome = map.string("outcome")
        if let outcome, !SendMessageVerb.outcomes.contains(outcome) {
            NodeRead.unknown(
                "value", outcome, of: "`outcome`", at: map.place(of: "outcome"), known: SendMessageVerb.outcomes, sink)
        }
        return [.message(map.string("text"), to: map.string("to"), outcome: outcome)]
    }

    private func hungUp(_ node: YAMLNode) -> [CaseExpectation.Kind] {
        guard let who = NodeRead.string(node, "`hung-up`", sink) else { return [] }
        let known = ["caller", "callee", "flow", "far-side"]
        if !known.contains(who) { NodeRead.unknown("value", who, of: "`hung-up`", at: node.place, known: known, sink) }
        return [.hungUp(who)]
    }

    private func values(_ node: YAMLNode) -> [CaseExpectation.Kind] {
        guard case .mapping(let pairs) = node.content else {
            NodeRead.wrongType(node, "`value`", expected: "a mapping of variables to values", sink)
            return []
        }
        let data = FlowReader(file: flow.file, sink: sink)
        return pairs.compactMap { pair in
            if !flow.names.contains(pair.key.text) {
                NodeRead.unknown(
                    "variable", pair.key.text, of: "the flow", at: pair.key.place, known: flow.names.sorted(), sink)
            }
            return data.data(pair.value, "`\(pair.key.text)`")?.constant.map { .value(pair.key.text, $0) }
        }
    }
}
