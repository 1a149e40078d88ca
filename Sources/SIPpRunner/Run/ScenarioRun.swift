// A run of a scenario: opens calls at their rate, hands messages to calls, counts, and ends when all is done. Everything here belongs to
// one loop. Calls see the run through `CallSurroundings`.

import Basics
import Dialer
package import Reactor
import SIP

package final class ScenarioRun {
    package let loop: EventLoop
    package let options: Options
    package private(set) var scenario: Scenario
    private(set) var outOfCall: Scenario?
    let addresses: RunAddresses
    package let settings: CallSettings
    package let statistics: Statistics
    /// Of calls for messages that belong to none.
    let strayStatistics: Statistics
    package let buffer = OctetBuffer()
    package let globals: VariableStore
    let injections: [InjectionFile]
    let files: RunFiles
    var channels: Channels!
    var twins: TwinLinks?
    var media: RunMedia!
    let wakes: WakeQueue
    var random: SeededRandom

    /// Calls by the hash of their Call-ID.
    var calls: [UInt64: ScenarioCall] = [:]
    var dead: DeadCalls
    var opening: Opening
    let beganAt: Instant
    var made = 0
    var dynamicID: Int
    /// Users that no call has at present, and the variables of each.
    var freeUsers: [Int] = []
    var userStores: [VariableStore] = []
    var defaults: [DefaultMessage: Template] = [:]
    var fileContents: [String: [UInt8]] = [:]

    /// No more calls begin.
    package internal(set) var isQuitting = false
    package internal(set) var isOver = false
    var hasTimedOut = false
    /// A status that counts more than what the calls say.
    var forcedStatus: Int32?
    package internal(set) var fatalMessage: String?
    var watchdogMajorTrips = 0
    var watchdogMinorTrips = 0
    /// Called once, with the exit status.
    package var onEnd: ((Int32) -> Void)?
    /// The sockets are open. Called once at most.
    package var onOpen: (() -> Void)?
    /// A line for whoever watches.
    package var onProgress: ((String) -> Void)?

    /// On the loop.
    package init(
        loop: EventLoop, options: Options, scenario: Scenario, outOfCall: Scenario?, injections: [InjectionFile],
        addresses: RunAddresses, processID: Int, workers: WorkerPool, seed: UInt64
    ) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.options = options
        self.addresses = addresses
        self.injections = injections
        var settings = options.calls
        settings.isUDP = options.transport.isUDP
        settings.processID = processID
        settings.authUser = options.authUser ?? options.calls.user
        settings.authURI = options.authURI ?? addresses.remote.map { "\($0)" } ?? ""
        self.settings = settings
        let constants = RunConstants(options: options, addresses: addresses, processID: processID)
        self.scenario = scenario.bound { constants[$0] }
        self.outOfCall = outOfCall?.bound { constants[$0] }
        self.constants = constants
        beganAt = loop.now
        statistics = Statistics(self.scenario, start: loop.now)
        strayStatistics = Statistics(self.outOfCall ?? self.scenario, start: loop.now)
        globals = VariableStore(scenario.variables)
        files = RunFiles(options: options, scenario: self.scenario, processID: processID, workers: workers)
        wakes = WakeQueue(loop: loop)
        random = SeededRandom(seed: seed)
        dead = DeadCalls(wait: .microseconds(Int64(options.deadCallWait * 1000)), now: loop.now)
        opening = Opening(options, now: loop.now)
        dynamicID = options.dynamicStart
        for (name, value) in options.globals {
            guard let place = scenario.variables.index(of: name) else { continue }
            globals.values[place] = .text(Array(value.utf8))
        }
        for message in DefaultMessage.allCases {
            let template = scenario.defaults[message] ?? EmbeddedScenarios.standard(message)
            defaults[message] = template.bound { constants[$0] }
        }
    }

    let constants: RunConstants

    /// Opens the sockets and begins.
    package func start() throws(RunFailure) {
        channels =
            options.transport.isUDP
            ? DatagramChannels(loop: loop, user: self, addresses: addresses, options: options)
            : options.transport.isWebSocket
                ? WebSocketChannels(loop: loop, user: self, addresses: addresses, options: options)
                : StreamChannels(loop: loop, user: self, addresses: addresses, options: options)
        try channels.open()
        if options.transport == .u1 {
            let port = channels.localPort
            (scenario, outOfCall) = (scenario.bound(localPort: port), outOfCall?.bound(localPort: port))
        }
        try files.open()
        media = RunMedia(run: self)
        if options.echoes { try media.openEcho() }
        if options.twin != nil || options.slaveConfiguration != nil {
            let twins = TwinLinks(run: self)
            self.twins = twins
            try twins.open()
        }
        onOpen?()
        runInit()
        if let users = options.users {
            freeUsers = Array((1...max(1, users)).reversed())
            userStores = freeUsers.map { _ in VariableStore(scenario.variables) }
        }
        writeStatistics()
        every(.milliseconds(bounded: options.statisticsInterval)) { $0.writeStatistics() }
        every(.milliseconds(200)) { $0.files.flush() }
        every(.milliseconds(bounded: max(options.screenInterval, 100))) { $0.showProgress() }
        startWatchdog()
        if let timeout = options.timeout {
            loop.schedule(after: .milliseconds(bounded: timeout)) { [self] in timeOut() }
        }
        startRateSteps()
        if scenario.role == .client, !scenario.beginsWithCommand { openDue() }
    }

    private func runInit() {
        guard !scenario.initSteps.isEmpty else { return }
        ScenarioCall(scenario, run: self, statistics: statistics, number: 0, id: [], isOutgoing: true).runInit()
    }

    func every(_ period: Duration, _ action: @escaping (ScenarioRun) -> Void) {
        guard period > .zero else { return }
        // A weak reference would make every other one of the run dear.
        loop.schedule(after: period) { [self] in
            guard !isOver else { return }
            action(self)
            every(period, action)
        }
    }

    private func timeOut() {
        guard !isOver else { return }
        hasTimedOut = true
        if options.timeoutIsError {
            return fatal("\(scenario.file) timed out after '\(Double(clockTick) / 1000)' seconds")
        }
        quit()
    }

    /// No more calls; the run ends with the last one.
    package func quit() {
        isQuitting = true
        checkEnd()
    }

    /// Ends every call, and the run.
    package func quitAtOnce() {
        isQuitting = true
        for call in calls.values { call.abort() }
        checkEnd()
    }

    func checkEnd() {
        guard !isOver else { return }
        if let most = options.most, statistics.created >= most { isQuitting = true }
        guard isQuitting, calls.isEmpty else { return }
        finish()
    }

    /// The run is over. Once.
    func finish() {
        guard !isOver else { return }
        isOver = true
        let status = exitStatus
        // The last messages go out before the sockets close.
        loop.schedule(after: .milliseconds(1)) { [self] in
            writeStatistics()
            files.finish(self)
            media.close()
            twins?.close()
            wakes.close()
            channels.close { [self] in
                let tell = onEnd
                onEnd = nil
                tell?(status)
            }
        }
    }

    /// By SIPp's rules.
    private var exitStatus: Int32 {
        if let forcedStatus { return forcedStatus }
        if media.checkFailed { return ExitCode.mediaCheckFailed }
        if statistics.total.failed > 0 { return ExitCode.failed }
        if hasTimedOut, statistics.total.successful == 0 { return ExitCode.stopped }
        return ExitCode.passed
    }
}
