// Where each target begins: messages of the project's own tests and a few more. Flows come from flows/ (scripts/fuzz copies them).

extension FuzzTarget {
    var seeds: [[UInt8]] {
        switch self {
        case .sipMessage: Seeds.messages
        case .sipHeader: Seeds.headers.map { Array($0.utf8) }
        case .sipStream: Seeds.messages.map { [7] + $0 + [13, 10, 13, 10] + $0 } + [[1] + Seeds.messages.prefix(8).flatMap { $0 }]
        case .sipTransactions: Seeds.conversations
        case .trace:
            (Seeds.messages + Seeds.descriptions).map { [3] + $0 } + Seeds.secrets.map { [1] + Array($0.utf8) }
        case .sdp: Seeds.descriptions
        case .offerAnswer:
            [UInt8(0), 1, 22, 32, 63, 105].flatMap { choice in
                Seeds.descriptions.map { [choice] + $0 + Array("--\n".utf8) + Seeds.descriptions[0] }
            }
        case .rtp: Seeds.packets
        case .srtp: Seeds.packets.flatMap { packet in [UInt8(0), 65, 4, 5].map { [$0] + packet } }
        case .flow: Seeds.flows.map { Array($0.utf8) }
        case .expression: Seeds.expressions.map { Array($0.utf8) }
        }
    }
}

private enum Seeds {
    static let messages: [[UInt8]] =
        Vectors.accepted.map(\.1) + Vectors.garbage
        + Vectors.refused.map { octets($0.1, Vectors.head + "\r\n" + $0.2.joined(separator: "\r\n")) }
        + [
            octets(
                "SIP/2.0 401 Unauthorized", "Via: SIP/2.0/UDP h;branch=z9hG4bKs1", "From: <sip:a@h>;tag=1", "To: <sip:b@h>;tag=2",
                "Call-ID: s1", "CSeq: 1 REGISTER",
                "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", algorithm=SHA-256, qop=\"auth,auth-int\", stale=TRUE"),
            octets(
                "PRACK sip:a@h SIP/2.0", "Via: SIP/2.0/TCP [2001:db8::1]:5060;branch=z9hG4bKs2;received=2001:db8::2;rport=4",
                "From: <sip:a@h>;tag=1", "To: <sip:b@h>;tag=2", "Call-ID: s2", "CSeq: 3 PRACK", "RAck: 7 2 INVITE",
                "Route: <sip:p1;lr>, <sip:p2;lr>", "Record-Route: <sip:p3;lr>", "Reason: Q.850;cause=16;text=\"bye\"",
                "Session-Expires: 1800;refresher=uac", "Require: 100rel, timer", "Max-Forwards: 70"),
            octets(
                "INVITE sip:x@h SIP/2.0", "Via: SIP/2.0/UDP h;branch=z9hG4bKs3", "From: <sip:a@h>;tag=1", "To: <sip:x@h>",
                "Call-ID: s3", "CSeq: 1 INVITE", "Content-Type: multipart/mixed;boundary=u",
                body: "--u\r\nContent-Type: application/isup\r\nContent-Disposition: signal;handling=optional\r\n\r\nx\r\n"
                    + "--u\r\nContent-Type: multipart/related;start=\"<r@h>\";boundary=\"v w\"\r\n\r\n--v w\r\n"
                    + "c: multipart/alternative;boundary=a\r\nContent-ID: <r@h>\r\n\r\n--a\r\n"
                    + "Content-Type: application/sdp\r\nContent-Transfer-Encoding: 8bit\r\n\r\nv=0\r\n--a--\r\n--v w--\r\n--u--")
        ]

