// `ringwright campaign`: places the calls of a list.

package import Basics
package import Dialer
package import FlowEngine
import Foundation
package import Store

package struct CampaignOptions: Sendable {
    package static let syntax = CommandSyntax(
        name: "campaign", summary: "places the calls of a list, with a verdict for each and reports", arguments: "[FILE]",
        count: 0...1,
        options: CommandOption.configuration + [
            .line,
            CommandOption("--list", "FILE", "without a campaign's file: a CSV file with a header row, or JSON lines (.jsonl)"),
            CommandOption("--flow", "FLOW", "with --list: what each call does; its expectations decide"),
            CommandOption("--to", "TARGET", "with --list: whom a row stands for, such as 'sip:${target.number}@host'"),
            CommandOption("--concurrency", "N", "calls at a time (default: 10)"),
            CommandOption("--rate", "N", "calls a second, at most"),
            CommandOption("--report", "FOLDER", "reports and the campaign's database (default: run/NAME)"),
            CommandOption("--resume", nil, "goes on with the campaign of that folder, or of --workers"),
            CommandOption("--name", "NAME", "what the campaign is called (default: as its file says, or its file's name)"),
            CommandOption("--record", nil, "records each call; the report plays those that did not pass"),
            CommandOption("--http", "ADDRESS:PORT", "metrics for Prometheus while it runs"),
            .workers,
            .lease,
            CommandOption("--loops", "N", "threads for calls (default: one a processor)"),
            .json
        ],
        examples: [
            ("campaign nightly.yaml --report run/nightly", "calls every number of the list that nightly.yaml names"),
            (
                "campaign --list numbers.csv --flow flows/caller.yaml --to 'sip:${target.number}@127.0.0.1:5060' --concurrency 20 --rate 5",
                "the same without a file"
            ),
            (
                "campaign nightly.yaml --name nightly-1 --workers postgresql://dialer@db.example.com/calls",
                "the same on several machines: they share the rows, the rate and the places"
            )
        ])

    package var file: String?
    package var configuration: ConfigurationOptions
    package var line: String?
    package var list: String?
    package var flow: String?
    package var to: String?
    package var concurrency: Int?
    package var rate: Double?
    package var report: String?
    package var resume: Bool
    package var loops: Int?
    package var json: Bool
    package var records: Bool
    /// Where metrics are; nil: nowhere.
    package var http: SocketAddress?
    package var name: String?
    /// The database that several workers share; nil: this process is alone.
    package var workers: PostgreSQLAddress?
    package var lease: Duration

    package init(_ arguments: CommandArguments, sources: ConfigurationSources = .process) throws(CommandFailure) {
        file = arguments.arguments.first
        configuration = try ConfigurationOptions(arguments)
        line = arguments.value("--line")
        list = arguments.value("--list")
        flow = arguments.value("--flow")
        to = arguments.value("--to")
        concurrency = try arguments.integer("--concurrency", in: 1...100_000)
        report = arguments.value("--report")
        resume = arguments.has("--resume")
        loops = try arguments.integer("--loops", in: 1...256)
        json = arguments.wantsJSON
        rate = try arguments.rate("--rate")
        name = arguments.value("--name")
        if name == "" { throw CommandFailure(.wrong, "--name is empty") }
        records = arguments.has("--record")
        http = try arguments.address("--http")
        workers = try arguments.workers(sources)
        lease = try arguments.lease()
        if file != nil {
            for option in ["--list", "--flow", "--to"] where arguments.has(option) {
                throw CommandFailure(.wrong, "\(option) stands in the campaign's file", mend: "leave the option out, or the file")
            }
        } else {
            for option in ["--list", "--flow", "--to"] where !arguments.has(option) {
                throw CommandFailure(
                    .wrong, "campaign needs a file, or --list, --flow and --to",
                    mend: "ringwright campaign --help shows an example")
            }
        }
    }

    /// What is to be done; mistakes of the file end the command, warnings are returned.
    package func plan() throws(CommandFailure) -> (plan: CampaignPlan, warnings: [Diagnostic]) {
        var (plan, warnings) = try filePlan()
        if let name { plan.name = name }
        if let line { plan.line = line }
        if let concurrency { plan.concurrency = concurrency }
        if let rate { plan.rate = rate }
        return (plan, warnings)
    }

    private func filePlan() throws(CommandFailure) -> (plan: CampaignPlan, warnings: [Diagnostic]) {
        if let file {
            let result = CampaignReader.read(path: file)
            guard let plan = result.plan else {
                let errors = result.diagnostics.filter { $0.severity == .error }.map(\.description)
                throw CommandFailure(.wrong, "the campaign cannot be used:\n" + errors.joined(separator: "\n"))
            }
            return (plan, result.diagnostics)
        }
        guard let list, let flow, let to else { throw CommandFailure(.wrong, "campaign needs --list, --flow and --to") }
        var mistake: String?
        guard let template = CampaignReader.template(to, problem: { mistake = mistake ?? $0 }), mistake == nil else {
            throw CommandFailure(.wrong, "--to: \(mistake ?? "")", mend: "write 'sip:${target.number}@host' in single quotes")
        }
        return (CampaignPlan(name: CampaignPlan.name(of: list), list: .file(list), flow: flow, to: template, concurrency: 10), [])
    }
}
