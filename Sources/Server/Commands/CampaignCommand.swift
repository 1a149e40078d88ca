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
        _ options: CampaignOptions, version: String = "", stops: StopRequests, progress: @escaping @Sendable (String) -> Void
    ) async throws(CommandFailure) -> CommandOutcome {
        let (plan, planWarnings) = try options.plan()
        let (configuration, warnings) = try options.configuration.load()
        for warning in planWarnings + warnings { progress(warning.description) }
        if let line = plan.line { _ = try configuration.line(chosen: line) }
        let flow = try FlowFiles.outbound(plan.flow, configuration, arguments: Set(plan.vars.map(\.name)))
        // A list that nobody can be called by begins no campaign.
        if let finding = CampaignFiles.check(list: plan, rows: 1).first { throw CommandFailure(.wrong, finding.description) }
        let folder = options.report ?? "run/\(plan.name)"
        var place = try CampaignPlace(
            plan, flow: flow, folder: folder, workers: options.workers, lease: options.lease, resume: options.resume)
        var hasBegun = false
        defer { place.close(forgets: !hasBegun) }
        if place.inTheAir > 0 {
            progress("\(place.inTheAir) calls were in the air when the campaign was killed: they are not made again")
        }
        _ = try? DescriptorLimit.raise()
        let ladders = CallLadders(capacity: plan.concurrency * 4 + 1000)
        let parted = plan.parties.isEmpty ? (callers: configuration, parties: configuration) : try configuration.parted()
        let party = try CallingParty(
            parted.callers, listen: CallingEngine.anywhere,
            loopCount: options.loops ?? ProcessInfo.processInfo.activeProcessorCount, webSockets: true,
            calls: 1_000_000, trace: { ladders.add($0) })
        defer { party.close() }
        let control = try ControlLoop.started("campaign")
        defer { control.stop(within: .seconds(1)) }
        var metrics: RunMetrics?
        if let address = options.http {
            let page = try RunMetrics(at: address, on: control, version: version, party.calling)
            progress("metrics on http://\(page.address)/metrics")
            metrics = page
        }
        defer { metrics?.close() }
        if options.records || !plan.parties.isEmpty { try OutputFolder.make("\(folder)/audio") }
        defer { OutputFolder.removeEmpty("\(folder)/audio") }
        let absolute = CallCommand.absolute(folder)
        var host: PartyHost?
        let workerID = Locked(place.worker.id)
        if !plan.parties.isEmpty {
            let directory = options.workers.map { _ in PartyDesk.Directory(place.database) { workerID.withLock { $0 } } }
            let parties = try PartyHost(
                plan, flow, parted.parties, callers: party, callerLadders: ladders, control: control, recordings: absolute,
                directory: directory, onStray: progress)
            progress("parties are called at \(parties.addresses.joined(separator: ", "))")
            host = parties
            if directory != nil { try place.announce { parties.address(own: $0) } }
        }
        defer { host?.close() }
        hasBegun = true
        let (problem, figures) = await CampaignDialer(
            plan, flow, party, ladders, place, control, recordsInto: options.records ? absolute : nil, parties: host,
            workerID: workerID
        ).run(
            stops, metrics: metrics, progress)
        if let problem { throw failure(problem) }
        let wasCut = stops.count > 0
        let wasStopped = figures.wasStopped
        let summary: CampaignSummary
        do throws(StoreError) {
            summary = try place.database.performAndWait { connection throws(StoreError) in
                try CampaignReport.write(plan.name, into: folder, wasStopped: wasStopped, wasCut: wasCut, connection)
            }
        } catch {
            throw CommandFailure(.unable, "the reports: \(error)")
        }
        return CommandOutcome(
            lines: [options.json ? summary.json.text : summary.text],
            note: (host?.strayWords ?? "") + "reports: \(folder)/\(CampaignReport.files[0])",
            status: summary.isPassed ? .passed : .failed)
    }

    static func failure(_ problem: CampaignProblem) -> CommandFailure {
        CommandFailure(problem.isOfMachine ? .unable : .wrong, problem.message)
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