    /// A name, and a value.
    static let headers = [
        "History-Info\n<sip:boss@h?Reason=SIP%3Bcause%3D486>;index=1, \"A, B\" <sip:100@h;cause=302>;index=1.1;mp=1",
        "History-Info\nsip:a@h;index=1.1.1;rc=1.1, <tel:+1;phone-context=x;cause=408?Privacy=history>;index=1.2;np=1.1",
        "Diversion\n<tel:+15550102>;reason=user-busy;privacy=full;counter=2, \"Boss\" <sip:boss@h;transport=tcp>;reason=\"no-answer\"",
        "Contact\n<sip:a@h;q=1>;q=0.7;expires=60, \"x\" <sips:b@[2001:db8::1]:5061;gr=urn:uuid:1>;+sip.instance=\"<urn:uuid:1>\";reg-id=1, *",
        "Record-Route\n<sip:p1;lr>, <sips:p2:5062;transport=tcp;lr=on?x=y>", "Route\nsip:p;lr;lr",
        "Refer-To\n<sip:t@h?Replaces=a%40b%3Bto-tag%3D1%3Bfrom-tag%3D2&Require=replaces>",
        "Refer-To\nsip:t@h;method=INVITE", "Replaces\na@b;to-tag=1;from-tag=2;early-only",
        "Target-Dialog\na@b;local-tag=1;remote-tag=2",
        "P-Asserted-Identity\n\"Anna\" <sip:anna@h>, <tel:+15550100>",
        "Session-Expires\n1800;refresher=uas;x=y", "Min-SE\n90", "Require\n100rel, timer,,x",
        "Reason\nQ.850;cause=16;text=\"a;b\", SIP;cause=200", "Accept\napplication/sdp;q=0.5, */*",
        "WWW-Authenticate\nDigest realm=\"r\", nonce=\"n\", qop=\"auth,auth-int\", algorithm=SHA-256, stale=true",
        "Via\nSIP/2.0/UDP h:5060;branch=z9hG4bK1;rport;received=192.0.2.1, SIP / 2.0 / TCP [::1];branch=2"
    ]

    static let secrets = [
        "Authorization: Digest username=\"a\", response=\"0f\", cnonce=\"x\"\r\n response=1, rspauth=2\r\nTo: <sip:a:b@h>\r\n",
        "INFO sip:a:b@h SIP/2.0\r\nContent-Type: application/dtmf-relay\r\n\r\nSignal=5\r\nDuration=1\r\n",
        "c: application/dtmf\r\n\r\n5",
        "a=crypto:1 X inline:abcd==|2^20;inline:ef\r\na=ice-pwd:x\r\nk=clear:y\r\na=key-mgmt:mikey z\r\n"
    ]

    /// Invite, repeated, cancelled; then others, one after the other.
    static let conversations: [[UInt8]] = {
        func led(_ octets: [UInt8], after time: UInt8) -> [UInt8] {
            [UInt8(octets.count >> 8), UInt8(octets.count & 255), time] + octets
        }
        func request(_ method: String, _ number: Int = 1, to tag: String = "") -> [UInt8] {
            octets(
                "\(method) sip:x@h SIP/2.0", "Via: SIP/2.0/UDP h;branch=z9hG4bKc1;rport", "From: <sip:a@h>;tag=1",
                "To: <sip:x@h>\(tag)", "Call-ID: c", "CSeq: \(number) \(method)",
                "Content-Length: 0")
        }
        let cancelled =
            led(request("INVITE"), after: 0) + led(request("INVITE"), after: 12) + led(request("CANCEL"), after: 3)
            + led(request("ACK", to: ";tag=t1"), after: 5)
        let ended = led(request("BYE", 2), after: 1) + led(request("BYE", 2), after: 20) + led(request("OPTIONS", 3), after: 200)
        return [cancelled, ended, cancelled + ended, messages.flatMap { led($0, after: 9) }]
    }()

