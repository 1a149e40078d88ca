// `trace`: which calls are written as captures and ladders.

import FlowEngine

struct TraceSchema {
    let schema: ConfigurationSchema
    let lines: [String]

    private static let words = ["folder", "line", "from", "to", "one-in", "calls", "keep", "megabytes", "media", "keys"]

    /// nil: no call is traced.
    func read(_ top: FieldReader) -> Configuration.Trace? {
        guard let fields = top.section("trace", known: Self.words) else { return nil }
        guard fields.field("folder") != nil else {
            schema.sink.error(
                at: fields.node.place, "`trace` has no `folder`", mend: "write where traces go: folder: traces")
            return nil
        }
        guard let folder = fields.text("folder") else { return nil }
        if folder.text.isEmpty { schema.sink.error(at: folder.place, "`trace.folder` is empty", mend: "write folder: traces") }
        var result = Configuration.Trace(folder: schema.path(folder.text))
        result.line = schema.lineName(fields, among: lines)
        result.from = fields.text("from").flatMap { schema.number($0) }
        result.to = fields.text("to").flatMap { schema.number($0) }
        if let count = fields.integer("one-in", in: 1...1_000_000) { result.sample = count }
        if let count = fields.integer("calls", in: 1...10_000) { result.calls = count }
        if let count = fields.integer("keep", in: 1...100_000) { result.kept = count }
        if let size = fields.integer("megabytes", in: 1...1000) { result.size = size << 20 }
        if let hasMedia = fields.flag("media") { result.hasMedia = hasMedia }
        if let showsKeys = fields.flag("keys") { result.showsKeys = showsKeys }
        return result
    }
}
