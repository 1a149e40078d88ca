// Reads one YAML document into a tree, over libyaml's events. Bounded in size, depth and number of nodes (aliases count as often as
// they are used). No tags, no merge keys, one document.

import CYAML

/// What a YAML file may cost.
package struct YAMLLimits: Sendable {
    package var bytes = 1 << 20
    package var depth = 64
    package var nodes = 100_000

    package init() {}
}

package enum YAML {
    /// The document's root; nil when it could not be read (the sink says why). An empty file has a null root.
    package static func parse(
        _ text: String, file: String, into sink: DiagnosticSink, limits: YAMLLimits = YAMLLimits()
    ) -> YAMLNode? {
        guard text.utf8.count <= limits.bytes else {
            sink.error(at: SourcePlace(file: file, line: 1, column: 1), "the file is larger than \(limits.bytes / 1024) KiB")
            return nil
        }
        // A byte order mark, which some editors write (YAML 1.2 section 5.2).
        let text = text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
        let reader = YAMLEventReader(text, file: file, sink: sink, limits: limits)
        return reader.document()
    }
}

private final class YAMLEventReader {
    private let file: String
    private let sink: DiagnosticSink
    private let limits: YAMLLimits
    private let lines: [Substring]
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let bytes: [UInt8]
    private var nodes = 0
    private var anchors: [String: (node: YAMLNode, size: Int)] = [:]

    /// The document cannot be read any further; the sink knows why.
    private struct Unreadable: Error {}

    init(_ text: String, file: String, sink: DiagnosticSink, limits: YAMLLimits) {
        self.file = file
        self.sink = sink
        self.limits = limits
        lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        bytes = Array((BraceGuard.guarded(text) ?? text).utf8)
        parser = .allocate(capacity: 1)
        yaml_parser_initialize(parser)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
    }

    func document() -> YAMLNode? {
        bytes.withUnsafeBufferPointer { buffer -> YAMLNode? in
            yaml_parser_set_input_string(parser, buffer.baseAddress, buffer.count)
            yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
            do {
                return try readDocument()
            } catch {
                return nil
            }
        }
    }

    private func readDocument() throws -> YAMLNode {
        var root: YAMLNode?
        while true {
            let event = try nextEvent()
            switch event.kind {
            case .other: continue
            case .streamEnd:
                return root ?? YAMLNode(.scalar(YAMLScalar(text: "", isQuoted: false)), at: place(line: 0, column: 0))
            case .documentStart:
                if root != nil {
                    sink.error(
                        at: event.place, "a second document begins here", mend: "one file is one document: remove the `---`")
                    throw Unreadable()
                }
                root = try node(try nextEvent(), depth: 0)
            default: preconditionFailure("libyaml gives a document after its start")
            }
        }
    }

    // MARK: Nodes

    private func node(_ event: Event, depth: Int) throws -> YAMLNode {
        try count(1, at: event.place)
        guard depth <= limits.depth else {
            sink.error(at: event.place, "nested deeper than \(limits.depth) levels")
            throw Unreadable()
        }
        let before = nodes
        let result: YAMLNode
        switch event.kind {
        case .alias(let name):
            guard let anchor = anchors[name] else {
                sink.error(
                    at: event.place, "there is no anchor `&\(name)` before this alias",
                    mend: "if you mean the text, write \"*\(name)\" in quotes")
                throw Unreadable()
            }
            try count(anchor.size, at: event.place)
            return anchor.node
        case .scalar(let text, let isQuoted):
            var scalar = YAMLScalar(text: BraceGuard.restored(text), isQuoted: isQuoted)
            if text.isEmpty, !isQuoted { scalar.isHiddenByHash = isHash(at: event) }
            result = YAMLNode(.scalar(scalar), at: event.place)
        case .sequenceStart:
            var items: [YAMLNode] = []
            while true {
                let next = try nextEvent()
                if case .sequenceEnd = next.kind { break }
                items.append(try node(next, depth: depth + 1))
            }
            result = YAMLNode(.sequence(items), at: event.place)
        case .mappingStart:
            result = YAMLNode(.mapping(try pairs(depth: depth)), at: event.place)
        default: preconditionFailure("libyaml gives a node here")
        }
        if let anchor = event.anchor { anchors[anchor] = (result, nodes - before + 1) }
        return result
    }

