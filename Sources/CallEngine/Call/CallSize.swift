// Requests that are too large for a datagram (RFC 3261 section 18.1.1): those of more than 1300 octets go over TCP, and over UDP after all when
// nobody listens there.

import Basics
import Reactor
import SIP

extension Call {
    /// Where the path's MTU is not known.
    private static let datagramLimit = 1300

    func isTooLarge(_ size: Int, for hop: Hop) -> Bool {
        size > Self.datagramLimit && hop.transport == .udp && !shard.takesDatagramsOnly(hop.address)
    }

    /// Sends a request in the dialog, that is too large for its hop, over TCP; over UDP after all when that cannot be. The dialog stays with UDP.
    func sendOverStream(_ request: OutgoingRequest, orTo datagrams: Hop) {
        let hop = Hop(transport: .tcp, address: datagrams.address)
        shard.endpoint.whenAddressIsKnown(to: hop) { [self] in
            guard let end = session?.machine.end, place != nil else { return }
            let stream = shard.localEnd(.tcp, shard.endpoint.localAddress(to: hop), secure: false)
            let (session, sent) = (session, loop.now)
            transact(request.over(stream, insteadOf: end), request.method, request.branch, to: hop) { [self] event in
                if case .transportFailed = event, place != nil {
                    shard.noteDatagramsOnly(datagrams.address)
                    transact(request.octets, request.method, request.branch, to: datagrams) { [self] event in
                        (session?.owner ?? self).heard(event, of: request, sent: sent)
                    }
                } else {
                    (session?.owner ?? self).heard(event, of: request, sent: sent)
                }
            }
        }
    }

    /// Whether the INVITE goes over TCP from now on, because it is too large for UDP and the peer is not known to have nothing else.
    func movesForSize(_ size: Int) -> Bool {
        guard isTooLarge(size, for: hop) else { return false }
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

    /// This end as it is reached over the hop; a GRUU stays the same over any.
    var endAtHop: LocalEnd {
        let end = shard.localEnd(hop.transport, shard.endpoint.localAddress(to: hop), secure: false)
        guard let way = route?.way, way.isGlobal, let contact = way.contact else { return end }
        return end.with(contact: contact)
    }
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

extension OutgoingRequest {
    /// The same with the Via of another way. `end`: whose Via it has.
    fileprivate func over(_ other: LocalEnd, insteadOf end: LocalEnd) -> [UInt8] {
        func via(_ end: LocalEnd) -> [UInt8] { Array("Via: SIP/2.0/\(end.transport.name) ".utf8) + end.sentBy }
        guard let place = octets.firstRange(of: via(end)) else { return octets }
        var moved = octets
        moved.replaceSubrange(place, with: via(other))
        return moved
    }
}
