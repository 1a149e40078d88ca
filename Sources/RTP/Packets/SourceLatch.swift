// Comedia: where our RTP goes when the far side sends from another address than its description says, and from where RTP is
// taken. Sources that are neither can't redirect or disturb the stream.
//
//   state     packet from                                         next / verdict
//   open      the signaled address                                open, accepted; ends a row of another address
//   open      another one: same address and SSRC, negotiated      the third in a row: fixed to it, accepted; before: candidate
//   open      the source before the last exchange                 as any other one, but accepted at once
//   open      another one, payload type not negotiated            open, dropped; ends the row
//   fixed     the source                                          accepted
//   fixed     elsewhere                                           dropped and counted
//   open      anything, 5 s after the exchange                    fixed to the signaled address

package import Basics

package struct SourceLatch: Sendable {
    package enum Verdict: Equatable, Sendable {
        case accepted
        /// Accepted, and from now on our packets go there.
        case latched
        /// From an address that may become the source; not to be played.
        case candidate
        case dropped
    }

    /// How long after an offer/answer exchange the source may change.
    package static let window = Duration.seconds(5)
    /// Packets in a row that make a new source.
    package static let needed = 3

    /// Where RTP goes: the signaled address or the source that was found.
    package private(set) var destination: SocketAddress
    /// What the description said.
    package private(set) var signaled: SocketAddress
    /// Whether the source was found at another address than the signaled one.
    package var isLatched: Bool { destination != signaled }
    /// Packets from elsewhere that were dropped.
    package private(set) var droppedCount: UInt64 = 0
    private var payloads: PayloadSet
    /// From then on nothing changes the source before the next exchange.
    package private(set) var closesAt: Instant
    private var isFixed = false
    private var candidate: SocketAddress?
    /// The source before the last exchange.
    private var former: SocketAddress?
    private var candidateSSRC: UInt32 = 0
    private var row = 0

    /// Starts with an offer/answer exchange. `payloads`: every number under which media may come, telephone-event too.
    package init(signaled: SocketAddress, payloads: PayloadSet, at now: Instant) {
        self.signaled = signaled
        self.payloads = payloads
        destination = signaled
        closesAt = now + Self.window
    }

    /// The next exchange opens the latch again, and RTP goes to the signaled address. What still comes from the source that was
    /// found before is played on, so that a refresh is not heard; it becomes the destination by the same rule as any other.
    package mutating func exchange(signaled: SocketAddress, payloads: PayloadSet, at now: Instant) {
        former = isLatched && signaled == self.signaled ? destination : nil
        destination = signaled
        self.signaled = signaled
        self.payloads = payloads
        closesAt = now + Self.window
        isFixed = false
        row = 0
        candidate = nil
    }

    /// Judges an RTP packet by its source.
    @inline(__always)
    package mutating func receive(from source: SocketAddress, ssrc: UInt32, payloadType: UInt8, at now: Instant) -> Verdict {
        if source == destination {
            row = 0
            return .accepted
        }
        if isFixed { return drop() }
        return judge(source, ssrc: ssrc, payloadType: payloadType, at: now)
    }

    private mutating func judge(_ source: SocketAddress, ssrc: UInt32, payloadType: UInt8, at now: Instant) -> Verdict {
        guard now < closesAt else {
            isFixed = true
            return drop()
        }
        guard payloads.contains(payloadType) else {
            row = 0
            return drop()
        }
        if row > 0, candidate == source, candidateSSRC == ssrc {
            row += 1
        } else {
            candidate = source
            candidateSSRC = ssrc
            row = 1
        }
        guard row >= Self.needed else { return source == former ? .accepted : .candidate }
        destination = source
        isFixed = true
        return .latched
    }

    private mutating func drop() -> Verdict {
        droppedCount &+= 1
        return .dropped
    }

    /// Where RTCP goes: beside the source when that was found elsewhere, else to the signaled RTCP address.
    package func rtcpDestination(signaled rtcp: SocketAddress, mux: Bool) -> SocketAddress {
        if mux { return destination }
        guard isLatched else { return rtcp }
        return SocketAddress(ip: destination.ip, port: destination.port == .max ? destination.port : destination.port + 1)
    }
}
