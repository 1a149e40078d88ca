// The engine: loops, the front with its sockets, a shard of calls on each loop. What may be asked from any thread is here.

import Basics
package import Reactor
import SIP

/// Answers and places calls on one or several loops. Made and ended from a thread that is none of its loops.
package final class Engine: Sendable {
    package let settings: EngineSettings
    /// What is listened on, with the ports that the system chose.
    package let listeners: [EngineSettings.Listener]
    package let gate: AdmissionGate
    /// The sockets of SIP, for who has connections to hand in.
    package let front: LoopBound<SignalingFront>
    /// What writes the traces of calls; nil: nothing does.
    package let tracing: CallTracing?
    /// The registered lines and their state.
    package let lines: LineDirectory
    /// Phones that log in here; nil: there is no registrar.
    package let registrar: RegistrarService?
    private let keeper: LoopBound<RegistrarKeeper>?
    private let registering: [(index: Int, line: LineSettings, mark: String)]
    private let shards: [LoopBound<CallShard>]
    private let handOverDrops = Locked<UInt64>(0)
    /// Messages of other loops' dialogs that wait at one loop, at most; more are dropped as a full socket would.
    private static let handOverLimit = 16_384

    /// Opens the sockets and takes calls at once.
    /// - Parameters:
    ///   - loops: running ones, at least one; the first has the sockets.
    ///   - seed: for tags, branches and Call-IDs; random outside of tests.
    ///   - mediaSeed: for SSRCs, sequence numbers and the times of reports; nil, as always outside of tests: the system's randomness.
    ///   - tracing: writes the traces of calls. Who made it stops it, after `close`.
    ///   - trace: hears every message, on the loop of its Call-ID.
    ///   - onLine: hears what becomes of registered lines, from any loop.
    ///   - onMessage: gets the texts of MESSAGE, on any loop; nil: they are refused.
    ///   - fileWorkers: writes the registrations; nil: `nameWorkers` does.
    ///   - onRegistrar: hears what the registrar does, from any loop.
    ///   - onIncoming: gets each call that came in, on the call's loop; it starts the flow there.
    package init(
        settings: EngineSettings, loops: [EventLoop], workers: MediaWorkers, nameWorkers: WorkerPool, seed: UInt64,
        mediaSeed: UInt64? = nil, tracing: CallTracing? = nil, trace: (@Sendable (TracedMessage) -> Void)? = nil,
        onNotice: (@Sendable (SignalingNotice) -> Void)? = nil,
        onLine: @escaping @Sendable (LineEvent) -> Void = { _ in },
        onMessage: (@Sendable (TextMessage) -> Void)? = nil,
        fileWorkers: WorkerPool? = nil, onRegistrar: @escaping @Sendable (RegistrarEvent) -> Void = { _ in },
        onIncoming: @escaping @Sendable (Call) -> Void
    ) throws(SystemError) {
        self.settings = settings
        self.tracing = tracing
        let gate = AdmissionGate(limits: settings.limits)
        self.gate = gate
        // Nobody may guess these from what the seed is used for elsewhere.
        var marks = TokenSource(seed: .random(in: 0 ... .max))
        let registering = settings.lines.enumerated().filter { $0.element.registration != nil || $0.element.monitor != nil }.map {
            (index: $0.offset, line: $0.element, mark: text(marks.token()))
        }
        self.registering = registering
        let lines = LineDirectory(registering, onEvent: onLine)
        self.lines = lines
        let registrar = settings.registrar.map { registrar in
            RegistrarService(registrar, secret: (0..<32).map { _ in .random(in: 0 ... .max) }, onEvent: onRegistrar)
        }
        self.registrar = registrar
        let callers = CallerCheck(
            settings.registrar, lines: settings.lines, secret: (0..<32).map { _ in .random(in: 0 ... .max) })
        let first = loops[0]
        let hostNames = HostNames()
        if let registrar, let path = settings.registrarFile { Self.load(registrar, from: path, on: first) }
        let front = try first.runAndWait { () throws(SystemError) -> LoopBound<SignalingFront> in
            let front = SignalingFront(
                loop: first, listeners: settings.listeners, streams: settings.streams,
                segmentation: settings.segmentation, external: settings.external, tls: settings.tls, hostNames: hostNames)
            front.onNotice = onNotice
            front.trust(settings.lines.flatMap(\.from))
            try front.start()
            return LoopBound(front, on: first)
        }
        self.front = front
        let (listeners, handles, addresses) = front.runAndWait { ($0.boundListeners, $0.datagramHandles, $0.addresses) }
        self.listeners = listeners
        let bindTo = Self.mediaAddress(settings.listeners)
        let health = ServerHealth()
        let supported: [Transport] = settings.listeners.contains { $0.transport == .udp } ? [.udp, .tcp] : [.tcp]
        shards = loops.enumerated().map { index, loop in
            loop.runAndWait {
                let sender: any MessageSender =
                    index == 0
                    ? front.onLoop
                    : RemoteSender(
                        loop: loop, front: front, handles: handles,
                        addressing: LocalAddressing(listeners: listeners, external: settings.external, streams: addresses))
                let shard = CallShard(
                    index: index, of: loops.count, loop: loop, settings: settings, sender: sender, hostNames: hostNames,
                    services: MediaServices(
                        loop: loop, ports: settings.rtpPorts.share(index, of: loops.count), bindTo: bindTo, workers: workers,
                        seed: mediaSeed.map { $0 &+ UInt64(index) }),
                    gate: gate,
                    resolver: HostResolver(
                        loop: loop, workers: nameWorkers, names: settings.names, supported: supported, health: health,
                        seed: seed &+ UInt64(index)), health: health, lines: lines,
                    registrar: registrar, callers: callers, tracing: tracing, observer: trace,
                    seed: seed &+ UInt64(index) &* 7919)
                shard.onIncoming = onIncoming
                shard.onMessage = onMessage
                return LoopBound(shard, on: loop)
            }
        }
        keeper = registrar.map { registrar in
            first.runAndWait {
                LoopBound(
                    RegistrarKeeper(
                        registrar, path: settings.registrarFile, loop: first, workers: fileWorkers ?? nameWorkers), on: first)
            }
        }
        let conferences = ConferenceDirectory(
            shards.map { shard in shard.runAndWait { LoopBound($0.rooms, on: $0.loop) } })
        for shard in shards { shard.runAndWait { $0.conferences = conferences } }
        connect()
    }

    /// What phones registered before the restart. Blocks.
    private static func load(_ registrar: RegistrarService, from path: String, on loop: EventLoop) {
        do throws(SystemError) {
            guard let content = try AtomicFile.read(path) else { return }
            loop.runAndWait { registrar.load(content, at: loop.now, wall: loop.wallClock) }
        } catch {
            registrar.fileFailed("\(error)")
        }
    }

    /// Where RTP is bound: the one address that all listeners have, or all addresses of this host.
    private static func mediaAddress(_ listeners: [EngineSettings.Listener]) -> IPAddress {
        let addresses = Set(listeners.map(\.address.ip))
        if addresses.count == 1, let only = addresses.first, !only.isUnspecified { return only }
        return addresses.contains { $0.isV6 } ? .any6 : .any4
    }

    /// Hands each message to the loop of its Call-ID.
    private func connect() {
        let shards = self.shards
        front.runAndWait { front in
            let home = shards[0].onLoop
            let registrar = self.registrar
            let drops = self.handOverDrops
            front.onFailure = { hop, reason in
                registrar?.flowEnded(hop)
                for shard in shards { shard.run { $0.endpoint.hopFailed(hop, because: reason) } }
            }
            guard shards.count > 1 else {
                front.onMessage = { message, hop in home.endpoint.receive(message, from: hop) }
                return
            }
            let queues = shards.map { shard in
                BoundedQueue<(Message, Hop)>(limit: Self.handOverLimit, loop: shard.loop) { batch in
                    for (message, hop) in batch { shard.onLoop.endpoint.receive(message, from: hop) }
                }
            }
            let loop = front.loop
            let routing = LoopBound(DialogRouting(count: shards.count), on: loop)
            front.onMessage = { message, hop in
                let index = routing.onLoop.index(of: message, at: loop.now)
                if index == 0 { return home.endpoint.receive(message, from: hop) }
                // A loop that does not keep up gets no new calls, while there is room for what belongs to those that it has.
                let isNew = message.method == .invite && message.isOutsideDialog
                if !queues[index].push((message, hop), leaving: isNew ? Self.handOverLimit / 2 : 0) { drops.withLock { $0 += 1 } }
            }
            for shard in shards {
                shard.run { shard in
                    shard.onMoved = { callID, lives in routing.run { $0.note(callID, lives: lives, at: loop.now) } }
                }
            }
        }
    }

    /// The number of loops.
    package var loopCount: Int { shards.count }

    /// Runs `body` on a shard's loop, soon: to place a call there, to look at its calls.
    package func withShard(_ index: Int, _ body: @escaping @Sendable (CallShard) -> Void) { shards[index].run(body) }

    /// The shard itself, for who is on its loop.
    package func shard(_ index: Int) -> CallShard { shards[index].onLoop }

    /// Asks every shard and waits for the answers. Not from a loop.
    package func collect<Result: Sendable>(_ body: @escaping @Sendable (CallShard) -> Result) -> [Result] {
        shards.map { $0.runAndWait(body) }
    }

    /// Messages that were dropped because the queue to the loop of their dialog was full.
    package var droppedHandOvers: UInt64 { handOverDrops.withLock { $0 } }

    package var signalingCounters: SignalingCounters { front.runAndWait { $0.counters } }

    package var callCounters: CallCounters {
        collect { $0.counters }.reduce(into: CallCounters()) { $0.add($1) }
    }

    /// Registers the lines and watches the trunks that ask for it, from now on; once more after `stopLines`.
    /// - Parameter others: contacts of engines that are gone, by the names of lines: they are removed.
    package func startLines(replacing others: [String: [String]] = [:]) {
        for (index, shard) in shards.enumerated() {
            let share = registering.enumerated().filter { $0.offset % shards.count == index }.map(\.element)
            guard !share.isEmpty else { continue }
            let lines = self.lines
            shard.run { $0.ownLines.start(share, replacing: others, shard: $0, directory: lines) }
        }
    }

    /// Tells the registrars that the lines end; `lines.areAllEnded` when they know.
    package func stopLines() {
        for shard in shards { shard.run { $0.ownLines.stop() } }
    }

    /// From now on new calls are refused with 503; those that exist go on.
    package func drain() { gate.drain() }

    /// Other certificates and rules of TLS, for connections from now on; those that stand keep theirs.
    package func use(_ tls: TLSContext) { front.run { $0.use(tls) } }

    /// Calls that begin from now on are traced so; nil: they are not. Those that are traced already stay so.
    package func trace(with settings: TraceSettings?) {
        guard let tracing else { return }
        tracing.change(to: settings)
        for shard in shards { shard.run { $0.observePassing() } }
    }

    /// Waits until every request of this end is answered, as long as `limit`: a BYE may be lost, and is sent again while this end lives.
    /// Not from a loop.
    package func settle(within limit: Duration) {
        let waits = shards.map { shard in
            let isSettled = Outcome<Void>()
            shard.run { $0.endpoint.settle(by: $0.loop.now + limit) { isSettled.set(()) } }
            return isSettled
        }
        for wait in waits { wait.wait() }
    }

    /// Ends all calls and closes everything, whatever peers still have to answer (`settle`). Not from a loop.
    package func close() {
        for shard in shards { shard.runAndWait { $0.close() } }
        keeper?.runAndWait { $0.close() }
        front.runAndWait { $0.close() }
    }
}

