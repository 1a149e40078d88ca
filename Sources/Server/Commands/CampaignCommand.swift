// `ringwright campaign`: the calls of a list, kept in a database so that none is lost and none is made twice.

import Basics
import CallEngine
import Dialer
import FlowEngine
import Foundation
import Reactor
import Store

package enum CampaignCommand {
    /// Runs it to its end, or until it is asked to stop. `progress` gets a line a second, on some thread.
    package static func run(
        _ options: CampaignOptions, stops: StopRequests, progress: @escaping @Sendable (String) -> Void
    ) async throws(CommandFailure) -> CommandOutcome {
        let (plan, planWarnings) = try options.plan()
        let (configuration, warnings) = try options.configuration.load()
        for warning in planWarnings + warnings { progress(warning.description) }
        if let line = plan.line { _ = try configuration.line(chosen: line) }
        let flow = try FlowFiles.outbound(plan.flow, configuration, arguments: Set(plan.vars.map(\.name)))
        let folder = options.report ?? "run/\(plan.name)"
        let (database, lock) = try open(folder, plan, resume: options.resume)
        defer {
            database.close()
            lock.release()
        }
        let (inTheAir, before) = try prepare(database, plan, flow)
        if inTheAir > 0 { progress("\(inTheAir) calls were in the air when the campaign was killed: they are not made again") }
        _ = try? DescriptorLimit.raise()
        let ladders = CallLadders(capacity: plan.concurrency * 4 + 1000)
        let party = try CallingParty(
            configuration, listen: CallingEngine.anywhere,
            loopCount: options.loops ?? ProcessInfo.processInfo.activeProcessorCount, webSockets: true,
            calls: 1_000_000, trace: { ladders.add($0) })
        defer { party.close() }
        let control = try ControlLoop.started("campaign")
        defer { control.stop(within: .seconds(1)) }
        let (problem, figures) = await CampaignDialer(plan, flow, party, ladders, database, control).run(
            stops, before: before, progress)
        if let problem { throw failure(problem) }
        let wasCut = stops.count > 0
        let wasStopped = figures.wasStopped
        let summary: CampaignSummary
        do throws(StoreError) {
            summary = try database.performAndWait { connection throws(StoreError) in
                try CampaignReport.write(plan.name, into: folder, wasStopped: wasStopped, wasCut: wasCut, connection)
            }
        } catch {
            throw CommandFailure(.unable, "the reports: \(error)")
        }
        return CommandOutcome(
            lines: [options.json ? summary.json.text : summary.text], note: "reports: \(folder)/\(CampaignReport.files[0])",
            status: summary.isPassed ? .passed : .failed)
    }

    static func failure(_ problem: CampaignProblem) -> CommandFailure {
        CommandFailure(problem.isOfMachine ? .unable : .wrong, problem.message)
    }

    /// The campaign's database in its folder: a new one, or with `resume` the one that is there.
    /// One process works on it at a time: what is in the air there would look as if it had been killed.
    private static func open(
        _ folder: String, _ plan: CampaignPlan, resume: Bool
    ) throws(CommandFailure) -> (database: Database, lock: FileLock) {
        let path = "\(folder)/campaign.db"
        let exists = FileManager.default.fileExists(atPath: path)
        if exists, !resume {
            throw CommandFailure(
                .wrong, "\(folder) has a campaign already", mend: "--resume goes on with it, or choose another --report folder")
        }
        if !exists, resume {
            throw CommandFailure(.wrong, "there is no campaign in \(folder) to go on with", mend: "leave --resume out")
        }
        try OutputFolder.make(folder)
        let lock = try lock(folder)
        do throws(StoreError) {
            return (try Database(sqlite: path, migrations: CampaignStore.migrations), lock)
        } catch {
            throw failure(CampaignProblem(store: error))
        }
    }

    private static func lock(_ folder: String) throws(CommandFailure) -> FileLock {
        do throws(SystemError) {
            if let lock = try FileLock.take("\(folder)/campaign.lock") { return lock }
        } catch {
            throw CommandFailure(.unable, "\(error)")
        }
        throw CommandFailure(
            .wrong, "another process runs the campaign in \(folder)", mend: "wait for its end, or choose another --report folder")
    }

    /// Takes the list in and puts in order what a killed process left; how many calls that one had in the air, and what is there now.
    private static func prepare(
        _ database: Database, _ plan: CampaignPlan, _ flow: Flow
    ) throws(CommandFailure) -> (inTheAir: Int, before: CampaignStore.Counts) {
        let wall = Date().timeIntervalSince1970
        do throws(CampaignProblem) {
            let known = try CampaignStore.storing(database) { connection throws(StoreError) in
                try CampaignStore.begin(list: plan.list, connection)
            }
            guard known == plan.list else {
                throw CampaignProblem("the campaign in that folder has the list \(known), not \(plan.list)")
            }
            _ = try CampaignStore.importList(plan.list, into: database)
            return try CampaignStore.storing(database) { connection throws(StoreError) in
                (
                    try CampaignStore.recover(flow: flow.name, at: wall, connection), try CampaignStore.counts(connection)
                )
            }
        } catch {
            throw failure(error)
        }
    }
}

/// Loops besides those of calls.
enum ControlLoop {
    static func started(_ name: String) throws(CommandFailure) -> EpollLoop {
        do throws(SystemError) {
            let loop = try EpollLoop(name: name)
            try loop.start()
            return loop
        } catch {
            throw CommandFailure(.unable, "\(error)", mend: "ringwright doctor looks for the cause")
        }
    }
}
