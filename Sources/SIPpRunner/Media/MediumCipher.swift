// SRTP by the keys in both descriptions (SDES, RFC 4568), as SIPp's crypto keywords write them: each end protects what it sends with the
// key of its own line. Besides RFC 4568's suites there are packets that are authenticated and not encrypted: SIPp's NULL_HMAC_SHA1_80
// and _32, and UNENCRYPTED_SRTP (section 6.3.2).

import Basics
import RTP
import SDP

/// A line a=crypto of either end.
struct KeyLine {
    let attribute: CryptoAttribute
    /// False: packets carry a tag and are readable.
    let isEncrypted: Bool

    /// What is behind `a=crypto:`; nil for what cannot be used.
    init?(_ text: Substring) {
        var words = text.split(separator: " ").map(String.init)
        guard words.count >= 3 else { return nil }
        let null = "NULL_HMAC_SHA1_"
        let isNull = words[1].uppercased().hasPrefix(null)
        if isNull { words[1] = "AES_CM_128_HMAC_SHA1_" + words[1].dropFirst(null.count) }
        let count = words.count
        words.removeAll { $0.uppercased() == "UNENCRYPTED_SRTP" }
        isEncrypted = !isNull && words.count == count
        guard let attribute = CryptoAttribute(words.joined(separator: " ")) else { return nil }
        if attribute.suite.isAEAD, !isEncrypted { return nil }
        self.attribute = attribute
    }

    /// The suite's name, for a person.
    var name: String { attribute.suite.rawValue + (isEncrypted ? "" : ", not encrypted") }

    func isSameSuite(as other: KeyLine) -> Bool {
        attribute.suite == other.attribute.suite && isEncrypted == other.isEncrypted
    }

    /// Whether packets go on as they were.
    func isSameKey(as other: KeyLine) -> Bool {
        isSameSuite(as: other) && attribute.key == other.attribute.key && attribute.identifier == other.attribute.identifier
    }
}

/// What protects one medium of a call.
final class MediumCipher {
    private let own: KeyLine
    private let remote: KeyLine
    /// One a source: the stream that plays, and what is sent back.
    private var senders: [UInt32: SRTPSender] = [:]
    private let receiver: SRTPReceiver

    var name: String { own.name }

    private init(own: KeyLine, remote: KeyLine, senders: [UInt32: SRTPSender], receiver: SRTPReceiver) {
        self.own = own
        self.remote = remote
        self.senders = senders
        self.receiver = receiver
    }

    /// What the lines of both ends agree on: those of one suite, by the same tag first; nil when there are none. A direction whose key
    /// stays the same goes on with its counts.
    static func agreed(own: [KeyLine], remote: [KeyLine], after former: MediumCipher?) -> MediumCipher? {
        func pair(_ isPair: (KeyLine, KeyLine) -> Bool) -> (KeyLine, KeyLine)? {
            for theirs in remote {
                if let ours = own.first(where: { $0.isSameSuite(as: theirs) && isPair($0, theirs) }) { return (ours, theirs) }
            }
            return nil
        }
        guard let (ours, theirs) = pair({ $0.attribute.tag == $1.attribute.tag }) ?? pair({ _, _ in true }) else { return nil }
        let sends = former.flatMap { $0.own.isSameKey(as: ours) ? $0.senders : nil }
        let hears = former.flatMap { $0.remote.isSameKey(as: theirs) ? $0.receiver : nil }
        if let former, sends != nil, hears != nil { return former }
        let line = theirs.attribute
        return MediumCipher(
            own: ours, remote: theirs, senders: sends ?? [:],
            receiver: hears
                ?? SRTPReceiver(
                    line.suite, master: line.key.revealed, identifier: line.identifier, isEncrypted: theirs.isEncrypted))
    }

    /// Protects the RTP packet in the first `count` octets, which are followed by room for the tag; 0 when it cannot be.
    func protect(_ buffer: UnsafeMutableRawBufferPointer, count: Int) -> Int {
        guard let packet = RTPPacket(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])) else { return 0 }
        let sender =
            senders[packet.ssrc]
            ?? SRTPSender(own.attribute.suite, master: own.attribute.key.revealed, isEncrypted: own.isEncrypted)
        senders[packet.ssrc] = sender
        return sender.protect(buffer, count: count) ?? 0
    }

    /// Writes the packet in a protected one to `output`; nil when it is none of the far end's.
    func unprotect(_ packet: UnsafeRawBufferPointer, to output: UnsafeMutableRawBufferPointer) -> Int? {
        guard packet.count <= output.count else { return nil }
        return try? receiver.unprotect(packet, to: output)
    }
}
