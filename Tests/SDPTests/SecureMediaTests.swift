// SRTP in descriptions (RFC 4568): the line itself, which of theirs is taken, what ours say, when a key stays.

import Basics
import SDP
import Testing

private let here = SocketAddress(ip: IPAddress("192.0.2.100")!, port: 20000)
private let key30 = "WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz"
private let key46 = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZA=="
private let key28 = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYg=="

private func side(_ security: MediaSecurity) -> OfferAnswer {
    OfferAnswer(
        capabilities: AudioCapabilities(codecs: [.pcmu, .pcma]), local: here, sessionID: 1000, security: security)
}

/// A description of the other side with these m= and a= lines.
private func theirs(_ media: String...) throws -> SessionDescription {
    let head = "v=0\no=- 5 1 IN IP4 192.0.2.1\ns=-\nc=IN IP4 192.0.2.1\nt=0 0\n"
    return try SessionDescription(parsing: (head + media.joined(separator: "\n") + "\n").utf8)
}

private func read(_ octets: [UInt8]) throws -> SessionDescription { try SessionDescription(parsing: octets[...]) }
private func crypto(_ octets: [UInt8]) throws -> [CryptoAttribute] {
    try read(octets).media[0].values(of: "crypto").compactMap { CryptoAttribute($0) }
}

@Suite struct CryptoAttributeTests {
    @Test(
        "lines that can be used",
        arguments: [
            ("1 AES_CM_128_HMAC_SHA1_80 inline:\(key30)", SRTPSuite.aes128HMAC80, 1, []),
            ("1 AES_CM_128_HMAC_SHA1_32 inline:\(key30)|2^20|1:4", .aes128HMAC32, 1, [0, 0, 0, 1]),
            ("999 aes_cm_128_hmac_sha1_80 INLINE:\(key30)|2^31", .aes128HMAC80, 999, []),
            ("2 AES_CM_128_HMAC_SHA1_80 inline:\(key30)|1066:2", .aes128HMAC80, 2, [4, 42]),
            ("2 AES_CM_128_HMAC_SHA1_80 inline:\(key30)|1048576|7:9", .aes128HMAC80, 2, [0, 0, 0, 0, 0, 0, 0, 0, 7]),
            ("3 AES_256_CM_HMAC_SHA1_80 inline:\(key46)", .aes256HMAC80, 3, []),
            ("3 AES_256_CM_HMAC_SHA1_32 inline:\(key46.dropLast(2))", .aes256HMAC32, 3, []),
            ("4 AEAD_AES_128_GCM inline:\(key28) WSH=128 -NEW=7", .aes128GCM, 4, []),
            ("0\tAES_CM_128_HMAC_SHA1_80\tinline:\(key30)", .aes128HMAC80, 0, [])
        ] as [(String, SRTPSuite, Int, [UInt8])]) func reads(text: String, suite: SRTPSuite, tag: Int, identifier: [UInt8])
        throws
    {
        let line = try #require(CryptoAttribute(text))
        #expect(line.suite == suite && line.tag == tag && line.identifier == identifier)
        #expect(line.key.revealed.count == suite.masterLength)
        #expect(!"\(line)".contains(key30.prefix(8)) && "\(line.key)" == "•••")
    }

    @Test(
        "lines that cannot be used",
        arguments: [
            "", "1", "1 AES_CM_128_HMAC_SHA1_80", "x AES_CM_128_HMAC_SHA1_80 inline:\(key30)",
            "1234567890 AES_CM_128_HMAC_SHA1_80 inline:\(key30)", "-1 AES_CM_128_HMAC_SHA1_80 inline:\(key30)",
            "1 F8_128_HMAC_SHA1_80 inline:\(key30)", "1 AES_CM_128_HMAC_SHA1_80 \(key30)",
            "1 AES_CM_128_HMAC_SHA1_80 inline:", "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30.dropLast())",
            "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30)AAAA", "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30.dropLast())!",
            "1 AES_256_CM_HMAC_SHA1_80 inline:\(key30)", "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30)|",
            "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30)|2^", "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30)|2^20|1",
            "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30)|256:1", "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30)|1:0",
            "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30)|1:129", "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30)|1:4|2:4",
            "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30)|1:4;inline:\(key30)|2:4",
            "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30) UNENCRYPTED_SRTP",
            "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30) UNAUTHENTICATED_SRTP", "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30) KDR=8",
            "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30) FEC_ORDER=SRTP_FEC", "1 AES_CM_128_HMAC_SHA1_80 inline:\(key30) WHAT"
        ]) func refuses(text: String)
    {
        #expect(CryptoAttribute(text) == nil)
    }
}

