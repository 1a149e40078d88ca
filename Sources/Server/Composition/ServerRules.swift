// What calls get, exchanged as a whole: a call keeps the rules that it began with.

package import FlowEngine
import Reactor

package struct ServerRules: Sendable {
    package var configuration: Configuration
    package var flows: FlowTable

    package init(_ configuration: Configuration, flows: FlowTable) {
        self.configuration = configuration
        self.flows = flows
    }
}

extension ServeOptions {
    /// Reads the configuration and the flows. Blocks: for the start, and for a worker.
    package func loadRules(
        sources: ConfigurationSources = .process
    ) throws(CommandFailure) -> (rules: ServerRules, warnings: [Diagnostic]) {
        let (configuration, warnings) = try configuration.load(sources: sources)
        let flows = try FlowTable(configuration, flow: flow)
        return (ServerRules(configuration, flows: flows), warnings + flows.warnings)
    }
}
