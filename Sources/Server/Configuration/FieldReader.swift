// Reads the fields of one mapping of the configuration: what is unknown, of the wrong kind or not built yet is reported with its place,
// and reading goes on, so that one run names all mistakes.

import FlowEngine

/// A mapping that is being read.
struct FieldReader {
    let node: YAMLNode
    /// The words before this mapping's: `lines.carrier.sip`; empty at the top.
    let path: String
    let sources: ConfigurationSources
    let sink: DiagnosticSink

    /// nil, with a message, when `node` is no mapping. An empty node is a mapping without fields.
    /// - Parameters:
    ///   - known: the words that may stand here.
    ///   - later: words of the language that this version does not have, with what they are.
    init?(
        _ node: YAMLNode, path: String, known: [String], later: [String: String] = [:], sources: ConfigurationSources,
        sink: DiagnosticSink
    ) {
        self.node = node
        self.path = path
        self.sources = sources
        self.sink = sink
        if node.isNull { return }
        guard case .mapping(let pairs) = node.content else {
            sink.error(
                at: node.place, "\(path.isEmpty ? "the configuration" : "`\(path)`") is a mapping, not \(node.kind)",
                mend: "write its words as `word: value`")
            return nil
        }
        for pair in pairs where !known.contains(pair.key.text) {
            let word = pair.key.text
            if let what = later[word] {
                sink.error(
                    at: pair.key.place, "`\(full(word))` (\(what)) is not built yet", mend: "remove it to run this version")
            } else {
                let near = NearestWord.find(word, in: known + later.keys)
                sink.error(
                    at: pair.key.place, "`\(word)` is unknown \(path.isEmpty ? "here" : "in `\(path)`")",
                    mend: near.map { "did you mean `\($0)`?" } ?? "there are: \(known.joined(separator: ", "))")
            }
        }
    }

    func full(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    /// The node under `key`, unless it is missing or empty.
    func field(_ key: String) -> YAMLNode? {
        guard let value = node[key], !value.isNull else { return nil }
        return value
    }

    /// A mapping below this one.
    func section(_ key: String, known: [String], later: [String: String] = [:]) -> FieldReader? {
        guard let value = field(key) else { return nil }
        return FieldReader(value, path: full(key), known: known, later: later, sources: sources, sink: sink)
    }

    /// Text, with values from outside put in; numbers count as the text that they were written as.
    func text(_ key: String, keepsExpressions: Bool = false) -> LocatedText? {
        field(key).flatMap { text(of: $0, named: full(key), keepsExpressions: keepsExpressions) }
    }

    func text(of node: YAMLNode, named name: String, keepsExpressions: Bool = false) -> LocatedText? {
        guard case .scalar(let scalar) = node.content else {
            sink.error(at: node.place, "`\(name)` is text, not \(node.kind)")
            return nil
        }
        do throws(ConfigurationSources.Problem) {
            let result = try sources.substitute(scalar.text, keepsExpressions: keepsExpressions)
            return LocatedText(text: result.text, written: scalar.text, isFromOutside: result.isFromOutside, place: node.place)
        } catch {
            sink.error(at: node.place, "`\(name)`: \(error.message)", mend: error.mend)
            return nil
        }
    }

    /// The items of a list; one item may stand without a list.
    func items(_ key: String) -> [YAMLNode]? {
        guard let value = field(key) else { return nil }
        if case .sequence(let items) = value.content { return items }
        return [value]
    }

    func texts(_ key: String) -> [LocatedText]? {
        items(key)?.compactMap { text(of: $0, named: full(key)) }
    }

    func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let value = text(key) else { return nil }
        guard let number = Int(value.text), range.contains(number) else {
            sink.error(
                at: value.place,
                "`\(full(key))` is a whole number from \(range.lowerBound) to \(range.upperBound), not \(value.shown)")
            return nil
        }
        return number
    }

    /// A length of time such as `30s`; `word` is what may stand there besides.
    func duration(_ key: String, in range: ClosedRange<Duration>, or word: String? = nil) -> Duration? {
        guard let value = text(key) else { return nil }
        if let duration = try? FlowDuration.parse(value.text), range.contains(duration) { return duration }
        let bounds = "\(FlowDuration.print(range.lowerBound)) to \(FlowDuration.print(range.upperBound))"
        sink.error(
            at: value.place,
            "`\(full(key))` is a length of time from \(bounds)\(word.map { ", or \($0)" } ?? ""), not \(value.shown)")
        return nil
    }

    /// `true` or `false`.
    func flag(_ key: String) -> Bool? {
        guard let value = text(key) else { return nil }
        if let flag = Bool(value.text) { return flag }
        sink.error(at: value.place, "`\(full(key))` is true or false, not \(value.shown)")
        return nil
    }

    /// One of a few words; `later` names those that this version does not have.
    func word<Choice: RawRepresentable & CaseIterable>(
        _ key: String, _: Choice.Type, later: [String: String] = [:]
    ) -> Choice? where Choice.RawValue == String {
        guard let value = text(key) else { return nil }
        if let choice = Choice(rawValue: value.text) { return choice }
        report(value, key: key, known: Choice.allCases.map(\.rawValue), later: later)
        return nil
    }

    /// Says that `value` is none of the known words.
    func report(_ value: LocatedText, key: String, known: [String], later: [String: String] = [:]) {
        if let what = later[value.text] {
            sink.error(
                at: value.place, "`\(full(key)): \(value.text)` (\(what)) is not built yet",
                mend: "there are: \(known.joined(separator: ", "))")
        } else {
            let near = value.isFromOutside ? nil : NearestWord.find(value.text, in: known + later.keys)
            sink.error(
                at: value.place, "`\(full(key))` is not \(value.shown)",
                mend: near.map { "did you mean `\($0)`?" } ?? "there are: \(known.joined(separator: ", "))")
        }
    }
}

/// Text of the file with its place.
struct LocatedText {
    /// With values from outside put in.
    var text: String
    /// As it stands in the file.
    var written: String
    var isFromOutside: Bool
    var place: SourcePlace

    /// For messages: never what came from outside.
    var shown: String { "`\(written)`" }
}
