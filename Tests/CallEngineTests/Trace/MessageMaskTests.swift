import CallEngine
import Testing

@Suite struct MessageMaskTests {
    private func masked(_ text: String, hidesDigits: Bool = true) -> String {
        var octets = Array(text.utf8)
        MessageMask.apply(to: &octets, hidesDigits: hidesDigits)
        #expect(octets.count == text.utf8.count, "no length changes")
        return String(decoding: octets, as: UTF8.self)
    }

    @Test func whatIsMaskedStaysAsItIs() {
        let once = masked("a=crypto:1 X sips:|2^20;inline:key<tel:+1inline:|2^20;h=p:x@h SIP/2.0")
        #expect(once == masked(once), "\(once)")
        #expect(once.hasPrefix("a=crypto:1 X sips:|2^20;inline:x"))
    }

    @Test(arguments: [
        (
            "Authorization: Digest username=\"anna\", realm=\"r\", nonce=\"n\", uri=\"sip:r\", response=\"0123abcd\", cnonce=\"xyz\", nc=00000001",
            "Authorization: Digest username=\"anna\", realm=\"r\", nonce=\"n\", uri=\"sip:r\", response=\"********\", cnonce=\"***\", nc=00000001"
        ),
        ("proxy-authorization :  DIGEST Response = 0123, qop=auth", "proxy-authorization :  DIGEST Response = ****, qop=auth"),
        ("Authorization: Basic YW5uYTpzZWNyZXQ=", "Authorization: Basic ****************"),
        (
            "Authentication-Info: rspauth=\"abc\", cnonce=\"q\", qop=auth",
            "Authentication-Info: rspauth=\"***\", cnonce=\"*\", qop=auth"
        ),
        (
            "Authorization: Digest username=\"a\",\r\n response=\"0f\"\r\nTo: <sip:a@b>",
            "Authorization: Digest username=\"a\",\r\n response=\"**\"\r\nTo: <sip:a@b>"
        ),
        ("WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"", "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\""),
        ("INVITE sip:anna:secret@example.com SIP/2.0", "INVITE sip:anna:******@example.com SIP/2.0"),
        (
            "Contact: \"A\" <sips:anna:pw@example.com:5061;transport=tls>",
            "Contact: \"A\" <sips:anna:**@example.com:5061;transport=tls>"
        ),
        ("To: <sip:example.com:5060>, <sip:b@c>", "To: <sip:example.com:5060>, <sip:b@c>"),
        (
            "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:PS1uQCVeeCFCanVmcjkpPywj|2^20|1:4;inline:QUjxjR==|2^20|2:4",
            "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:xxxxxxxxxxxxxxxxxxxxxxxx|2^20|1:4;inline:xxxxxx==|2^20|2:4"
        ),
        ("a=crypto:1 AEAD_AES_256_GCM inline:abc UNENCRYPTED_SRTP", "a=crypto:1 AEAD_AES_256_GCM inline:xxx UNENCRYPTED_SRTP"),
        ("a=ice-pwd:asd88fgpdd777uzjYhagZg\r\na=ice-ufrag:8hhY", "a=ice-pwd:**********************\r\na=ice-ufrag:8hhY"),
        ("a=key-mgmt:mikey AQAFgM0X", "a=key-mgmt:mikey ********"),
        ("k=clear:secret", "k=clear:******"),
        ("a=rtpmap:0 PCMU/8000", "a=rtpmap:0 PCMU/8000")
    ]) func secretsAreGone(line: (given: String, wanted: String)) {
        #expect(masked(line.given) == line.wanted)
    }

    /// An answer or a request may hang in a body: message/sipfrag, message/http, multipart.
    @Test func bodiesAreLookedThrough() {
        let text = "NOTIFY sip:a@b SIP/2.0\r\nContent-Type: message/sipfrag\r\n\r\nAuthorization: Digest response=\"ab\"\r\n"
        #expect(masked(text).hasSuffix("response=\"**\"\r\n"))
    }

    @Test func keysInINFO() {
        let relay = "INFO sip:a@b SIP/2.0\r\nContent-Type: application/dtmf-relay\r\n\r\nSignal=5\r\nDuration=160\r\n"
        #expect(masked(relay).hasSuffix("Signal=?\r\nDuration=160\r\n"))
        #expect(masked(relay, hidesDigits: false) == relay)
        let bare = "INFO sip:a@b SIP/2.0\r\nc: application/dtmf\r\nContent-Length: 2\r\n\r\n11"
        #expect(masked(bare).hasSuffix("Content-Length: 2\r\n\r\n??"))
    }

    /// What is cut off or no message at all stays within its bounds.
    @Test(arguments: [
        "", "\r\n", ":", "Authorization:", "Authorization: Digest", "Authorization: Digest response",
        "Authorization: Digest response=\"",
        "Authorization: Digest =", "a=crypto:", "a=crypto:inline:", "k=", "k", "a", "sip:", "sip::@", "Content-Type:",
        "\u{0}\u{FF}"
    ])
    func oddities(text: String) {
        _ = masked(text)
        _ = masked("Content-Type: application/dtmf-relay\r\n\(text)\r\nSignal\r\nSignal=")
    }
}
