// Typed reads from a mapping of a YAML file. Each read marks its key as known and reports what does not fit; `finish` reports the
// keys that nobody asked for, with the nearest known one. So one run finds all mistakes of a file.

import CallEngine

/// Reads one mapping, key by key.
package final class MappingReader {
    package let place: SourcePlace
    package let sink: DiagnosticSink
    /// For messages: "`play`", "`sip`".
    package let what: String
    private let pairs: [YAMLPair]
    private var asked: [String] = []
    private var refused: Set<String> = []

    /// nil when `node` is no mapping (reported). An empty value counts as an empty mapping.
    package init?(_ node: YAMLNode, _ what: String, _ sink: DiagnosticSink) {
        place = node.place
        self.sink = sink
        self.what = what
        switch node.content {
        case .mapping(let pairs): self.pairs = pairs
        case .scalar(let scalar) where scalar.value == .null && !scalar.isHiddenByHash: pairs = []
        default:
            NodeRead.wrongType(node, what, expected: "a mapping (`key: value` lines)", sink)
            return nil
        }
    }

    /// All pairs, for mappings whose keys are free (names of lines, of variables); marks every key as known.
    package var entries: [YAMLPair] {
        asked += pairs.map(\.key.text)
        return pairs
    }

    /// The pairs whose keys nobody has asked for so far; marks them as known.
    package func remaining() -> [YAMLPair] {
        let rest = pairs.filter { !asked.contains($0.key.text) && !refused.contains($0.key.text) }
        asked += rest.map(\.key.text)
        return rest
    }

    package func has(_ key: String) -> Bool { pairs.contains { $0.key.text == key } }

    /// Where `key` stands, for messages about it; the mapping's place when it is not there.
    package func place(of key: String) -> SourcePlace {
        pairs.first { $0.key.text == key }?.key.place ?? place
    }

    /// The node under `key`, whatever it is.
    package func node(_ key: String) -> YAMLNode? {
        asked.append(key)
        return pairs.first { $0.key.text == key }?.value
    }

    /// As `node`; its absence is an error.
    package func required(_ key: String, mend: String? = nil) -> YAMLNode? {
        if let node = node(key) { return node }
        sink.error(at: place, "\(what) needs `\(key)`", mend: mend)
        return nil
    }

    /// Keys that are part of the language and not built yet: refused by name, never ignored.
    package func notBuilt(_ keys: String...) {
        for key in keys where has(key) {
            refused.insert(key)
            sink.error(at: place(of: key), "`\(key)` of \(what) is not built yet", mend: "remove it")
        }
    }

    /// Reports the keys that nobody asked for. Call it when all reads are done.
    package func finish() {
        for pair in pairs where !asked.contains(pair.key.text) && !refused.contains(pair.key.text) {
            NodeRead.unknown("key", pair.key.text, of: what, at: pair.key.place, known: asked, sink)
        }
    }

    // MARK: Typed reads; nil when the key is not there or does not fit (reported)

    package func string(_ key: String) -> String? {
        node(key).flatMap { NodeRead.string($0, name(key), sink) }
    }

    package func requiredString(_ key: String, mend: String? = nil) -> String? {
        required(key, mend: mend).flatMap { NodeRead.string($0, name(key), sink) }
    }

    /// One text or a list of them.
    package func strings(_ key: String) -> [String]? {
        node(key).map { node in NodeRead.list(node).compactMap { NodeRead.string($0, name(key), sink) } }
    }

    package func bool(_ key: String) -> Bool? {
        node(key).flatMap { NodeRead.bool($0, name(key), sink) }
    }

    package func int(_ key: String, in range: ClosedRange<Int>) -> Int? {
        node(key).flatMap { NodeRead.int($0, name(key), in: range, sink) }
    }

    package func double(_ key: String, in range: ClosedRange<Double>) -> Double? {
        node(key).flatMap { NodeRead.double($0, name(key), in: range, sink) }
    }

    package func duration(_ key: String) -> Duration? {
        node(key).flatMap { NodeRead.duration($0, name(key), sink) }
    }

    /// One of the words of an enum.
    package func choice<Choice: RawRepresentable & CaseIterable>(_ key: String, _: Choice.Type = Choice.self) -> Choice?
    where Choice.RawValue == String {
        guard let node = node(key), let word = NodeRead.string(node, name(key), sink) else { return nil }
        if let choice = Choice(rawValue: word) { return choice }
        NodeRead.unknown("value", word, of: name(key), at: node.place, known: Choice.allCases.map(\.rawValue), sink)
        return nil
    }

    /// Names of codecs, one or a list, best first; each once.
    package func codecs(_ key: String) -> [String]? {
        guard let node = node(key) else { return nil }
        let known = MediaSettings.knownCodecs
        var result: [String] = []
        for item in NodeRead.list(node) {
            guard let word = NodeRead.string(item, name(key), sink) else { continue }
            if !known.contains(word) {
                NodeRead.unknown("codec", word, of: name(key), at: item.place, known: known, sink)
            } else if result.contains(word) {
                sink.error(at: item.place, "`\(word)` stands twice in \(name(key))", mend: "remove one")
            } else {
                result.append(word)
            }
        }
        if result.isEmpty, case .sequence = node.content {
            sink.error(at: node.place, "\(name(key)) names no codec", mend: "remove it")
        }
        return result.isEmpty ? nil : result
    }

    package func mapping(_ key: String) -> MappingReader? {
        node(key).flatMap { MappingReader($0, name(key), sink) }
    }

    private func name(_ key: String) -> String { "`\(key)`" }
}

