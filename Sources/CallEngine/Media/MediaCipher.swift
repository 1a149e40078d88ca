// SRTP of a session: made when an agreement asks for it, kept over re-negotiations that leave the keys as they are.

import Basics
import RTP
import SDP

/// Both directions of an encrypted stream, RTP and RTCP.
final class MediaCipher {
    private(set) var agreement: SecureAgreement
    private(set) var sender: SRTPSender
    private var receiver: SRTPReceiver
    /// Before their last change of keys: what is still on its way was protected with them. Until the new ones are heard.
    @exclusivity(unchecked) private var former: SRTPReceiver?

    /// The agreement's suite, by the name that descriptions give it.
    var suite: String { agreement.suite.rawValue }

    init(_ agreement: SecureAgreement) {
        self.agreement = agreement
        sender = SRTPSender(agreement.suite, master: agreement.ownKey.revealed)
        receiver = Self.receiver(agreement)
    }

    /// The next agreement: a direction whose key stays the same goes on, with its counters. `isSamePlace`: our packets go where they went, to
    /// somebody who knows how often their numbers have wrapped; elsewhere a new key begins anew (RFC 4568 section 7.1.4).
    func change(to next: SecureAgreement, isSamePlace: Bool) {
        if next.suite != agreement.suite || next.ownKey != agreement.ownKey {
            sender = SRTPSender(next.suite, master: next.ownKey.revealed, after: isSamePlace ? sender : nil)
        }
        if next.suite != agreement.suite || next.remoteKey != agreement.remoteKey
            || next.remoteIdentifier != agreement.remoteIdentifier
        {
            former = receiver
            receiver = Self.receiver(next, after: receiver)
        }
        agreement = next
    }

    private static func receiver(_ agreement: SecureAgreement, after former: SRTPReceiver? = nil) -> SRTPReceiver {
        SRTPReceiver(
            agreement.suite, master: agreement.remoteKey.revealed, identifier: agreement.remoteIdentifier, after: former)
    }

    /// See SRTPReceiver.
    func unprotect(
        _ packet: UnsafeRawBufferPointer, _ use: SRTPKeys.Use, to output: UnsafeMutableRawBufferPointer
    ) throws(SRTPError) -> Int {
        do throws(SRTPError) {
            let count = try receiver.unprotect(packet, use, to: output)
            if use == .rtp, former != nil { former = nil }
            return count
        } catch {
            guard error == .unauthentic, let former else { throw error }
            return try former.unprotect(packet, use, to: output)
        }
    }
}

extension SRTPReceiver {
    fileprivate func unprotect(
        _ packet: UnsafeRawBufferPointer, _ use: SRTPKeys.Use, to output: UnsafeMutableRawBufferPointer
    ) throws(SRTPError) -> Int {
        switch use {
        case .rtp: try unprotect(packet, to: output)
        case .rtcp: try unprotectControl(packet, to: output)
        }
    }
}

extension MediaSession {
    /// `AES_CM_128_HMAC_SHA1_80` and the like (RFC 4568 section 6.2); empty for a stream that is not encrypted, and before there is one.
    package var srtpSuite: String { cipher?.suite ?? "" }

    /// A stream that is encrypted stays so until the next agreement; its keys stay those that both sides know.
    func adoptSecurity(_ agreement: AudioAgreement) {
        guard let secure = agreement.secure else {
            cipher = nil
            return
        }
        guard let cipher else {
            cipher = MediaCipher(secure)
            return
        }
        cipher.change(to: secure, isSamePlace: latch?.signaled == agreement.remote)
    }

    /// The packet in a protected one, or, of a plain stream, what came; nil, and counted, when it is none of the far side's.
    func unprotected(_ bytes: UnsafeRawBufferPointer, _ use: SRTPKeys.Use) -> UnsafeRawBufferPointer? {
        guard let cipher else { return bytes }
        do throws(SRTPError) {
            let count = try cipher.unprotect(bytes, use, to: services.opened)
            return UnsafeRawBufferPointer(rebasing: services.opened[..<count])
        } catch {
            count(error)
            return nil
        }
    }

    private func count(_ error: SRTPError) {
        switch error {
        case .malformed: services.counting.droppedMalformed += 1
        case .unauthentic, .tooManySources: services.counting.droppedUnauthentic += 1
        case .replayed: services.counting.droppedReplayed += 1
        }
    }
}
