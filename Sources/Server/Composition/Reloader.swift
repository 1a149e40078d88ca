// Reloads while a server runs: flows when their files change, the configuration as well when it is asked to (SIGHUP). What cannot be
// used is refused, and the server goes on with what it has. Files are looked at and read by a worker, never on a loop.
//
// A file is read when two looks at it saw the same state, so that one which an editor is still writing is left alone. Prompts need
// nothing of this: their cache looks at its files itself.

import Audio
import Basics
import FlowEngine
package import Reactor

/// Belongs to a loop, which is none of the calls'.
package final class Reloader {
    /// Between two looks at the files.
    package static let usualInterval = Duration.milliseconds(500)
    /// Files that were refused are tried again after so many looks: a prompt that was missing may have come.
    private static let looksBetweenTries = 10

    private let options: ServeOptions
    private let sources: ConfigurationSources
    private let loop: EventLoop
    private let workers: WorkerPool
    private let log: Log
    private let interval: Duration
    private let apply: (ServerRules) -> Void
    private var rules: ServerRules
    private var task: LoopTask?
    private var wantsConfiguration = false
    /// What the last look saw, when that was new.
    private var changing: [String: FileStamp]?
    /// What was refused: the state of the files, and why.
    private var refused: (stamps: [String: FileStamp], why: CommandFailure, looks: Int)?

    /// - Parameters:
    ///   - options: as at the start: where the configuration is, and what the command line sets over it.
    ///   - rules: those at work.
    ///   - workers: has threads for files.
    ///   - apply: gets rules that can be used; on `loop`.
    package init(
        _ options: ServeOptions, rules: ServerRules, loop: EventLoop, workers: WorkerPool, log: Log,
        interval: Duration = usualInterval, sources: ConfigurationSources = .process, apply: @escaping (ServerRules) -> Void
    ) {
        self.options = options
        self.rules = rules
        self.loop = loop
        self.workers = workers
        self.log = log
        self.interval = interval
        self.sources = sources
        self.apply = apply
    }

    /// Begins to look, and holds itself until `stop`.
    package func start() {
        precondition(task == nil, "a reloader is started once")
        task = loop.spawn { await self.run() }
    }

    package func stop() { task?.cancel() }

    /// Reads configuration and flows at the next look, whether they changed or not.
    package func reloadConfiguration() { wantsConfiguration = true }

    private func run() async {
        do {
            while true {
                try await loop.sleep(for: interval)
                if wantsConfiguration {
                    wantsConfiguration = false
                    try await takeConfiguration()
                } else {
                    try await look()
                }
            }
        } catch {
            // Cancelled, or the workers are gone: the server ends.
        }
    }

    // MARK: Flows

    private func look() async throws {
        let files = rules.flows.files
        let stamps = try await workers.run(on: loop) { FlowTable.stamps(of: files) }
        if stamps == rules.flows.stamps {
            changing = nil
            refused = nil
        } else if refused?.stamps == stamps {
            refused?.looks += 1
            if let refused, refused.looks % Self.looksBetweenTries == 0 { try await takeFlows(stamps) }
        } else if changing == stamps {
            changing = nil
            try await takeFlows(stamps)
        } else {
            changing = stamps
        }
    }

    private func takeFlows(_ stamps: [String: FileStamp]) async throws {
        let configuration = rules.configuration
        let flow = options.flow
        switch try await workers.run(
            on: loop, { Self.result { () throws(CommandFailure) in try FlowTable(configuration, flow: flow) } })
        {
        case .success(let table):
            refused = nil
            let names = changedFiles(to: table)
            use(ServerRules(configuration, flows: table, tls: rules.tls), warnings: table.warnings)
            log.add(LogLine(.info, "flows reloaded", fields: [("files", names.joined(separator: ", "))]))
        case .failure(let failure):
            if refused?.why != failure { complain("the changed flows are refused, the old ones stay", failure) }
            refused = (stamps, failure, 0)
        }
    }

    private func changedFiles(to table: FlowTable) -> [String] {
        table.files.filter { table.stamps[$0] != rules.flows.stamps[$0] }
    }

    // MARK: The configuration

    private func takeConfiguration() async throws {
        let options = options
        let sources = sources
        let loaded = try await workers.run(on: loop) {
            Self.result { () throws(CommandFailure) in try options.loadRules(sources: sources) }
        }
        switch loaded {
        case .success((let new, let warnings)):
            refused = nil
            changing = nil
            let change = ConfigurationChange(from: rules.configuration, to: new.configuration)
            let files = changedFiles(to: new.flows)
            let configuration = new.configuration.keepingWhatNeedsARestart(of: rules.configuration)
            let lines = Self.lines(of: change, hasNewCertificate: hasNewCertificate(new.tls), and: files)
            // Said while the level that shows more applies: a new one may hide it.
            let isQuieter = configuration.log.level > rules.configuration.log.level
            if isQuieter { lines.forEach { log.add($0) } }
            use(ServerRules(configuration, flows: new.flows, tls: new.tls), warnings: warnings)
            if !isQuieter { lines.forEach { log.add($0) } }
            if let warning = new.certificateWarning { log.add(LogLine(.warning, warning)) }
        case .failure(let failure):
            complain("the new configuration is refused, the old one stays", failure)
        }
    }

    /// The files of a certificate may change while their names in the configuration stay.
    private func hasNewCertificate(_ new: TLSContext?) -> Bool {
        guard let new, let old = rules.tls else { return false }
        return !new.hasSameCertificate(as: old)
    }

    /// What a reload that was taken says.
    private static func lines(
        of change: ConfigurationChange, hasNewCertificate: Bool, and files: [String]
    ) -> [LogLine] {
        var words = change.applied
        if hasNewCertificate { words.append("the certificate of sip.tls") }
        if !files.isEmpty { words.append("flows (\(files.joined(separator: ", ")))") }
        let changed = words.isEmpty ? "nothing" : words.joined(separator: ", ")
        var lines = [LogLine(.info, "configuration reloaded", fields: [("changed", changed)])]
        if !change.atRestart.isEmpty {
            lines.append(
                LogLine(
                    .warning, "changes that need a restart are not applied",
                    fields: [("changed", change.atRestart.joined(separator: ", "))]))
        }
        return lines
    }

    private func use(_ new: ServerRules, warnings: [Diagnostic]) {
        rules = new
        apply(new)
        for warning in warnings { log.add(LogLine(.warning, "\(warning)")) }
    }

    /// One line of the log for each mistake.
    private func complain(_ what: String, _ failure: CommandFailure) {
        log.add(LogLine(.error, what))
        for line in failure.description.split(separator: "\n") { log.add(LogLine(.error, String(line))) }
    }

    private static func result<Value>(_ body: () throws(CommandFailure) -> Value) -> Result<Value, CommandFailure> {
        do throws(CommandFailure) { return .success(try body()) } catch { return .failure(error) }
    }
}
