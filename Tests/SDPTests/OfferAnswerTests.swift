import Basics
import SDP
import Testing

private let here = SocketAddress(ip: IPAddress("192.0.2.100")!, port: 20000)

private func side(
    _ codecs: [AudioCodec] = [.pcmu, .pcma], preference: AudioCapabilities.Preference = .theirs, events: Bool = true
) -> OfferAnswer {
    OfferAnswer(
        capabilities: AudioCapabilities(codecs: codecs, preference: preference, telephoneEvents: events), local: here,
        sessionID: 1000)
}

/// A description of the other side at 192.0.2.1 with these m= and a= lines.
private func theirs(_ media: String..., address: String = "192.0.2.1") throws -> SessionDescription {
    let head = "v=0\no=- 5 1 IN IP4 192.0.2.1\ns=-\nc=IN IP4 \(address)\nt=0 0\n"
    return try SessionDescription(parsing: (head + media.joined(separator: "\n") + "\n").utf8)
}

/// Ours, read again.
private func read(_ octets: [UInt8]) throws -> SessionDescription { try SessionDescription(parsing: octets[...]) }

private let events101 = "a=rtpmap:101 telephone-event/8000\na=fmtp:101 0-16"

@Suite struct AnswererTests {
    private static let l16 = AudioCodec(name: "L16", clockRate: 16000)

