// Reads `ringwright.yaml`. Every mistake is reported with its place; what later versions will have is refused by name.

import Basics
import CallEngine
package import FlowEngine
import Foundation

/// One value given on the command line: `--set lines.carrier.sip.server=127.0.0.1`.
package struct ConfigurationOverride: Equatable, Sendable {
    /// The words on the way to the value.
    package var path: [String]
    /// YAML.
    package var value: String
    /// What messages call it: the option as it was given, up to its value.
    package var origin: String

    package init(path: [String], value: String, origin: String) {
        self.path = path
        self.value = value
        self.origin = origin
    }

    /// Reads `path=value`; nil when there is no `=` or a part of the path is empty.
    package init?(assignment: String) {
        guard let equals = assignment.firstIndex(of: "=") else { return nil }
        let path = assignment[..<equals].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard !path.contains("") else { return nil }
        self.init(
            path: path, value: String(assignment[assignment.index(after: equals)...]), origin: "--set \(assignment[..<equals])")
    }
}

package enum ConfigurationReader {
    /// Reads the file at `path` (nil: none, so the defaults) and puts the overrides in.
    /// - Returns: the configuration, which is complete and usable only if no finding is an error; and the findings in the file's order.
    package static func read(
        path: String?, overrides: [ConfigurationOverride] = [], sources: ConfigurationSources = .process
    ) -> (configuration: Configuration, findings: [Diagnostic]) {
        let sink = DiagnosticSink()
        var text = ""
        if let path {
            if let content = sources.readFile(path) {
                text = content
            } else {
                let why = sources.fileExists(path) ? "the file cannot be read as UTF-8 text" : "there is no such file"
                sink.error(at: SourcePlace(file: path, line: 1, column: 1), why)
                return (Configuration(), sink.sorted)
            }
        }
        return read(text, file: path ?? "ringwright.yaml", overrides: overrides, sources: sources, sink: sink)
    }

    /// Reads the text of a file whose path is `file`.
    package static func read(
        text: String, file: String, overrides: [ConfigurationOverride] = [], sources: ConfigurationSources
    ) -> (configuration: Configuration, findings: [Diagnostic]) {
        read(text, file: file, overrides: overrides, sources: sources, sink: DiagnosticSink())
    }

    private static func read(
        _ text: String, file: String, overrides: [ConfigurationOverride], sources: ConfigurationSources, sink: DiagnosticSink
    ) -> (configuration: Configuration, findings: [Diagnostic]) {
        guard var root = YAML.parse(text, file: file, into: sink) else { return (Configuration(), sink.sorted) }
        for override in overrides {
            guard let value = YAML.parse(override.value, file: override.origin, into: sink) else { continue }
            root.set(value, at: override.path[...], origin: override.origin, sink: sink)
        }
        let folder = file.lastIndex(of: "/").map { String(file[..<$0]) } ?? ""
        let configuration = ConfigurationSchema(sources: sources, sink: sink, folder: folder).read(root)
        return (configuration, sink.sorted)
    }
}

extension YAMLNode {
    /// Puts `value` at `path`, making the mappings and lists on the way. A number in the path is an item of a list, or the one behind its last;
    /// 0 begins a list where there is none.
    fileprivate mutating func set(_ value: YAMLNode, at path: ArraySlice<String>, origin: String, sink: DiagnosticSink) {
        guard let word = path.first else {
            self = value
            return
        }
        if isNull { content = word == "0" ? .sequence([]) : .mapping([]) }
        let rest = path.dropFirst()
        switch content {
        case .mapping(var pairs):
            if let index = pairs.firstIndex(where: { $0.key.text == word }) {
                pairs[index].value.set(value, at: rest, origin: origin, sink: sink)
            } else if var pair = Self.pair(named: word, origin: origin) {
                pair.value.set(value, at: rest, origin: origin, sink: sink)
                pairs.append(pair)
            }
            content = .mapping(pairs)
        case .sequence(var items):
            guard let index = Int(word), 0...items.count ~= index else {
                sink.error(
                    at: value.place, "there is no item `\(word)` in this list of \(items.count)",
                    mend: "the first is 0, and \(items.count) adds one")
                return
            }
            if index == items.count { items.append(YAMLNode(.mapping([]), at: value.place)) }
            items[index].set(value, at: rest, origin: origin, sink: sink)
            content = .sequence(items)
        case .scalar:
            sink.error(at: value.place, "`\(word)` cannot be set: \(kind) stands where a mapping would have to be")
        }
    }
    /// A pair with nothing as its value.
    private static func pair(named word: String, origin: String) -> YAMLPair? {
        let quoted = word.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        guard let node = YAML.parse("\"\(quoted)\":", file: origin, into: DiagnosticSink()),
            case .mapping(let pairs) = node.content
        else { return nil }
        return pairs.first
    }
}