    static let descriptions: [[UInt8]] = [
        Vectors.body,
        """
        v=0\r\no=anna 42 7 IN IP4 192.0.2.1\r\ns=talk\r\nc=IN IP4 192.0.2.1\r\nb=AS:80\r\nt=0 0\r\na=group:BUNDLE a\r\n\
        a=sendonly\r\nm=audio 4002/2 RTP/AVP 0 96 101\r\nc=IN IP4 192.0.2.9/127\r\nb=RS:0\r\nb=RR:0\r\n\
        a=rtpmap:96 opus/48000/2\r\na=fmtp:96 useinbandfec=1\r\na=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\n\
        a=ptime:30\r\na=maxptime:60\r\na=rtcp:4010 IN IP4 192.0.2.10\r\na=rtcp-mux\r\nm=video 0 RTP/AVP 99\r\n
        """,
        """
        v=0\no=- 1 2 IN IP6 2001:db8::1\ns=-\nc=IN IP6 2001:db8::1\nt=0 0\nm=image 9 udptl t38\nm=audio 5 RTP/SAVP 8\n\
        a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:abc\nm=audio 7 RTP/AVP 9 8 97 98\na=rtpmap:97 telephone-event/16000\n\
        a=rtpmap:98 telephone-event/8000\na=inactive\n
        """,
        "v=0\no=- 1 1 IN IP4 0.0.0.0\ns=-\nt=0 0\nm=audio 9 RTP/AVP 8 0\nc=IN IP4 0.0.0.0\na=recvonly\n"
    ].map { Array($0.utf8) }

    static let packets: [[UInt8]] = {
        func led(_ packet: [UInt8]) -> [UInt8] { [UInt8(packet.count)] + packet }
        func event(_ code: UInt8, end: Bool, duration: UInt8, sequence: UInt8) -> [UInt8] {
            led([0x80, 101, 0, sequence, 0, 0, 1, 0, 0, 0, 0, 1, code, end ? 0x8A : 10, 0, duration])
        }
        let audio = led([0x80, 0, 0, 1, 0, 0, 0, 160, 0, 0, 0, 1] + [UInt8](repeating: 0xFF, count: 40))
        let extended = led([0xB1, 8, 0, 2, 0, 0, 1, 64, 0, 0, 0, 1, 0, 0, 0, 9, 0xBE, 0xDE, 0, 1, 1, 2, 3, 4, 5, 6, 0, 2])
        let press =
            (0..<3).flatMap { event(5, end: false, duration: $0 * 20, sequence: 3 + $0) }
            + (0..<3).flatMap { event(5, end: true, duration: 80, sequence: 6 + $0) }
        let report: [UInt8] = [0x81, 200, 0, 12] + [UInt8](repeating: 1, count: 48)
        let names: [UInt8] = [0x81, 202, 0, 3, 0, 0, 0, 1, 1, 4, 97, 98, 99, 100, 0, 0]
        let goodbye: [UInt8] = [0x81, 203, 0, 1, 0, 0, 0, 1]
        return [
            audio + extended, press, audio + press + audio, led(report + names + goodbye),
            led([0x80, 201, 0, 1, 0, 0, 0, 1]) + audio,
            led([0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42]) + led([22, 0xFE, 0xFD])
        ]
    }()

    static let flows = [
        "flow: a\nsections:\n  main: [ answer, { play: hello.wav }, hangup ]\n",
        "flow: b\nvars: { n: 3 }\nsections:\n  main:\n    - repeat: 2\n      do: [ { set: { n: \"${n + 1}\" } } ]\n    - goto: end\n"
            + "  end: [ hangup ]\n",
        "a: &x [1, 2]\nb: *x\nc: |\n  text\nd: {e: \"\\u00e9\", f: 'it''s'}\n"
    ]

    static let expressions = [
        "digits == '12#' && n > 2 ? 'a' : \"b\"", "l.map(e, string(e)).join(', ')", "{'a': 1, 'b': [1, 2u, 0x1F, -3.5e2]}.a",
        "has(call.from) && call.from.startsWith('+1')", "call.from.matches('^[0-9]+$')", "call.?x.orValue(1)", "l[?5].hasValue()",
        "duration('1h30m') + duration('5s') > duration('1m')", "timestamp('2026-01-02T03:04:05Z').getFullYear()",
        "b'\\x00\\377' == bytes('x')", "!b || (n in [1, 2, 3] && l.exists(e, e == 'b'))", "size(digits) * -n % 2",
        "r'raw\\n' + '''t'''",
        "plain ${n + 1} and $${not} ${ {'a': '}'}.a }", "type(n) == int && dyn(x) >= 1", "n / 0", "9223372036854775807 + 1"
    ]
}
