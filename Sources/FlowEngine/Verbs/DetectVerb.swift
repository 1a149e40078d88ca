// `detect`: waits for the first of several things that the far side may be heard doing, before the answer too.

import Basics
import CallEngine
import Reactor

/// Listens.
package struct DetectVerb: Verb {
    package static let name = "detect"
    package static let needs = VerbNeed.call
    package static let outcomes = What.allCases.map(\.rawValue) + ["unsure", "nothing"]
    package static let example = "detect: { what: [ human, machine, fax ], within: 10s, on: { machine: hangup } }"

    private enum What: String, CaseIterable, Sendable {
        case human, machine, beep, speech, silence, tone, fax
    }

    private var wanted: [What] = []
    private var within: FlowLength?
    private var silence: FlowLength?
    private var tone: ToneSpec?
    private var country = "us"
    private var answerer = AnswererSettings()

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            wanted = Self.read(plain, step.sink)
            return
        }
        guard step.argument != nil, let map = step.open() else {
            step.wrong("what to listen for, such as `beep` or [ human, machine ]")
            return nil
        }
        if let node = map.required("what", mend: "what: [ human, machine ]") { wanted = Self.read(node, step.sink) }
        within = step.length("within")
        if wanted.contains(.silence) { silence = step.length("for") }
        if wanted.contains(.tone) {
            if let node = map.node("tone"), case .mapping = node.content {
                tone = ToneSpec.read(node, step.sink)
            } else {
                country = ToneSpec.country(map, step.sink)
                if let name = map.string("tone") {
                    tone = ToneSpec.named(name, country: country, at: map.place(of: "tone"), step.sink)
                }
            }
        }
        if wanted.contains(.human) || wanted.contains(.machine) {
            if let limits = map.mapping("limits") { readLimits(limits, step.sink) }
        }
    }

    private static func read(_ node: YAMLNode, _ sink: DiagnosticSink) -> [What] {
        NodeRead.list(node).compactMap { node in
            guard let word = NodeRead.string(node, "`what`", sink) else { return nil }
            if let what = What(rawValue: word) { return what }
            NodeRead.unknown("value", word, of: "`detect`", at: node.place, known: What.allCases.map(\.rawValue), sink)
            return nil
        }
    }

    private mutating func readLimits(_ map: MappingReader, _ sink: DiagnosticSink) {
        if let length = map.duration("initial-silence") { answerer.initialSilence = length }
        if let length = map.duration("greeting") { answerer.greeting = length }
        if let length = map.duration("after-greeting") { answerer.afterGreeting = length }
        if let length = map.duration("total") { answerer.total = length }
        if let length = map.duration("word") { answerer.word = length }
        if let length = map.duration("pause") { answerer.pause = length }
        if let count = map.int("words", in: 1...100) { answerer.words = count }
        map.finish()
    }

    package var shape: StepShape {
        var shape = StepShape(takesTime: true)
        shape.exhaustive = wanted.map(\.rawValue) + ["unsure", "nothing"]
        return shape
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        let start = run.loop.now
        let limit = try run.length(within, default: wanted == [.beep] ? .seconds(30) : .seconds(10))
        if let why = try await run.noAudio("detect", limit) {
            return Self.result("nothing", ["reason": .string(why)], start, run)
        }
        if let why = run.call.info.undecodable { throw FlowError("detect: \(why)") }
        var request = tone?.listening ?? ListenRequest()
        if wanted.contains(.tone), tone == nil { request.progress = country }
        request.speech = wanted.contains(.speech)
        if wanted.contains(.silence) { request.silence = try run.length(silence, default: .seconds(2)) }
        request.fax = wanted.contains(.fax)
        request.beep = wanted.contains(.beep)
        if wanted.contains(.human) || wanted.contains(.machine) { request.answerer = answerer }
        let over = Waiter<(found: String, facts: [String: Value])>()
        let listening = run.call.listen(request)
        listening.onEvent = { if let found = meaning(of: $0) { over.resume(returning: found) } }
        let timer = run.loop.schedule(at: start + limit) { over.resume(returning: ("nothing", [:])) }
        defer {
            timer.cancel()
            listening.stop()
        }
        let (found, facts) = try await over.wait()
        return Self.result(found, facts, start, run)
    }

    /// What an event means; nil when it is not waited for.
    private func meaning(of event: ListenEvent) -> (found: String, facts: [String: Value])? {
        switch event {
        case .speechBegan: return ("speech", [:])
        case .speechEnded, .reference, .referenceFailed: return nil
        case .silence: return ("silence", [:])
        case .fax(let kind, _): return ("fax", ["fax": .string(kind)])
        case .beep(let frequency, let length, _):
            return ("beep", ["frequency": .double(frequency.rounded()), "length": .duration(length)])
        case .tone, .progress:
            if let tone, !tone.isHeard(event) { return nil }
            guard case .progress(let names, _) = event else { return ("tone", [:]) }
            let name = names.first ?? ""
            if case .named(let wanted, _)? = tone { return ("tone", ["tone": .string(wanted)]) }
            return ("tone", ["tone": .string(name)])
        case .answerer(let verdict, _):
            // Who is unsure of the answerer goes on listening for the rest.
            let isAll = wanted.allSatisfy { $0 == .human || $0 == .machine }
            if verdict.answerer == .unsure, !isAll { return nil }
            return (verdict.answerer.rawValue, ["reason": .string(verdict.reason.rawValue)])
        }
    }

    private static func result(_ found: String, _ facts: [String: Value], _ start: Instant, _ run: FlowRun) -> StepResult {
        var map = ValueMap()
        map["found"] = .string(found)
        map["after"] = .duration(run.loop.now - start)
        for (name, value) in facts.sorted(by: { $0.key < $1.key }) { map[name] = value }
        return StepResult(value: .map(map), outcome: found)
    }
}
