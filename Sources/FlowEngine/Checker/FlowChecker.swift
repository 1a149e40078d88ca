// What is checked once a whole flow is read: expressions, prompts, direction, `always:`, secrets. The ways through the sections are
// in FlowGraph.swift; unknown words and wrong types were found while reading.

import CallEngine
import Foundation

struct FlowChecker {
    let flow: Flow
    let reader: FlowReader
    let options: FlowLoadOptions
    let root: YAMLNode
    private var sink: DiagnosticSink { reader.sink }

    init(flow: Flow, reader: FlowReader, options: FlowLoadOptions, root: YAMLNode) {
        self.flow = flow
        self.reader = reader
        self.options = options
        self.root = root
    }

    func check(isDirected: Bool, direction: inout FlowDirection) {
        checkExpressions()
        checkPrompts()
        checkDirection(isDirected, &direction)
        checkAlways()
        SecretScan(sink: sink).scan(root)
        FlowGraph(flow: flow, sink: sink).check()
        checkMediaBeforeAnswer()
    }

    // MARK: Expressions

    private var declared: DeclaredNames {
        var names: DeclaredNames = [
            "call": CallInfo.staticType, "result": .any, "recording": .any, "campaign": .any, "target": .any, "now": .timestamp
        ]
        if let known = options.environmentNames {
            names["env"] = .record(Dictionary(uniqueKeysWithValues: known.map { ($0, StaticType.string) }))
        } else {
            names["env"] = .map(.string)
        }
        // A variable begins as null or as written, and may become anything.
        for name in flow.names { names[name] = .any }
        return names
    }

    private func checkExpressions() {
        let names = declared
        for (text, wanted) in reader.texts {
            for problem in text.template.check(names: names, wanting: wanted) { report(problem, at: text.place, in: text.source) }
        }
        for condition in reader.conditions {
            for problem in condition.expression.check(names: names, wanting: .bool, what: "the condition") {
                report(problem, at: condition.place, in: condition.expression.text)
            }
        }
    }

    private func report(_ problem: ExpressionError, at place: SourcePlace, in source: String) {
        var place = place
        if !source.contains("\n") { place.column += problem.column - 1 + quoteWidth(at: place) }
        sink.error(at: place, problem.message)
    }

    /// 1 when the scalar at this place is quoted: the expression begins after the quote.
    private func quoteWidth(at place: SourcePlace) -> Int { root.scalar(at: place)?.isQuoted == true ? 1 : 0 }

    // MARK: Prompts

    private func checkPrompts() {
        for text in reader.prompts {
            guard let name = text.constant else { continue }
            let path: String
            do throws(PathConfinement.Refused) {
                path = try PathConfinement.resolve(name, under: flow.promptsFolder)
            } catch {
                sink.error(at: text.place, error.message)
                continue
            }
            switch options.prompts.inspect(path: path) {
            case .playable: break
            case .missing:
                sink.error(at: text.place, "there is no prompt `\(name)` in \(flow.promptsFolder)", mend: mend(ofPrompt: name))
            case .unreadable(let why): sink.error(at: text.place, "the prompt `\(name)` cannot be played: \(why)")
            }
        }
    }

    private func mend(ofPrompt name: String) -> String? {
        guard let near = NearestWord.find(name, in: PathConfinement.names(in: flow.promptsFolder)) else { return nil }
        return "did you mean `\(near)`?"
    }

    // MARK: Direction

    private func checkDirection(_ isDirected: Bool, _ direction: inout FlowDirection) {
        guard let only = reader.directed.first else { return }
        if !isDirected {
            direction = only.direction
            return
        }
        guard direction == .outbound else { return }
        for use in reader.directed where use.direction == .inbound {
            sink.error(
                at: use.place, "`\(use.verb)` answers a call that came in; this flow is for outbound calls",
                mend: "remove it, or write `direction: inbound`")
        }
    }

    // MARK: always

    private func checkAlways() {
        guard let always = flow.always else { return }
        always.forEachStep { step in
            if type(of: step.verb).needs != .nothing || step.verb is HangupVerb {
                sink.error(at: step.place, "`\(step.name)` in `always`: the call is over by then")
            } else if step.verb is GotoVerb {
                sink.error(at: step.place, "`goto` in `always`: sections belong to the call, which is over by then")
            }
        }
    }

    /// A prompt before any answer: it would be an error on every call.
    private func checkMediaBeforeAnswer() {
        guard let start = flow.section(flow.start) else { return }
        for step in start.block.steps {
            switch type(of: step.verb).needs {
            case .media, .answered:
                sink.warning(
                    at: step.place, "`\(step.name)` needs audio, and nothing before it answers the call",
                    mend: "put `answer` (or `progress`) before it")
                return
            case .unanswered where step.verb is AnswerVerb || step.verb is ProgressVerb: return
            case .nothing where step.verb is ExpectVerb: return
            case .nothing where step.verb.shape.branches.isEmpty && step.on.isEmpty && !(step.verb is RunVerb): continue
            case .unanswered: continue
            default: return
            }
        }
    }
}

extension Block {
    /// Every step of the block and of the blocks in it.
    func forEachStep(_ body: (Step) -> Void) {
        for step in steps {
            body(step)
            for branch in step.verb.shape.branches { branch.forEachStep(body) }
            for name in step.on.keys.sorted() { step.on[name]?.forEachStep(body) }
        }
    }
}

extension YAMLNode {
    func scalar(at wanted: SourcePlace) -> YAMLScalar? {
        switch content {
        case .scalar(let scalar): place == wanted ? scalar : nil
        case .sequence(let items): items.lazy.compactMap { $0.scalar(at: wanted) }.first
        case .mapping(let pairs): pairs.lazy.compactMap { $0.value.scalar(at: wanted) }.first
        }
    }
}

/// Finds passwords and keys that stand in the file instead of the environment.
struct SecretScan {
    let sink: DiagnosticSink
    private static let words = ["password", "passwd", "secret", "token", "api-key", "apikey", "api_key", "authorization"]

    init(sink: DiagnosticSink) { self.sink = sink }

    func scan(_ node: YAMLNode) {
        switch node.content {
        case .sequence(let items): items.forEach(scan)
        case .mapping(let pairs):
            for pair in pairs {
                scan(pair.value)
                guard case .scalar(let scalar) = pair.value.content, case .string(let text) = scalar.value else { continue }
                let key = pair.key.text.lowercased()
                if Self.words.contains(where: key.contains), !text.isEmpty, !text.contains("${") {
                    sink.warning(
                        at: pair.value.place, "`\(pair.key.text)` looks like a secret written out",
                        mend: "take it from the environment: \"${env.NAME}\"")
                }
            }
        case .scalar(let scalar):
            guard let scheme = scalar.text.range(of: "://"), scalar.text.hasPrefix("http") else { return }
            let authority = scalar.text[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" }
            if let at = authority.firstIndex(of: "@"), authority[..<at].contains(":"), !authority[..<at].contains("${") {
                sink.warning(
                    at: node.place, "the URL holds a password written out", mend: "send it in a header from the environment")
            }
        }
    }
}
