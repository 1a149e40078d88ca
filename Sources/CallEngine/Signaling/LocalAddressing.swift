// The address that a peer should know of this end: for Via, Contact and SDP. Over a stream that the peer has opened it is the one that it
// connected to, else that of the route. A route is looked up once for each peer in ten seconds: addresses of
// this host come and go.

package import Basics
package import Reactor
package import SIP

/// A value that each loop has for itself.
package struct LocalAddressing {
    /// What is listened on, with the ports that the system chose; for datagrams in the order of their `Hop.connection` less one.
    package let listeners: [EngineSettings.Listener]
    private let datagrams: [SocketAddress]
    private let listening: [Transport: [SocketAddress]]
    package let external: IPAddress?
    private let streamAddresses: StreamAddresses
    private var known: [IPAddress: (own: IPAddress, until: Instant)] = [:]
    private static let lifetime = Duration.seconds(10)
    /// Peers that are remembered; then it starts anew.
    private static let capacity = 10_000

    package init(listeners: [EngineSettings.Listener], external: IPAddress?, streams: StreamAddresses = StreamAddresses()) {
        self.listeners = listeners
        self.external = external
        streamAddresses = streams
        datagrams = listeners.filter { $0.transport == .udp }.map(\.address)
        let others = listeners.filter { $0.transport != .udp }.map { ($0.transport.onTheWire, [$0.address]) }
        listening = Dictionary(others, uniquingKeysWith: +)
    }

    /// Whether peers can open a stream of this kind to here.
    package func listens(over transport: Transport) -> Bool { listening[transport] != nil }

    /// Whether `address` tells what the peer will see.
    package func knowsAddress(to hop: Hop) -> Bool {
        guard hop.transport == .tcp || hop.transport == .tls, !listens(over: hop.transport) else { return true }
        return streamAddresses.any(to: hop) != nil
    }

    /// Which of the datagram sockets sends to this hop; nil when none can. Of several interfaces it is the one with a way to the peer.
    /// Mutating so that a property that is asked is not copied.
    package mutating func socket(for hop: Hop, on loop: EventLoop) -> Int? {
        if hop.connection > 0, Int(hop.connection) <= datagrams.count { return Int(hop.connection) - 1 }
        return index(in: datagrams, for: hop.address.ip, on: loop)
    }

    private mutating func index(in addresses: [SocketAddress], for peer: IPAddress, on loop: EventLoop) -> Int? {
        guard let first = addresses.firstIndex(where: { $0.ip.isV6 == peer.isV6 }) else {
            return addresses.firstIndex { $0.ip == .any6 }
        }
        guard addresses[(first + 1)...].contains(where: { $0.ip.isV6 == peer.isV6 }) else { return first }
        let own = address(toReach: peer, on: loop)
        return addresses.firstIndex { $0.ip == own } ?? addresses.firstIndex { $0.ip.isUnspecified && $0.ip.isV6 == peer.isV6 }
            ?? first
    }

    /// For a stream the port that is listened on: a peer that has lost the stream connects to it; where none is, the stream's own: the
    /// peer finds the stream by it. The external address is for peers of its own family.
    package mutating func address(to hop: Hop, on loop: EventLoop) -> SocketAddress {
        let peer = hop.address.ip
        if hop.transport == .tcp || hop.transport == .tls {
            let own = listens(over: hop.transport) ? streamAddresses.accepted(hop) : streamAddresses.any(to: hop)
            if let own {
                return SocketAddress(ip: external.flatMap { $0.isV6 == peer.isV6 ? $0 : nil } ?? own.ip, port: own.port)
            }
        }
        let bound: SocketAddress?
        if hop.transport == .udp {
            bound = socket(for: hop, on: loop).map { datagrams[$0] }
        } else {
            let own = listening[hop.transport] ?? []
            bound = index(in: own, for: peer, on: loop).map { own[$0] } ?? own.first
        }
        let port = bound?.port ?? hop.transport.usualPort
        if let external, external.isV6 == peer.isV6 { return SocketAddress(ip: external, port: port) }
        if let bound, !bound.ip.isUnspecified, bound.ip.isV6 == peer.isV6 { return SocketAddress(ip: bound.ip, port: port) }
        return SocketAddress(ip: address(toReach: peer, on: loop), port: port)
    }

    private mutating func address(toReach peer: IPAddress, on loop: EventLoop) -> IPAddress {
        let now = loop.now
        if let found = known[peer], found.until > now { return found.own }
        // Without a way there the latest one counts: it may come back.
        let found = loop.localAddress(toReach: peer) ?? known[peer]?.own ?? (peer.isV6 ? IPAddress.v6(0, 1) : .loopback4)
        if known.count >= Self.capacity { known.removeAll() }
        known[peer] = (found, now + Self.lifetime)
        return found
    }
}
