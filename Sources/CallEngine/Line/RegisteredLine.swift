// A line that registers somewhere, by one flow (of several edge proxies each has one, RFC 5626): it gives the registration machine its time, its answers and its way to the registrar, and tells the
// directory what comes of it. Requests go out by the sockets that calls use, so that one binding of a NAT serves for all.

import Basics
import Reactor
import SIP

/// One registered line. Belongs to its shard's loop.
final class RegisteredLine {
    let settings: LineSettings
    private unowned let shard: CallShard
    private let directory: LineDirectory
    private let mark: String
    /// Its reg-id.
    private let flow: Int
    /// The edge proxy of this flow; nil: the line's server.
    private let edge: LineSettings.Registration.Edge?
    private var machine: Registration
    private var timer: LoopTimer?
    private var keepAlive: LoopTimer?
    private var transaction: TransactionID?
    /// The registrar's addresses that are left to try in this attempt.
    private var alternatives: [Hop] = []
    /// The registrar's address that is in use, and the contact that was registered by it.
    private var hop: Hop?
    private var contact: [UInt8] = []
    /// This end's address then.
    private var ownAddress: SocketAddress?

    /// Signs of life to a registrar that sees us behind NAT: most NATs forget a UDP mapping after 30 seconds or more.
    static let keepAliveInterval = Duration.seconds(25)

    init(
        _ settings: LineSettings, _ registration: LineSettings.Registration, flow: Int, replacing others: [String],
        mark: String, shard: CallShard, directory: LineDirectory
    ) {
        self.settings = settings
        self.flow = flow
        edge = registration.edges.isEmpty ? nil : registration.edges[flow - 1]
        self.shard = shard
        self.directory = directory
        self.mark = mark
        let user = settings.registeredUser
        var credentials: Credentials?
        if let username = settings.username, let password = settings.password {
            credentials = Credentials(user: username, password: password.revealed)
        }
        var asked = RegistrationSettings(
            registrar: Array("sip:\(registration.domain)".utf8),
            addressOfRecord: Array("sip:\(LocalEnd.escaped(user: user))@\(registration.domain)".utf8), credentials: credentials,
            expires: registration.expires, instance: registration.instance, callID: shard.newCallID())
        asked.isQuery = registration.isQuery
        asked.replaces = others.map { Array($0.utf8) }
        asked.flow = flow
        asked.routes = edge.map { [settings.route(to: $0)] } ?? []
        machine = Registration(asked, seed: shard.newSeed())
    }

    func start(after delay: Duration) {
        machine.start(at: shard.loop.now, after: delay)
        setTimer()
    }

    /// Tells the registrar that the line ends.
    func stop() { update { $0.stop(at: $1, into: &$2) } }

    /// Nothing goes out any more.
    func close() {
        timer?.cancel()
        keepAlive?.cancel()
        if let transaction { shard.endpoint.release(transaction) }
    }

    /// The way to this peer failed: a stream that was the flow of the line has ended.
    func lost(_ failed: Hop) {
        guard let hop, hop.transport != .udp, hop.address == failed.address else { return }
        machine.lostFlow(at: shard.loop.now)
        directory.lost(settings.name, flow: flow)
        setTimer()
    }

    /// Registers anew when this host has another address on the way to the registrar. A stream ends by itself then.
    func checkAddress() {
        guard let hop, hop.transport == .udp, let ownAddress, shard.endpoint.localAddress(to: hop) != ownAddress else { return }
        machine.addressChanged(at: shard.loop.now)
        setTimer()
    }

    // MARK: The machine

    private func update(_ event: (inout Registration, Instant, inout [RegistrationAction]) -> Void) {
        var actions: [RegistrationAction] = []
        machine.hasOtherFlow = edge != nil && directory.hasFlow(of: settings.name, besides: flow)
        event(&machine, shard.loop.now, &actions)
        for action in actions { perform(action) }
        setTimer()
    }