    @Test(
        arguments: [
            // their lines; ours; codec, number, telephone-event number
            (["m=audio 4000 RTP/AVP 8 0 101", events101], [.pcmu, .pcma], "PCMA", 8, 101),
            (["m=audio 4000 RTP/AVP 0 8"], [.pcmu, .pcma], "PCMU", 0, nil),
            (["m=audio 4000 RTP/AVP 18 0"], [.pcmu], "PCMU", 0, nil),
            (["m=audio 4000 RTP/AVP 97", "a=rtpmap:97 pcma/8000"], [.pcmu, .pcma], "PCMA", 97, nil),
            (["m=audio 4000 RTP/AVP 0", "a=rtpmap:0 G726-32/8000"], [.pcmu], nil, nil, nil),
            (["m=audio 4000 RTP/AVP 97 0"], [.pcmu], "PCMU", 0, nil),
            (
                ["m=audio 4000 RTP/AVP 107 98", "a=rtpmap:107 OPUS/48000/2", "a=rtpmap:98 telephone-event/48000"], [.opus],
                "opus", 107, 98
            ),
            (["m=audio 4000 RTP/AVP 107", "a=rtpmap:107 opus/48000"], [.opus], "opus", 107, nil),
            (
                [
                    "m=audio 4000 RTP/AVP 107 97 98", "a=rtpmap:107 opus/48000/2", "a=rtpmap:97 telephone-event/8000",
                    "a=rtpmap:98 telephone-event/48000"
                ],
                [.opus], "opus", 107, 98
            ),
            (["m=audio 4000 RTP/AVP 9", "a=rtpmap:9 G722/16000"], [.g722], "G722", 9, nil),
            // B017: the event clock differs from the codec's.
            (
                [
                    "m=audio 4000 RTP/AVP 102 9 127", "a=rtpmap:102 G7221/16000", "a=rtpmap:9 G722/8000",
                    "a=rtpmap:127 telephone-event/8000"
                ],
                [.g722], "G722", 9, 127
            ),
            (
                ["m=audio 4000 RTP/AVP 102 127", "a=rtpmap:102 L16/16000", "a=rtpmap:127 telephone-event/8000"], [l16], "L16",
                102, 127
            ),
            // B015: telephone-event is no codec.
            (["m=audio 4000 RTP/AVP 101", events101], [.pcmu], nil, nil, nil),
            (["m=audio 4000 RTP/AVP 9 101", events101], [.pcmu, .opus], nil, nil, nil),
            (["m=audio 4000 RTP/AVP 13 200 x", "a=rtpmap:13 CN/8000"], [.pcmu], nil, nil, nil)
        ] as [([String], [AudioCodec], String?, UInt8?, UInt8?)])
    func choosesCodecAndNumbers(lines: [String], codecs: [AudioCodec], name: String?, payload: UInt8?, event: UInt8?) throws {
        var side = side(codecs)
        let offer = try theirs(lines.joined(separator: "\n"))
        guard let name, let payload else {
            #expect(throws: OfferAnswerError.noCommonCodec) { try side.answer(to: offer) }
            #expect(side.agreement == nil && side.localDescription == nil)
            return
        }
        let answer = try read(side.answer(to: offer))
        let agreement = try #require(side.agreement)
        #expect(agreement.codec.name == name && agreement.sendPayload == payload)
        #expect(agreement.receiveFormats.map(\.payload) == [payload])
        #expect(agreement.sendEvents?.payload == event)
        #expect(agreement.receiveEvents.map(\.payload) == [event].compactMap { $0 })
        #expect(answer.media[0].formats == [payload, event].compactMap { $0.map { "\($0)" } })
        #expect(answer.media[0].rtpMap(of: payload)?.name == name)
        if let event { #expect(answer.media[0].parameters(of: "\(event)") == "0-16") }
    }

    @Test func ourOrderDecidesWhenAsked() throws {
        var side = side([.pcma, .pcmu], preference: .ours)
        _ = try side.answer(to: theirs("m=audio 4000 RTP/AVP 0 8"))
        #expect(side.agreement?.codec == .pcma)
    }

    @Test func withoutTelephoneEventsNoneAreAnswered() throws {
        var side = side(events: false)
        #expect(try read(side.answer(to: theirs("m=audio 4000 RTP/AVP 0 101", events101))).media[0].formats == ["0"])
        #expect(side.agreement?.sendEvents == nil)
    }

    /// Types of media are read in any case and written in lower case, whether the line is taken or refused.
    @Test func typesAreWrittenInLowerCase() throws {
        var side = side()
        let answer = try read(
            side.answer(to: theirs("m=audiO 4000 RTP/AVP 0", "m=VIDEO 5000 RTP/AVP 96", "m=Audio 4002 RTP/AVP 0")))
        #expect(answer.media.map(\.kind) == ["audio", "video", "audio"])
        #expect(answer.media.map(\.port) == [20000, 0, 0])
        #expect(try read(side.makeOffer()).media.map(\.kind) == ["audio", "video", "audio"])
        // Nor does it matter in an answer.
        try side.receive(answer: theirs("m=AUDIO 4000 RTP/AVP 0", "m=video 0 RTP/AVP 0", "m=audio 0 RTP/AVP 0"))
    }

    @Test func otherMediaAreRefusedInPlace() throws {
        var side = side()
        let offer = try theirs(
            "m=video 5000 RTP/AVP 96 97", "m=audio 0 RTP/AVP 0", "m=audio 4000 RTP/SAVP 0", "m=audio 4002 RTP/AVP 18",
            "m=audio 4004/2 RTP/AVP 0",
            "m=audio 4006 RTP/AVP 0", "m=application 5002 udp MCPTT", "m=video 0 RTP/AVP")
        let answer = try read(side.answer(to: offer))
        #expect(answer.media.map(\.port) == [0, 0, 0, 0, 20000, 0, 0, 0])
        #expect(answer.media.map(\.kind) == offer.media.map(\.kind))
        #expect(answer.media.map(\.transport) == offer.media.map(\.transport))
        #expect(answer.media[0].formats == ["96", "97"] && answer.media[7].formats == ["0"])
        #expect(side.agreement?.remote == SocketAddress("192.0.2.1:4004"))
        #expect(side.agreement?.mediaIndex == 4)
        // A later offer of ours keeps every line in its place.
        let again = try read(side.makeOffer())
        #expect(again.media.map(\.port) == [0, 0, 0, 0, 20000, 0, 0, 0])
        #expect(again.media.map(\.kind) == offer.media.map(\.kind))
    }

    @Test(arguments: [
        ("m=video 4000 RTP/AVP 96", OfferAnswerError.noAudio), ("m=audio 0 RTP/AVP 0", .audioRejected),
        ("m=audio 4000 RTP/SAVP 0", .unsupportedTransport), ("m=audio 4000 UDP/TLS/RTP/SAVPF 0", .unsupportedTransport),
        ("m=audio 0 RTP/AVP 0\nm=audio 4000 RTP/SAVP 0", .unsupportedTransport), ("m=audio 4000 RTP/AVP 18", .noCommonCodec),
        ("m=audio 4000 RTP/AVP", .noCommonCodec), ("m=audio 4000 RTP/AVP 0\nc=IN IP4 239.0.0.1/64", .noUsableAddress),
        ("m=audio 4000 RTP/AVP 0\nc=IN IP6 2001:db8::1", .otherFamily), ("", .noAudio)
    ]) func refusals(media: String, error: OfferAnswerError) throws {
        var side = side()
        let offer = try theirs(media)
        #expect(side.refusal(of: offer) == error)
        #expect(throws: error) { try side.answer(to: offer) }
        // A refused re-offer leaves the session as it was.
        _ = try side.answer(to: theirs("m=audio 4000 RTP/AVP 0"))
        let before = (side.agreement, side.localDescription)
        #expect(throws: error) { try side.answer(to: offer) }
        #expect(side.agreement == before.0 && side.localDescription == before.1)
    }

    /// B025 and the like: keys in a plain RTP line mean nothing.
    @Test func cryptoInPlainRTPIsIgnored() throws {
        var side = side()
        let answer = try read(side.answer(to: theirs("m=audio 4000 RTP/AVP 0", "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x")))
        #expect(answer.media[0].attributes.isEmpty && answer.media[0].transport == "RTP/AVP")
    }

    @Test(arguments: [
        ("a=sendrecv", MediaDirection.sendrecv, MediaDirection.sendrecv, false), ("", .sendrecv, .sendrecv, false),
        ("a=sendonly", .sendrecv, .recvonly, true), ("a=recvonly", .sendrecv, .sendonly, false),
        ("a=inactive", .sendrecv, .inactive, true), ("a=sendrecv", .sendonly, .sendonly, false),
        ("a=sendonly", .sendonly, .inactive, true), ("a=recvonly", .recvonly, .inactive, false)
    ]) func directions(line: String, wanted: MediaDirection, direction: MediaDirection, held: Bool) throws {
        var side = side()
        side.wantedDirection = wanted
        let answer = try read(side.answer(to: theirs("m=audio 4000 RTP/AVP 0", line)))
        #expect(answer.media[0].direction == direction)
        #expect(side.agreement?.direction == direction && side.agreement?.heldByRemote == held)
        #expect(side.agreement?.heldByLocal == !wanted.receives)
    }

    /// B003: hold by 0.0.0.0 and back.
    @Test func oldStyleHoldKeepsOurAddress() throws {
        var side = side()
        _ = try side.answer(to: theirs("m=audio 4000 RTP/AVP 0"))
        let held = try read(side.answer(to: theirs("m=audio 4000 RTP/AVP 0", address: "0.0.0.0")))
        #expect(held.connection?.address == here.ip && held.media[0].port == 20000)
        #expect(side.agreement?.direction.sends == false && side.agreement?.heldByRemote == true)
        let resumed = try read(side.answer(to: theirs("m=audio 4000 RTP/AVP 0")))
        #expect(resumed.connection?.address == here.ip)
        #expect(side.agreement?.remote == SocketAddress("192.0.2.1:4000") && side.agreement?.direction == .sendrecv)
    }

    @Test(arguments: [
        ("", 20), ("a=ptime:30", 30), ("a=ptime:20\na=maxptime:10", 10), ("a=ptime:150", 60), ("a=ptime:5", 10),
        ("a=ptime:25", 20),
        ("a=maxptime:150", 20)
    ]) func packetTimes(lines: String, milliseconds: Int) throws {
        var side = side()
        let answer = try read(side.answer(to: theirs("m=audio 4000 RTP/AVP 0", lines)))
        #expect(side.agreement?.packetTime == milliseconds && answer.media[0].packetTime == milliseconds)
    }

    @Test(arguments: [
        ("", "192.0.2.1:4001", false), ("a=rtcp:4100", "192.0.2.1:4100", false),
        ("a=rtcp:4100 IN IP4 192.0.2.7", "192.0.2.7:4100", false),
        ("a=rtcp-mux", "192.0.2.1:4000", true), ("a=rtcp:9 IN IP4 0.0.0.0\na=rtcp-mux", "192.0.2.1:4000", true),
        ("a=rtcp:4100 IN IP4 0.0.0.0", "192.0.2.1:4100", false)
    ]) func rtcpAddresses(lines: String, address: String, mux: Bool) throws {
        var side = side()
        let answer = try read(side.answer(to: theirs("m=audio 4000 RTP/AVP 0", lines)))
        #expect(side.agreement?.remoteRTCP == SocketAddress(address) && side.agreement?.rtcpMux == mux)
        #expect(answer.media[0].rtcpMux == mux && side.agreement?.rtcpWanted == true)
    }

    @Test func noRTCPWhenNoBandwidthIsGivenToIt() throws {
        var side = side()
        _ = try side.answer(to: theirs("m=audio 4000 RTP/AVP 0\nb=RS:0\nb=RR:0"))
        #expect(side.agreement?.rtcpWanted == false)
    }
}

@Suite struct OffererTests {
    @Test func offersEverythingWithUsualNumbers() throws {
        var side = side([.opus, .g722, .pcma, .pcmu])
        let offer = try read(side.makeOffer())
        #expect(offer.media[0].formats == ["96", "9", "8", "0", "97", "101"])
        #expect(offer.media[0].rtpMap(of: 97)?.clockRate == 48000)
        #expect(offer.media[0].rtpMap(of: 101) == RTPMap(payload: 101, name: "telephone-event", clockRate: 8000))
        #expect(offer.media[0].direction == .sendrecv && offer.media[0].packetTime == 20)
        #expect(offer.origin?.text == "- 1000 1000 IN IP4 192.0.2.100")
        #expect(String(decoding: offer.bytes.prefix(5), as: UTF8.self) == "v=0\r\n")
    }

