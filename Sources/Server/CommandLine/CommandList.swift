// The subcommands, and which of them a command line means.

import FlowEngine

package enum CommandList {
    /// All that this version has, in the order of the help.
    package static let all: [CommandSyntax] = [
        ServeOptions.syntax, CallOptions.syntax, CampaignOptions.syntax, LoadOptions.syntax, sipp, CheckOptions.syntax,
        TestOptions.syntax, DemoOptions.syntax,
        DoctorOptions.syntax
    ]

    /// Takes SIPp's own arguments, which SIPpRunner reads.
    static let sipp = CommandSyntax(
        name: "sipp", summary: "runs SIPp's XML scenario files, with SIPp's arguments and exit codes", arguments: "[HOST:PORT]",
        count: 0...1, options: [],
        examples: [("sipp -sn uas", "answers calls on port 5060; ringwright sipp -h lists SIPp's options")])

    /// Commands of later versions: refused by name.
    static let later = ["new", "graph", "schema", "calls"]

    package static var help: String {
        let width = all.map(\.name.count).max() ?? 0
        let lines = all.map { syntax in
            "  \(syntax.name)\(String(repeating: " ", count: width - syntax.name.count))  \(syntax.summary)"
        }
        return """
            usage: ringwright COMMAND [options]

            Answers and places telephone calls (SIP and RTP) as small YAML files, the flows, describe them.

            commands:
            \(lines.joined(separator: "\n"))

            Each has --help with an example; --version alone tells the program's. Exit status: 0 all passed; 1 a call, an
            expectation or a flow test failed; 2 the command, a file or a flow is wrong; 3 this machine cannot do it.

            example:
              ringwright serve flows/reception.yaml
                  answers calls on port 5060 of this machine

            """
    }

    package enum Choice: Equatable, Sendable {
        /// Print this and end with 0.
        case help(String)
        /// Print the program's name and version and end with 0.
        case version
        case run(CommandArguments)
    }

    /// Reads a whole command line, without the program's name.
    package static func choose(_ words: [String]) throws(CommandFailure) -> Choice {
        guard let word = words.first else {
            throw CommandFailure(.wrong, "a command is missing", mend: "ringwright --help lists them")
        }
        if ["--help", "-h", "help"].contains(word) {
            guard words.count == 2, word == "help" else { return .help(help) }
            return .help(try syntax(named: words[1]).help)
        }
        if word == "--version" {
            guard words.count == 1 else { throw CommandFailure(.wrong, "--version stands alone") }
            return .version
        }
        let syntax = try syntax(named: word)
        // SIPp's command line is its own.
        if syntax == sipp, !words.contains("--help") {
            var taken = CommandArguments(command: word)
            taken.arguments = Array(words.dropFirst())
            return .run(taken)
        }
        let arguments = try syntax.parse(Array(words.dropFirst()))
        return arguments.wantsHelp ? .help(syntax.help) : .run(arguments)
    }

    private static func syntax(named word: String) throws(CommandFailure) -> CommandSyntax {
        if let syntax = all.first(where: { $0.name == word }) { return syntax }
        if later.contains(word) { throw CommandFailure(.wrong, "the command \(word) is not built yet") }
        let near = NearestWord.find(word, in: all.map(\.name))
        throw CommandFailure(
            .wrong, "there is no command \(word)", mend: near.map { "did you mean \($0)?" } ?? "ringwright --help lists them")
    }
}
