// Checks and decrypts what arrives (RFC 3711 section 3.3, RFC 7714 sections 8 and 9): the index of a packet is guessed from its
// sequence number, one that came before is not taken again, and nothing of a packet counts before its tag is right.

package import Basics

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

/// What is known of the sources of RTP, or of RTCP, under one key: their highest index (rollover counter and sequence number, or the count
/// of RTCP) and what came.
private struct SRTPSources {
    private var sources: [(ssrc: UInt32, window: SRTPWindow)] = []

    subscript(ssrc: UInt32) -> SRTPWindow? { sources.first { $0.ssrc == ssrc }?.window }

    /// Of a source that was not heard so far: an empty one.
    func window(of ssrc: UInt32) throws(SRTPError) -> SRTPWindow {
        if let known = self[ssrc] { return known }
        guard sources.count < SRTPReceiver.mostSources else { throw .tooManySources }
        return SRTPWindow()
    }

    /// These, and of the others those that are not among these.
    func over(_ others: SRTPSources) -> SRTPSources {
        var all = self
        all.sources += others.sources.filter { self[$0.ssrc] == nil }
        return all
    }

    /// An authentic packet has come.
    mutating func note(_ index: UInt64, of ssrc: UInt32) {
        let place = sources.firstIndex { $0.ssrc == ssrc } ?? sources.endIndex
        if place == sources.endIndex { sources.append((ssrc, SRTPWindow())) }
        sources[place].window.note(index)
    }
}

