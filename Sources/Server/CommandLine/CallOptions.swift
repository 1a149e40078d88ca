// `ringwright call`: places one call and prints its result.

package struct CallOptions: Equatable, Sendable {
    package static let syntax = CommandSyntax(
        name: "call", summary: "places one call, shows it live and prints its result", arguments: "TARGET", count: 1...1,
        options: CommandOption.configuration + [
            .line,
            CommandOption(
                "--flow", "FLOW", "what this side does; its expectations decide the result (default: listens until the end)"),
            CommandOption("--from", "URI", "who calls (default: the line's caller-id)"),
            CommandOption("--var", "NAME=VALUE", repeatable: true, "sets a variable of the flow"),
            CommandOption("--duration", "TIME", "hangs up after this time from the answer on, such as 10s"),
            CommandOption("--trace", "FOLDER", "writes messages, media and a ladder of the call into this folder"),
            CommandOption("--record", "FOLDER", "records both sides into this folder, stereo"),
            .json
        ],
        examples: [
            (
                "call sip:100@127.0.0.1:5060 --flow flows/caller.yaml",
                "calls a server on this machine and does what the flow says"
            ),
            ("call +15550123 --line carrier --duration 10s --json", "calls a number through a trunk of ringwright.yaml")
        ])

    /// A SIP URI, or with a line a number too.
    package var target: String
    package var configuration: ConfigurationOptions
    package var line: String?
    package var flow: String?
    package var from: String?
    /// In the order given; all values are text.
    package var vars: [(name: String, value: String)]
    /// From the answer on.
    package var duration: Duration?
    package var trace: String?
    package var record: String?
    package var json: Bool

    package init(_ arguments: CommandArguments) throws(CommandFailure) {
        target = arguments.arguments[0]
        configuration = try ConfigurationOptions(arguments)
        line = arguments.value("--line")
        flow = arguments.value("--flow")
        from = arguments.value("--from")
        vars = try arguments.assignments("--var")
        duration = try arguments.duration("--duration")
        trace = arguments.value("--trace")
        record = arguments.value("--record")
        json = arguments.wantsJSON
        try Self.check(target: target, line: line)
    }

    /// Without a line only a SIP address can be called.
    static func check(target: String, line: String?) throws(CommandFailure) {
        if line == nil, !target.lowercased().hasPrefix("sip:"), !target.lowercased().hasPrefix("sips:") {
            throw CommandFailure(
                .wrong, "\"\(target)\" is no SIP address", mend: "write sip:100@host:5060, or name a --line for a number")
        }
    }

    package static func == (left: CallOptions, right: CallOptions) -> Bool {
        left.target == right.target && left.configuration == right.configuration && left.line == right.line
            && left.flow == right.flow && left.from == right.from && left.vars.elementsEqual(right.vars, by: ==)
            && left.duration == right.duration && left.trace == right.trace && left.record == right.record
            && left.json == right.json
    }
}
