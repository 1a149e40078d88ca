// `ringwright serve`: answers calls.

import Basics

package struct ServeOptions: Equatable, Sendable {
    package static let syntax = CommandSyntax(
        name: "serve", summary: "answers calls with a flow, or with the flows that the configuration routes to",
        arguments: "[FLOW]", count: 0...1,
        options: CommandOption.configuration + [
            CommandOption(
                "--sip", "udp:ADDRESS:PORT", repeatable: true,
                "listens here instead of on port 5060; also tcp:, tls:, ws: and wss:"),
            CommandOption("--rtp", "LOW-HIGH", "the ports for media (default: 20000-29999)"),
            CommandOption("--http", "ADDRESS:PORT", "health and metrics (default: 127.0.0.1:8080; off for none)"),
            CommandOption("--max-calls", "N", "calls at a time (default: 5000)"),
            CommandOption("--trace", "FOLDER", "writes messages, media and a ladder of each call into this folder"),
            CommandOption(
                "--report", "FOLDER", "counts its calls as load does: report.html, summary.json and the intervals in this folder"),
            .json
        ],
        examples: [
            ("serve flows/reception.yaml", "answers every call to port 5060 of this machine with the reception"),
            (
                "serve flows/echo.yaml --sip udp:127.0.0.1:5070 --max-calls 10",
                "answers on loopback only, ten calls at a time"
            ),
            ("serve flows/echo.yaml --report run/far-end", "as the far end of a measurement: its half of the figures at the end")
        ])

    /// The flow for calls that no route of the configuration takes; nil: those are refused with 404.
    package var flow: String?
    /// The folder of its half of a measurement; nil: its calls are not counted.
    package var report: String?
    /// What it counted is printed as JSON.
    package var json: Bool
    package var configuration: ConfigurationOptions

    package init(_ arguments: CommandArguments) throws(CommandFailure) {
        flow = arguments.arguments.first
        report = arguments.value("--report")
        json = arguments.wantsJSON
        if json, report == nil {
            throw CommandFailure(.wrong, "--json prints what --report counts", mend: "name its folder: --report run/far-end")
        }
        configuration = try ConfigurationOptions(arguments)
        let listeners = arguments.all("--sip")
        if !listeners.isEmpty {
            // As a list in YAML: the reader of the file checks them, and its messages name the option.
            let quoted = listeners.map { "\"\($0.replacing("\"", with: ""))\"" }.joined(separator: ", ")
            configuration.overrides.append(.init(path: ["sip", "listen"], value: "[\(quoted)]", origin: "--sip"))
        }
        for (option, path) in [("--rtp", ["rtp", "ports"]), ("--http", ["control", "listen"]), ("--trace", ["trace", "folder"])] {
            guard let value = arguments.value(option) else { continue }
            configuration.overrides.append(
                .init(path: path, value: "\"\(value.replacing("\"", with: ""))\"", origin: option))
        }
        if let calls = try arguments.integer("--max-calls", in: 1...1_000_000) {
            configuration.overrides.append(.init(path: ["limits", "calls"], value: String(calls), origin: "--max-calls"))
        }
    }
}