@Suite struct SecureAnswererTests {
    private static let line = "a=crypto:5 AES_CM_128_HMAC_SHA1_80 inline:\(key30)|2^20|1:4"

    @Test(
        "an encrypted offer is answered with its tag, suite and proto, and a key of ours",
        arguments: [MediaSecurity.accepted, .offered, .required], ["RTP/SAVP", "RTP/SAVPF"])
    func answers(policy: MediaSecurity, proto: String) throws {
        var us = side(policy)
        let answer = try us.answer(
            to: theirs("m=audio 4000 \(proto) 0", "a=crypto:4 F8_128_HMAC_SHA1_80 inline:\(key30)", Self.line))
        #expect(try read(answer).media[0].transport == proto)
        let lines = try crypto(answer)
        #expect(lines.count == 1 && lines[0].tag == 5 && lines[0].suite == .aes128HMAC80 && lines[0].identifier.isEmpty)
        let agreed = try #require(us.agreement?.secure)
        #expect(agreed.ownKey == lines[0].key && agreed.remoteIdentifier == [0, 0, 0, 1])
        #expect(agreed.remoteKey == CryptoAttribute(String(Self.line.dropFirst(9)))?.key && agreed.ownKey != agreed.remoteKey)
    }

    @Test(
        "what is refused, and why",
        arguments: [
            (MediaSecurity.off, "m=audio 4000 RTP/SAVP 0", line, OfferAnswerError.unsupportedTransport),
            (.accepted, "m=audio 4000 RTP/SAVP 0", "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:abc", .noCommonSuite),
            (.accepted, "m=audio 4000 RTP/SAVP 0", "a=ptime:20", .noCommonSuite),
            (.accepted, "m=audio 4000 UDP/TLS/RTP/SAVP 0", line, .unsupportedTransport),
            (.required, "m=audio 4000 RTP/AVP 0", line, .securityRequired),
            (.required, "m=audio 0 RTP/SAVP 0", line, .audioRejected),
            (.required, "m=audio 4000 RTP/SAVP 18", line, .noCommonCodec)
        ]) func refuses(policy: MediaSecurity, media: String, line: String, error: OfferAnswerError) throws
    {
        var us = side(policy)
        let offer = try theirs(media, line)
        #expect(us.refusal(of: offer) == error)
        #expect(throws: error) { try us.answer(to: offer) }
        #expect(us.agreement == nil)
    }

    @Test("a plain offer stays plain, keys in it or not", arguments: [MediaSecurity.off, .accepted, .offered])
    func plain(policy: MediaSecurity) throws {
        var us = side(policy)
        let answer = try us.answer(to: theirs("m=audio 4000 RTP/AVP 0", Self.line))
        #expect(us.agreement?.secure == nil)
        #expect(try crypto(answer).isEmpty && read(answer).media[0].transport == "RTP/AVP")
        // A re-offer of ours does not ask for more.
        #expect(try read(us.makeOffer()).media[0].transport == "RTP/AVP")
    }

    @Test("of a plain and an encrypted line the encrypted one is taken, unless it is off") func twoLines() throws {
        let offer = try theirs("m=audio 4000 RTP/AVP 0", "m=audio 4002 RTP/SAVP 0", Self.line)
        var us = side(.accepted)
        let answer = try read(us.answer(to: offer))
        #expect(answer.media.map(\.port) == [0, 20000] && us.agreement?.secure != nil)
        var off = side(.off)
        #expect(try read(off.answer(to: offer)).media.map(\.port) == [20000, 0])
        #expect(off.agreement?.secure == nil)
    }

