// Checks and decrypts what arrives (RFC 3711 section 3.3, RFC 7714 sections 8 and 9): the index of a packet is guessed from its
// sequence number, one that came before is not taken again, and nothing of a packet counts before its tag is right.

/// Why a packet is not taken.
package enum SRTPError: Error, Equatable, Sendable, CaseIterable {
    /// No RTP or RTCP packet, too short for its tag, or RTCP that is not encrypted.
    case malformed
    /// The tag is wrong: made with another key, changed on the way, or not protected at all.
    case unauthentic
    /// It came before, or is so old that nobody can tell.
    case replayed
    /// More sources than one stream has in its life.
    case tooManySources
}

/// All streams of the far side under one master key.
package final class SRTPReceiver {
    /// What is known of one SSRC.
    private struct Source {
        let ssrc: UInt32
        /// Index: rollover counter and sequence number, or the count of RTCP.
        var window = SRTPWindow()
    }

    /// Sources of RTP, and of RTCP, under one key. A stream that restarts takes a new one.
    package static let mostSources = 64

    package let suite: SRTPSuite
    /// The master key identifier that their packets carry (RFC 3711 section 3.1); empty: none.
    private let identifier: [UInt8]
    private let media: SRTPCipher
    private let control: SRTPCipher
    @exclusivity(unchecked) private var sources: [Source] = []
    @exclusivity(unchecked) private var controlSources: [Source] = []

    /// `master`: key and salt, `suite.masterLength` octets; `identifier`: up to 128 octets.
    package convenience init(_ suite: SRTPSuite, master: [UInt8], identifier: [UInt8] = []) {
        self.init(
            suite, media: SRTPKeys(suite, master: master, for: .rtp), control: SRTPKeys(suite, master: master, for: .rtcp),
            identifier: identifier)
    }

    /// With session keys.
    package init(_ suite: SRTPSuite, media: SRTPKeys, control: SRTPKeys, identifier: [UInt8] = []) {
        precondition(identifier.count <= 128)
        self.suite = suite
        self.identifier = identifier
        self.media = SRTPCipher(suite, media, encrypts: false)
        self.control = SRTPCipher(suite, control, encrypts: false)
    }

    /// Writes the RTP packet that `packet` protects to `output`, which is at least as long and may be the same place; returns its length.
    package func unprotect(
        _ packet: UnsafeRawBufferPointer, to output: UnsafeMutableRawBufferPointer
    ) throws(SRTPError) -> Int {
        precondition(output.count >= packet.count)
        let end = packet.count - suite.tagLength - identifier.count
        guard let target = output.baseAddress, end >= RTPHeader.size,
            let start = RTPPacket.payloadStart(UnsafeRawBufferPointer(rebasing: packet[..<end]))
        else { throw .malformed }
        let ssrc = packet.read32(at: 8)
        let place = sources.firstIndex { $0.ssrc == ssrc }
        guard place != nil || sources.count < Self.mostSources else { throw .tooManySources }
        let window = place.map { sources[$0].window } ?? SRTPWindow()
        guard let index = window.index(of: packet.read16(at: 2)), window.isNew(index) else { throw .replayed }
        let header = UnsafeRawBufferPointer(rebasing: packet[..<start])
        let payload = UnsafeRawBufferPointer(rebasing: packet[start..<end])
        if suite.isAEAD {
            // The identifier stands behind the tag.
            let tag = UnsafeRawBufferPointer(rebasing: packet[end..<end + suite.tagLength])
            guard hasIdentifier(packet, at: end + suite.tagLength),
                media.open(payload, to: target + start, authenticating: header, nil, ssrc: ssrc, index: index, tag: tag)
            else { throw .unauthentic }
        } else {
            let tag = UnsafeRawBufferPointer(rebasing: packet[(end + identifier.count)...])
            let covered = UnsafeRawBufferPointer(rebasing: packet[..<end])
            guard hasIdentifier(packet, at: end), media.isTag(tag, of: covered, UInt32(truncatingIfNeeded: index >> 16)) else {
                throw .unauthentic
            }
            media.crypt(payload, to: target + start, ssrc: ssrc, index: index)
        }
        if target != header.baseAddress.map({ UnsafeMutableRawPointer(mutating: $0) }) {
            output.copyMemory(from: header)
        }
        if let place {
            sources[place].window.note(index)
        } else {
            sources.append(Source(ssrc: ssrc, window: SRTPWindow(first: index)))
        }
        return end
    }

    /// Writes the RTCP packet that `packet` protects to `output`, which is at least as long and may be the same place; returns its
    /// length.
    package func unprotectControl(
        _ packet: UnsafeRawBufferPointer, to output: UnsafeMutableRawBufferPointer
    ) throws(SRTPError) -> Int {
        precondition(output.count >= packet.count)
        let end = packet.count - SRTPIndex.size - identifier.count - suite.controlTagLength
        guard let target = output.baseAddress, end >= 8 else { throw .malformed }
        let wordPlace = suite.isAEAD ? end + suite.controlTagLength : end
        let word = packet.read32(at: wordPlace)
        guard packet[0] >> 6 == 2, word & SRTPIndex.isEncrypted != 0 else { throw .malformed }
        let index = UInt64(word & ~SRTPIndex.isEncrypted)
        let ssrc = packet.read32(at: 4)
        let place = controlSources.firstIndex { $0.ssrc == ssrc }
        guard place != nil || controlSources.count < Self.mostSources else { throw .tooManySources }
        if let place, !controlSources[place].window.isNew(index) { throw .replayed }
        let header = UnsafeRawBufferPointer(rebasing: packet[..<8])
        let payload = UnsafeRawBufferPointer(rebasing: packet[8..<end])
        guard hasIdentifier(packet, at: wordPlace + SRTPIndex.size) else { throw .unauthentic }
        if suite.isAEAD {
            let tag = UnsafeRawBufferPointer(rebasing: packet[end..<wordPlace])
            guard control.open(payload, to: target + 8, authenticating: header, word, ssrc: ssrc, index: index, tag: tag) else {
                throw .unauthentic
            }
        } else {
            let covered = UnsafeRawBufferPointer(rebasing: packet[..<(wordPlace + SRTPIndex.size)])
            let tag = UnsafeRawBufferPointer(rebasing: packet[(packet.count - suite.controlTagLength)...])
            guard control.isTag(tag, of: covered, nil) else { throw .unauthentic }
            control.crypt(payload, to: target + 8, ssrc: ssrc, index: index)
        }
        if target != header.baseAddress.map({ UnsafeMutableRawPointer(mutating: $0) }) {
            output.copyMemory(from: header)
        }
        if let place {
            controlSources[place].window.note(index)
        } else {
            controlSources.append(Source(ssrc: ssrc, window: SRTPWindow(first: index)))
        }
        return end
    }

    private func hasIdentifier(_ packet: UnsafeRawBufferPointer, at place: Int) -> Bool {
        for offset in identifier.indices where packet[place + offset] != identifier[offset] { return false }
        return true
    }
}
