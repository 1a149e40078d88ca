// The one place at which commands load flows: always with prompts that were really read.

import CallEngine
package import FlowEngine

package enum FlowFiles {
    /// All findings about a flow file, in its order.
    package static func check(_ file: String) -> [Diagnostic] { load(file).diagnostics }

    /// Loads and checks a flow.
    /// - Parameters:
    ///   - environmentNames: what the configuration lists under `env`; nil: any name is taken.
    ///   - arguments: names of variables that come from outside.
    package static func load(
        _ file: String, environmentNames: Set<String>? = nil, arguments: Set<String> = []
    ) -> FlowLoadResult {
        var options = FlowLoadOptions()
        options.prompts = AudioPromptInspector()
        options.environmentNames = environmentNames
        options.arguments = arguments
        return FlowLoader.load(path: file, options: options)
    }

    /// A flow that can run. Its mistakes end the command; warnings are returned.
    package static func usable(
        _ file: String, environmentNames: Set<String>? = nil, arguments: Set<String> = []
    ) throws(CommandFailure) -> (flow: Flow, warnings: [Diagnostic]) {
        let result = load(file, environmentNames: environmentNames, arguments: arguments)
        guard let flow = result.flow else {
            let errors = result.diagnostics.filter { $0.severity == .error }.map(\.description)
            throw CommandFailure(.wrong, "the flow cannot be used:\n" + errors.joined(separator: "\n"))
        }
        return (flow, result.diagnostics)
    }

    /// A flow for calls that go out.
    static func outbound(
        _ file: String, _ configuration: Configuration, arguments: Set<String>
    ) throws(CommandFailure) -> Flow {
        try usable(file, for: .outbound, configuration, arguments)
    }

    /// A flow for calls that come in.
    static func inbound(
        _ file: String, _ configuration: Configuration, arguments: Set<String>
    ) throws(CommandFailure) -> Flow {
        try usable(file, for: .inbound, configuration, arguments)
    }

    private static func usable(
        _ file: String, for direction: CallInfo.Direction, _ configuration: Configuration, _ arguments: Set<String>
    ) throws(CommandFailure) -> Flow {
        let loaded = try usable(file, environmentNames: Set(configuration.environmentNames), arguments: arguments)
        guard loaded.flow.direction.allows(direction) else {
            throw CommandFailure(
                .wrong, "\(file) is a flow for calls that \(direction == .outbound ? "come in" : "go out")",
                mend: "use it with ringwright \(direction == .outbound ? "serve" : "call"), or give it `direction: both`")
        }
        return loaded.flow
    }
}