    @Test("a refresh keeps our key, another key of theirs is taken, another suite brings another key of ours")
    func renewed() throws {
        var us = side(.accepted)
        let first = try us.answer(to: theirs("m=audio 4000 RTP/SAVP 0", Self.line))
        #expect(try us.answer(to: theirs("m=audio 4000 RTP/SAVP 0", Self.line)) == first)
        let before = try #require(us.agreement?.secure)
        let otherKey = String(key30.reversed())
        _ = try us.answer(to: theirs("m=audio 4000 RTP/SAVP 0", "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:\(otherKey)"))
        let after = try #require(us.agreement?.secure)
        #expect(after.ownKey == before.ownKey && after.remoteKey != before.remoteKey)
        _ = try us.answer(to: theirs("m=audio 4000 RTP/SAVP 0", "a=crypto:1 AEAD_AES_128_GCM inline:\(key28)"))
        #expect(us.agreement?.secure?.suite == .aes128GCM)
        // The first suite again: its key was in use, and is not used again.
        _ = try us.answer(to: theirs("m=audio 4000 RTP/SAVP 0", Self.line))
        #expect(us.agreement?.secure?.suite == .aes128HMAC80 && us.agreement?.secure?.ownKey != before.ownKey)
        // To a plain stream and back.
        _ = try us.answer(to: theirs("m=audio 4000 RTP/AVP 0"))
        #expect(us.agreement?.secure == nil)
    }
}

@Suite struct SecureOffererTests {
    @Test(
        "another key at another address gets another key of ours; either alone does not",
        arguments: [
            ("192.0.2.7", key30.replacing("WV", with: "AA"), true), ("192.0.2.7", key30, false),
            ("192.0.2.1", key30.replacing("WV", with: "AA"), false), ("0.0.0.0", key30.replacing("WV", with: "AA"), false)
        ])
    func elsewhere(address: String, key: String, isNew: Bool) throws {
        var ours = side(.accepted)
        let media = ["m=audio 4000 RTP/SAVP 0", "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:\(key30)"]
        let first = try crypto(ours.answer(to: theirs(media[0], media[1])))
        let second = try crypto(
            ours.answer(to: theirs(media[0], "c=IN IP4 \(address)", media[1].replacing(key30, with: key))))
        #expect((first[0].key != second[0].key) == isNew)
    }

    @Test("an offer has a line for each suite with a key of its own, and repeats them")
    func offers() throws {
        var us = side(.required)
        let offer = us.makeOffer()
        #expect(try read(offer).media[0].transport == "RTP/SAVP")
        let lines = try crypto(offer)
        #expect(lines.map(\.tag) == [1, 2, 3] && Set(lines.map { $0.key.revealed }).count == 3)
        #expect(lines[0].suite == .aes128HMAC80)
        try us.receive(answer: theirs("m=audio 4000 RTP/SAVP 0", "a=crypto:2 AEAD_AES_128_GCM inline:\(key28)"))
        let agreed = try #require(us.agreement?.secure)
        #expect(agreed.suite == .aes128GCM && agreed.ownKey == lines[1].key)
        // What is in use comes first then.
        let again = try crypto(us.makeOffer())
        #expect(again.map(\.suite) == [.aes128GCM, .aes128HMAC80, .aes128HMAC32] && again.map(\.tag) == [1, 2, 3])
        #expect(again[0].key == agreed.ownKey)
        // An answer with another tag than ours is understood by its suite.
        try us.receive(answer: theirs("m=audio 4000 RTP/SAVP 0", "a=crypto:9 AEAD_AES_128_GCM inline:\(key28)"))
        #expect(us.agreement?.secure == agreed || us.agreement?.secure?.ownKey == agreed.ownKey)
    }

