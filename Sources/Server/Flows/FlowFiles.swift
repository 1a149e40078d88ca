// The one place at which commands meet the flow language.

package import FlowEngine

package enum FlowFiles {
    /// All findings about a flow file, in its order.
    package static func check(_ file: String) -> [Diagnostic] {
        let sink = DiagnosticSink()
        _ = YAML.parse(ConfigurationSources.process.readFile(file) ?? "", file: file, into: sink)
        return sink.sorted
    }
}
