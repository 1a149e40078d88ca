// Comedia: where our RTP goes when the far side sends from another address than its description says, and from where RTP is
// taken. Sources that are neither can't redirect or disturb the stream.
//
//   state     packet from                                         next / verdict
//   open      where our RTP goes                                  accepted, ends a row of another address; the third: fixed
//   open      another one: same address and SSRC, numbers that    the third in a row, 30 ms after the first or later: RTP goes there,
//             go on, payload type negotiated                      fixed, latched; before: candidate
//   open      another one, payload type not negotiated            open, dropped; ends the row
//   fixed     where our RTP goes                                  accepted
//   fixed     elsewhere                                           dropped and counted
//   open      anything, 5 s after the exchange                    fixed, when the source has ever been heard; before, it stays open for
//                                                                 the hosts that the signaling names: others are dropped
//
// So between two packets of a source that speaks, nobody has the time for a row of his own; and a phone behind NAT that says nothing at
// first (it is muted, or tells no silence) is found when it speaks.

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
    /// Packets in a row that make a new source, and the time that they take at least: longer than the pause of a usual stream.
    package static let needed: UInt8 = 3
    private static let leastTime = Duration.milliseconds(30)
    /// Packets that may be lost in such a row, and one.
    private static let mostStep: UInt16 = 8

    /// Where RTP goes: the signaled address or the source that was found.
    package private(set) var destination: SocketAddress
    /// What the description said.
    package private(set) var signaled: SocketAddress
    /// Whether the source was found at another address than the signaled one.
    package var isLatched: Bool { destination != signaled }
    /// Packets from elsewhere that were dropped.
    package private(set) var droppedCount: UInt64 = 0
    private var payloads: PayloadSet
    /// From then on nothing changes a source that is known before the next exchange.
    package private(set) var closesAt: Instant
    /// Something came from where our RTP goes.
    package private(set) var isKnown = false
    /// The host of the other side's signaling.
    private let signalingIP: IPAddress?
    /// Nothing but the next exchange changes the source.
    package private(set) var isFixed = false
    private var candidate: SocketAddress?
    private var candidateSSRC: UInt32 = 0
    private var candidateSequence: UInt16 = 0
    private var candidateSince = Instant.zero
    /// Packets of the candidate, and of the destination since the exchange.
    private var row: UInt8 = 0
    private var heard: UInt8 = 0

    /// Starts with an offer/answer exchange.
    /// - Parameters:
    ///   - payloads: every number under which media may come, telephone-event too.
    ///   - signalingIP: where the other side's signaling comes from; nil: that is not known.
    package init(signaled: SocketAddress, payloads: PayloadSet, signalingIP: IPAddress? = nil, at now: Instant) {
        self.signaled = signaled
        self.signalingIP = signalingIP
        self.payloads = payloads
        destination = signaled
        closesAt = now + Self.window
    }

    /// The next exchange opens the latch again. RTP goes to the signaled address; when that is the one of before, to the source that was
    /// found for it, so that a refresh is not heard.
    package mutating func exchange(signaled: SocketAddress, payloads: PayloadSet, at now: Instant) {
        if signaled != self.signaled {
            destination = signaled
            isKnown = false
        }
        self.signaled = signaled
        self.payloads = payloads
        closesAt = now + Self.window
        isFixed = false
        row = 0
        heard = 0
        candidate = nil
    }

    /// Judges an RTP packet by its source.
    @inline(__always)
    package mutating func receive(
        from source: SocketAddress, ssrc: UInt32, sequence: UInt16, payloadType: UInt8, at now: Instant
    ) -> Verdict {
        if source == destination {
            if !isFixed { hear() }
            return .accepted
        }
        if isFixed { return drop() }
        return judge(source, ssrc: ssrc, sequence: sequence, payloadType: payloadType, at: now)
    }

    /// A packet from where our RTP goes, while the source may still change.
    private mutating func hear() {
        row = 0
        isKnown = true
        heard += 1
        if heard >= Self.needed { isFixed = true }
    }

    private mutating func judge(
        _ source: SocketAddress, ssrc: UInt32, sequence: UInt16, payloadType: UInt8, at now: Instant
    ) -> Verdict {
        if now >= closesAt {
            if isKnown { isFixed = true }
            guard !isKnown, source.ip == signaled.ip || source.ip == signalingIP else { return drop() }
        }
        guard payloads.contains(payloadType) else {
            row = 0
            return drop()
        }
        let step = sequence &- candidateSequence
        candidateSequence = sequence
        if row > 0, candidate == source, candidateSSRC == ssrc, step > 0, step <= Self.mostStep {
            row = min(row, 100) + 1
        } else {
            candidate = source
            candidateSSRC = ssrc
            candidateSince = now
            row = 1
        }
        guard row >= Self.needed, now - candidateSince >= Self.leastTime else { return .candidate }
        destination = source
        isKnown = true
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
