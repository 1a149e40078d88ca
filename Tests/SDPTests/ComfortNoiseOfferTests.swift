// Comfort noise in offers and answers (RFC 3389): payload 13 beside codecs with a clock of 8000 Hz.

import Basics
import SDP
import Testing

@Suite struct ComfortNoiseOfferTests {
    private func side(_ policy: ComfortNoisePolicy, _ codecs: [AudioCodec] = [.pcmu, .g722, .opus]) -> OfferAnswer {
        OfferAnswer(
            capabilities: AudioCapabilities(codecs: codecs, comfortNoise: policy),
            local: SocketAddress(ip: IPAddress("192.0.2.100")!, port: 20000), sessionID: 1000)
    }

    private func theirs(_ media: String...) throws -> SessionDescription {
        let head = "v=0\no=- 5 1 IN IP4 192.0.2.1\ns=-\nc=IN IP4 192.0.2.1\nt=0 0\n"
        return try SessionDescription(parsing: (head + media.joined(separator: "\n") + "\n").utf8)
    }

    private func line(_ octets: [UInt8]) -> String {
        String(decoding: octets, as: UTF8.self).split(separator: "\r\n").first { $0.hasPrefix("m=") }.map(String.init) ?? ""
    }

    @Test(arguments: [
        (ComfortNoisePolicy.accepted, ["m=audio 4000 RTP/AVP 0 13 101", "a=rtpmap:101 telephone-event/8000"], true),
        (.offered, ["m=audio 4000 RTP/AVP 0 13"], true),
        (.accepted, ["m=audio 4000 RTP/AVP 13 9", "a=rtpmap:13 CN/8000"], true),
        (.off, ["m=audio 4000 RTP/AVP 0 13"], false),
        (.accepted, ["m=audio 4000 RTP/AVP 0"], false),
        // With another clock, or another meaning, it is not what can be sent.
        (.accepted, ["m=audio 4000 RTP/AVP 107 13", "a=rtpmap:107 opus/48000/2"], false),
        (.accepted, ["m=audio 4000 RTP/AVP 0 13", "a=rtpmap:13 X-FAX/8000"], false),
        (.accepted, ["m=audio 4000 RTP/AVP 0 98", "a=rtpmap:98 CN/16000"], false)
    ])
    func answers(policy: ComfortNoisePolicy, media: [String], isAgreed: Bool) throws {
        var ours = side(policy)
        let answer = try ours.answer(to: try theirs(media[0], media.dropFirst().joined(separator: "\n")))
        #expect(ours.agreement?.hasComfortNoise == isAgreed)
        #expect(line(answer).split(separator: " ").contains("13") == isAgreed)
        #expect(String(decoding: answer, as: UTF8.self).contains("a=rtpmap:13 CN/8000\r\n") == isAgreed)
        #expect(ours.agreement?.receiveFormats.contains { $0.payload == 13 } == false, "it is no codec")
        // A hold keeps what was agreed on, and offers no more than that.
        ours.wantedDirection = .sendonly
        #expect(line(ours.makeOffer()).split(separator: " ").contains("13") == (isAgreed || policy == .offered))
    }

    @Test(arguments: [
        (ComfortNoisePolicy.offered, "m=audio 4000 RTP/AVP 0 13", true), (.offered, "m=audio 4000 RTP/AVP 0", false),
        (.accepted, "m=audio 4000 RTP/AVP 0 13", false), (.offered, "m=audio 4000 RTP/AVP 96 13\na=rtpmap:96 opus/48000/2", false)
    ])
    func offers(policy: ComfortNoisePolicy, answer: String, isAgreed: Bool) throws {
        var ours = side(policy)
        #expect(line(ours.makeOffer()) == "m=audio 20000 RTP/AVP 0 9 96 \(policy == .offered ? "13 " : "")101 97")
        try ours.receive(answer: try theirs(answer))
        #expect(ours.agreement?.hasComfortNoise == isAgreed)
    }

    @Test func thereIsNoneWithoutAClockOf8000() {
        var ours = side(.offered, [.opus])
        #expect(!line(ours.makeOffer()).contains(" 13"))
    }
}
