// `ringwright demo` and `ringwright doctor`.

package struct DemoOptions: Equatable, Sendable {
    package static let syntax = CommandSyntax(
        name: "demo", summary: "serves a flow and calls it on this machine, and shows the ladder of messages",
        options: [
            CommandOption("--server", "FLOW", "the flow that answers (default: flows/reception.yaml)"),
            CommandOption("--caller", "FLOW", "the flow that calls (default: flows/caller.yaml)"),
            CommandOption("--recordings", "FOLDER", "where the recordings go (default: run/demo)"),
            .json
        ],
        examples: [("demo", "a caller and a reception talk over SIP and RTP on loopback")])

    package var server: String
    package var caller: String
    package var recordings: String
    package var json: Bool

    package init(_ arguments: CommandArguments) {
        server = arguments.value("--server") ?? "flows/reception.yaml"
        caller = arguments.value("--caller") ?? "flows/caller.yaml"
        recordings = arguments.value("--recordings") ?? "run/demo"
        json = arguments.wantsJSON
    }
}

package struct DoctorOptions: Equatable, Sendable {
    package static let syntax = CommandSyntax(
        name: "doctor", summary: "looks at this machine: what would go wrong, and the mend", arguments: "[FLOW…]",
        count: 0...10_000,
        options: CommandOption.configuration + [.json],
        examples: [("doctor --config ringwright.yaml", "checks ports, limits, clock, names and prompts for that configuration")])

    /// Flows whose prompts are looked at, besides those of the configuration's routes.
    package var flows: [String]
    package var configuration: ConfigurationOptions
    package var json: Bool

    package init(_ arguments: CommandArguments) throws(CommandFailure) {
        flows = arguments.arguments
        configuration = try ConfigurationOptions(arguments)
        json = arguments.wantsJSON
    }
}