    @Test func differentNumbersOnBothSides() throws {
        var side = side([.opus, .pcmu])
        _ = side.makeOffer()
        try side.receive(
            answer: theirs(
                "m=audio 4000 RTP/AVP 120 110", "a=rtpmap:120 opus/48000/2", "a=fmtp:120 maxaveragebitrate=16000",
                "a=rtpmap:110 telephone-event/48000"))
        let agreement = try #require(side.agreement)
        #expect(agreement.sendPayload == 120 && agreement.remoteParameters == "maxaveragebitrate=16000")
        #expect(agreement.receiveFormats.map(\.payload) == [96, 120])
        #expect(agreement.sendEvents == TelephoneEventFormat(payload: 110, clockRate: 48000))
        #expect(agreement.receiveEvents.map(\.payload) == [97, 110])
        // Our own numbers stay ours.
        #expect(try read(side.makeOffer()).media[0].formats == ["96", "0", "97", "101"])
    }

    @Test func answerOrderDecidesWhatWeSend() throws {
        var side = side()
        _ = side.makeOffer()
        try side.receive(answer: theirs("m=audio 4000 RTP/AVP 8 0 101", events101))
        #expect(side.agreement?.codec == .pcma)
        #expect(side.agreement?.receiveFormats.map(\.payload) == [8, 0])
    }

