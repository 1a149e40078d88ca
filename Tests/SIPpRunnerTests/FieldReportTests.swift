// Public reports about SIPp, by their ids in our list: what was wrong there is right here, or said to be the same.

import Basics
import Reactor
import SIPpRunner
import Testing

@Suite("SIPp runner: field reports")
struct FieldReportTests {
    /// Who is called and hangs up.
    private func calledThatHangsUp(_ rows: String) -> String {
        XML.scenario(
            "<recv request=\"INVITE\" rrs=\"true\"/>" + XML.response("200 OK", "retrans=\"500\"") + "<recv request=\"ACK\"/>"
                + """
                <send retrans="500"><![CDATA[
                  BYE [next_url] SIP/2.0
                  Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
                  [routes]
                  From: <sip:called@[local_ip]>;tag=s[call_number]
                  To: <sip:caller@[local_ip]>[peer_tag_param]
                  Call-ID: [call_id]
                  CSeq: 1 BYE
                  \(rows)Content-Length: 0
                ]]></send><recv response="200"/>
                """)
    }

    @Test("B101, B108: routes of a called end keep their order; the peer's tag is that of From when only requests came")
    func calledEnd() throws {
        let scene = try Scene()
        let called = try scene.start(calledThatHangsUp(""), ["-m", "1"])
        let caller = try scene.start(
            XML.scenario(
                XML.request(
                    "INVITE", "retrans=\"500\"",
                    more: "Record-Route: <sip:one.test;lr>\n  Record-Route: <sip:two.test;lr>, <sip:three.test;lr>\n  ",
                    toTag: false) + "<recv response=\"200\"/>" + XML.request("ACK")
                    + "<recv request=\"BYE\"><action><ereg regexp=\"one.*two.*three\" search_in=\"hdr\" header=\"Route:\" check_it=\"true\" assign_to=\"r\"/>"
                    + "<ereg regexp=\"tag=c1$\" search_in=\"hdr\" header=\"To:\" check_it=\"true\" assign_to=\"t\"/>"
                    + "<log message=\"[$r][$t]\"/></action></recv>" + XML.response("200 OK")), ["-m", "1"], to: called)
        #expect(scene.play())
        #expect(caller.status == 0)
        #expect(called.status == 0)
    }

    @Test("B101: a calling end turns the routes round; B102: its requests still go to the remote of the command line")
    func callingEnd() throws {
        let scene = try Scene()
        let called = try scene.start(
            XML.scenario(
                "<recv request=\"INVITE\"/>"
                    + XML.response(
                        "200 OK", "retrans=\"500\"",
                        more: "Record-Route: <sip:one.test;lr>\n  Record-Route: <sip:two.test;lr>\n  ")
                    + "<recv request=\"ACK\"><action><ereg regexp=\"two.*one\" search_in=\"hdr\" header=\"Route:\" check_it=\"true\" assign_to=\"r\"/>"
                    + "<log message=\"[$r]\"/></action></recv>"), ["-m", "1"])
        let caller = try scene.start(
            XML.scenario(
                XML.request("INVITE", "retrans=\"500\"", toTag: false) + "<recv response=\"200\" rrs=\"true\"/>"
                    + XML.request("ACK", more: "[routes]\n  ")), ["-m", "1"], to: called)
        #expect(scene.play())
        #expect(caller.status == 0)
        #expect(called.status == 0)
    }

    /// Calls that send RTP, and where it came from.
    private func sourcePort(media line: String, play: String) throws -> (port: Int?, media: Int) {
        let scene = try Scene()
        try PairTests.prepare(scene.folder)
        let heard = try scene.loop.bindDatagram(to: SocketAddress(ip: .loopback4, port: 7777))
        var source: SocketAddress?
        heard.onReceive = { _, from in source = from }
        let body =
            "Content-Type: application/sdp\n  Content-Length: [len]\n\n  v=0\n  c=IN IP4 127.0.0.1\n  m=audio 7777 RTP/AVP 0\n"
        let called = try scene.start(
            XML.scenario(
                "<recv request=\"INVITE\"/>"
                    + XML.response("200 OK", "retrans=\"500\"").replacing("Content-Length: 0\n", with: body)
                    + "<recv request=\"ACK\"/>"),
            ["-m", "1"])
        let offer = "Content-Type: application/sdp\n  Content-Length: [len]\n\n  v=0\n  c=IN IP4 127.0.0.1\n  \(line)\n"
        let caller = try scene.start(
            XML.scenario(
                XML.request("INVITE", "retrans=\"500\"", toTag: false).replacing("Content-Length: 0\n", with: offer)
                    + "<recv response=\"200\"/>" + XML.request("ACK")
                    + "<nop><action>\(play)</action></nop><pause milliseconds=\"300\"/>"),
            ["-m", "1"], to: called)
        #expect(scene.play())
        #expect(caller.status == 0, "\(caller.run.fatalMessage ?? "")")
        heard.close()
        return (source.map { Int($0.port) }, caller.mediaPort)
    }

    @Test("B105: a capture goes out from -mp when the description has a port of its own")
    func literalPort() throws {
        let (port, media) = try sourcePort(media: "m=audio 40000 RTP/AVP 0", play: "<exec play_pcap_audio=\"keys.pcap\"/>")
        #expect(port == media)
    }

    @Test("B106: a stream goes out from the port that was offered")
    func offeredPort() throws {
        let (port, media) = try sourcePort(media: "m=audio [media_port+6] RTP/AVP 0", play: "<exec rtp_stream=\"tone.wav,1,0\"/>")
        #expect(port == media + 6)
    }

    @Test("B110: AKA with keys from a file: one whole header")
    func aka() throws {
        let scene = try Scene()
        // 3GPP TS 35.207, set 1: RAND, SQN hidden by AK, AMF, MAC-A.
        let nonce = "I1U8vpY3qJ0hiuZNrke/NVXzKLQ1d7m5Sp/6w1Tfr7M="
        let called = try scene.start(
            XML.scenario(
                "<recv request=\"REGISTER\"/>"
                    + XML.response(
                        "401 Unauthorized",
                        more: "WWW-Authenticate: Digest realm=\"r\", nonce=\"\(nonce)\", algorithm=AKAv1-MD5, qop=\"auth\"\n  ")
                    + "<recv request=\"REGISTER\"><action>"
                    + "<ereg regexp=\"^ Digest username=.joe., realm=.r., nonce=.+, uri=.sip:.+, response=.[0-9a-f]{32}., algorithm=AKAv1-MD5, cnonce=.+, qop=auth, nc=00000001$\" search_in=\"hdr\" header=\"Authorization:\" check_it=\"true\" assign_to=\"a\"/>"
                    + "<log message=\"[$a]\"/></action></recv>" + XML.response("200 OK")), ["-m", "1"])
        let users = try scene.folder.write(
            "SEQUENTIAL\njoe;0x465b5ce8b199b49faa5f0a2ee238a6bc;0xcdc202d5123e20f62b6d676ac72cb318;0xb9b9\n", "users.csv")
        let caller = try scene.start(
            XML.scenario(
                XML.request("REGISTER", "retrans=\"500\"", toTag: false) + "<recv response=\"401\" auth=\"true\"/>"
                    + XML.request(
                        "REGISTER", "retrans=\"500\"",
                        more: "[authentication username=[field0] aka_K=[field1] aka_OP=[field2] aka_AMF=[field3]]\n  ",
                        toTag: false)
                    + "<recv response=\"200\"/>"), ["-m", "1", "-inf", users], to: called)
        #expect(scene.play())
        #expect(caller.status == 0)
        #expect(called.status == 0)
    }
}
