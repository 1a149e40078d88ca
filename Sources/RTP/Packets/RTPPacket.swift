// The RTP packet (RFC 3550 section 5.1): a view over received bytes, and the header of packets that we send.
//
//    0                   1                   2                   3
//    |V=2|P|X|  CC   |M|     PT      |       sequence number         |
//    |                           timestamp                           |
//    |                             SSRC                              |
//    |  CSRC … (CC words)                                            |
//    |  extension, when X: profile (16), words (16), words …         |
//    |  payload …                         | padding, when P: … count |

/// A received packet. It neither copies nor allocates: it is valid only as long as the buffer that it looks at.
package struct RTPPacket {
    package let marker: Bool
    /// 0 to 127.
    package let payloadType: UInt8
    package let sequence: UInt16
    package let timestamp: UInt32
    package let ssrc: UInt32
    /// Contributing sources, 0 to 15.
    package let contributorCount: Int
    /// The `profile` field of the header extension and its bytes; nil without one.
    package let headerExtension: (profile: UInt16, bytes: UnsafeRawBufferPointer)?
    /// Without padding; may be empty.
    package let payload: UnsafeRawBufferPointer
    private let bytes: UnsafeRawBufferPointer

    /// nil when the bytes are no RTP packet: too short, not version 2, a CSRC list, extension or padding beyond the end
    /// (RFC 3550 appendix A.1).
    @inline(__always)
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard let start = Self.payloadStart(bytes) else { return nil }
        let first = bytes[0]
        contributorCount = Int(first & 0x0F)
        var end = bytes.count
        if first & 0x10 != 0 {
            let place = RTPHeader.size + 4 * contributorCount
            headerExtension = (bytes.read16(at: place), UnsafeRawBufferPointer(rebasing: bytes[place + 4..<start]))
        } else {
            headerExtension = nil
        }
        if first & 0x20 != 0 {
            guard end > start else { return nil }
            let padding = Int(bytes[end - 1])
            guard padding > 0, padding <= end - start else { return nil }
            end -= padding
        }
        marker = bytes[1] & 0x80 != 0
        payloadType = bytes[1] & 0x7F
        sequence = bytes.read16(at: 2)
        timestamp = bytes.read32(at: 4)
        ssrc = bytes.read32(at: 8)
        payload = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
        self.bytes = bytes
    }

    /// Where the payload begins, behind CSRC list and extension; what is behind it may be encrypted, so padding is not looked at. Nil for
    /// what is no RTP packet.
    @inline(__always)
    static func payloadStart(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= RTPHeader.size, bytes[0] >> 6 == 2 else { return nil }
        var start = RTPHeader.size + 4 * Int(bytes[0] & 0x0F)
        if bytes[0] & 0x10 != 0 {
            guard start + 4 <= bytes.count else { return nil }
            start += 4 + 4 * Int(bytes.read16(at: start + 2))
        }
        return start <= bytes.count ? start : nil
    }

    /// A contributing source, from 0.
    package func contributor(_ index: Int) -> UInt32 {
        precondition(index >= 0 && index < contributorCount)
        return bytes.read32(at: RTPHeader.size + 4 * index)
    }
}

/// The twelve octets in front of what we send: no CSRC, no extension, no padding.
package struct RTPHeader: Equatable, Sendable {
    package static var size: Int { 12 }

    package var marker: Bool
    package var payloadType: UInt8
    package var sequence: UInt16
    package var timestamp: UInt32
    package var ssrc: UInt32

    package init(marker: Bool, payloadType: UInt8, sequence: UInt16, timestamp: UInt32, ssrc: UInt32) {
        self.marker = marker
        self.payloadType = payloadType
        self.sequence = sequence
        self.timestamp = timestamp
        self.ssrc = ssrc
    }

    /// Writes `size` octets to the front of `output`, which must have room.
    @inline(__always)
    package func write(to output: UnsafeMutableRawBufferPointer) {
        precondition(output.count >= Self.size)
        output[0] = 0x80
        output[1] = (marker ? 0x80 : 0) | (payloadType & 0x7F)
        output.write16(sequence, at: 2)
        output.write32(timestamp, at: 4)
        output.write32(ssrc, at: 8)
    }
}

extension UnsafeRawBufferPointer {
    @inline(__always) func read16(at offset: Int) -> UInt16 {
        UInt16(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }
    @inline(__always) func read32(at offset: Int) -> UInt32 {
        UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}

extension UnsafeMutableRawBufferPointer {
    @inline(__always) func write16(_ value: UInt16, at offset: Int) {
        storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt16.self)
    }
    @inline(__always) func write32(_ value: UInt32, at offset: Int) {
        storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt32.self)
    }
}