    @Test func aDynamicNumberWithoutRtpmapIsTheOneThatWeOffered() throws {
        var side = side([.opus])
        _ = side.makeOffer()
        try side.receive(answer: theirs("m=audio 4000 RTP/AVP 96"))
        #expect(side.agreement?.codec == .opus)
    }

    @Test(arguments: [
        ("m=audio 0 RTP/AVP 0", OfferAnswerError.audioRejected), ("m=video 4000 RTP/AVP 0", .noAudio), ("", .noAudio),
        ("m=audio 4000 RTP/AVP 101\n" + events101, .noCommonCodec), ("m=audio 4000 RTP/SAVP 0", .unsupportedTransport),
        ("m=audio 4000 RTP/AVP 9", .noCommonCodec)
    ]) func anUnusableAnswerLeavesTheOfferOpen(media: String, error: OfferAnswerError) throws {
        var side = side()
        _ = side.makeOffer()
        let answer = try theirs(media)
        #expect(throws: error) { try side.receive(answer: answer) }
        #expect(side.isOffering && side.agreement == nil)
        try side.receive(answer: theirs("m=audio 4000 RTP/AVP 0"))
        #expect(side.agreement?.codec == .pcmu)
    }

    @Test func aSecondAnswerIsTakenAndAStrayOneIsNot() throws {
        var side = side()
        let stray = try theirs("m=audio 4000 RTP/AVP 0")
        #expect(throws: OfferAnswerError.unexpected) { try side.receive(answer: stray) }
        _ = side.makeOffer()
        try side.receive(answer: stray)
        try side.receive(answer: theirs("m=audio 4500 RTP/AVP 8"))
        #expect(side.agreement?.remote.port == 4500 && side.agreement?.codec == .pcma)
        // B008: after an exchange that they began, a description in an ACK means nothing.
        _ = try side.answer(to: theirs("m=audio 4600 RTP/AVP 0"))
        #expect(throws: OfferAnswerError.unexpected) { try side.receive(answer: stray) }
        #expect(side.agreement?.remote.port == 4600)
    }

