import Basics
import SDP
import Testing

/// A body of lines with CRLF.
func body(_ lines: String...) -> [UInt8] { Array(lines.map { $0 + "\r\n" }.joined().utf8) }

@Suite struct ParserTests {
    static let plain = [
        "v=0", "o=anna 42 7 IN IP4 192.0.2.1", "s=talk", "c=IN IP4 192.0.2.1", "b=AS:80", "t=0 0", "a=group:BUNDLE a",
        "a=sendonly",
        "m=audio 4002/2 RTP/AVP 0 96 101", "c=IN IP4 192.0.2.9/127", "b=RS:0", "a=fmtp:96 useinbandfec=1;stereo=0",
        "a=rtpmap:96 Opus/48000/2", "a=rtpmap:101 telephone-event/8000", "a=fmtp:101 0-15", "a=ptime:30", "a=maxptime: 60",
        "a=recvonly", "a=rtcp:4010 IN IP4 192.0.2.10", "a=rtcp-mux", "a=crypto:0 AES_CM_128_HMAC_SHA1_80 inline:abc", "a=X-nat",
        "m=video 0 RTP/AVP"
    ]

    @Test(arguments: ["\r\n", "\n", "\r", "\r\n\r\n", " \r\n", "\t\n  "]) func readsEveryKindOfLine(end: String) throws {
        let session = try SessionDescription(parsing: Self.plain.map { $0 + end }.joined().utf8)
        #expect(session.origin?.version == 7)
        #expect(session.origin?.address == IPAddress("192.0.2.1"))
        #expect(session.sessionName == "talk")
        #expect(session.connection?.text == "IN IP4 192.0.2.1")
        #expect(session.bandwidths == ["AS:80"])
        #expect(session.attributes == [Attribute("group", "BUNDLE a")])
        #expect(session.direction == .sendonly)
        try #require(session.media.count == 2)
        let audio = session.media[0]
        #expect(audio.port == 4002 && audio.portCount == 2 && audio.transport == "RTP/AVP")
        #expect(audio.formats == ["0", "96", "101"])
        #expect(audio.connection?.address == IPAddress("192.0.2.9"))
        #expect(audio.bandwidth("RS") == 0 && audio.bandwidth("RR") == nil)
        #expect(audio.rtpMap(of: 96) == RTPMap(payload: 96, name: "Opus", clockRate: 48000, channels: 2))
        #expect(audio.parameters(of: "96") == "useinbandfec=1;stereo=0")
        #expect(audio.packetTime == 30 && audio.maximumPacketTime == 60)
        #expect(audio.direction == .recvonly && session.direction(of: audio) == .recvonly)
        #expect(audio.rtcp == RTCPPort(port: 4010, address: IPAddress("192.0.2.10")))
        #expect(audio.rtcpMux)
        #expect(audio.attributes == [Attribute("crypto", "0 AES_CM_128_HMAC_SHA1_80 inline:abc"), Attribute("X-nat")])
        #expect(session.media[1].formats.isEmpty && session.direction(of: session.media[1]) == .sendonly)
        #expect(try SessionDescription(parsing: session.bytes) == session)
    }

    @Test(arguments: [
        "mid:1", "f=invalid:yes", "x", "=", "a=", "a=:", "a=rtpmap:xyz nonsense/1", "a=rtpmap:200 X/8000", "a=rtpmap:96 X",
        "a=rtpmap:96 X/0", "a=rtpmap:96 /8000", "a=fmtp:", "a=ptime:0", "a=ptime:abc", "a=ptime:99999999999", "a=maxptime:-1",
        "a=rtcp:1 IN IP7 X", "a=rtcp:70000", "a=rtcp-mux:1", "a=sendrecv:x", "a=+g.poc.talkburst", "b=", "i=information",
        "k=prompt", "\u{0}\u{0}"
    ]) func aLineWithoutSenseDoesNoHarm(line: String) throws {
        let session = try SessionDescription(
            parsing: body("v=0", "c=IN IP4 192.0.2.1", line, "m=audio 9000 RTP/AVP 0", line, "a=ptime:20"))
        #expect(session.media.count == 1)
        #expect(session.media[0].port == 9000 && session.media[0].packetTime == 20 && session.media[0].rtpMaps.isEmpty)
        #expect(session.connection?.address == IPAddress("192.0.2.1"))
        #expect(try SessionDescription(parsing: session.bytes) == session)
    }