    private func pairs(depth: Int) throws -> [YAMLPair] {
        var pairs: [YAMLPair] = []
        var places: [String: SourcePlace] = [:]
        while true {
            let event = try nextEvent()
            if case .mappingEnd = event.kind { return pairs }
            let key = try node(event, depth: depth + 1)
            let value = try node(try nextEvent(), depth: depth + 1)
            guard case .scalar(let scalar) = key.content else {
                sink.error(at: key.place, "a key is a word, not \(key.kind)", mend: mendOfBraceKey(key))
                continue
            }
            guard scalar.value != .null || scalar.isQuoted else {
                sink.error(
                    at: key.place, "the key is empty", mend: "write the key in quotes if it is a sign such as \"#\" or \"~\"")
                continue
            }
            if !scalar.readsAsWritten, case .int(let number) = scalar.value {
                sink.error(at: key.place, "`\(scalar.text)` is the number \(number) here", mend: "write \"\(scalar.text)\"")
            }
            if let first = places[scalar.text] {
                sink.error(
                    at: key.place, "`\(scalar.text)` is here twice: first in line \(first.line)", mend: "remove or rename one")
                continue
            }
            places[scalar.text] = key.place
            pairs.append(YAMLPair(key: .init(text: scalar.text, place: key.place), value: value))
        }
    }

    private func mendOfBraceKey(_ key: YAMLNode) -> String? {
        if case .mapping = key.content { return "text that begins with `{` is written in quotes" }
        return nil
    }

    private func count(_ more: Int, at place: SourcePlace) throws {
        nodes += more
        guard nodes <= limits.nodes else {
            sink.error(at: place, "more than \(limits.nodes) values (an alias counts as often as it is used)")
            throw Unreadable()
        }
    }

    /// Whether an empty value is followed by `#` in its line: somebody meant the key, YAML sees a comment.
    private func isHash(at event: Event) -> Bool {
        guard event.place.line <= lines.count else { return false }
        let rest = lines[event.place.line - 1].unicodeScalars.dropFirst(event.place.column - 1)
        return rest.first { $0 != " " && $0 != "\t" } == "#"
    }

    // MARK: Events

    private struct Event {
        enum Kind {
            case streamEnd, documentStart, alias(String), scalar(String, isQuoted: Bool)
            case sequenceStart, sequenceEnd, mappingStart, mappingEnd, other
        }
        var kind: Kind
        var place: SourcePlace
        var anchor: String?
    }

    private func place(line: Int, column: Int) -> SourcePlace { SourcePlace(file: file, line: line + 1, column: column + 1) }

