// The sending side of one stream: SSRC, sequence numbers and the timestamp that runs on through silence (RFC 3550 section 5.1).

/// Ask it for a header for each packet, and `advance` it once a tick whether something was sent or not.
package struct RTPSender: Sendable {
    package let ssrc: UInt32
    /// The number of the next packet.
    package private(set) var sequence: UInt16
    /// The timestamp of now: of the first sample of this tick.
    package private(set) var timestamp: UInt32
    package private(set) var packetCount: UInt32 = 0
    /// Payload octets.
    package private(set) var octetCount: UInt32 = 0
    /// The timestamp of the first tick.
    private var start: UInt32
    private var sentThisTick = false
    private var isSilent = true

    /// The three values are random (RFC 3550 section 5.1).
    package init(ssrc: UInt32, sequence: UInt16, timestamp: UInt32) {
        self.ssrc = ssrc
        self.sequence = sequence
        self.timestamp = timestamp
        start = timestamp
    }

    /// How long the stream has run, silence included, in units of the RTP clock. It begins anew after 2^32 of them.
    package var elapsed: UInt32 { timestamp &- start }

    /// The RTP clock has another rate from now on, in Hz; the timestamp goes on from where it is.
    package mutating func changeClock(from old: UInt32, to new: UInt32) {
        start = timestamp &- UInt32(truncatingIfNeeded: UInt64(elapsed) * UInt64(new) / UInt64(max(old, 1)))
    }

    /// The header of an audio packet of this tick. The marker is set on the first one after silence (RFC 3551 section 4.1).
    @inline(__always)
    package mutating func audio(payloadType: UInt8, octets: Int) -> RTPHeader {
        defer {
            sentThisTick = true
            isSilent = false
        }
        return header(payloadType: payloadType, marker: isSilent, timestamp: timestamp, octets: octets)
    }

    /// The header of any other packet, such as telephone-event, whose timestamp is its own.
    @inline(__always)
    package mutating func header(payloadType: UInt8, marker: Bool, timestamp: UInt32, octets: Int) -> RTPHeader {
        defer {
            sequence &+= 1
            packetCount &+= 1
            octetCount &+= UInt32(truncatingIfNeeded: octets)
        }
        return RTPHeader(marker: marker, payloadType: payloadType, sequence: sequence, timestamp: timestamp, ssrc: ssrc)
    }

    /// What another clock has sent on this stream reaches to `end`: nothing of ours is put before it.
    package mutating func follow(_ end: UInt32) {
        if Int32(bitPattern: end &- timestamp) > 0 { timestamp = end }
    }

    /// The end of a tick of `units` of the RTP clock. A tick without audio makes the next audio packet a first one.
    @inline(__always)
    package mutating func advance(by units: UInt32) {
        timestamp &+= units
        if !sentThisTick { isSilent = true }
        sentThisTick = false
    }
}
