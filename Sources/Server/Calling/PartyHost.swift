// The called halves of a campaign's tests: an engine that answers where the configuration listens or by registered lines, and the desk
// that finds for each call the test it belongs to.

import Basics
import CallEngine
import Dialer
import FlowEngine
import Foundation
import Reactor

final class PartyHost: Sendable {
    let desk: LoopBound<PartyDesk>
    /// Where the system under test reaches the parties.
    let addresses: [String]
    /// Lines that one of several workers has to register; none when this process is alone.
    private let sharedLines: Set<String>
    private let calling: CallingEngine
    private let callerLadders: CallLadders
    private let ladders: CallLadders
    /// Calls that belonged to no test that ran: the first of them, and how many there were.
    private let strays = Locked((first: [String](), count: 0))
    private static let mostStrays = 5
    /// Compares recordings.
    private let listeners: WorkerPool

    /// Opens the sockets and registers the lines that parties are called by. Blocks until they are registered.
    /// - Parameters:
    ///   - flow: the caller's.
    ///   - configuration: its RTP ports are for the parties alone.
    ///   - recordings: the absolute folder of the report.
    ///   - directory: where calls of other workers' tests are found; nil: there are none.
    ///   - onStray: hears of the first calls that belong to no test.
    init(
        _ plan: CampaignPlan, _ flow: Flow, _ configuration: Configuration, callers: CallingParty, callerLadders: CallLadders,
        control: EpollLoop, recordings: String, directory: PartyDesk.Directory?, onStray: @escaping @Sendable (String) -> Void
    ) throws(CommandFailure) {
        let flows = try plan.parties.map { party throws(CommandFailure) in
            try party.flow.map { file throws(CommandFailure) in
                try FlowFiles.inbound(file, configuration, arguments: Set(party.vars.map(\.name)))
            }
        }
        let lines = Set(plan.parties.compactMap(\.line))
        for line in lines { _ = try configuration.line(chosen: line) }
        var surroundings = PartyDesk.Surroundings(
            callers: callers.calling.engine, callerFlow: flow, flows: flows,
            recordings: plan.parties.contains(where: \.comparesAudio) ? recordings : nil
        ) { callers.environment($0) }
        surroundings.directory = directory
        let (placed, strays) = (surroundings, self.strays)
        let desk = control.runAndWait {
            let desk = PartyDesk(plan, placed, loop: control)
            desk.onStray = { words in
                let isTold = strays.withLock { strays in
                    strays.count += 1
                    if strays.count <= Self.mostStrays { strays.first.append(words) }
                    return strays.count <= Self.mostStrays
                }
                if isTold { onStray(words) }
            }
            return LoopBound(desk, on: control)
        }
        let ladders = CallLadders(capacity: plan.concurrency * plan.parties.count * 4 + 1000)
        let mark = plan.mark
        let registered = lines.filter { name in
            configuration.lines.contains { $0.name == name && $0.registration != nil }
        }
        sharedLines = directory == nil ? [] : registered
        let registering = RegisteredLines(registered)
        do throws(SystemError) {
            listeners = try WorkerPool(name: "listeners", threads: 1, limit: 10_000)
        } catch {
            throw CommandFailure(.unable, "\(error)")
        }
        calling = try CallingEngine(
            configuration, Self.settings(configuration, lines, isShared: directory != nil), loopCount: callers.loopCount,
            trace: { ladders.add($0) },
            supply: callers.supplier,
            onLine: { registering.heard($0) },
            onIncoming: { PartyDesk.take($0, at: desk, mark: mark) })
        (self.desk, self.ladders, self.callerLadders) = (desk, ladders, callerLadders)
        addresses = calling.engine.listeners.map { "\($0.transport.rawValue):\($0.address)" }
        guard directory == nil else { return }
        calling.engine.startLines()
        if let failure = registering.wait(calling.engine, "a party is called") {
            close()
            throw failure
        }
    }

