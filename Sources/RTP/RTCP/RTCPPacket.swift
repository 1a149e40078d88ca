// RTCP (RFC 3550 section 6): a reader of compound packets that neither copies nor allocates. Of the types SR, RR, SDES (CNAME), BYE and
// XR (VoIP metrics) are understood; others are stepped over. Reduced-size packets (RFC 5506) are read too.
//
//    |V=2|P|  count  |      type     |       words after this one      |

import Basics

/// What the far side tells about our stream, or we about theirs (RFC 3550 section 6.4.1).
package struct ReportBlock: Equatable, Sendable {
    package static let size = 24

    /// Whose packets are meant.
    package var ssrc: UInt32
    /// Lost since the last report, in 1/256.
    package var fractionLost: UInt8
    /// -2^23 to 2^23 - 1.
    package var cumulativeLost: Int32
    /// The highest number with its count of cycles.
    package var highestSequence: UInt32
    /// Units of the RTP clock.
    package var jitter: UInt32
    /// The middle 32 bits of the last SR's NTP time; 0: none came.
    package var lastSenderReport: UInt32
    /// Time since then, in 1/65536 s.
    package var delaySinceSenderReport: UInt32

    package init(
        ssrc: UInt32, fractionLost: UInt8, cumulativeLost: Int32, highestSequence: UInt32, jitter: UInt32,
        lastSenderReport: UInt32, delaySinceSenderReport: UInt32
    ) {
        self.ssrc = ssrc
        self.fractionLost = fractionLost
        self.cumulativeLost = cumulativeLost
        self.highestSequence = highestSequence
        self.jitter = jitter
        self.lastSenderReport = lastSenderReport
        self.delaySinceSenderReport = delaySinceSenderReport
    }

    /// From our SR to this report of it, without the time that it lay at the far side (RFC 3550 section 6.4.1). `now` is the time
    /// of arrival on the clock of our SRs. Nil without an SR to refer to, and for times that can't be (negative, over a minute).
    package func roundTrip(at now: NTPTime) -> Duration? {
        guard lastSenderReport != 0 else { return nil }
        let units = Int32(bitPattern: now.middle &- lastSenderReport &- delaySinceSenderReport)
        guard units >= 0, units < 60 << 16 else { return nil }
        return .nanoseconds(Int64(units) * 1_000_000_000 / 65_536)
    }
}

/// The sender's part of an SR.
package struct SenderInfo: Equatable, Sendable {
    package var time: NTPTime
    /// The RTP timestamp of the same moment.
    package var timestamp: UInt32
    package var packetCount: UInt32
    package var octetCount: UInt32

    package init(time: NTPTime, timestamp: UInt32, packetCount: UInt32, octetCount: UInt32) {
        self.time = time
        self.timestamp = timestamp
        self.packetCount = packetCount
        self.octetCount = octetCount
    }
}

/// 64-bit NTP time: seconds since 1900 and their fraction.
package struct NTPTime: Equatable, Sendable {
    package var seconds: UInt32
    package var fraction: UInt32

    package init(seconds: UInt32, fraction: UInt32) {
        self.seconds = seconds
        self.fraction = fraction
    }

    /// From nanoseconds since 1970.
    package init(unixNanoseconds: Int64) {
        seconds = UInt32(truncatingIfNeeded: unixNanoseconds / 1_000_000_000 + 2_208_988_800)
        fraction = UInt32((UInt64(unixNanoseconds % 1_000_000_000) << 32) / 1_000_000_000)
    }

    /// The middle 32 bits, in 1/65536 s: what LSR holds.
    package var middle: UInt32 { seconds << 16 | fraction >> 16 }

    /// A length in 1/65536 s, 0 to 18 h.
    static func units65536(_ duration: Duration) -> UInt32 {
        let nanoseconds = max(duration.nanoseconds, 0)
        let seconds = nanoseconds / 1_000_000_000
        let rest = nanoseconds % 1_000_000_000
        return UInt32(clamping: seconds * 65_536 + rest * 65_536 / 1_000_000_000)
    }
}

/// Steps through a compound packet.
package struct RTCPReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    /// nil unless it is a whole chain of version 2 packets of RTCP types whose lengths fill the datagram exactly, with padding on
    /// the last one only (RFC 3550 appendix A.2).
    package init?(_ bytes: UnsafeRawBufferPointer) {
        var position = 0
        guard !bytes.isEmpty else { return nil }
        while position < bytes.count {
            guard position + 4 <= bytes.count, bytes[position] >> 6 == 2, 192...223 ~= bytes[position + 1] else { return nil }
            let length = 4 + 4 * Int(bytes.read16(at: position + 2))
            guard position + length <= bytes.count else { return nil }
            if bytes[position] & 0x20 != 0 {
                let padding = Int(bytes[bytes.count - 1])
                guard position + length == bytes.count, padding > 0, padding % 4 == 0, padding <= length - 4 else { return nil }
            }
            position += length
        }
        self.bytes = bytes
    }

    /// The next packet of the chain; nil at the end.
    package mutating func next() -> RTCPPacket? {
        guard position < bytes.count else { return nil }
        let length = 4 + 4 * Int(bytes.read16(at: position + 2))
        let padding = bytes[position] & 0x20 != 0 ? Int(bytes[position + length - 1]) : 0
        defer { position += length }
        return RTCPPacket(UnsafeRawBufferPointer(rebasing: bytes[position..<position + length - padding]))
    }
}

