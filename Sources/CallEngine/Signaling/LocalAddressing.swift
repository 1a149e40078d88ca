// The address that a peer should know of this end: for Via, Contact and SDP. A route is looked up once for each peer.

package import Basics
package import Reactor
package import SIP

/// A value that each loop has for itself.
package struct LocalAddressing {
    /// What is listened on, with the ports that the system chose; for datagrams in the order of their `Hop.connection` less one.
    package let listeners: [EngineSettings.Listener]
    private let datagrams: [SocketAddress]
    private let stream: SocketAddress?
    package let external: IPAddress?
    private var known: [IPAddress: IPAddress] = [:]
    /// Peers that are remembered; then it starts anew.
    private static let capacity = 10_000

    package init(listeners: [EngineSettings.Listener], external: IPAddress?) {
        self.listeners = listeners
        self.external = external
        datagrams = listeners.filter { $0.transport == .udp }.map(\.address)
        stream = listeners.first { $0.transport == .tcp }?.address
    }

    /// Which of the datagram sockets sends to this hop; nil when none can. Mutating so that a property that is asked is not copied.
    package mutating func socket(for hop: Hop) -> Int? {
        if hop.connection > 0, Int(hop.connection) <= datagrams.count { return Int(hop.connection) - 1 }
        return datagrams.firstIndex { $0.ip.isV6 == hop.address.ip.isV6 } ?? datagrams.firstIndex { $0.ip == .any6 }
    }

    /// For a stream the port that is listened on: a peer that has lost the stream connects to it.
    package mutating func address(to hop: Hop, on loop: EventLoop) -> SocketAddress {
        let bound = hop.transport == .udp ? socket(for: hop).map { datagrams[$0] } : stream
        let port = bound?.port ?? 5060
        if let external { return SocketAddress(ip: external, port: port) }
        if let bound, !bound.ip.isUnspecified { return SocketAddress(ip: bound.ip, port: port) }
        return SocketAddress(ip: address(toReach: hop.address.ip, on: loop), port: port)
    }

    private mutating func address(toReach peer: IPAddress, on loop: EventLoop) -> IPAddress {
        if let found = known[peer] { return found }
        let found = loop.localAddress(toReach: peer) ?? (peer.isV6 ? IPAddress.v6(0, 1) : .loopback4)
        if known.count >= Self.capacity { known.removeAll() }
        known[peer] = found
        return found
    }
}
