// Everything of one loop: its signaling endpoint, its media services, its calls. A call never leaves its shard.

import Basics
package import Reactor
import SIP

/// The calls of one loop. Belongs to it.
package final class CallShard {
    package let index: Int
    package let loop: EventLoop
    package let settings: EngineSettings
    package let endpoint: SIPEndpoint
    package let services: MediaServices
    /// The conferences that live on this loop, and the way to those of all loops.
    let rooms: ConferenceRooms
    var conferences: ConferenceDirectory
    /// Gets each call that came in and passed the limits; it starts the flow. Without it calls are refused with 480.
    package var onIncoming: ((Call) -> Void)?
    /// Hears how each BYE of ours was answered, after the end of its call: after how long, or nil when no answer came. With the call.
    package var onBye: ((Call, Duration?) -> Void)?
    @exclusivity(unchecked) package internal(set) var counters = CallCounters()
    let screening = RequestScreening(
        methods: [.invite, .ack, .bye, .cancel, .options, .info, .prack, .update, .refer, .notify, .subscribe, .message],
        extensions: ["100rel", "replaces", "tdialog", "timer"], onRequest: ["histinfo", "norefersub"])
    let gate: AdmissionGate
    @exclusivity(unchecked) var lagWatch = LagWatch()
    /// nil where nobody has to say who he is.
    let callers: CallerCheck?
    let shardCount: Int
    let resolver: HostResolver
    let health: ServerHealth
    /// What is known of registered lines; set before the first message.
    package let lines: LineDirectory
    let ownLines = ShardLines()
    /// Hears of dialogs that live here although their Call-ID is another loop's, and of their end.
    var onMoved: ((_ callID: [UInt8], _ lives: Bool) -> Void)?
    /// Gets each MESSAGE that was taken; without it they are refused.
    package var onMessage: ((TextMessage) -> Void)?
    /// The event packages of this end: that of a transfer, which has its subscription by its REFER (RFC 3515).
    static let eventRow = Array("Allow-Events: refer\r\n".utf8)
    /// Phones that log in here.
    let registrar: RegistrarService?
    /// nil: this engine never traces calls.
    let traces: ShardTraces?
    /// Hears everything that passes.
    let observer: ((TracedMessage) -> Void)?
    /// The loop ends.
    private(set) var isClosed = false
    @exclusivity(unchecked) var calls = CallTable()
    @exclusivity(unchecked) private var wakes = CallWakes()
    @exclusivity(unchecked) private var wakeTimer: LoopTimer?
    /// The room for a session's actions, used again by the next event.
    @exclusivity(unchecked) private var spareActions: [SessionAction] = []
    private var digests: [String: DigestClient] = [:]
    private var datagramPeers = DatagramPeers()
    private var rotations: [[String]: Int] = [:]
    /// Receivers of texts that are not answered yet.
    var textTurns: [String: TextTurn] = [:]
    @exclusivity(unchecked) private var random: SeededRandom
    @exclusivity(unchecked) private var known = KnownTexts()
    /// This end's name over WebSockets that it has opened: nobody can connect to it (RFC 7118 section 5).
    private lazy var invalidHost = endpoint.newToken() + Array(".invalid".utf8)
    /// Allow, Accept, Supported: for OPTIONS and 405.
    let capabilityRows: [UInt8]

    package init(
        index: Int, of shardCount: Int, loop: EventLoop, settings: EngineSettings, sender: any MessageSender,
        hostNames: HostNames, services: MediaServices, gate: AdmissionGate, resolver: HostResolver, health: ServerHealth,
        lines: LineDirectory, registrar: RegistrarService?, callers: CallerCheck?, tracing: CallTracing? = nil,
        observer: ((TracedMessage) -> Void)? = nil, seed: UInt64
    ) {
        self.index = index
        self.shardCount = shardCount
        self.loop = loop
        self.settings = settings
        self.services = services
        rooms = ConferenceRooms(services: services)
        conferences = ConferenceDirectory([LoopBound(rooms, on: loop)])
        self.gate = gate
        self.resolver = resolver
        self.health = health
        self.lines = lines
        self.registrar = registrar
        self.callers = callers
        self.observer = observer
        traces = tracing.map { ShardTraces($0, loop: loop, linger: settings.timers.t4) }
        random = SeededRandom(seed: seed)
        endpoint = SIPEndpoint(
            loop: loop, sender: sender, timers: settings.timers, hostNames: hostNames, seed: seed ^ 0x5bd1_e995_9d1b_54a5)
        if let external = settings.external {
            services.localIP = { [unowned loop] in $0.isV6 == external.isV6 ? external : loop.localAddress(toReach: $0) }
        }
        var writer = MessageWriter(capacity: 128)
        writer.header("Allow", text: screening.allow)
        writer.header("Accept", text: screening.accept)
        writer.header("Supported", text: screening.done)
        writer.append(Self.eventRow)
        capabilityRows = writer.octets
        // Until `close`. A weak reference would make every count of references to the shard slower.
        traces?.onIdle = { [self] in observePassing() }
        observePassing()
        endpoint.onRequest = { [self] message, id, hop in received(message, id, from: hop) }
    }

    /// Calls that are not over.
    package var activeCalls: [Call] { calls.all.filter { !$0.state.isEnded } }
    /// Calls that are held, those included whose SIP session still waits for an ACK or a final answer.
    package var heldCalls: Int { calls.count }

    package func call(id: String) -> Call? { calls.all.first { $0.id == id } }

    /// The wall clock in seconds since 1970; the loop's own clock on a virtual one.
    func wallClock() -> Double { loop.wallClock }

    // MARK: Calls that go out

    /// Places a call. It comes back at once; whatever goes wrong is its end, which is never told in this turn. Throws for a target that
    /// cannot be called.
    package func place(_ request: CallRequest) throws(CallControlError) -> Call {
        guard !isClosed else { throw .invalid(operation: "call", why: "the engine has ended") }
        let target = try target(request)
        try OutgoingTarget.check(request.headers)
        guard gate.enter() else {
            throw .invalid(operation: "call", why: "the limit of \(gate.limits.calls) calls is reached")
        }
        counters.outgoing += 1
        let call = Call(
            id: newID(), direction: .outbound, shard: self,
            hop: Hop(transport: target.server.transport ?? .udp, address: SocketAddress(ip: .any4, port: 0)))
        call.target = target
        call.lineIndex = target.line
        call.partnerIsCoded = request.partnerIsCoded
        call.codecs = request.codecs
        if !request.headers.isEmpty { call.addedRows = Call.rows(request.headers) }
        if let history = request.history { call.addedRows += history.rows(to: target, line: call.line) }
        if let line = target.line, settings.lines[line].tellsHistory { call.addedRows += request.historyRows(to: target) }
        call.place = calls.add(call)
        beginTrace(of: call, target, from: request.from)
        if let way = target.device ?? call.line.flatMap({ lines.way(of: $0.name) }) {
            call.route = CallRoute(way: way)
            send(call, to: way.hop, target, request)
        } else if let hop = target.hop {
            send(call, to: hop, target, request)
        } else {
            resolver.resolve(target.server) { hops in
                guard let first = hops.first else {
                    call.finish(CallEnd(by: .engine, cause: .unreachable, detail: "\(target.server.host) was not found"))
                    return call.leave()
                }
                if hops.count > 1 { call.route = CallRoute(alternatives: Array(hops.dropFirst())) }
                self.send(call, to: first, target, request)
            }
        }
        return call
    }

    private func send(_ call: Call, to hop: Hop, _ target: OutgoingTarget, _ request: CallRequest) {
        var hop = hop
        if target.device == nil, hop.host == 0 {
            hop.host = endpoint.hostNumber(target.server.host, path: target.path, over: hop.transport)
        }
        let caller = CallerIdentity(request, line: call.line)
        if !caller.rows.isEmpty { call.addedRows = caller.rows + call.addedRows }
        if caller.isPrivate { call.route?.hideCaller() }
        guard endpoint.knowsAddress(to: hop) else {
            return endpoint.whenAddressIsKnown(to: hop) {
                call.place(target, to: hop, from: caller.from, displayName: caller.displayName)
            }
        }
        call.place(target, to: hop, from: caller.from, displayName: caller.displayName)
    }

    private func target(_ request: CallRequest) throws(CallControlError) -> OutgoingTarget {
        if let device = request.device { return try OutgoingTarget(device, of: request.target, settings: settings) }
        if let last = known.target, last.text == request.target, last.lineName == request.line { return last }
        let target = try OutgoingTarget(request.target, line: request.line, settings: settings)
        known.target = target
        return target
    }

    // MARK: For calls

    /// The room for a session's actions.
    func takeActions() -> [SessionAction] {
        var actions: [SessionAction] = []
        swap(&actions, &spareActions)
        return actions
    }

    func giveBack(_ actions: inout [SessionAction]) {
        actions.removeAll(keepingCapacity: true)
        swap(&actions, &spareActions)
    }

    /// Wakes a call soon after that time, unless it is over then.
    func wake(_ call: Call, at instant: Instant) {
        guard let place = call.place else { return }
        wakes.add(place, at: instant.roundedUp(to: SIPEndpoint.wakeUpGrid))
        setWakeTimer()
    }

    private func setWakeTimer() {
        let next = wakes.earliest
        if let wakeTimer, wakeTimer.isPending {
            if wakeTimer.deadline <= next { return }
            wakeTimer.cancel()
        }
        guard next != .never else { return }
        wakeTimer = loop.schedule(at: next) { [self] in
            // Before the calls, which may set the next one.
            wakeTimer = nil
            while let place = wakes.popDue(at: loop.now) { calls[place]?.wake() }
            setWakeTimer()
        }
    }

    func makeMedia(for call: Call, localIP: IPAddress) throws(MediaError) -> MediaSession {
        var codecs = call.line?.codecs ?? settings.codecs
        if let wanted = call.codecs {
            // A line that names its codecs has no others.
            codecs = call.line?.codecs.map { allowed in wanted.filter(allowed.contains) } ?? wanted
        }
        // Between what is passed on only and the rest there is no way.
        if let isCoded = call.partnerIsCoded { codecs.removeAll { ($0 == "g729") == isCoded } }
        var wanted = MediaSettings(
            digits: call.digits, localIP: localIP, codecs: codecs, rtpTimeout: settings.rtpTimeout, product: settings.product)
        wanted.signalingIP = call.hop.address.ip
        if !settings.sendsSilence { wanted.idle = .nothing }
        wanted.security = call.line?.security ?? settings.security
        wanted.comfortNoise = call.line?.comfortNoise ?? settings.comfortNoise
        let media = try MediaSession(services: services, settings: wanted)
        // The call closes its media before it goes.
        media.user = call
        if call.trace?.hasMedia == true { media.trace = call.trace }
        return media
    }

    /// Where a bridge with these targets begins this time, when it rotates.
    func nextRotation(of targets: [String]) -> Int {
        if rotations.count > 1000 { rotations.removeAll() }
        defer { rotations[targets, default: 0] += 1 }
        return rotations[targets, default: 0] % targets.count
    }

    /// The call is over for its user.
    func ended(_ call: Call, _ end: CallEnd) {
        counters.ended[end.cause, default: 0] += 1
        gate.leave()
    }

    /// Its SIP session is over as well.
    func forget(_ call: Call) {
        guard let place = call.place else { return }
        call.place = nil
        calls.remove(at: place)
        endTrace(of: call)
    }

    func localEnd(_ transport: Transport, _ address: SocketAddress, secure: Bool) -> LocalEnd {
        if let known = known.end, known.transport == transport, known.address == address, known.secure == secure {
            return known.end
        }
        var writer = MessageWriter(capacity: 128)
        writer.header("Allow", text: screening.allow)
        writer.header("Supported", text: screening.supported)
        writer.header("User-Agent", text: settings.product)
        let isListenedFor =
            transport != .ws && transport != .wss || settings.listeners.contains { $0.transport.onTheWire == transport }
        let end = LocalEnd(
            transport: transport, address: address, host: isListenedFor ? nil : invalidHost, secure: secure,
            headers: writer.octets)
        known.end = (transport, address, secure, end)
        return end
    }

    /// The value of our From: `from` is a URI, or a user at this host; nil is this product.
    func fromValue(_ from: String?, _ displayName: String, _ local: SocketAddress, tag: [UInt8]) -> [UInt8] {
        var value = known.from(from ?? settings.product, isName: from == nil, displayName, local.ip)
        value.append(contentsOf: tag)
        return value
    }

    /// Where a URI of a dialog leads; nil for one without an address.
    func place(of uri: [UInt8]) -> KnownTexts.Place? { known.place(of: uri) }

    /// Whether a peer has lately refused TCP.
    func takesDatagramsOnly(_ peer: SocketAddress) -> Bool { datagramPeers.contains(peer, at: loop.now) }
    func noteDatagramsOnly(_ peer: SocketAddress) { datagramPeers.note(peer, at: loop.now) }

    func newSeed() -> UInt64 { random.next() }

    /// 13 letters and digits: what a string holds without memory of its own.
    func newID() -> String {
        var bits = random.next()
        return String(unsafeUninitializedCapacity: 13) { bytes in
            for index in 0..<13 {
                let digit = UInt8(bits & 31)
                bytes[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                bits >>= 5
            }
            return 13
        }
    }

    /// A Call-ID without a host, for requests outside of dialogs whose answers are to come here.
    func newCallID() -> [UInt8] {
        while true {
            let callID = endpoint.newToken()
            if ShardChoice.index(ofCallID: callID[...], count: shardCount) == index { return callID }
        }
    }

    /// A Call-ID that belongs to this shard by its hash, so that the whole dialog comes here.
    func newCallID(at local: SocketAddress) -> [UInt8] {
        let host = known.host(of: local.ip)
        while true {
            var callID = endpoint.newToken()
            callID.append(contentsOf: host)
            if ShardChoice.index(ofCallID: callID[...], count: shardCount) == index { return callID }
        }
    }

    // MARK: Digest

    /// Credentials for a line whose server has challenged before; empty otherwise.
    func credentials(for line: LineSettings?, method: StaticString, uri: [UInt8], body: [UInt8]) -> [UInt8] {
        guard let line, digests[line.name] != nil else { return [] }
        return digests[line.name]!.headers(method: method, uri: uri, body: body)
    }

    /// The same for a request in a dialog.
    func credentials(for line: LineSettings?, _ request: OutgoingRequest) -> [UInt8] {
        credentials(for: line, method: request.method.name, uri: request.uri, body: request.body)
    }

    /// Takes a challenge; false when it cannot be answered, or the credentials are refused.
    func challenged(_ line: LineSettings?, by response: Message, request: Message) -> Bool {
        guard let line, let username = line.username, let password = line.password else { return false }
        var client =
            digests[line.name]
            ?? DigestClient(credentials: Credentials(user: username, password: password.revealed), seed: newSeed())
        let verdict = client.challenged(by: response, request: request)
        digests[line.name] = client
        return verdict == .retry
    }

    // MARK: The end

    /// Ends every call, as a shutdown does.
    package func hangUpAll(detail: String) {
        for call in activeCalls { call.hangUp(HangUpReason(status: 503, cause: .error, detail: detail)) }
    }

    package func close() {
        hangUpAll(detail: "the server ends")
        isClosed = true
        for call in calls.all { call.leave() }
        traces?.onIdle = nil
        traces?.close()
        ownLines.close()
        wakeTimer?.cancel()
        endpoint.stop()
        rooms.close()
        services.close()
    }
}
