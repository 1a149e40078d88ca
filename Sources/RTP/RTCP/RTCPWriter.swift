// Builds compound RTCP packets in a buffer of the caller (RFC 3550 section 6.1): a report first, then SDES, then BYE.

/// Writes into `output`, front to back; `count` octets are there in the end. Packets that find no room are a fault of the caller:
/// `sufficientSize` holds any chain of one report block, SDES, XR and BYE.
package struct RTCPWriter {
    /// SR with a block, SDES with a name of 255 octets, XR, BYE.
    package static let sufficientSize = 28 + ReportBlock.size + 4 + 4 + 260 + 8 + VoIPMetrics.size + 8

    private let output: UnsafeMutableRawBufferPointer
    package private(set) var count = 0

    package init(_ output: UnsafeMutableRawBufferPointer) { self.output = output }

    /// SR: what we sent, and what we got.
    package mutating func senderReport(ssrc: UInt32, _ info: SenderInfo, about block: ReportBlock?) {
        let start = begin(type: 200, count: block == nil ? 0 : 1)
        put(ssrc)
        put(info.time.seconds)
        put(info.time.fraction)
        put(info.timestamp)
        put(info.packetCount)
        put(info.octetCount)
        if let block { put(block) }
        end(start)
    }

    /// RR: what we got, when we sent nothing since the last two reports.
    package mutating func receiverReport(ssrc: UInt32, about block: ReportBlock?) {
        let start = begin(type: 201, count: block == nil ? 0 : 1)
        put(ssrc)
        if let block { put(block) }
        end(start)
    }

    /// SDES with the CNAME, which every compound packet carries; at most 255 octets of it are written.
    package mutating func sourceDescription(ssrc: UInt32, canonicalName: UnsafeRawBufferPointer) {
        let start = begin(type: 202, count: 1)
        let length = min(canonicalName.count, 255)
        put(ssrc)
        put8(1)
        put8(UInt8(length))
        for index in 0..<length { put8(canonicalName[index]) }
        repeat { put8(0) } while count % 4 != 0
        end(start)
    }

    /// XR with VoIP metrics (RFC 3611 section 4.7).
    package mutating func extendedReport(ssrc: UInt32, _ metrics: VoIPMetrics) {
        let start = begin(type: 207, count: 0)
        put(ssrc)
        precondition(count + VoIPMetrics.size <= output.count, "no room for the packet")
        metrics.write(to: UnsafeMutableRawBufferPointer(rebasing: output[count..<count + VoIPMetrics.size]))
        count += VoIPMetrics.size
        end(start)
    }

    /// BYE: the stream ends.
    package mutating func goodbye(ssrc: UInt32) {
        let start = begin(type: 203, count: 1)
        put(ssrc)
        end(start)
    }

    private mutating func begin(type: UInt8, count items: UInt8) -> Int {
        defer { count += 4 }
        precondition(count + 4 <= output.count, "no room for the packet")
        output[count] = 0x80 | items
        output[count + 1] = type
        return count
    }

    private func end(_ start: Int) { output.write16(UInt16((count - start) / 4 - 1), at: start + 2) }

    private mutating func put(_ value: UInt32) {
        precondition(count + 4 <= output.count, "no room for the packet")
        output.write32(value, at: count)
        count += 4
    }

    private mutating func put8(_ value: UInt8) {
        precondition(count < output.count, "no room for the packet")
        output[count] = value
        count += 1
    }

    private mutating func put(_ block: ReportBlock) {
        put(block.ssrc)
        put(UInt32(block.fractionLost) << 24 | UInt32(bitPattern: block.cumulativeLost) & 0xFF_FFFF)
        put(block.highestSequence)
        put(block.jitter)
        put(block.lastSenderReport)
        put(block.delaySinceSenderReport)
    }
}
