// `ringwright check` and `ringwright test`: work on flows and configurations without a call.

package struct CheckOptions: Equatable, Sendable {
    package static let syntax = CommandSyntax(
        name: "check", summary: "finds mistakes in flows, campaigns and configurations", arguments: "FILE…", count: 1...10_000,
        options: [.json],
        examples: [
            ("check flows/*.yaml", "names every mistake with file, line, column and the mend")
        ])

    package var files: [String]
    package var json: Bool

    package init(_ arguments: CommandArguments) {
        files = arguments.arguments
        json = arguments.wantsJSON
    }
}

package struct TestOptions: Equatable, Sendable {
    package static let syntax = CommandSyntax(
        name: "test", summary: "runs the cases of flows without a network, in virtual time", arguments: "FLOW…",
        count: 1...10_000,
        options: [.json],
        examples: [("test flows/*.yaml", "runs the cases of all flows; status 1 when one fails")])

    package var flows: [String]
    package var json: Bool

    package init(_ arguments: CommandArguments) {
        flows = arguments.arguments
        json = arguments.wantsJSON
    }
}