    private func nextEvent() throws -> Event {
        var raw = yaml_event_t()
        guard yaml_parser_parse(parser, &raw) == 1 else {
            report()
            throw Unreadable()
        }
        defer { yaml_event_delete(&raw) }
        let place = place(line: raw.start_mark.line, column: raw.start_mark.column)
        func text(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? { pointer.map { String(cString: $0) } }
        func refuseTag(_ tag: UnsafeMutablePointer<yaml_char_t>?) {
            guard let tag = text(tag) else { return }
            sink.error(at: place, "`\(tag)` is a tag, which is not used here", mend: "write text that begins with `!` in quotes")
        }
        switch raw.type {
        case YAML_STREAM_END_EVENT: return Event(kind: .streamEnd, place: place)
        case YAML_DOCUMENT_START_EVENT: return Event(kind: .documentStart, place: place)
        case YAML_ALIAS_EVENT: return Event(kind: .alias(text(raw.data.alias.anchor) ?? ""), place: place)
        case YAML_SCALAR_EVENT:
            let scalar = raw.data.scalar
            refuseTag(scalar.tag)
            let value = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
            return Event(
                kind: .scalar(value, isQuoted: scalar.style != YAML_PLAIN_SCALAR_STYLE), place: place, anchor: text(scalar.anchor)
            )
        case YAML_SEQUENCE_START_EVENT:
            refuseTag(raw.data.sequence_start.tag)
            return Event(kind: .sequenceStart, place: place, anchor: text(raw.data.sequence_start.anchor))
        case YAML_SEQUENCE_END_EVENT: return Event(kind: .sequenceEnd, place: place)
        case YAML_MAPPING_START_EVENT:
            refuseTag(raw.data.mapping_start.tag)
            return Event(kind: .mappingStart, place: place, anchor: text(raw.data.mapping_start.anchor))
        case YAML_MAPPING_END_EVENT: return Event(kind: .mappingEnd, place: place)
        default: return Event(kind: .other, place: place)
        }
    }

    // MARK: Errors of the reader

    private func report() {
        let raw = parser.pointee
        guard let problem = raw.problem else {
            sink.error(at: place(line: 0, column: 0), "the file could not be read")
            return
        }
        if raw.error == YAML_READER_ERROR {
            sink.error(at: placeOfByte(raw.problem_offset), "not readable as UTF-8 text", mend: "save the file as UTF-8")
            return
        }
        let place = place(line: raw.problem_mark.line, column: raw.problem_mark.column)
        if let hash = hashBefore(place) {
            sink.error(
                at: hash, "`#` begins a comment, and what follows it is lost", mend: "write \"#\" in quotes if you mean the key")
            return
        }
        let explained = YAMLProblem.explain(String(cString: problem), sign: sign(at: place), before: signBefore(place))
        sink.error(at: place, explained.message, mend: explained.mend)
    }

    /// `{ finish-on: # }`: the comment swallows the closing brace, so the reader stumbles lines later. The last such `#`.
    private func hashBefore(_ place: SourcePlace) -> SourcePlace? {
        for index in (0..<min(place.line, lines.count)).reversed() {
            let line = Array(lines[index].unicodeScalars)
            for column in line.indices.dropFirst(2) where line[column] == "#" && line[column - 1] == " " {
                let before = line[..<column].last { $0 != " " }
                let opened = line[..<column].reduce(0) { $1 == "{" || $1 == "[" ? $0 + 1 : $1 == "}" || $1 == "]" ? $0 - 1 : $0 }
                if opened > 0, before == ":" || before == "," || before == "[" { return self.place(line: index, column: column) }
            }
        }
        return nil
    }

    private func sign(at place: SourcePlace) -> Character? {
        guard place.line <= lines.count else { return nil }
        return lines[place.line - 1].dropFirst(place.column - 1).first
    }

    private func signBefore(_ place: SourcePlace) -> Character? {
        guard place.line <= lines.count, place.column > 1 else { return nil }
        return lines[place.line - 1].dropFirst(place.column - 2).first
    }

    private func placeOfByte(_ offset: Int) -> SourcePlace {
        let before = bytes.prefix(offset)
        let line = before.reduce(0) { $1 == 0x0A ? $0 + 1 : $0 }
        let column = before.reversed().prefix { $0 != 0x0A }.reduce(0) { $1 & 0xC0 == 0x80 ? $0 : $0 + 1 }
        return place(line: line, column: column)
    }
}

/// The reader's problems in the words of somebody who writes a flow, with the mend where one is likely.
enum YAMLProblem {
    static func explain(_ problem: String, sign: Character?, before: Character?) -> (message: String, mend: String?) {
        switch problem {
        case "mapping values are not allowed in this context":
            return ("a second `:` in one line", "put text that holds `: ` in quotes, or check the indentation of this line")
        case "found character that cannot start any token":
            if sign == "\t" { return ("a tab cannot indent", "use spaces") }
            return ("text cannot begin with `\(sign.map(String.init) ?? "?")`", "put it in quotes")
        case "did not find expected alphabetic or numeric character":
            let mark = before == "&" ? "&" : "*"
            return ("`\(mark)` has a meaning of its own in YAML", "write \"\(mark)\" in quotes")
        case "did not find expected ',' or '}'":
            return ("a `,` or the closing `}` is missing before this", "put text that holds `{`, `}` or `,` in quotes")
        case "did not find expected ',' or ']'":
            return ("a `,` or the closing `]` is missing before this", "put text that holds `[`, `]` or `,` in quotes")
        case "could not find expected ':'":
            return ("a key without its `:`", "write `key: value`, with a space after the colon")
        case "did not find expected key":
            return ("this line does not fit the mapping around it", "give all keys of one mapping the same indentation")
        case "did not find expected '-' indicator":
            return ("this line does not fit the list around it", "begin each item of a list with `- ` at the same indentation")
        case "found unexpected end of stream":
            return ("a quote is opened and not closed", "close it")
        case "found unknown escape character":
            return ("`\\` with an unknown letter in double quotes", "write `\\\\` for a backslash, or use single quotes")
        case "exceeded maximum depth": return ("nested too deeply", nil)
        default: return (problem, nil)
        }
    }
}
