// SRTP in offer and answer (RFC 4568 section 7): which lines we write, which of theirs we take, and when a key stays the same.
//
// A key of ours belongs to the session and its suite: a hold or a refresh repeats it, and both sides go on as they were. A key that was in
// use and is left for another suite's is never used again (the count of its packets would begin anew).

package import Basics

/// Whether media is encrypted (SDES), by configuration.
package enum MediaSecurity: String, Sendable, CaseIterable {
    /// Never: what offers nothing else is refused.
    case off
    /// Where the other side offers it.
    case accepted
    /// Our offers ask for it; a side that refuses gets a plain one.
    case offered
    /// What is not encrypted is refused.
    case required

    package var isOffered: Bool { self == .offered || self == .required }
}

/// What both sides agreed on: each protects what it sends with its own key.
package final class SecureAgreement: Sendable, Equatable {
    package let suite: SRTPSuite
    package let ownKey: KeyMaterial
    package let remoteKey: KeyMaterial
    /// The master key identifier in their packets; empty: none.
    package let remoteIdentifier: [UInt8]
    /// Of the line that was agreed on.
    let tag: Int

    init(suite: SRTPSuite, tag: Int, ownKey: KeyMaterial, remote: CryptoAttribute) {
        self.suite = suite
        self.tag = tag
        self.ownKey = ownKey
        remoteKey = remote.key
        remoteIdentifier = remote.identifier
    }

    package static func == (left: SecureAgreement, right: SecureAgreement) -> Bool {
        left.suite == right.suite && left.tag == right.tag && left.ownKey == right.ownKey && left.remoteKey == right.remoteKey
            && left.remoteIdentifier == right.remoteIdentifier
    }

    /// The line of our answer.
    var answer: CryptoAttribute { CryptoAttribute(tag: tag, suite: suite, key: ownKey) }
}

/// Our side of it in one session.
struct SecureMedia: Sendable {
    /// What our offers hold, the first preferred. Further lines would make an INVITE too long for a datagram (RFC 3261 section 18.1.1).
    static let offered: [SRTPSuite] = [.aes128HMAC80, .aes128GCM, .aes128HMAC32]

    var policy: MediaSecurity
    /// The lines of our last offer; empty when it was plain.
    private(set) var lines: [CryptoAttribute] = []
    /// Our keys, one a suite; none before the first is needed.
    private var keys: [(suite: SRTPSuite, key: KeyMaterial)] = []

    init(policy: MediaSecurity) { self.policy = policy }

    /// The lines of an offer: what is in use first, with its key.
    mutating func makeOffer(inUse: SRTPSuite?) {
        var suites = Self.offered
        if let inUse {
            suites.removeAll { $0 == inUse }
            suites.insert(inUse, at: 0)
        }
        lines = suites.enumerated().map { CryptoAttribute(tag: $0.offset + 1, suite: $0.element, key: key(for: $0.element)) }
    }

    mutating func offerPlain() { lines = [] }

    /// Their line that we take: the first of a suite that we have (RFC 4568 section 5.1.2).
    func choose(from theirs: PartLines) -> CryptoAttribute? { theirs.cryptoAttributes.first }

    /// Makes an answer to their line.
    mutating func accept(_ remote: CryptoAttribute) -> SecureAgreement {
        SecureAgreement(suite: remote.suite, tag: remote.tag, ownKey: key(for: remote.suite), remote: remote)
    }

    /// What their answer makes of our lines; some devices answer with a tag of their own. Nil when it is none of our suites.
    func agree(on theirs: PartLines) -> SecureAgreement? {
        for remote in theirs.cryptoAttributes {
            let ours =
                lines.first { $0.suite == remote.suite && $0.tag == remote.tag } ?? lines.first { $0.suite == remote.suite }
            if let ours { return SecureAgreement(suite: ours.suite, tag: ours.tag, ownKey: ours.key, remote: remote) }
        }
        return nil
    }

    /// An agreement follows another one: a key that goes out of use is forgotten.
    mutating func replaced(_ former: SecureAgreement?, by next: SecureAgreement?) {
        guard let former, former.suite != next?.suite else { return }
        keys.removeAll { $0.suite == former.suite }
    }

    mutating func forgetKeys() { keys = [] }

    private mutating func key(for suite: SRTPSuite) -> KeyMaterial {
        if let known = keys.first(where: { $0.suite == suite }) { return known.key }
        let key = KeyMaterial.random(suite.masterLength)
        keys.append((suite, key))
        return key
    }
}

extension MediumField {
    /// RTP/AVP or RTP/AVPF. a=crypto does not make such a stream encrypted, nor does a fingerprint: the proto decides.
    var isPlain: Bool { transport.equals(ignoringCase: "RTP/AVP") || transport.equals(ignoringCase: "RTP/AVPF") }
    /// RTP/SAVP or RTP/SAVPF (RFC 3711, RFC 5124).
    var isSecure: Bool { transport.equals(ignoringCase: "RTP/SAVP") || transport.equals(ignoringCase: "RTP/SAVPF") }
}
