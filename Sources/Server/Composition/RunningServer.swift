// A server at work: its loops, the engine, the flows of its calls, the pages with its figures. Made, drained and closed from a thread that
// is none of its loops.

package import Basics
package import CallEngine
package import Dialer
package import FlowEngine
import Glibc
package import Reactor
import Web

package final class RunningServer: Sendable {
    package let engine: Engine
    /// Where /healthz and /metrics are; nil: nowhere.
    package let page: SocketAddress?
    /// Signals and pages: nothing on a call's loop waits for it.
    package let control: EpollLoop
    let loops: [EpollLoop]
    private let workers: MediaWorkers
    private let nameWorkers: WorkerPool
    private let fileWorkers: WorkerPool
    private let tracing: CallTracing
    private let client: HTTPClient
    private let supplier: PromptSupplier
    private let web: WebThread?
    /// Where WebSockets of SIP are taken.
    private let webSocketListeners: [EngineSettings.Listener]
    private let state: Locked<State>
    private let log: Log

    private struct State {
        var rules: ServerRules
        var isDraining = false
        /// Of the calls that are over.
        var lostPackets: Int64 = 0
        /// Counts the calls for a report; nil: nobody wants one.
        var farEnd: FarEnd?
    }

    /// Opens the sockets and takes calls at once.
    /// - Parameters:
    ///   - loopCount: threads for calls, at least one: the number of cores.
    ///   - counts: whether calls are counted for a report from the first one on.
    ///   - onLine: hears what becomes of registered lines and watched trunks, besides the log.
    ///   - observers: for each call, on its loop: who hears what its flow does, besides the log.
    ///   - onCallEnd: after a flow's `always:`, on the call's loop.
    package init(
        _ rules: ServerRules, version: String, loopCount: Int, log: Log, counts: Bool = false,
        onLine: @escaping @Sendable (LineEvent) -> Void = { _ in },
        trace: (@Sendable (TracedMessage) -> Void)? = nil,
        observers: @escaping @Sendable (Call) -> [any FlowObserver] = { _ in [] },
        onCallEnd: @escaping @Sendable (Call, FlowOutcome) -> Void = { _, _ in }
    ) throws(CommandFailure) {
        let started = LogLine(.info, "").at
        let state = Locked(State(rules: rules))
        let configuration = rules.configuration
        self.state = state
        self.log = log
        let client = HTTPClient()
        self.client = client
        // Ended again when something that comes later does not work.
        var begun: [EpollLoop] = []
        do throws(SystemError) {
            control = try Self.startedLoop("control", &begun)
            for index in 0..<max(1, loopCount) { _ = try Self.startedLoop("loop-\(index)", &begun) }
            let loops = Array(begun.dropFirst())
            self.loops = loops
            if counts {
                let farEnd = Self.farEnd(loops, control)
                state.withLock { $0.farEnd = farEnd }
            }
            let supplier = try PromptSupplier(
                configuration, client: client, rules: { state.withLock { $0.rules }.configuration },
                onTrouble: { log.add(LogLine(.warning, "prompt", fields: [("why", $0)])) })
            self.supplier = supplier
            workers = try MediaWorkers(supply: supplier)
            nameWorkers = try WorkerPool(name: "names", threads: 2, limit: 1024)
            fileWorkers = try WorkerPool(name: "registrations", threads: 1, limit: 16)
            tracing = try CallTracing(configuration.trace?.settings) { log.add(LogLine($0)) }
            var settings = configuration.engineSettings
            // A redirection goes where a flow may call, by the rules that hold when it comes.
            settings.redirects.allows = { target in
                state.withLock { $0.rules }.configuration.allow.permitsBridge(to: target)
            }
            settings.tls = rules.tls
            settings.opensWebSockets = configuration.lines.contains { $0.transport.isWebSocket }
            engine = try Engine(
                settings: settings, loops: loops, workers: workers, nameWorkers: nameWorkers,
                seed: .random(in: 0 ... .max), tracing: tracing, trace: trace,
                onNotice: { log.add(LogLine(Self.level(of: $0), $0.text)) },
                onLine: { event in
                    log.add(LogLine(event))
                    onLine(event)
                }, onMessage: { log.add(LogLine($0)) }, fileWorkers: fileWorkers,
                onRegistrar: { event in LogLine(event).map { log.add($0) } }
            ) { call in
                let (rules, farEnd) = state.withLock { ($0.rules, $0.farEnd) }
                let info = call.info
                farEnd?.began(call)
                guard let choice = rules.flows.choice(for: info) else {
                    log.add(LogLine(.info, "no route", fields: [("call", call.id), ("to", info.to.uri)]))
                    try? call.reject(status: 404, reason: nil, headers: [])
                    farEnd?.ended(call, nil)
                    return
                }
                var environment = rules.configuration.flowEnvironment(
                    arguments: choice.arguments, requester: FlowRequester(client: client))
                environment.observers = [FlowLog(log, call: call.id)] + observers(call)
                let run = FlowRun(flow: choice.flow, call: call, environment: environment)
                log.add(
                    LogLine(
                        .info, "call began",
                        fields: [
                            ("call", call.id), ("from", info.from.uri), ("to", info.to.uri), ("flow", choice.flow.name)
                        ]))
                call.loop.spawn {
                    let outcome = await run.run()
                    let lost = call.mediaReport.lost
                    state.withLock { $0.lostPackets += lost }
                    log.add(Self.endLine(call, outcome))
                    farEnd?.ended(call, outcome)
                    onCallEnd(call, outcome)
                }
            }
        } catch {
            for loop in begun { loop.stop() }
            client.stopAndWait()
            throw Self.failure(error)
        }
        let engine = self.engine
        let loops = self.loops
        let supplier = self.supplier
        state.withLock { $0.farEnd }?.attach(engine)
        let webSockets = configuration.sip.listen.filter(\.transport.isWebSocket)
        let home = loops[0]
        let tls = configuration.sip.tls
        var listeners = home.runAndWait {
            webSockets.map { SIPWebSockets.listener($0, tls: tls, on: home) { engine.front.onLoop } }
        }
        if let address = configuration.control.listen {
            listeners.append(
                ControlRoutes.listener(at: address, on: control) {
                    let (isDraining, lost) = state.withLock { ($0.isDraining, $0.lostPackets) }
                    var figures = ServerFigures(
                        version: version, startedAt: started, engine: engine, loops: loops, isDraining: isDraining,
                        lostPackets: lost)
                    figures.prompts = supplier.figures
                    return figures
                })
        }
        let opensWebSockets = engine.settings.opensWebSockets
        guard !listeners.isEmpty || opensWebSockets else {
            web = nil
            page = nil
            webSocketListeners = []
            engine.startLines()
            return
        }
        do throws(WebStartError) {
            let web = try WebThread(listeners: listeners)
            self.web = web
            webSocketListeners = zip(webSockets, web.addresses).map { listener, address in
                var bound = listener
                bound.address = address
                return bound
            }
            page = configuration.control.listen == nil ? nil : web.addresses.last
            let opener = SIPWebSockets.opener(web, on: home, tls: tls)
            if opensWebSockets { engine.front.run { $0.use(opener) } }
            engine.startLines()
        } catch {
            engine.close()
            for loop in begun { loop.stop() }
            client.stopAndWait()
            supplier.stop()
            tracing.stop()
            workers.stop()
            nameWorkers.stop()
            fileWorkers.stop()
            throw ControlRoutes.failure(error)
        }
    }

    private static func startedLoop(_ name: String, _ begun: inout [EpollLoop]) throws(SystemError) -> EpollLoop {
        let loop = try EpollLoop(name: name)
        try loop.start()
        begun.append(loop)
        return loop
    }

    private static func failure(_ error: SystemError) -> CommandFailure {
        let parts = error.call.split(separator: " ", maxSplits: 1)
        if parts.count == 2, parts[0] == "bind" || parts[0] == "listen" {
            let mend =
                switch error.number {
                case EADDRNOTAVAIL: "name an address of this machine, or 0.0.0.0 for all of them"
                case EACCES: "choose a port from 1024 on with --sip or sip.listen, or give the right CAP_NET_BIND_SERVICE"
                default: "end the program that has the port, or choose another with --sip or sip.listen"
                }
            return CommandFailure(.unable, "SIP cannot listen on \(parts[1]): \(error.reason)", mend: mend)
        }
        return CommandFailure(.unable, "\(error)", mend: "ringwright doctor looks for the cause")
    }

    private static func endLine(_ call: Call, _ outcome: FlowOutcome) -> LogLine {
        var fields = [("call", call.id), ("flow", outcome.flow), ("result", outcome.result.rawValue)]
        if let end = outcome.end { fields += [("by", end.by.rawValue), ("cause", end.cause.rawValue), ("detail", end.detail)] }
        return LogLine(.info, "call ended", fields: fields.filter { !$0.1.isEmpty }.map { (name: $0.0, value: $0.1) })
    }

    /// What strangers do is no warning: they try all day.
    private static func level(of notice: SignalingNotice) -> Configuration.Log.Level {
        switch notice {
        case .failed: .warning
        case .refused: .info
        }
    }

    /// What is listened on, with the ports that the system chose: `udp:127.0.0.1:5060`.
    package var listening: [String] {
        engine.listeners.filter { !$0.transport.isWebSocket }.map { "\($0.transport.rawValue):\($0.address)" }
            + webSocketListeners.map { "\($0.transport.rawValue):\($0.address)\($0.path)" }
    }
    package var activeCalls: Int { engine.gate.active }

    /// Who counts its calls.
    var counting: FarEnd? { state.withLock { $0.farEnd } }
    func use(_ farEnd: FarEnd) { state.withLock { $0.farEnd = farEnd } }

    /// Calls that begin from now on get these; calls that run keep theirs. Sockets and lines stay as they were at the start.
    package func use(_ rules: ServerRules) {
        state.withLock { $0.rules = rules }
        if let tls = rules.tls { engine.use(tls) }
        engine.gate.change(to: rules.configuration.limits)
        log.change(to: rules.configuration.log)
        engine.trace(with: rules.configuration.trace?.settings)
    }

    // MARK: The end

    /// How long registrars may take to answer that a line ends.
    private static let farewell = Duration.seconds(3)

    /// From now on new calls are refused with 503, and registrars are told that their lines end. `then` runs on the control loop when
    /// the last call is over.
    package func drain(then: @escaping @Sendable () -> Void) {
        state.withLock { $0.isDraining = true }
        engine.drain()
        engine.stopLines()
        control.execute {
            let start = self.control.now
            self.engine.gate.whenIdle { self.control.execute { self.waitForLines(since: start, then) } }
        }
    }

    private func waitForLines(since start: Instant, _ then: @escaping @Sendable () -> Void) {
        if engine.lines.areAllEnded || control.now - start > Self.farewell { return then() }
        control.schedule(after: .milliseconds(100)) { self.waitForLines(since: start, then) }
    }

    /// Ends every call and every thread. Once, and not from a loop.
    /// - Returns: what was counted; nil when nobody wanted it.
    @discardableResult package func close(wasCut: Bool = false) -> LoadReport? {
        let report = closeFarEnd(wasCut: wasCut)
        engine.close()
        // What was said to the peers, and the `always:` of the flows, get their time.
        for loop in loops { loop.stop(within: .seconds(2)) }
        web?.stopAndWait(grace: .seconds(1))
        control.stop(within: .seconds(1))
        client.stopAndWait()
        supplier.stop()
        tracing.stop()
        workers.stop()
        nameWorkers.stop()
        fileWorkers.stop()
        return report
    }
}
