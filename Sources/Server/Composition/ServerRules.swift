// What calls get, exchanged as a whole: a call keeps the rules that it began with.

package import FlowEngine
package import Reactor

/// One object: each call reads it, and copies of all its parts would cost more than what is read.
package final class ServerRules: Sendable {
    package let configuration: Configuration
    package let flows: FlowTable
    /// The certificates of `sip.tls` as they were read last.
    package let tls: TLSContext?

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
        tls.readAuthorities()
        return (ServerRules(configuration, flows: flows, tls: tls), warnings + flows.warnings)
    }
}
