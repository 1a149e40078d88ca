package import Basics

/// An in-memory network for the sockets of one `VirtualLoop`, with the faults of a real one: it loses, delays, reorders and doubles
/// datagrams, and cuts hosts off, the same way every time for the same seed. A host is an IP address that somebody bound to.
///
/// It does not fragment, has no bandwidth limit and no name service, and SO_REUSEPORT is not there: an address has one socket.
package final class VirtualNetwork {
    /// What a way through the network does to what is sent over it.
    package struct Impairment: Hashable, Sendable {
        /// The share of datagrams that is lost, 0 to 1. A stream's bytes are not lost, but come 200 ms late.
        package var loss = 0.0
        /// The time from end to end, and what is added to it at most (evenly spread). Datagrams overtake each other by `reordering` only.
        package var delay = Duration.zero
        package var jitter = Duration.zero
        /// The share of datagrams that is held back by `reorderingDelay`, so that later ones overtake them.
        package var reordering = 0.0
        package var reorderingDelay = Duration.milliseconds(30)
        /// The share of datagrams that arrives twice.
        package var duplication = 0.0

        package init() {}
    }

    package struct Counters: Equatable, Sendable {
        package internal(set) var sent: UInt64 = 0
        /// Lost by chance or by a cut.
        package internal(set) var lost: UInt64 = 0
        /// Put into a socket; each copy counts.
        package internal(set) var delivered: UInt64 = 0
        package internal(set) var duplicated: UInt64 = 0
        package internal(set) var reordered: UInt64 = 0
        /// Nobody was bound where it went.
        package internal(set) var unreachable: UInt64 = 0
        /// The receiver's buffer was full.
        package internal(set) var overflowed: UInt64 = 0

        package init() {}
    }

    private struct Rule {
        var source: SocketAddress?
        var destination: SocketAddress?
        var impairment: Impairment

        func covers(_ from: SocketAddress, _ to: SocketAddress) -> Bool {
            Self.matches(source, from) && Self.matches(destination, to)
        }

        private static func matches(_ pattern: SocketAddress?, _ address: SocketAddress) -> Bool {
            guard let pattern else { return true }
            return pattern.ip == address.ip && (pattern.port == 0 || pattern.port == address.port)
        }
    }

    private struct Way: Hashable {
        var from: SocketAddress
        var to: SocketAddress
    }

    /// Everywhere where no rule says otherwise.
    package var impairment = Impairment()
    package internal(set) var counters = Counters()
    /// The addresses of "this host": what an unspecified bind sends from.
    package var hostAddress4 = IPAddress.loopback4
    package var hostAddress6 = IPAddress.v6(0, 1)

    private var random: SeededRandom
    private var rules: [Rule] = []
    private var cutOff: Set<IPAddress> = []
    private var lastArrival: [Way: Instant] = [:]
    private var nextPort: UInt16 = 32_768
    private var datagramSockets: [SocketAddress: VirtualDatagramSocket] = [:]
    private var listeners: [SocketAddress: VirtualListener] = [:]
    private var streams: [ObjectIdentifier: VirtualStream] = [:]
    /// What streams sent to or from a host that is cut off.
    private var held: [() -> Void] = []
    private unowned var loop: VirtualLoop!

    package init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    func attach(to loop: VirtualLoop) {
        precondition(self.loop == nil, "a network belongs to one loop")
        self.loop = loop
    }

    // MARK: Faults

    /// Impairs one direction: what goes from `source` to `destination`. Nil means everybody, port 0 every port. The latest rule that fits
    /// counts.
    package func impair(from source: SocketAddress? = nil, to destination: SocketAddress? = nil, _ impairment: Impairment) {
        rules.append(Rule(source: source, destination: destination, impairment: impairment))
    }

    /// Takes all rules and the general impairment back.
    package func clearImpairments() {
        rules = []
        impairment = Impairment()
    }

    /// Cuts a host off: datagrams to and from it are lost, streams stand still.
    package func partition(_ host: IPAddress) { cutOff.insert(host) }

    /// Connects a host again.
    package func heal(_ host: IPAddress) {
        cutOff.remove(host)
        let waiting = held
        held = []
        for action in waiting { action() }
    }

    // MARK: Addresses

    /// Sockets, listeners and streams that are open.
    package var openSockets: Int { datagramSockets.count + listeners.count + streams.count }

    func localAddress(toReach peer: IPAddress) -> IPAddress { peer.isV6 ? hostAddress6 : hostAddress4 }

    /// The address that a bind to `wanted` gets.
    func bindAddress(_ wanted: SocketAddress, isTaken: (SocketAddress) -> Bool) throws(SystemError) -> SocketAddress {
        guard wanted.port == 0 else {
            if isTaken(wanted) { throw SystemError(98, "bind \(wanted)") }  // EADDRINUSE
            return wanted
        }
        for _ in 0..<32_768 {
            let candidate = SocketAddress(ip: wanted.ip, port: nextPort)
            nextPort = nextPort == .max ? 32_768 : nextPort + 1
            if !isTaken(candidate) { return candidate }
        }
        throw SystemError(98, "bind \(wanted)")
    }

    /// What of `table` is bound to `address`, or to all addresses of its host.
    private func find<Bound>(_ address: SocketAddress, in table: [SocketAddress: Bound]) -> Bound? {
        table[address] ?? table[SocketAddress(ip: address.ip.isV6 ? .any6 : .any4, port: address.port)]
            ?? table[SocketAddress(ip: .any6, port: address.port)]
    }

    // MARK: Datagrams

    func bind(_ address: SocketAddress, _ make: (SocketAddress) -> VirtualDatagramSocket) throws(SystemError)
        -> VirtualDatagramSocket
    {
        let local = try bindAddress(address) { datagramSockets[$0] != nil }
        let socket = make(local)
        datagramSockets[local] = socket
        return socket
    }

    func release(_ socket: VirtualDatagramSocket) { datagramSockets[socket.localAddress] = nil }

    func transmit(_ bytes: [UInt8], from socket: VirtualDatagramSocket, to destination: SocketAddress) {
        var source = socket.localAddress
        if source.ip.isUnspecified { source.ip = localAddress(toReach: destination.ip) }
        counters.sent += 1
        let impairment = impairment(from: source, to: destination)
        let copies = random.happens(impairment.duplication) ? 2 : 1
        if copies == 2 { counters.duplicated += 1 }
        for _ in 0..<copies {
            guard !random.happens(impairment.loss), !isCut(source, destination) else {
                counters.lost += 1
                continue
            }
            let arrival = datagramArrival(impairment, Way(from: source, to: destination))
            loop.schedule(at: arrival) { self.arrive(bytes, from: source, to: destination, sender: socket) }
        }
    }

    private func datagramArrival(_ impairment: Impairment, _ way: Way) -> Instant {
        let arrival = max(loop.now + travelTime(impairment), lastArrival[way] ?? .zero)
        if random.happens(impairment.reordering) {
            counters.reordered += 1
            return arrival + impairment.reorderingDelay
        }
        lastArrival[way] = arrival
        return arrival
    }

    private func arrive(
        _ bytes: [UInt8], from source: SocketAddress, to destination: SocketAddress, sender: VirtualDatagramSocket
    ) {
        guard !isCut(source, destination) else {
            counters.lost += 1
            return
        }
        guard let receiver = find(destination, in: datagramSockets) else {
            counters.unreachable += 1
            // The report takes the way back.
            loop.schedule(after: travelTime(impairment(from: destination, to: source))) { sender.unreachable(destination) }
            return
        }
        if receiver.arrived(bytes, from: source) { counters.delivered += 1 } else { counters.overflowed += 1 }
    }

    // MARK: Streams

    func bind(_ address: SocketAddress, _ make: (SocketAddress) -> VirtualListener) throws(SystemError) -> VirtualListener {
        let local = try bindAddress(address) { listeners[$0] != nil }
        let listener = make(local)
        listeners[local] = listener
        return listener
    }

    func release(_ listener: VirtualListener) { listeners[listener.localAddress] = nil }
    func listener(at address: SocketAddress) -> VirtualListener? { find(address, in: listeners) }
    func add(_ stream: VirtualStream) { streams[ObjectIdentifier(stream)] = stream }
    func remove(_ stream: VirtualStream) { streams[ObjectIdentifier(stream)] = nil }

    func isStreamAddressTaken(_ address: SocketAddress) -> Bool {
        listeners[address] != nil || streams.values.contains { $0.localAddress == address }
    }

    /// Runs `deliver` when what goes from one end of a stream to the other is there, in the order of sending.
    func carry(from source: SocketAddress, to destination: SocketAddress, after last: Instant, _ deliver: @escaping () -> Void)
        -> Instant
    {
        let impairment = impairment(from: source, to: destination)
        var time = travelTime(impairment)
        if random.happens(impairment.loss) { time += .milliseconds(200) }
        let arrival = max(loop.now + time, last)
        loop.schedule(at: arrival) { self.deliverOrHold(source, destination, deliver) }
        return arrival
    }

    private func deliverOrHold(_ source: SocketAddress, _ destination: SocketAddress, _ deliver: @escaping () -> Void) {
        if isCut(source, destination) {
            held.append { self.deliverOrHold(source, destination, deliver) }
        } else {
            deliver()
        }
    }

    func isCut(_ left: SocketAddress, _ right: SocketAddress) -> Bool {
        !cutOff.isEmpty && (cutOff.contains(left.ip) || cutOff.contains(right.ip))
    }

    private func impairment(from source: SocketAddress, to destination: SocketAddress) -> Impairment {
        rules.last { $0.covers(source, destination) }?.impairment ?? impairment
    }

    private func travelTime(_ impairment: Impairment) -> Duration {
        guard impairment.jitter > .zero else { return impairment.delay }
        return impairment.delay + .nanoseconds(Int64.random(in: 0...impairment.jitter.nanoseconds, using: &random))
    }
}