    @Test(arguments: [
        ("", SDPError.Reason.empty, 1), ("\r\n\r\n", .empty, 2), ("<?xml?>", .notSDP, 1), ("\r\nv=1", .notSDP, 2),
        ("o=- 1 1 IN IP4 1.1.1.1", .notSDP, 1), ("v=0\r\nm=audio\r\n", .badMediaLine, 2),
        ("v=0\r\ns=-\nm=audio x RTP/AVP 0", .badMediaLine, 3), ("v=0\nm=audio 65536 RTP/AVP 0", .badMediaLine, 2),
        ("v=0\nm=audio 10", .badMediaLine, 2), ("v=0\n" + String(repeating: "m=audio 10 RTP/AVP 0\n", count: 65), .tooLarge, 66),
        ("v=0\n" + String(repeating: "\n", count: 5000), .tooLarge, 4097), (String(repeating: "v", count: 70_000), .tooLarge, 1)
    ]) func hopelessBodiesSayWhere(text: String, reason: SDPError.Reason, line: Int) {
        #expect(throws: SDPError(reason, line: line)) { try SessionDescription(parsing: text.utf8) }
    }

    @Test(
        arguments: [
            ("c=IN IP4 192.0.2.5", nil, "192.0.2.5"), (nil, "c=IN IP4 192.0.2.6", "192.0.2.6"),
            ("c=IN IP4 192.0.2.5", "c=IN IP4", "192.0.2.5"), ("c=IN IP4", nil, "192.0.2.1"), (nil, nil, "192.0.2.1"),
            ("c=FOO IP4 192.0.2.5", nil, nil), ("c=IN IP4 host.example", nil, nil),
            ("c=IN IP6 2001:DB8::0:1", nil, "2001:db8::1"),
            ("c=IN IP4 0.0.0.0", nil, "0.0.0.0")
        ] as [(String?, String?, String?)]) func addressOfAMedium(session: String?, media: String?, address: String?) throws
    {
        var lines = ["v=0", "o=- 1 1 IN IP4 192.0.2.1", "s="]
        if let session { lines.append(session) }
        lines.append("m=audio 4000 RTP/AVP 0")
        if let media { lines.append(media) }
        let description = try SessionDescription(parsing: lines.joined(separator: "\n").utf8)
        #expect(description.address(of: description.media[0]) == address.map { IPAddress($0)! })
    }

    @Test(arguments: [
        "0.0.0.0", "255.255.255.255", "1.20.103.4", "256.1.1.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1..2.3", "1.2.3.", "::1",
        "2001:DB8::7", "a.b.c.d"
    ]) func addressesAreReadLikeElsewhere(text: String) throws {
        let line = "c=IN \(text.contains(":") ? "IP6" : "IP4") \(text)/127"
        let session = try SessionDescription(parsing: body("v=0", line))
        #expect(session.connection?.address == IPAddress(text))
    }

    /// What parses is answered or refused, and what is answered can be read, whatever was done to the bytes.
    @Test(arguments: 1...20) func mutatedBodiesAreAnsweredOrRefused(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let seeds = CorpusBody.all.map(\.bytes) + [Array(Self.plain.joined(separator: "\r\n").utf8)]
        var parsed = 0
        for _ in 0..<400 {
            var bytes = seeds.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes[place] = Array(" \t\r\n:=/0am".utf8).randomElement(using: &random)!
                case 2: bytes.insert(Array(" \t\r\n:=/0am".utf8).randomElement(using: &random)!, at: place)
                case 3: bytes.removeSubrange(place..<min(place + 5, bytes.count - 1))
                default: bytes.insert(contentsOf: bytes[place..<min(place + 30, bytes.count)], at: 0 + place)
                }
            }
            guard let offer = try? SessionDescription(parsing: bytes) else { continue }
            parsed += 1
            #expect(offer.media.count == offer.mediaCount && offer.attributes.count + offer.bandwidths.count <= bytes.count)
            var side = OfferAnswer(
                capabilities: AudioCapabilities(codecs: [.pcmu, .pcma]), local: SocketAddress(ip: .loopback4, port: 4000),
                sessionID: 1)
            guard let octets = try? side.answer(to: offer) else { continue }
            let answer = try SessionDescription(parsing: octets)
            #expect(
                answer.media.map(\.kind) == offer.media.map { $0.kind.lowercased() },
                "seed \(seed): \(String(decoding: bytes, as: UTF8.self).debugDescription)")
        }
        #expect(parsed > 100)
    }
}