/// One packet of a chain. Valid only as long as the buffer.
package struct RTCPPacket {
    package enum Kind: Equatable, Sendable {
        case senderReport
        case receiverReport
        case sourceDescription
        case goodbye
        /// XR (RFC 3611).
        case extendedReport
        /// Not understood, or cut short.
        case other
    }

    package let kind: Kind
    private let bytes: UnsafeRawBufferPointer

    fileprivate init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        let count = Int(bytes[0] & 0x1F)
        kind =
            switch bytes[1] {
            case 200 where bytes.count >= 28 + count * ReportBlock.size: .senderReport
            case 201 where bytes.count >= 8 + count * ReportBlock.size: .receiverReport
            case 202: .sourceDescription
            case 203 where bytes.count >= 4 + 4 * count: .goodbye
            case 207 where bytes.count >= 8: .extendedReport
            default: .other
            }
    }

    /// Reports of SR and RR, sources of BYE, chunks of SDES.
    package var count: Int { kind == .other || kind == .extendedReport ? 0 : Int(bytes[0] & 0x1F) }

    /// The sender of SR and RR.
    package var ssrc: UInt32? {
        kind == .senderReport || kind == .receiverReport ? bytes.read32(at: 4) : nil
    }

    /// The sender's part of an SR.
    package var senderInfo: SenderInfo? {
        guard kind == .senderReport else { return nil }
        return SenderInfo(
            time: NTPTime(seconds: bytes.read32(at: 8), fraction: bytes.read32(at: 12)), timestamp: bytes.read32(at: 16),
            packetCount: bytes.read32(at: 20), octetCount: bytes.read32(at: 24))
    }

    /// The report about `ssrc` in an SR or RR.
    package func report(about ssrc: UInt32) -> ReportBlock? {
        guard kind == .senderReport || kind == .receiverReport else { return nil }
        for index in 0..<count where report(index).ssrc == ssrc { return report(index) }
        return nil
    }

    /// A report of an SR or RR, from 0.
    package func report(_ index: Int) -> ReportBlock {
        precondition(index >= 0 && index < count && (kind == .senderReport || kind == .receiverReport))
        let start = (kind == .senderReport ? 28 : 8) + index * ReportBlock.size
        let lost = bytes.read32(at: start + 4)
        return ReportBlock(
            ssrc: bytes.read32(at: start), fractionLost: UInt8(lost >> 24), cumulativeLost: Int32(bitPattern: lost << 8) >> 8,
            highestSequence: bytes.read32(at: start + 8), jitter: bytes.read32(at: start + 12),
            lastSenderReport: bytes.read32(at: start + 16), delaySinceSenderReport: bytes.read32(at: start + 20))
    }

    /// The VoIP metrics about `ssrc` in an XR packet (RFC 3611 section 4.7).
    package func voipMetrics(about ssrc: UInt32) -> VoIPMetrics? {
        guard kind == .extendedReport else { return nil }
        var position = 8
        while position + 4 <= bytes.count {
            let end = position + 4 + 4 * Int(bytes.read16(at: position + 2))
            guard end <= bytes.count else { return nil }
            if bytes[position] == 7, end - position == VoIPMetrics.size, bytes.read32(at: position + 4) == ssrc {
                return VoIPMetrics(UnsafeRawBufferPointer(rebasing: bytes[position..<end]))
            }
            position = end
        }
        return nil
    }

    /// Whether a BYE names this source.
    package func saysGoodbye(to ssrc: UInt32) -> Bool {
        guard kind == .goodbye else { return false }
        for index in 0..<count where bytes.read32(at: 4 + 4 * index) == ssrc { return true }
        return false
    }

    /// The CNAME of a source in an SDES packet (RFC 3550 section 6.5.1); nil when it is not there.
    package func canonicalName(of ssrc: UInt32) -> UnsafeRawBufferPointer? {
        guard kind == .sourceDescription else { return nil }
        var position = 4
        for _ in 0..<count {
            guard position + 4 <= bytes.count else { return nil }
            let isWanted = bytes.read32(at: position) == ssrc
            position += 4
            while position < bytes.count, bytes[position] != 0 {
                guard position + 2 <= bytes.count else { return nil }
                let end = position + 2 + Int(bytes[position + 1])
                guard end <= bytes.count else { return nil }
                if isWanted, bytes[position] == 1 { return UnsafeRawBufferPointer(rebasing: bytes[position + 2..<end]) }
                position = end
            }
            // The list ends with one to four zeros, up to the next word.
            position = (position / 4 + 1) * 4
        }
        return nil
    }
}