    @Test(
        "answers that are refused",
        arguments: [
            (MediaSecurity.required, "RTP/AVP", "a=ptime:20", OfferAnswerError.securityRequired),
            (.required, "RTP/SAVP", "a=ptime:20", .noCommonSuite), (.offered, "RTP/SAVP", "a=ptime:20", .noCommonSuite),
            (.offered, "RTP/SAVP", "a=crypto:1 AES_256_CM_HMAC_SHA1_80 inline:\(key46)", .noCommonSuite),
            (.accepted, "RTP/SAVP", "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:\(key30)", .unsupportedTransport),
            (.offered, "UDP/TLS/RTP/SAVP", "a=setup:active", .unsupportedTransport)
        ]) func refuses(policy: MediaSecurity, proto: String, line: String, error: OfferAnswerError) throws
    {
        var us = side(policy)
        _ = us.makeOffer()
        let answer = try theirs("m=audio 4000 \(proto) 0", line)
        #expect(throws: error) { try us.receive(answer: answer) }
        #expect(us.agreement == nil)
    }

    @Test("a plain answer to an encrypted offer is taken where plain would do") func plainAnswer() throws {
        var us = side(.offered)
        _ = us.makeOffer()
        try us.receive(answer: theirs("m=audio 4000 RTP/AVP 0"))
        #expect(us.agreement != nil && us.agreement?.secure == nil)
        #expect(try read(us.makeOffer()).media[0].transport == "RTP/AVP")
    }

    @Test("after a refusal the next offer is plain, with another version") func plainNext() throws {
        var us = side(.offered)
        let first = try read(us.makeOffer())
        #expect(us.mayOfferPlain)
        us.offerPlainNext()
        let second = try read(us.makeOffer())
        #expect(second.media[0].transport == "RTP/AVP" && second.media[0].values(of: "crypto").isEmpty)
        #expect(second.origin?.version == first.origin?.version.map { $0 + 1 })
        #expect(!us.mayOfferPlain)
        for policy in [MediaSecurity.off, .accepted, .required] {
            var other = side(policy)
            _ = other.makeOffer()
            #expect(!other.mayOfferPlain)
        }
    }
}

/// Public reports about other products, by their ids.
@Suite struct SecureReportTests {
    private static let suite = "AES_CM_128_HMAC_SHA1_80 inline:\(key30)"

    @Test("B022: tag 0 is taken and answered") func tagZero() throws {
        var us = side(.accepted)
        let answer = try us.answer(to: theirs("m=audio 4000 RTP/SAVP 0", "a=crypto:0 \(Self.suite)"))
        #expect(try crypto(answer).map(\.tag) == [0] && us.agreement?.secure?.suite == .aes128HMAC80)
    }

    @Test("B023: an answer that numbers anew is understood by its suite, and both keys are there") func renumbered() throws {
        var us = side(.required)
        let offered = try crypto(us.makeOffer())
        try us.receive(answer: theirs("m=audio 4000 RTP/SAVP 0", "a=crypto:7 \(Self.suite)"))
        let agreed = try #require(us.agreement?.secure)
        #expect(agreed.suite == .aes128HMAC80 && agreed.ownKey == offered[0].key)
        #expect(agreed.remoteKey == CryptoAttribute("7 \(Self.suite)")?.key)
    }

    @Test("B024: of two lines in an answer the one that fits is taken") func twoLines() throws {
        var us = side(.required)
        let offered = try crypto(us.makeOffer())
        try us.receive(
            answer: theirs(
                "m=audio 4000 RTP/SAVP 0", "a=crypto:4 AES_256_CM_HMAC_SHA1_80 inline:\(key46)",
                "a=crypto:2 AEAD_AES_128_GCM inline:\(key28)"))
        #expect(us.agreement?.secure?.suite == .aes128GCM && us.agreement?.secure?.ownKey == offered[1].key)
    }

    @Test("B026: unknown suites are passed over") func unknownSuites() throws {
        var us = side(.accepted)
        let answer = try us.answer(
            to: theirs(
                "m=audio 4000 RTP/SAVP 0", "a=crypto:1 AEAD_AES_256_GCM_8 inline:\(key46)",
                "a=crypto:2 AES_192_CM_HMAC_SHA1_80 inline:\(key46)", "a=crypto:3 \(Self.suite)"))
        let lines = try crypto(answer)
        #expect(lines.map(\.tag) == [3] && lines[0].suite == .aes128HMAC80)
    }
}