/// Sends for a loop that has no sockets: datagrams by itself, streams through the front's loop.
private final class RemoteSender: MessageSender {
    private let loop: EventLoop
    private let front: LoopBound<SignalingFront>
    private let senders: [DatagramSender]
    private var addressing: LocalAddressing

    init(loop: EventLoop, front: LoopBound<SignalingFront>, handles: [DatagramHandle], addressing: LocalAddressing) {
        self.loop = loop
        self.front = front
        senders = handles.map { $0.sender(on: loop) }
        self.addressing = addressing
    }

    func send(_ octets: [UInt8], to hop: Hop) {
        if hop.transport == .udp, let index = addressing.socket(for: hop, on: loop) {
            octets.withUnsafeBytes { senders[index].send($0, to: hop.address) }
        } else {
            front.run { $0.send(octets, to: hop) }
        }
    }

    func localAddress(to hop: Hop) -> SocketAddress { addressing.address(to: hop, on: loop) }
    func knowsAddress(to hop: Hop) -> Bool { addressing.knowsAddress(to: hop) }

    func connect(to hop: Hop, _ done: @escaping () -> Void) {
        let waiting = LoopBound(done, on: loop)
        front.run { front in
            _ = front.localAddress(to: hop)
            waiting.run { $0() }
        }
    }

    func flush() {
        for sender in senders { sender.flush() }
    }
}

extension ClosedRange<UInt16> {
    /// The part of a port range that the loop `index` of `count` uses: whole pairs, the first even.
    func share(_ index: Int, of count: Int) -> ClosedRange<UInt16> {
        let first = Int(lowerBound) + Int(lowerBound) % 2
        let pairs = Swift.max(0, (Int(upperBound) - first + 1) / 2)
        let start = first + pairs * index / count * 2
        let end = first + pairs * (index + 1) / count * 2 - 1
        return end > start ? UInt16(start)...UInt16(end) : lowerBound...lowerBound
    }
}