    private static func settings(
        _ configuration: Configuration, _ lines: Set<String>, isShared: Bool
    ) throws(CommandFailure) -> EngineSettings {
        var settings = configuration.engineSettings
        settings.listeners = configuration.sip.listen.filter { !$0.transport.isWebSocket }
        // Only what parties need: nobody registers with this campaign, and no other line belongs to it.
        settings.registrar = nil
        settings.lines = settings.lines.filter { lines.contains($0.name) }
        // Workers are devices of their own, on whatever machine they are: one that ends takes no other's binding away.
        for index in settings.lines.indices where isShared && settings.lines[index].registration != nil {
            settings.lines[index].registration?.instance = "urn:uuid:\(UUID().uuidString.lowercased())"
        }
        guard !settings.listeners.isEmpty else {
            throw CommandFailure(
                .wrong, "parties are called over UDP, TCP or TLS, and `sip.listen` has none of them",
                mend: "write `sip: { listen: [ udp:0.0.0.0:5060 ] }` in the configuration")
        }
        return settings
    }

    // MARK: Among other workers

    /// The lines that one of several workers has to register; nil without any. On the campaign's loop.
    func lines() -> PartyLines? { sharedLines.isEmpty ? nil : PartyLines(calling.engine, sharedLines) }

    /// Where other workers pass calls on to: `HOST:PORT;transport=udp`; nil when they cannot.
    /// - Parameter own: this machine's address, for a listener that has all of them.
    func address(own: IPAddress) -> String? {
        let listeners = calling.engine.listeners
        guard let listener = listeners.first(where: { $0.transport == .udp }) ?? listeners.first(where: { $0.transport == .tcp })
        else { return nil }
        let ip = listener.address.ip.isUnspecified ? own : listener.address.ip
        return "\(SocketAddress(ip: ip, port: listener.address.port));transport=\(listener.transport.rawValue)"
    }

    // MARK: Tests

    /// Runs one attempt with its parties and judges it. On the control loop.
    func run(_ attempt: CampaignAttempt, flow: Flow, _ then: @escaping (AttemptResult) -> Void) {
        let control = desk.loop
        desk.onLoop.run(attempt) { [self] result in
            switch result {
            case .failure(let error): then(.unseen(attempt, flow: flow.name, detail: CallingParty.words(error)))
            case .success(let outcome):
                control.spawn { [self] in
                    let heard = try? await listeners.run(on: control) { PartyJudge.listen(outcome) }
                    then(judged(heard ?? PartyJudge.unheard(outcome, why: "too many recordings wait for it"), attempt))
                }
            }
        }
    }

    private func judged(_ outcome: PartyOutcome, _ attempt: CampaignAttempt) -> AttemptResult {
        var result = PartyResult(outcome, attempt).attemptResult
        let halves =
            [("caller", callerLadders.take(outcome.caller.callID))]
            + outcome.parties.compactMap { party in party.half.map { (party.name, ladders.take($0.callID)) } }
        if result.verdict != .passed {
            result.ladder = CallLadders.ladder(halves.map { (name: $0.0, messages: $0.1) }, between: "system under test")
        } else {
            for half in outcome.halves {
                if let path = half.recording?.path { OutputFolder.remove(path) }
            }
        }
        return result
    }

    /// What is to be said of calls that belonged to no test, a line each; empty without any.
    var strayWords: String {
        let (first, count) = strays.withLock { $0 }
        let more = count > first.count ? ["… and \(count - first.count) more such calls"] : []
        return (first + more).map { "ringwright: \($0)\n" }.joined()
    }

    /// Ends what is left. Once, and not from a loop.
    func close() {
        calling.engine.stopLines()
        calling.engine.settle(within: .seconds(2))
        calling.close()
        listeners.stop()
    }
}

extension Configuration {
    /// Two that take their audio's ports from halves of the same range: for callers and for those whom they call.
    package func parted() throws(CommandFailure) -> (callers: Configuration, parties: Configuration) {
        let (first, last) = (Int(rtp.ports.lowerBound), Int(rtp.ports.upperBound))
        // Pairs begin at even ports.
        let middle = (first + last + 1) / 4 * 2
        guard middle - first >= 2, last - middle >= 1 else {
            throw CommandFailure(
                .wrong, "`rtp.ports` has no room for callers and parties", mend: "write a range such as 20000-29999")
        }
        var (callers, parties) = (self, self)
        callers.rtp.ports = rtp.ports.lowerBound...UInt16(middle - 1)
        parties.rtp.ports = UInt16(middle)...rtp.ports.upperBound
        return (callers, parties)
    }
}