    private func perform(_ action: RegistrationAction) {
        switch action {
        case .register: locate()
        case .registered(let seconds, let isNew):
            guard let hop else { return }
            let routes = machine.serviceRoute.isEmpty ? machine.settings.routes : machine.serviceRoute
            directory.registered(
                settings.name,
                way: CallWay(
                    hop: hop, contact: machine.gruu.map(Self.bracketed) ?? contact, isGlobal: machine.gruu != nil,
                    privateContact: machine.temporaryGRUU.map(Self.bracketed), routes: routes, registered: contact, flow: flow),
                seconds: seconds, isNew: isNew)
            keepAlive(on: hop)
        case .failed(let failure, let wait):
            directory.failed(settings.name, failure, edge: edge?.name ?? "", retryAfter: wait)
        case .expired: directory.expired(settings.name, flow: flow)
        case .ended:
            keepAlive?.cancel()
            directory.ended(settings.name, flow: flow)
        }
    }

    private static func bracketed(_ uri: [UInt8]) -> [UInt8] { [UInt8(ascii: "<")] + uri + [UInt8(ascii: ">")] }

    private func setTimer() {
        let deadline = machine.nextDeadline
        if let timer, timer.isPending, timer.deadline == deadline { return }
        timer?.cancel()
        timer = nil
        guard deadline != .never else { return }
        timer = shard.loop.schedule(at: deadline) { [unowned self] in update { $0.fire(at: $1, into: &$2) } }
    }

    // MARK: Requests

    private func locate() {
        // The flow that works is kept (RFC 5626 section 4.2).
        if let hop, machine.isBound(at: shard.loop.now), machine.failures == 0 { return send(to: hop) }
        shard.resolver.resolve(edge.map(settings.target) ?? settings.serverTarget) { [weak self] hops in
            guard let self else { return }
            guard let first = hops.first else { return update { $0.failed(.notFound, at: $1, into: &$2) } }
            alternatives = Array(hops.dropFirst())
            send(to: first)
        }
    }

    private func send(to hop: Hop) {
        var hop = hop
        hop.host = shard.endpoint.hostNumber(edge?.server ?? settings.server, path: settings.path, over: hop.transport)
        self.hop = hop
        shard.endpoint.whenAddressIsKnown(to: hop) { [weak self] in self?.register(at: hop) }
    }

    private func register(at hop: Hop) {
        let local = shard.endpoint.localAddress(to: hop)
        ownAddress = local
        let end = shard.localEnd(hop.transport, local, secure: false).marked(
            user: settings.registeredUser, parameter: LineDirectory.markName, value: mark)
        contact = end.contact
        let request = machine.request(end: end, branch: shard.endpoint.newBranch())
        transaction = shard.endpoint.send(request.octets, method: .register, branch: request.branch, to: hop) {
            [weak self] event in
            guard let self else { return }
            switch event {
            case .response(let response, _):
                if response.status == 503, tryNext(after: hop, retryAfter: response.number(.retryAfter)) { return }
                if response.status >= 200, response.status != 503 { shard.health.worked(hop) }
                update { $0.received(response, at: $1, into: &$2) }
            case .timedOut: if !tryNext(after: hop) { update { $0.failed(.noAnswer, at: $1, into: &$2) } }
            case .transportFailed: if !tryNext(after: hop) { update { $0.failed(.unreachable, at: $1, into: &$2) } }
            }
        }
    }

    /// Goes on to the registrar's next server (RFC 3263 section 4.3); false when there is none.
    private func tryNext(after hop: Hop, retryAfter: Int? = nil) -> Bool {
        shard.health.failed(hop, at: shard.loop.now, retryAfter: retryAfter)
        guard !alternatives.isEmpty, machine.state == .asking else { return false }
        send(to: alternatives.removeFirst())
        return true
    }

    /// Double CRLF over UDP (what registrars behind NATs expect; RFC 5626 section 3.5.1 has it for streams, which look after themselves).
    private func keepAlive(on hop: Hop) {
        guard keepAlive?.isPending != true, hop.transport == .udp, let observed = machine.observed,
            observed != shard.endpoint.localAddress(to: hop) || machine.flowTimer != nil
        else { return }
        let pause = machine.flowTimer.map { Duration.milliseconds($0 * 850) } ?? Self.keepAliveInterval
        keepAlive = shard.loop.schedule(after: pause) { [unowned self] in
            guard machine.isBound(at: shard.loop.now), let current = self.hop else { return }
            shard.endpoint.sendDirect([13, 10, 13, 10], to: current)
            keepAlive(on: current)
        }
    }
}