/// Typed reads of single nodes.
package enum NodeRead {
    /// One node or the items of a list.
    package static func list(_ node: YAMLNode) -> [YAMLNode] {
        if case .sequence(let items) = node.content { items } else { [node] }
    }

    /// Text as it was written. A plain number is taken when it reads the same as text, and refused when it does not (`0123`).
    package static func string(_ node: YAMLNode, _ what: String, _ sink: DiagnosticSink) -> String? {
        guard case .scalar(let scalar) = node.content else {
            wrongType(node, what, expected: "text", sink)
            return nil
        }
        switch scalar.value {
        case .null:
            wrongType(node, what, expected: "text", sink)
            return nil
        case .int(let number) where !scalar.readsAsWritten:
            sink.error(
                at: node.place, "\(what): `\(scalar.text)` without quotes is the number \(number)",
                mend: "write \"\(scalar.text)\"")
            return nil
        case .float where !scalar.readsAsWritten:
            sink.error(at: node.place, "\(what): `\(scalar.text)` without quotes is a number", mend: "write \"\(scalar.text)\"")
            return nil
        default: return scalar.text
        }
    }

    package static func bool(_ node: YAMLNode, _ what: String, _ sink: DiagnosticSink) -> Bool? {
        guard case .scalar(let scalar) = node.content, case .bool(let flag) = scalar.value else {
            if case .scalar(let scalar) = node.content, let meant = meantBool(scalar.text) {
                sink.error(at: node.place, "\(what) is true or false; `\(scalar.text)` is a word here", mend: "write \(meant)")
            } else {
                wrongType(node, what, expected: "true or false", sink)
            }
            return nil
        }
        return flag
    }

    private static func meantBool(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "yes", "on", "true": true
        case "no", "off", "false": false
        default: nil
        }
    }

    package static func int(_ node: YAMLNode, _ what: String, in range: ClosedRange<Int>, _ sink: DiagnosticSink) -> Int? {
        guard case .scalar(let scalar) = node.content, case .int(let number) = scalar.value else {
            wrongType(node, what, expected: "a whole number", sink)
            return nil
        }
        guard let value = Int(exactly: number), range.contains(value) else {
            outOfRange(
                node, what, scalar.text, "\(range.lowerBound)", range.upperBound == .max ? nil : "\(range.upperBound)", sink)
            return nil
        }
        return value
    }

    package static func double(
        _ node: YAMLNode, _ what: String, in range: ClosedRange<Double>, _ sink: DiagnosticSink
    ) -> Double? {
        let value: Double
        switch node.content {
        case .scalar(let scalar):
            switch scalar.value {
            case .int(let number): value = Double(number)
            case .float(let number) where number.isFinite: value = number
            default:
                wrongType(node, what, expected: "a number", sink)
                return nil
            }
            guard range.contains(value) else {
                let upper = range.upperBound.isFinite ? "\(range.upperBound)" : nil
                outOfRange(node, what, scalar.text, "\(range.lowerBound)", upper, sink)
                return nil
            }
            return value
        default:
            wrongType(node, what, expected: "a number", sink)
            return nil
        }
    }

    package static func duration(_ node: YAMLNode, _ what: String, _ sink: DiagnosticSink) -> Duration? {
        guard case .scalar(let scalar) = node.content, scalar.value != .null else {
            wrongType(node, what, expected: "a duration such as 5s, 300ms or 1h30m", sink)
            return nil
        }
        do {
            return try FlowDuration.parse(scalar.text)
        } catch {
            sink.error(at: node.place, "\(what): \(error.message)")
            return nil
        }
    }

    /// "unknown key `tiemout` of `bridge`; did you mean `timeout`?"
    package static func unknown(
        _ kind: String, _ word: String, of what: String, at place: SourcePlace, known: [String], _ sink: DiagnosticSink
    ) {
        let mend: String?
        if let near = NearestWord.find(word, in: known) {
            mend = "did you mean `\(near)`?"
        } else if known.isEmpty {
            mend = nil
        } else {
            var seen: Set<String> = []
            let words = known.filter { seen.insert($0).inserted }.prefix(24).map { "`\($0)`" }
            mend = "known: \(words.joined(separator: ", "))"
        }
        sink.error(at: place, "unknown \(kind) `\(word)` of \(what)", mend: mend)
    }

    package static func wrongType(_ node: YAMLNode, _ what: String, expected: String, _ sink: DiagnosticSink) {
        if case .scalar(let scalar) = node.content, scalar.isHiddenByHash {
            sink.error(
                at: node.place, "\(what) is empty: `#` begins a comment", mend: "write \"#\" in quotes if you mean the key")
            return
        }
        sink.error(at: node.place, "\(what) is \(expected), not \(node.kind)")
    }

    private static func outOfRange(
        _ node: YAMLNode, _ what: String, _ text: String, _ lower: String, _ upper: String?, _ sink: DiagnosticSink
    ) {
        let range = upper.map { "from \(lower) to \($0)" } ?? "\(lower) or more"
        sink.error(at: node.place, "\(what) is \(range), not \(text)")
    }
}
