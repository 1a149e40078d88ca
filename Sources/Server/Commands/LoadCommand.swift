// `ringwright load`: many calls at a rate, and what came back.

import Basics
import CallEngine
package import Dialer
import FlowEngine
import Foundation
import Reactor
import Web

package enum LoadCommand {
    /// Runs it. `progress` gets a line a second, on some thread.
    /// - Parameter screen: shows the run in place of those lines.
    package static func run(
        _ options: LoadOptions, version: String = "", stops: StopRequests, keys: KeyPresses = KeyPresses(),
        screen: LoadScreen? = nil, progress: @escaping @Sendable (String) -> Void
    ) async throws(CommandFailure) -> CommandOutcome {
        let (configuration, warnings) = try options.configuration.load()
        for warning in warnings { progress(warning.description) }
        if let line = options.line { _ = try configuration.line(chosen: line) }
        let client = HTTPClient()
        let supplier = try PromptSupplier.forCommand(configuration, client: client, onTrouble: progress)
        defer {
            client.stopAndWait()
            supplier.stop()
        }
        let plan = try plan(options, configuration, client)
        if let folder = options.report { try OutputFolder.make(folder) }
        _ = try? DescriptorLimit.raise()
        var wide = configuration
        if configuration.rtp.ports == Configuration.RTP().ports { wide.rtp.ports = 10_000...31_999 }
        let parted = options.answer == nil ? (callers: wide, parties: wide) : try wide.parted()
        let calling = try CallingEngine(
            parted.callers, settings(options, parted.callers),
            loopCount: options.loops ?? ProcessInfo.processInfo.activeProcessorCount, supply: supplier)
        defer { calling.close() }
        let control = try ControlLoop.started("control")
        defer { control.stop(within: .seconds(1)) }
        var metrics: RunMetrics?
        if let address = options.http {
            let page = try RunMetrics(at: address, on: control, version: version, calling)
            progress("metrics on http://\(page.address)/metrics")
            metrics = page
        }
        defer { metrics?.close() }
        let farEnd = try options.answer.map { flow throws(CommandFailure) in
            try AnsweringHalf(flow, options, parted.parties, version, progress)
        }
        defer { farEnd?.close() }
        let stage = LoadStage(
            calling: calling, control: control, metrics: metrics, farEnd: farEnd?.server, stops: stops, keys: keys,
            screen: screen,
            progress: progress)
        if options.findsLimit { return try await findLimit(options, plan, stage) }
        let report: LoadReport
        if let shared = options.shared {
            report = try await stage.run(plan, options.plan, among: shared)
        } else {
            report = await stage.run(plan)
        }
        if let folder = options.report {
            try LoadFiles.write(report, page: report.page(title: "Load on \(options.target)"), into: folder)
        }
        return CommandOutcome(
            lines: [options.json ? report.json.text : report.summary], note: options.json ? notes(report) : "",
            status: status(of: report))
    }

    /// Runs at one rate after the other until the limit is known.
    private static func findLimit(
        _ options: LoadOptions, _ plan: LoadPlan, _ stage: LoadStage
    ) async throws(CommandFailure) -> CommandOutcome {
        guard case .arrivals(.rate(let profile, let poisson)) = plan.source else {
            preconditionFailure("the options were checked")
        }
        var search = LimitSearch(first: profile.peak, most: options.maximumRate)
        var usual = Duration.seconds(10)
        if case .fixed(let milliseconds) = plan.hold { usual = max(usual, .milliseconds(Int64(milliseconds * 2))) }
        var last: LoadReport?
        while search.outcome == nil {
            var step = plan
            step.source = .arrivals(.rate(.constant(search.rate), poisson: poisson))
            step.duration = options.stepTime ?? usual
            let report = await stage.run(step)
            last = report
            search.add(
                .init(rate: search.rate, report.statistics, rules: options.rules), isSpoiled: !report.health.limitsHit.isEmpty,
                wasCut: report.wasCut)
        }
        if let folder = options.report, let last {
            try LoadFiles.write(
                last, page: search.page(title: "The limit of \(options.target)", last: last), into: folder)
            try LoadFiles.write(search.json.text + "\n", to: "\(folder)/limit.json")
        }
        let status: ExitStatus =
            switch search.outcome {
            case .found, .notReached: .passed
            case .ownLimit: .unable
            case .belowFirst, .cut, nil: .failed
            }
        let note = last.map(notes) ?? ""
        return CommandOutcome(lines: [options.json ? search.json.text : search.summary], note: note, status: status)
    }

    /// A run that this machine spoiled says nothing about the target; one that was cut short is no success.
    static func status(of report: LoadReport) -> ExitStatus {
        let halves = [report] + report.farEnd
        if halves.contains(where: { !$0.health.limitsHit.isEmpty }) { return .unable }
        let isWell = !report.wasCut && halves.allSatisfy { $0.statistics.failed == 0 && $0.statistics.placed > 0 }
        return isWell ? .passed : .failed
    }

    private static func notes(_ report: LoadReport) -> String {
        ([report] + report.farEnd).flatMap(\.health.limitsHit).map {
            "ringwright: not valid: this machine reached its own limit (\($0.rawValue)); \($0.mend)"
        }.joined(separator: "\n")
    }

    /// What the other half of a measurement says at its end. It judges nobody: only what it spoiled itself is no success.
    package static func outcome(ofFarEnd report: LoadReport, json: Bool) -> CommandOutcome {
        CommandOutcome(
            lines: [json ? report.json.text : report.summary], note: json ? notes(report) : "",
            status: report.health.limitsHit.isEmpty ? .passed : .unable)
    }

    private static func settings(_ options: LoadOptions, _ configuration: Configuration) -> EngineSettings {
        var settings = configuration.engineSettings
        settings.listeners = CallingEngine.anywhere
        settings.opensWebSockets = options.target.lowercased().contains("transport=ws")
        settings.limits.calls = 10_000_000
        if options.isSilent {
            settings.sendsSilence = false
            settings.rtpTimeout = .zero
        }
        return settings
    }

    private static func plan(
        _ options: LoadOptions, _ configuration: Configuration, _ client: HTTPClient
    ) throws(CommandFailure) -> LoadPlan {
        var plan = LoadPlan(
            request: CallRequest(target: options.target, line: options.line, from: options.from), source: options.source)
        plan.calls = options.calls
        plan.duration = options.duration
        plan.concurrency = options.concurrency
        plan.hold = options.hold
        plan.answerTimeout = options.answerTimeout
        plan.seed = options.seed
        plan.score = { VoiceQuality.meanOpinionScore(of: $0, codec: $1) }
        switch options.media {
        case "play": plan.media = .play(try sound(options.prompt))
        case "echo": plan.media = .echo
        default: plan.media = .none
        }
        if let file = options.flow {
            plan.flow = try FlowFiles.outbound(file, configuration, arguments: Set(options.vars.map(\.name)))
            let arguments = Dictionary(options.vars.map { ($0.name, Value.string($0.value)) }, uniquingKeysWith: { $1 })
            plan.environment = { configuration.flowEnvironment(arguments: arguments, requester: FlowRequester(client: client)) }
        }
        return plan
    }

    private static func sound(_ prompt: String?) throws(CommandFailure) -> AudioSource {
        guard let prompt else { return .tone(frequencies: [440], cadence: []) }
        let path = prompt.hasPrefix("/") ? prompt : FileManager.default.currentDirectoryPath + "/" + prompt
        switch AudioPromptInspector().inspect(path: path) {
        case .playable: return .file(path: path)
        case .missing: throw CommandFailure(.wrong, "--prompt: there is no file \(prompt)")
        case .unreadable(let why): throw CommandFailure(.wrong, "--prompt: \(prompt): \(why)")
        }
    }
}
