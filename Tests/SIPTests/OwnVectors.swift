// Our own messages, one for each kind of oddity; they are always there, also where the corpora are not.

import SIP

/// The message in octets that a test has written itself.
func vector(_ octets: [UInt8]) -> Message {
    do { return try Message(parsing: octets) } catch { preconditionFailure("\(error)") }
}

extension OutgoingInvite {
    /// As if this end had sent the message.
    convenience init(_ invite: Message) {
        self.init(
            octets: invite.octets, uri: Array(invite.requestURIOctets), from: Array(invite[invite.firstRow(.from)!.value]),
            tag: Array((try? invite.from().tag) ?? []), callID: Array(invite.callID), cSeq: invite.cSeq,
            body: Array(invite.body))
    }
}

/// A message made of rows, each ended by CRLF; a `body` gets no line end added.
func octets(_ rows: String..., body: String = "") -> [UInt8] {
    Array((rows.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
}

enum Vectors {
    static let body = "v=0\r\no=- 1 1 IN IP4 192.0.2.7\r\ns=-\r\nc=IN IP4 192.0.2.7\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n"

    static let invite = octets(
        "INVITE sip:reception@192.0.2.1:5060 SIP/2.0", "Via: SIP/2.0/UDP 192.0.2.7:5062;branch=z9hG4bKown1;rport",
        "Max-Forwards: 70", "From: \"Ada L.\" <sip:ada@example.net>;tag=a1", "To: <sip:reception@example.com>",
        "Call-ID: own-1@192.0.2.7", "CSeq: 1 INVITE", "Contact: <sip:ada@192.0.2.7:5062>", "Allow: INVITE, ACK, BYE, CANCEL",
        "Supported: replaces", "User-Agent: own/1", "Content-Type: application/sdp", "Content-Length: \(body.utf8.count)",
        body: body)

    /// Kind of oddity, message; every one is taken.
    static let accepted: [(String, [UInt8])] = [
        ("plain", invite),
        (
            "compact names, no blanks",
            octets(
                "OPTIONS sip:x@h SIP/2.0", "v:SIP/2.0/TCP h;branch=z9hG4bK2", "f:<sip:a@h>;tag=2", "t:<sip:x@h>", "i:2",
                "CSeq:2 OPTIONS",
                "l:0")
        ),
        (
            "folded rows, blanks round separators",
            octets(
                "OPTIONS sip:x@h SIP/2.0", "Via :\r\n SIP / 2.0 / UDP\r\n\th : 5060 ; branch = z9hG4bK3",
                "FROM : Some\r\n One <sip:a@h>\r\n ; tag = 3",
                "tO: sip:x@h ; p = q", "call-id:\r\n 3", "CSEQ: 0003\r\n OPTIONS")
        ),
        (
            "several Via rows and values",
            octets(
                "BYE sip:x@h SIP/2.0", "Via: SIP/2.0/UDP a;branch=z9hG4bK4,SIP/2.0/TLS [2001:db8::4]:5061;branch=z9hG4bK5",
                "From: <sip:a@h>;tag=4",
                "Via: SIP/2.0/SCTP c", "To: <sip:x@h>;tag=5", "Call-ID: 4", "CSeq: 4 BYE")
        ),
        (
            "quoted commas, brackets and escapes",
            octets(
                "INVITE sip:x@h SIP/2.0", "Via: SIP/2.0/UDP h;branch=z9hG4bK6",
                "From: \"a, \\\"b\\\" <c@d>\" <sip:a%20b@h>;tag=6", "To: <sip:x@h>",
                "Call-ID: 6", "CSeq: 6 INVITE",
                "Contact: <sip:a@h>;methods=\"INVITE, BYE\";+sip.instance=\"<urn:uuid:6>\", <sip:b@h>;q=0.5")
        ),
        (
            "empty parameter value, semicolon at the end",
            octets(
                "INVITE sip:x@h;a=;b SIP/2.0", "Via: SIP/2.0/UDP h;branch=z9hG4bK7;", "From: <sip:a@h>;x=;tag=7;",
                "To: <sip:x@h>", "Call-ID: 7",
                "CSeq: 7 INVITE")
        ),
        (
            "RFC 2543: no tag, no branch",
            octets("INVITE sip:x@h SIP/2.0", "Via: SIP/2.0/UDP h", "From: sip:a@h", "To: sip:x@h", "Call-ID: 8", "CSeq: 8 INVITE")
        ),
        (
            "bare number sign, tel and octets over 127",
            octets(
                "INVITE sip:#31#5551234@h;user=phone SIP/2.0", "Via: SIP/2.0/UDP h;branch=z9hG4bK9",
                "From: Žofie <tel:+15550100;phone-context=h>;tag=9",
                "To: <tel:5550101;phone-context=+1>", "Call-ID: 9", "CSeq: 9 INVITE")
        ),
        (
            "line feeds alone",
            Array(
                "OPTIONS sip:x@h SIP/2.0\nVia: SIP/2.0/UDP h;branch=z9hG4bK10\nFrom: <sip:a@h>;tag=1\nTo: <sip:x@h>\nCall-ID: 10\nCSeq: 1 OPTIONS\n\n"
                    .utf8)
        ),
        (
            "line ends in front, octets behind the body",
            [13, 10, 13, 10]
                + octets(
                    "INFO sip:x@h SIP/2.0", "Via: SIP/2.0/UDP h;branch=z9hG4bK11", "From: <sip:a@h>;tag=1", "To: <sip:x@h>;tag=2",
                    "Call-ID: 11",
                    "CSeq: 1 INFO", "Content-Length: 2", body: "5\nrest")
        ),
        (
            "response with an empty phrase",
            octets(
                "SIP/2.0 180 ", "Via: SIP/2.0/UDP h;branch=z9hG4bK12;received=2001:db8::1;rport=5", "From: <sip:a@h>;tag=1",
                "To: <sip:x@h>;tag=2",
                "Call-ID: 12", "CSeq: 1 INVITE", "Content-Length:   0")
        )
    ]

    static let head = "Via: SIP/2.0/UDP h;branch=z9hG4bKx\r\nCall-ID: r"
    /// Kind of fault, start line, rows besides Via and Call-ID, the status of the refusal.
    static let refused: [(String, String, [String], Int)] = [
        (
            "blank in the Request-URI", "INVITE sip:x y@h SIP/2.0", ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE"],
            400
        ),
        (
            "two blanks in the start line", "INVITE  sip:x@h SIP/2.0",
            ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE"], 400
        ),
        (
            "brackets round the Request-URI", "INVITE <sip:x@h> SIP/2.0",
            ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE"], 400
        ),
        (
            "headers in the Request-URI", "INVITE sip:x@h?Route=a SIP/2.0",
            ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE"], 400
        ),
        ("no host", "INVITE sip: SIP/2.0", ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE"], 400),
        (
            "IPv6 without brackets", "INVITE sip:2001:db8::1 SIP/2.0",
            ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE"], 400
        ),
        ("version", "INVITE sip:x@h SIP/3.0", ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE"], 505),
        ("scheme", "INVITE mailto:x@h SIP/2.0", ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE"], 416),
        ("method in CSeq", "INVITE sip:x@h SIP/2.0", ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 BYE"], 400),
        (
            "unknown method, other in CSeq", "DANCE sip:x@h SIP/2.0", ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 BYE"],
            501
        ),
        ("CSeq too large", "INVITE sip:x@h SIP/2.0", ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 2147483648 INVITE"], 400),
        ("CSeq missing", "INVITE sip:x@h SIP/2.0", ["From: <sip:a@h>;tag=1", "To: <sip:x@h>"], 400),
        ("quote without end", "INVITE sip:x@h SIP/2.0", ["From: \"a <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE"], 400),
        (
            "comma in a bare name", "INVITE sip:x@h SIP/2.0", ["From: A, B <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE"],
            400
        ),
        ("blanks in brackets", "INVITE sip:x@h SIP/2.0", ["From: < sip:a@h >;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE"], 400),
        (
            "name without brackets", "INVITE sip:x@h SIP/2.0", ["From: \"A\" sip:a@h;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE"],
            400
        ),
        ("tag without value", "INVITE sip:x@h SIP/2.0", ["From: <sip:a@h>;tag", "To: <sip:x@h>", "CSeq: 1 INVITE"], 400),
        ("two To", "INVITE sip:x@h SIP/2.0", ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "t: <sip:x@h>", "CSeq: 1 INVITE"], 400),
        (
            "semicolons in Contact", "INVITE sip:x@h SIP/2.0",
            ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE", "m: <sip:a@h>;;;x"], 400
        ),
        ("negative length", "INVITE sip:x@h SIP/2.0", ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE", "l: -5"], 400),
        (
            "conflicting lengths", "INVITE sip:x@h SIP/2.0",
            ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE", "l: 0", "l: 1"], 400
        ),
        ("body too short", "INVITE sip:x@h SIP/2.0", ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE", "l: 10"], 400),
        ("no colon", "INVITE sip:x@h SIP/2.0", ["From: <sip:a@h>;tag=1", "To: <sip:x@h>", "CSeq: 1 INVITE", "nothing"], 400)
    ]

    /// What is no message at all and is dropped.
    static let garbage: [[UInt8]] = [
        [], [13, 10], Array("hello\r\n\r\n".utf8), Array("SIP/2.0\n 200 OK\r\n\r\n".utf8),
        Array("SIP/2.0 4294967301 x\r\n\r\n".utf8),
        Array("GET / HTTP/1.1\r\n\r\n".utf8), Array("SIP/2.0 99 x\r\n\r\n".utf8), [0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42]
    ]
}
