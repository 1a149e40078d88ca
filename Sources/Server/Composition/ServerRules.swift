// What calls get, exchanged as a whole: a call keeps the rules that it began with.

package import FlowEngine
package import Reactor

package struct ServerRules: Sendable {
    package var configuration: Configuration
    package var flows: FlowTable
    /// The certificates of `sip.tls` as they were read last.
    package var tls: TLSContext?

    package init(_ configuration: Configuration, flows: FlowTable, tls: TLSContext? = nil) {
        self.configuration = configuration
        self.flows = flows
        self.tls = tls
    }

    /// What to tell about the certificate of `sip.tls`; nil when all is well.
    package var certificateWarning: String? { tls.flatMap(\.certificateWarning) }
}

extension ServeOptions {
    /// Reads the configuration and the flows. Blocks: for the start, and for a worker.
    package func loadRules(
        sources: ConfigurationSources = .process
    ) throws(CommandFailure) -> (rules: ServerRules, warnings: [Diagnostic]) {
        let (configuration, warnings) = try configuration.load(sources: sources)
        let flows = try FlowTable(configuration, flow: flow)
        let tls = try configuration.secureSetup()
        return (ServerRules(configuration, flows: flows, tls: tls), warnings + flows.warnings)
    }
}
