// Which end of a call is meant: in `expect` of flows and in the expectations of cases.

import CallEngine

/// An end by its cause and by who ended the call; nil: any.
struct EndPattern: Equatable, Sendable {
    var cause: CallEnd.Cause?
    var by: CallEnd.Party?

    /// Reads `CAUSE` or `{ cause, by }`; nil after an error that was told.
    static func read(_ node: YAMLNode, _ sink: DiagnosticSink) -> EndPattern? {
        guard case .mapping = node.content, let map = MappingReader(node, "`ended`", sink) else {
            return NodeRead.string(node, "`ended`", sink).flatMap { word in
                if let cause = CallEnd.Cause(rawValue: word) { return EndPattern(cause: cause) }
                let known = CallEnd.Cause.allCases.map(\.rawValue)
                NodeRead.unknown("value", word, of: "`ended`", at: node.place, known: known, sink)
                return nil
            }
        }
        defer { map.finish() }
        let pattern = EndPattern(cause: map.choice("cause", CallEnd.Cause.self), by: map.choice("by", CallEnd.Party.self))
        if !map.has("cause"), !map.has("by") {
            sink.error(at: map.place, "`ended` asks nothing", mend: "write `ended: cancelled`, or { cause: normal, by: caller }")
        }
        return pattern
    }

    func matches(_ end: CallEnd) -> Bool { end.cause == cause ?? end.cause && end.by == by ?? end.by }

    /// `ended cancelled by caller`.
    var name: String {
        (["ended"] + [cause?.rawValue, by.map { "by \($0.rawValue)" }].compactMap { $0 }).joined(separator: " ")
    }

    /// What became of a call, in the same words.
    static func words(_ end: CallEnd?) -> String { end.map { "\($0.cause.rawValue) by \($0.by.rawValue)" } ?? "no end" }
}
