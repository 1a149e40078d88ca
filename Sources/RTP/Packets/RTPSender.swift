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
    private var sentThisTick = false
    private var isSilent = true

    /// The three values are random (RFC 3550 section 5.1).
    package init(ssrc: UInt32, sequence: UInt16, timestamp: UInt32) {
        self.ssrc = ssrc
        self.sequence = sequence
        self.timestamp = timestamp
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

    /// The end of a tick of `units` of the RTP clock. A tick without audio makes the next audio packet a first one.
    @inline(__always)
    package mutating func advance(by units: UInt32) {
        timestamp &+= units
        if !sentThisTick { isSilent = true }
        sentThisTick = false
    }
}
