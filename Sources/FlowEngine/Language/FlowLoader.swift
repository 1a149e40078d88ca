// From a file to a checked flow: YAML, sections, steps, cases, then the checker. All mistakes are found in one run.

import Foundation

/// What a flow is checked against.
package struct FlowLoadOptions: Sendable {
    /// Looks at prompt files; the default only asks whether they are there.
    package var prompts: any PromptInspector = FileExistence()
    /// The names that the configuration lets expressions read from the environment; nil: not known, any name is taken.
    package var environmentNames: Set<String>?
    /// Names that come from outside (a route's `vars`, `--var`).
    package var arguments: Set<String> = []

    package init() {}
}

package struct FlowLoadResult: Sendable {
    /// nil when the file has errors.
    package var flow: Flow?
    /// In the order of the file.
    package var diagnostics: [Diagnostic]
}

/// Asks the file system whether a prompt is there; what is in it is not looked at.
package struct FileExistence: PromptInspector {
    package init() {}

    package func inspect(path: String) -> PromptInfo {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return .missing }
        if isFolder.boolValue { return .unreadable("it is a folder") }
        return FileManager.default.isReadableFile(atPath: path) ? .playable(nil) : .unreadable("it may not be read")
    }
}

package enum FlowLoader {
    /// Reads and checks a file.
    package static func load(path: String, options: FlowLoadOptions = FlowLoadOptions()) -> FlowLoadResult {
        load(path: path, options: options, above: [])
    }

    /// Checks a text as if it stood in `file`.
    package static func load(text: String, file: String, options: FlowLoadOptions = FlowLoadOptions()) -> FlowLoadResult {
        load(text: text, file: file, options: options, above: [])
    }

    /// `above`: the files that run this one, so that a flow that runs itself is found.
    static func load(path: String, options: FlowLoadOptions, above: [String]) -> FlowLoadResult {
        let start = SourcePlace(file: path, line: 1, column: 1)
        guard let data = FileManager.default.contents(atPath: path) else {
            let exists = FileManager.default.fileExists(atPath: path)
            let message = exists ? "the file cannot be read" : "there is no such file"
            return FlowLoadResult(flow: nil, diagnostics: [Diagnostic(.error, at: start, message)])
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            return FlowLoadResult(
                flow: nil,
                diagnostics: [Diagnostic(.error, at: start, "not readable as UTF-8 text", mend: "save the file as UTF-8")])
        }
        return load(text: text, file: path, options: options, above: above)
    }

    private static func load(text: String, file: String, options: FlowLoadOptions, above: [String]) -> FlowLoadResult {
        let sink = DiagnosticSink()
        var flow: Flow?
        if let root = YAML.parse(text, file: file, into: sink) {
            var builder = FlowBuilder(file: file, options: options, above: above, sink: sink)
            flow = builder.build(root)
        }
        return FlowLoadResult(flow: sink.hasErrors ? nil : flow, diagnostics: sink.sorted)
    }
}

/// Builds one flow from its tree.
private struct FlowBuilder {
    let file: String
    let options: FlowLoadOptions
    let above: [String]
    let sink: DiagnosticSink
    let reader: FlowReader
    var flow = Flow()

    init(file: String, options: FlowLoadOptions, above: [String], sink: DiagnosticSink) {
        self.file = file
        self.options = options
        self.above = above
        self.sink = sink
        reader = FlowReader(file: file, sink: sink)
    }

    mutating func build(_ root: YAMLNode) -> Flow? {
        guard !root.isNull else {
            sink.error(at: root.place, "the file is empty", mend: "a flow has `flow: name` and `sections:`")
            return nil
        }
        guard let map = MappingReader(root, "a flow", sink) else { return nil }
        flow.file = file
        flow.name = map.requiredString("flow", mend: "flow: name") ?? ""
        flow.description = map.string("description") ?? ""
        flow.language = map.string("language") ?? "en"
        reader.language = flow.language
        flow.promptsFolder = PathConfinement.join(PathConfinement.folder(of: file), map.string("prompts") ?? ".")
        readVariables(map)
        readSections(map)
        if let node = map.node("always") { flow.always = reader.block(node) }
        flow.alwaysLimit = map.duration("always-limit") ?? .seconds(30)
        if let node = map.node("failed") { flow.failed = reader.block(node) }
        if let direction = map.choice("direction", FlowDirection.self) { flow.direction = direction }
        flow.codecs = map.codecs("codecs")
        let isDirected = map.has("direction")
        let cases = map.node("cases")
        map.finish()
        for name in options.arguments { reader.note(name: name, at: root.place) }
        flow.names = Set(reader.names.keys)
        loadSubflows()
        FlowChecker(flow: flow, reader: reader, options: options, root: root).check(
            isDirected: isDirected, direction: &flow.direction)
        if let cases { flow.cases = FlowCaseReader(flow: flow, sink: sink).cases(cases) }
        return flow
    }

    private mutating func readVariables(_ map: MappingReader) {
        guard let node = map.node("vars"), let vars = MappingReader(node, "`vars`", sink) else { return }
        for pair in vars.entries where reader.variable(pair.key.text, at: pair.key.place) {
            if let data = reader.data(pair.value, "`\(pair.key.text)`") { flow.variables.append((pair.key.text, data)) }
        }
    }

    private mutating func readSections(_ map: MappingReader) {
        guard let node = map.required("sections", mend: "sections: { main: [ answer, hangup ] }") else { return }
        guard let sections = MappingReader(node, "`sections`", sink) else { return }
        for pair in sections.entries {
            let block = reader.block(pair.value)
            if pair.value.isNull { sink.warning(at: pair.key.place, "the section `\(pair.key.text)` is empty") }
            flow.sections.append(FlowSection(name: pair.key.text, place: pair.key.place, block: block))
        }
        let start = map.node("start")
        guard let first = flow.sections.first else {
            sink.error(at: node.place, "a flow has at least one section")
            return
        }
        flow.start = first.name
        if let start, let name = NodeRead.string(start, "`start`", sink) {
            flow.start = name
            if flow.section(name) == nil {
                NodeRead.unknown("section", name, of: "`start`", at: start.place, known: flow.sections.map(\.name), sink)
            }
        }
        // A section of that name is the one where errors go.
        if let failed = flow.section("failed"), !map.has("failed") { flow.failed = failed.block }
    }

    private mutating func loadSubflows() {
        for text in reader.subflows {
            guard let name = text.constant, flow.subflows[name] == nil else { continue }
            let path = PathConfinement.join(PathConfinement.folder(of: file), name)
            guard path != file, !above.contains(path) else {
                sink.error(at: text.place, "the flow runs itself")
                continue
            }
            guard above.count < 8 else {
                sink.error(at: text.place, "flows run flows more than 8 deep")
                continue
            }
            let result = FlowLoader.load(path: path, options: options, above: above + [file])
            for diagnostic in result.diagnostics where diagnostic.severity == .error { sink.add(diagnostic) }
            if result.flow == nil {
                sink.error(at: text.place, "the flow `\(name)` cannot be used")
            }
            flow.subflows[name] = result.flow
        }
    }
}
