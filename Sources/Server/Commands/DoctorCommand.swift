// `ringwright doctor`.

import Basics
import FlowEngine

package enum DoctorCommand {
    /// Ends with a failure when the configuration cannot be read: then nobody knows what the machine would have to do.
    package static func run(
        _ options: DoctorOptions, sources: ConfigurationSources = .process
    ) throws(CommandFailure) -> CommandOutcome {
        let (configuration, warnings) = try options.configuration.load(sources: sources)
        let routed = configuration.routes.compactMap { route -> String? in
            if case .flow(let path) = route.target { path } else { nil }
        }
        var flows: [String] = []
        for flow in options.flows + routed where !flows.contains(flow) { flows.append(flow) }
        let findings =
            warnings.map { DoctorFinding(.warning, "configuration", "\($0.place): \($0.message)", mend: $0.mend) }
            + Doctor.examine(configuration, prompts: flows.flatMap { CheckCommand.check($0, sources) })
        let status = Doctor.status(of: findings)
        if options.json { return CommandOutcome(lines: findings.map(\.json.text), status: status) }
        let problems = findings.count { $0.state == .problem }
        let note = problems == 0 ? "this machine is ready" : "\(problems) of \(findings.count) would go wrong"
        return CommandOutcome(lines: findings.map(\.line), note: note, status: status)
    }
}
