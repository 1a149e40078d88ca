// Protects what we send (RFC 3711 sections 3.3 and 3.4, RFC 7714 sections 8 and 9), in place.
//
//   HMAC   RTP   header | encrypted payload | tag                       tag over all before it and the rollover counter
//          RTCP  header, SSRC | encrypted | E, index | tag              tag over all before it
//   GCM    RTP   header | encrypted payload | tag                       header and payload are authenticated
//          RTCP  header, SSRC | encrypted | tag | E, index              header, SSRC, E and index as well

package import Basics

extension SRTPSuite {
    /// The most octets by which protection makes an RTP or RTCP packet longer.
    package static let mostTrailer = 16 + SRTPIndex.size
}

/// The word behind an RTCP packet: the E bit and a count of 31 bits (RFC 3711 section 3.4).
enum SRTPIndex {
    static let size = 4
    static let isEncrypted: UInt32 = 0x8000_0000
}

/// One stream under one master key: a further SSRC needs one of its own. Our packets carry no master key identifier.
package final class SRTPSender {
    package let suite: SRTPSuite
    private let isEncrypted: Bool
    private let media: SRTPCipher
    private let control: SRTPCipher
    @exclusivity(unchecked) private var rollover: UInt32 = 0
    @exclusivity(unchecked) private var lastSequence: UInt16 = 0
    @exclusivity(unchecked) private var hasSent = false
    @exclusivity(unchecked) private var controlIndex: UInt32 = 0

    /// - Parameters:
    ///   - master: key and salt, `suite.masterLength` octets; for nothing else than this stream.
    ///   - isEncrypted: false leaves the payload of RTP readable, with its tag: UNENCRYPTED_SRTP (RFC 4568 section 6.3.2), for suites with
    ///     HMAC.
    ///   - former: has sent the same stream to the same far side under the keys before: the rollover counter goes on (RFC 3711
    ///     section 3.3.1).
    package convenience init(
        _ suite: SRTPSuite, master: [UInt8], isEncrypted: Bool = true, after former: SRTPSender? = nil
    ) {
        self.init(
            suite, media: SRTPKeys(suite, master: master, for: .rtp), control: SRTPKeys(suite, master: master, for: .rtcp),
            isEncrypted: isEncrypted)
        guard let former else { return }
        (rollover, lastSequence, hasSent) = (former.rollover, former.lastSequence, former.hasSent)
    }

    /// With session keys.
    package init(_ suite: SRTPSuite, media: SRTPKeys, control: SRTPKeys, isEncrypted: Bool = true) {
        precondition(isEncrypted || !suite.isAEAD, "what GCM authenticates it encrypts")
        self.suite = suite
        self.isEncrypted = isEncrypted
        self.media = SRTPCipher(suite, media, encrypts: true)
        self.control = SRTPCipher(suite, control, encrypts: true)
    }

    /// Protects the RTP packet in the first `count` octets of `buffer`, which has room for `SRTPSuite.mostTrailer` more. Packets come in
    /// the order of their sequence numbers. Returns the new length; nil for what is no RTP packet, and when the key is used up.
    package func protect(_ buffer: UnsafeMutableRawBufferPointer, count: Int) -> Int? {
        precondition(count + SRTPSuite.mostTrailer <= buffer.count, "no room for the tag")
        let packet = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])
        guard let base = buffer.baseAddress, let start = RTPPacket.payloadStart(packet) else { return nil }
        let sequence = packet.read16(at: 2)
        if hasSent, sequence < lastSequence, lastSequence - sequence > 0x8000 {
            guard rollover < .max else { return nil }
            rollover += 1
        }
        hasSent = true
        lastSequence = sequence
        let index = UInt64(rollover) << 16 | UInt64(sequence)
        let ssrc = packet.read32(at: 8)
        let payload = UnsafeRawBufferPointer(rebasing: packet[start...])
        if suite.isAEAD {
            media.seal(
                payload, to: base + start, authenticating: UnsafeRawBufferPointer(rebasing: packet[..<start]), nil, ssrc: ssrc,
                index: index, tag: base + count)
        } else {
            if isEncrypted { media.crypt(payload, to: base + start, ssrc: ssrc, index: index) }
            media.tag(of: packet, rollover, to: base + count, length: suite.tagLength)
        }
        return count + suite.tagLength
    }

    /// Protects the compound RTCP packet in the first `count` octets of `buffer`, which has room for `SRTPSuite.mostTrailer` more.
    /// Returns the new length; nil for what is too short, and when the key is used up.
    package func protectControl(_ buffer: UnsafeMutableRawBufferPointer, count: Int) -> Int? {
        precondition(count + SRTPSuite.mostTrailer <= buffer.count, "no room for the tag")
        guard let base = buffer.baseAddress, count >= 8, controlIndex < 0x7FFF_FFFF else { return nil }
        let packet = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])
        controlIndex += 1
        let ssrc = packet.read32(at: 4)
        let word = SRTPIndex.isEncrypted | controlIndex
        let payload = UnsafeRawBufferPointer(rebasing: packet[8...])
        if suite.isAEAD {
            control.seal(
                payload, to: base + 8, authenticating: UnsafeRawBufferPointer(rebasing: packet[..<8]), word, ssrc: ssrc,
                index: UInt64(controlIndex), tag: base + count)
            buffer.write32(word, at: count + 16)
        } else {
            control.crypt(payload, to: base + 8, ssrc: ssrc, index: UInt64(controlIndex))
            buffer.write32(word, at: count)
            let covered = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<(count + SRTPIndex.size)])
            control.tag(of: covered, nil, to: base + count + SRTPIndex.size, length: suite.controlTagLength)
        }
        return count + SRTPIndex.size + suite.controlTagLength
    }
}
