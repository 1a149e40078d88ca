// Requests that are too large for a datagram (RFC 3261 section 18.1.1): an INVITE of more than 1300 octets goes over TCP, and over UDP
// after all when nobody listens there. Other requests of a call are small.

import Basics
import Reactor
import SIP

extension Call {
    /// Where the path's MTU is not known.
    private static let datagramLimit = 1300

    /// Whether the INVITE goes over TCP from now on, because it is too large for UDP and the peer is not known to have nothing else.
    func movesForSize(_ size: Int) -> Bool {
        guard hop.transport == .udp, size > Self.datagramLimit, !shard.takesDatagramsOnly(hop.address) else { return false }
        isMovedForSize = true
        useTransport(.tcp)
        return true
    }

    /// This end over UDP after all, when TCP did not take the INVITE: nothing has been heard of it.
    func endAfterStream() -> LocalEnd? {
        guard isMovedForSize, !state.isEnded else { return nil }
        isMovedForSize = false
        shard.noteDatagramsOnly(hop.address)
        useTransport(.udp)
        return endAtHop
    }

    private func useTransport(_ transport: Transport) {
        hop.transport = transport
        hop.connection = 0
    }

    /// This end as it is reached over the hop.
    var endAtHop: LocalEnd { shard.localEnd(hop.transport, shard.endpoint.localAddress(to: hop), secure: false) }
}

/// Peers that have refused TCP, for a while.
struct DatagramPeers {
    private var until: [SocketAddress: Instant] = [:]
    private static let capacity = 1000
    private static let lifetime = Duration.seconds(600)

    mutating func note(_ peer: SocketAddress, at now: Instant) {
        if until.count >= Self.capacity { until.removeAll() }
        until[peer] = now + Self.lifetime
    }

    func contains(_ peer: SocketAddress, at now: Instant) -> Bool { until[peer].map { $0 > now } ?? false }
}
