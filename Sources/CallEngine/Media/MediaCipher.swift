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
        sender = SRTPSender(SRTPSuite(agreement.suite), master: agreement.ownKey.revealed)
        receiver = Self.receiver(agreement)
    }

    /// The next agreement: a direction whose key stays the same goes on, with its counters.
    func change(to next: SecureAgreement) {
        if next.suite != agreement.suite || next.ownKey != agreement.ownKey {
            sender = SRTPSender(SRTPSuite(next.suite), master: next.ownKey.revealed)
        }
        if next.suite != agreement.suite || next.remoteKey != agreement.remoteKey
            || next.remoteIdentifier != agreement.remoteIdentifier
        {
            former = receiver
            receiver = Self.receiver(next)
        }
        agreement = next
    }

    private static func receiver(_ agreement: SecureAgreement) -> SRTPReceiver {
        SRTPReceiver(
            SRTPSuite(agreement.suite), master: agreement.remoteKey.revealed, identifier: agreement.remoteIdentifier)
    }

    /// See SRTPReceiver.
    func unprotect(
        _ packet: UnsafeRawBufferPointer, to output: UnsafeMutableRawBufferPointer
    ) throws(SRTPError) -> Int {
        do throws(SRTPError) {
            let count = try receiver.unprotect(packet, to: output)
            if former != nil { former = nil }
            return count
        } catch {
            guard error == .unauthentic, let former else { throw error }
            return try former.unprotect(packet, to: output)
        }
    }

    /// See SRTPReceiver.
    func unprotectControl(
        _ packet: UnsafeRawBufferPointer, to output: UnsafeMutableRawBufferPointer
    ) throws(SRTPError) -> Int {
        do throws(SRTPError) {
            return try receiver.unprotectControl(packet, to: output)
        } catch {
            guard error == .unauthentic, let former else { throw error }
            return try former.unprotectControl(packet, to: output)
        }
    }
}

extension SRTPSuite {
    /// A description's suite: both modules name them as the RFCs do.
    init(_ suite: CryptoSuite) {
        guard let known = SRTPSuite(rawValue: suite.rawValue) else { preconditionFailure("\(suite.rawValue) is in both lists") }
        self = known
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
        if let cipher { cipher.change(to: secure) } else { cipher = MediaCipher(secure) }
    }

    /// The RTP packet in a protected one; nil, and counted, when it is none of the far side's.
    func unprotected(_ bytes: UnsafeRawBufferPointer, _ cipher: MediaCipher) -> UnsafeRawBufferPointer? {
        do throws(SRTPError) {
            return services.openedPacket(try cipher.unprotect(bytes, to: services.opened))
        } catch {
            count(error)
            return nil
        }
    }

    /// The same for RTCP.
    func unprotectedReport(_ bytes: UnsafeRawBufferPointer, _ cipher: MediaCipher) -> UnsafeRawBufferPointer? {
        do throws(SRTPError) {
            return services.openedPacket(try cipher.unprotectControl(bytes, to: services.opened))
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