/// All streams of the far side under one master key.
package final class SRTPReceiver {
    /// Sources of RTP, and of RTCP, under one key. A stream that restarts takes a new one.
    package static let mostSources = 64

    package let suite: SRTPSuite
    /// The master key identifier that their packets carry (RFC 3711 section 3.1); empty: none.
    private let identifier: [UInt8]
    private let isEncrypted: Bool
    private let media: SRTPCipher
    private let control: SRTPCipher
    @exclusivity(unchecked) private var sources = SRTPSources()
    @exclusivity(unchecked) private var controlSources = SRTPSources()
    /// Sources of RTP under the keys before: how often their sequence numbers have wrapped.
    private let before: SRTPSources

    /// - Parameters:
    ///   - master: key and salt, `suite.masterLength` octets.
    ///   - identifier: up to 128 octets.
    ///   - isEncrypted: see SRTPSender.
    ///   - former: receives the same streams under the keys before. The rollover counter of a stream goes on (RFC 3711 section 3.3.1),
    ///     and, since some devices take that for a new stream (RFC 4568 section 7.1.4), may begin anew as well.
    package convenience init(
        _ suite: SRTPSuite, master: [UInt8], identifier: [UInt8] = [], isEncrypted: Bool = true, after former: SRTPReceiver? = nil
    ) {
        self.init(
            suite, media: SRTPKeys(suite, master: master, for: .rtp), control: SRTPKeys(suite, master: master, for: .rtcp),
            identifier: identifier, isEncrypted: isEncrypted, after: former)
    }

    /// With session keys.
    package init(
        _ suite: SRTPSuite, media: SRTPKeys, control: SRTPKeys, identifier: [UInt8] = [], isEncrypted: Bool = true,
        after former: SRTPReceiver? = nil
    ) {
        precondition(identifier.count <= 128)
        precondition(isEncrypted || !suite.isAEAD, "what GCM authenticates it encrypts")
        self.suite = suite
        self.isEncrypted = isEncrypted
        self.identifier = identifier
        self.media = SRTPCipher(suite, media, encrypts: false)
        self.control = SRTPCipher(suite, control, encrypts: false)
        before = former.map { $0.sources.over($0.before) } ?? SRTPSources()
    }

    /// Writes the RTP packet that `packet` protects to `output`, which is at least as long and, but for a receiver after another one, may be
    /// the same place; returns its length.
    package func unprotect(
        _ packet: UnsafeRawBufferPointer, to output: UnsafeMutableRawBufferPointer
    ) throws(SRTPError) -> Int {
        let end = packet.count - suite.tagLength - identifier.count
        guard end >= RTPHeader.size, let start = RTPPacket.payloadStart(UnsafeRawBufferPointer(rebasing: packet[..<end])) else {
            throw .malformed
        }
        let ssrc = packet.read32(at: 8)
        let sequence = packet.read16(at: 2)
        let window = try sources.window(of: ssrc)
        guard let index = window.index(of: sequence), window.isNew(index) else { throw .replayed }
        if window.isEmpty, let next = before[ssrc]?.index(of: sequence), next >> 16 != 0 {
            do throws(SRTPError) {
                try openMedia(packet, start..<end, ssrc: ssrc, index: next, to: output)
                return end
            } catch {
                guard error == .unauthentic else { throw error }
            }
        }
        try openMedia(packet, start..<end, ssrc: ssrc, index: index, to: output)
        return end
    }

    /// The RTP packet counts when it is authentic with this index.
    private func openMedia(
        _ packet: UnsafeRawBufferPointer, _ payload: Range<Int>, ssrc: UInt32, index: UInt64,
        to output: UnsafeMutableRawBufferPointer
    ) throws(SRTPError) {
        let end = payload.upperBound
        // The identifier stands behind the tag of GCM, and before that of HMAC.
        let tag = suite.isAEAD ? end : end + identifier.count
        guard hasIdentifier(packet, at: suite.isAEAD ? end + suite.tagLength : end) else { throw .unauthentic }
        try open(
            packet, payload, tag: tag..<tag + suite.tagLength, hashed: end,
            word: suite.isAEAD ? nil : UInt32(truncatingIfNeeded: index >> 16), media, isEncrypted: isEncrypted, ssrc: ssrc,
            index: index, to: output)
        sources.note(index, of: ssrc)
    }

    /// Writes the RTCP packet that `packet` protects to `output`, which is at least as long and may be the same place; returns its
    /// length.
    package func unprotectControl(
        _ packet: UnsafeRawBufferPointer, to output: UnsafeMutableRawBufferPointer
    ) throws(SRTPError) -> Int {
        let end = packet.count - SRTPIndex.size - identifier.count - suite.controlTagLength
        guard end >= 8 else { throw .malformed }
        let wordPlace = suite.isAEAD ? end + suite.controlTagLength : end
        let word = packet.read32(at: wordPlace)
        guard packet[0] >> 6 == 2, word & SRTPIndex.isEncrypted != 0 else { throw .malformed }
        let index = UInt64(word & ~SRTPIndex.isEncrypted)
        let ssrc = packet.read32(at: 4)
        guard try controlSources.window(of: ssrc).isNew(index) else { throw .replayed }
        let tag = suite.isAEAD ? end : packet.count - suite.controlTagLength
        guard hasIdentifier(packet, at: wordPlace + SRTPIndex.size) else { throw .unauthentic }
        try open(
            packet, 8..<end, tag: tag..<tag + suite.controlTagLength, hashed: wordPlace + SRTPIndex.size,
            word: suite.isAEAD ? word : nil, control, isEncrypted: true, ssrc: ssrc, index: index, to: output)
        controlSources.note(index, of: ssrc)
        return end
    }

    /// Checks the tag and decrypts; what is before the payload goes to the output as it is.
    /// - Parameters:
    ///   - hashed: HMAC covers the octets before that.
    ///   - word: is authenticated as well: behind the header by GCM, behind what is hashed by HMAC.
    private func open(
        _ packet: UnsafeRawBufferPointer, _ payload: Range<Int>, tag: Range<Int>, hashed: Int, word: UInt32?,
        _ cipher: SRTPCipher, isEncrypted: Bool, ssrc: UInt32, index: UInt64,
        to output: UnsafeMutableRawBufferPointer
    ) throws(SRTPError) {
        precondition(output.count >= packet.count)
        guard let target = output.baseAddress else { throw .malformed }
        let header = UnsafeRawBufferPointer(rebasing: packet[..<payload.lowerBound])
        let encrypted = UnsafeRawBufferPointer(rebasing: packet[payload])
        let tag = UnsafeRawBufferPointer(rebasing: packet[tag])
        let place = target + payload.lowerBound
        if suite.isAEAD {
            guard cipher.open(encrypted, to: place, authenticating: header, word, ssrc: ssrc, index: index, tag: tag) else {
                throw .unauthentic
            }
        } else {
            guard cipher.isTag(tag, of: UnsafeRawBufferPointer(rebasing: packet[..<hashed]), word) else { throw .unauthentic }
            if isEncrypted {
                cipher.crypt(encrypted, to: place, ssrc: ssrc, index: index)
            } else if UnsafeRawPointer(place) != encrypted.baseAddress {
                UnsafeMutableRawBufferPointer(start: place, count: encrypted.count).copyMemory(from: encrypted)
            }
        }
        if UnsafeRawPointer(target) != packet.baseAddress { output.copyMemory(from: header) }
    }

    private func hasIdentifier(_ packet: UnsafeRawBufferPointer, at place: Int) -> Bool {
        for offset in identifier.indices where packet[place + offset] != identifier[offset] { return false }
        return true
    }
}