    @Test func glare() throws {
        var side = side()
        _ = side.makeOffer()
        let offer = try theirs("m=audio 4000 RTP/AVP 0")
        #expect(side.refusal(of: offer) == .glare)
        #expect(throws: OfferAnswerError.glare) { try side.answer(to: offer) }
    }

    @Test func holdAndResume() throws {
        var side = side()
        _ = side.makeOffer()
        try side.receive(answer: theirs("m=audio 4000 RTP/AVP 0"))
        side.wantedDirection = .sendonly
        #expect(try read(side.makeOffer()).media[0].direction == .sendonly)
        try side.receive(answer: theirs("m=audio 4000 RTP/AVP 0", "a=recvonly"))
        #expect(
            side.agreement?.direction == .sendonly && side.agreement?.heldByLocal == true && side.agreement?.heldByRemote == false
        )
        // They hold too while we do.
        let both = try read(side.answer(to: theirs("m=audio 4000 RTP/AVP 0", "a=sendonly")))
        #expect(both.media[0].direction == .inactive)
        side.wantedDirection = .sendrecv
        #expect(try read(side.makeOffer()).media[0].direction == .sendrecv)
        try side.receive(answer: theirs("m=audio 4000 RTP/AVP 0", "a=sendonly"))
        #expect(side.agreement?.direction == .recvonly && side.agreement?.heldByRemote == true)
    }

    /// B011: the version follows what was sent, accepted or not.
    @Test func versionRisesExactlyWithTheBody() throws {
        var side = side()
        #expect(try read(side.makeOffer()).origin?.version == 1000)
        try side.receive(answer: theirs("m=audio 4000 RTP/AVP 0"))
        #expect(try read(side.makeOffer()).origin?.version == 1000)
        try side.receive(answer: theirs("m=audio 4000 RTP/AVP 0"))
        side.wantedDirection = .sendonly
        #expect(try read(side.makeOffer()).origin?.version == 1001)
        side.offerFailed()
        #expect(side.agreement?.direction == .sendrecv)
        side.wantedDirection = .inactive
        #expect(try read(side.makeOffer()).origin?.version == 1002)
        side.offerFailed()
        side.wantedDirection = .sendrecv
        let answer = try read(side.answer(to: theirs("m=audio 4000 RTP/AVP 0")))
        #expect(answer.origin?.version == 1003)
        #expect(try read(side.answer(to: theirs("m=audio 4200 RTP/AVP 0"))) == answer)
        side.local.port = 20002
        #expect(try read(side.answer(to: theirs("m=audio 4200 RTP/AVP 0"))).origin?.version == 1004)
    }

    /// A number that meant one encoding is never given to another one.
    @Test func numbersStayInReOffers() throws {
        var side = side([.opus, .pcmu])
        _ = try side.answer(
            to: theirs("m=audio 4000 RTP/AVP 101 96", "a=rtpmap:101 opus/48000/2", "a=rtpmap:96 telephone-event/8000"))
        let offer = try read(side.makeOffer())
        #expect(offer.media[0].formats == ["101", "0", "97", "96"])
        #expect(offer.media[0].rtpMap(of: 101)?.name == "opus" && offer.media[0].rtpMap(of: 96)?.clockRate == 8000)
    }

    @Test func copiesServeEarlyDialogs() throws {
        var first = side()
        _ = first.makeOffer()
        var second = first
        try first.receive(answer: theirs("m=audio 4000 RTP/AVP 0"))
        try second.receive(answer: theirs("m=audio 4100 RTP/AVP 8"))
        #expect(first.agreement?.codec == .pcmu && second.agreement?.codec == .pcma)
    }

    @Test func portsAndMuxInOurOffer() throws {
        var side = side()
        side.localRTCPPort = 20010
        #expect(try read(side.makeOffer()).media[0].rtcp == RTCPPort(port: 20010))
        try side.receive(answer: theirs("m=audio 4000 RTP/AVP 0", "a=rtcp-mux"))
        #expect(side.agreement?.rtcpMux == false, "it was not offered")
        var fresh = OfferAnswer(
            capabilities: AudioCapabilities(codecs: [.pcmu, .pcma], offersRTCPMux: true), local: here, sessionID: 1)
        #expect(try read(fresh.makeOffer()).media[0].rtcpMux)
        try fresh.receive(answer: theirs("m=audio 4000 RTP/AVP 0", "a=rtcp-mux"))
        #expect(fresh.agreement?.rtcpMux == true)
    }
}
