// `ringwright load`: drives a SIP connection at a rate.

package import Basics
import CallEngine
package import Dialer
import FlowEngine
import Foundation
package import Store

package struct LoadOptions: Sendable {
    package static let syntax = CommandSyntax(
        name: "load", summary: "drives a SIP connection at a rate, and tells what came back", arguments: "TARGET", count: 1...1,
        options: CommandOption.configuration + [
            .line,
            CommandOption("--rate", "N", "calls a second, such as 100 or 0.5"),
            CommandOption("--ramp", "FROM..TO/TIME", "from one rate evenly to another, such as 10..500/30s"),
            CommandOption("--steps", "RATE/TIME,…", "one rate after the other, such as 50/10s,100/10s,200/1m"),
            CommandOption(
                "--users", "N", "so many callers, each of whom calls again and again (--rate: how many come in a second)"),
            CommandOption("--arrivals", "FILE", "a CSV file: calls begin at the seconds in its column `time`, or its first one"),
            CommandOption("--speed", "FACTOR", "plays --arrivals so many times faster (default: 1)"),
            CommandOption("--poisson", nil, "calls come at random around the rate, as independent callers do"),
            CommandOption("--calls", "N", "ends after so many calls"),
            CommandOption("--duration", "TIME", "for how long calls begin, such as 60s"),
            CommandOption("--concurrency", "N", "calls at a time, at most"),
            CommandOption(
                "--hold", "TIME",
                "how long calls last from the answer on: 10s (the default), exponential(10s), uniform(5s,15s), …"
            ),
            CommandOption("--pause", "TIME", "how long a user waits before the next call (default: 1s)"),
            CommandOption("--answer-timeout", "TIME", "how long an answer is waited for (default: 60s)"),
            CommandOption("--media", "none|play|echo", "what calls send: nothing (the default), audio, or what they hear"),
            CommandOption("--prompt", "FILE", "what --media play plays (default: a tone)"),
            CommandOption("--flow", "FLOW", "what each call does instead of being held"),
            CommandOption("--var", "NAME=VALUE", repeatable: true, "sets a variable of the flow"),
            CommandOption(
                "--answer", "FLOW",
                "is the far end as well: answers calls that come to `sip.listen` with this flow, as serve does"),
            CommandOption("--from", "URI", "who calls (default: the line's caller-id)"),
            CommandOption("--loops", "N", "threads for calls (default: one a processor)"),
            CommandOption("--seed", "N", "of chance; the same seed gives the same arrivals"),
            CommandOption("--find-limit", nil, "raises the rate from --rate on until the target breaks a rule, and closes in"),
            CommandOption("--max-failures", "SHARE", "with --find-limit: how many calls may fail (default: 1%)"),
            CommandOption("--max-answer", "TIME", "with --find-limit: how long the answers of 99 in 100 calls may take"),
            CommandOption("--min-mos", "N", "with --find-limit: what 19 of 20 calls have to score"),
            CommandOption(
                "--step-time", "TIME", "with --find-limit: how long each rate is tried (default: 10s, or twice --hold)"),
            CommandOption("--max-rate", "N", "with --find-limit: never tried beyond (default: 100000)"),
            CommandOption("--http", "ADDRESS:PORT", "metrics for Prometheus while it runs"),
            .workers,
            CommandOption("--worker-count", "N", "with --workers: how many there are; all begin when the last one is there"),
            CommandOption("--name", "NAME", "with --workers: what the run is called there; a new one for each run"),
            .lease,
            CommandOption("--report", "FOLDER", "writes report.html, summary.json and the figures by interval there"),
            .json
        ],
        examples: [
            ("load sip:100@127.0.0.1:5060 --rate 100 --duration 60s --hold 10s", "6000 calls of ten seconds, 1000 at a time"),
            (
                "load sip:100@127.0.0.1:5060 --ramp 10..500/30s --media play --report run/load --json",
                "raises the rate from 10 to 500 calls a second"
            ),
            (
                "load sip:100@127.0.0.1:5060 --rate 900 --duration 60s --workers postgresql://load@db.example.com/runs --worker-count 3 --name monday",
                "one of three machines that together make 900 calls a second"
            )
        ])

    package var target: String
    package var configuration: ConfigurationOptions
    package var line: String?
    package var source: LoadPlan.Source
    package var calls: Int?
    package var duration: Duration?
    package var concurrency: Int?
    package var hold: HoldTime
    package var answerTimeout: Duration
    package var media: String
    package var prompt: String?
    package var flow: String?
    package var vars: [(name: String, value: String)]
    /// The flow of the far end, when that is this process as well.
    package var answer: String?
    package var from: String?
    package var loops: Int?
    package var seed: UInt64
    package var report: String?
    package var json: Bool
    package var findsLimit: Bool
    package var rules = LimitRules()
    package var stepTime: Duration?
    package var maximumRate: Double
    /// Where metrics are; nil: nowhere.
    package var http: SocketAddress?
    /// The run is shared with others; nil: this process is alone.
    package var shared: SharedRun?

    /// Its calls send no audio.
    var isSilent: Bool { flow == nil && media == "none" }

    package struct SharedRun: Sendable {
        package var database: PostgreSQLAddress
        package var name: String
        package var workers: Int
        package var lease: Duration
    }

    package init(_ arguments: CommandArguments, sources: ConfigurationSources = .process) throws(CommandFailure) {
        target = arguments.arguments[0]
        configuration = try ConfigurationOptions(arguments)
        line = arguments.value("--line")
        try CallOptions.check(target: target, line: line)
        calls = try arguments.integer("--calls", in: 1...1_000_000_000)
        duration = try arguments.duration("--duration")
        concurrency = try arguments.integer("--concurrency", in: 1...1_000_000)
        answerTimeout = try arguments.duration("--answer-timeout") ?? .seconds(60)
        prompt = arguments.value("--prompt")
        flow = arguments.value("--flow")
        vars = try arguments.assignments("--var")
        answer = arguments.value("--answer")
        from = arguments.value("--from")
        loops = try arguments.integer("--loops", in: 1...256)
        seed = UInt64(try arguments.integer("--seed", in: 0...Int.max) ?? .random(in: 0...Int(UInt32.max)))
        report = arguments.value("--report")
        json = arguments.wantsJSON
        do throws(HoldTime.Problem) {
            hold = try HoldTime(arguments.value("--hold") ?? "10s")
        } catch {
            throw CommandFailure(.wrong, "--hold: \(error.message)")
        }
        media = arguments.value("--media") ?? (prompt == nil ? "none" : "play")
        guard ["none", "play", "echo"].contains(media) else {
            throw CommandFailure(.wrong, "--media is none, play or echo, not \"\(media)\"")
        }
        if prompt != nil, media != "play" { throw CommandFailure(.wrong, "--prompt is for --media play") }
        if flow != nil {
            for option in ["--media", "--prompt", "--hold", "--answer-timeout"] where arguments.has(option) {
                throw CommandFailure(.wrong, "\(option) and --flow exclude each other", mend: "the flow says what a call does")
            }
        } else if arguments.has("--var") {
            throw CommandFailure(.wrong, "--var sets a variable of a flow", mend: "name it by --flow")
        }
        source = try LoadSourceReader(arguments).source()
        findsLimit = arguments.has("--find-limit")
        maximumRate = try arguments.rate("--max-rate") ?? 100_000
        stepTime = try arguments.duration("--step-time")
        http = try arguments.address("--http")
        shared = try Self.shared(arguments, sources)
        try readRules(arguments)
        for (option, time) in [("--duration", duration), ("--step-time", stepTime)] where time == .zero {
            throw CommandFailure(.wrong, "\(option): the time is zero")
        }
        if findsLimit { return }
        if case .arrivals(.rate(let profile, _)) = source, duration == nil, calls == nil, arguments.has("--ramp") {
            // A ramp without a time of its own ends with the ramp.
            duration = .nanoseconds(Int64(profile.pieces[0].length * 1e9))
        }
        if !endsByItself {
            throw CommandFailure(.wrong, "the run would never end", mend: "say --duration 60s or --calls 1000")
        }
    }

    private static func shared(
        _ arguments: CommandArguments, _ sources: ConfigurationSources
    ) throws(CommandFailure) -> SharedRun? {
        guard let database = try arguments.workers(sources) else {
            for option in ["--worker-count", "--name", "--lease"] where arguments.has(option) {
                throw CommandFailure(.wrong, "\(option) is for --workers")
            }
            return nil
        }
        if arguments.has("--find-limit") { throw CommandFailure(.wrong, "--workers and --find-limit exclude each other") }
        guard let workers = try arguments.integer("--worker-count", in: 1...1000) else {
            throw CommandFailure(
                .wrong, "--workers needs --worker-count", mend: "say how many machines there are: --worker-count 3")
        }
        guard let name = arguments.value("--name"), !name.isEmpty else {
            throw CommandFailure(.wrong, "--workers needs --name", mend: "all workers of a run have the same: --name monday-1")
        }
        return SharedRun(database: database, name: name, workers: workers, lease: try arguments.lease())
    }

    /// What all workers of a run have in common, in words.
    package var plan: String {
        let calling =
            if case .arrivals(.times(let times)) = source { "\(times.count) arrivals until \(times.last ?? 0)" } else {
                "\(source)"
            }
        let parts: [(String, String?)] = [
            ("", calling), ("calls", calls.map(String.init)), ("duration", duration.map { FlowDuration.print($0) }),
            ("concurrency", concurrency.map(String.init)), ("hold", "\(hold)"), ("media", media),
            ("flow", flow.map { CampaignPlan.name(of: $0) }), ("lease", shared.map { FlowDuration.print($0.lease) })
        ]
        return parts.compactMap { name, value in value.map { name.isEmpty ? $0 : "\(name) \($0)" } }.joined(separator: ", ")
    }

    private mutating func readRules(_ arguments: CommandArguments) throws(CommandFailure) {
        guard findsLimit else {
            for option in ["--max-failures", "--max-answer", "--min-mos", "--step-time", "--max-rate"] where arguments.has(option)
            {
                throw CommandFailure(.wrong, "\(option) is for --find-limit")
            }
            return
        }
        guard case .arrivals(.rate(let profile, _)) = source, profile.pieces.count == 1 else {
            throw CommandFailure(.wrong, "--find-limit begins with --rate", mend: "write --rate 10 --find-limit")
        }
        for option in ["--calls", "--duration", "--concurrency"] where arguments.has(option) {
            throw CommandFailure(
                .wrong, "\(option) and --find-limit exclude each other", mend: "--step-time says how long a rate is tried")
        }
        if let text = arguments.value("--max-failures") {
            guard let share = Percent.share(text) else {
                throw CommandFailure(.wrong, "--max-failures is a share such as 1% or 0.5%, not \"\(text)\"")
            }
            rules.failures = share
        }
        rules.answer = try arguments.duration("--max-answer")?.milliseconds
        rules.score = try arguments.number("--min-mos", in: 1...4.5)
    }

    private var endsByItself: Bool {
        if calls != nil || duration != nil { return true }
        switch source {
        case .users: return false
        case .arrivals(.times): return true
        case .arrivals(.rate(let profile, _)): return profile.end.isFinite
        }
    }
}
