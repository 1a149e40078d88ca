// SRTP by the keywords of scenarios, Opus and its clock, and the check of what comes back, in virtual time.

import Basics
import Foundation
import Reactor
import SIPpRunner
import Testing

@Suite("SIPp runner: encrypted media")
struct EncryptionTests {
    /// What a call is made of: the lines of each side's description below its `m=` line, and what the caller plays.
    struct Media {
        var offer: [String]
        var answer: [String]
        var proto = "RTP/SAVP 0"
        var play = "<exec rtp_stream=\"apattern,2,0\"/>"
        var echo = "<exec rtp_echo=\"startaudio,0,PCMU/8000\"/>"
    }

    private static func body(_ media: Media, _ lines: [String]) -> String {
        let rows = ["v=0", "c=IN IP4 [media_ip]", "m=audio [rtpstream_audio_port] \(media.proto)"] + lines
        return "Content-Type: application/sdp\n  Content-Length: [len]\n\n  " + rows.joined(separator: "\n  ") + "\n"
    }

    /// Runs a call.
    private func run(_ media: Media, _ more: [String] = []) throws -> (caller: Scene.Party, called: Scene.Party) {
        let scene = try Scene()
        try PairTests.prepare(scene.folder)
        let empty = "Content-Length: 0\n"
        let called = try scene.start(
            XML.scenario(
                "<recv request=\"INVITE\"/>"
                    + XML.response("200 OK", "retrans=\"500\"").replacing(empty, with: Self.body(media, media.answer))
                    + "<recv request=\"ACK\"/><nop><action>\(media.echo)</action></nop><recv request=\"BYE\"/>"
                    + XML.response("200 OK")), ["-m", "1", "-json", "called.json"])
        let caller = try scene.start(
            XML.scenario(
                XML.request("INVITE", "retrans=\"500\"", toTag: false).replacing(empty, with: Self.body(media, media.offer))
                    + "<recv response=\"200\"/>" + XML.request("ACK") + "<pause milliseconds=\"50\"/>"
                    + "<nop><action>\(media.play)</action></nop><pause milliseconds=\"800\"/>"
                    + "<nop><action><exec rtp_stream=\"pause\"/></action></nop><pause milliseconds=\"200\"/>"
                    + XML.request("BYE", "retrans=\"500\"") + "<recv response=\"200\"/>"),
            ["-m", "1", "-json", "caller.json"] + more, to: called)
        #expect(scene.play())
        return (caller, called)
    }

    private func summary(_ party: Scene.Party) -> String { RunSummary(party.run).json(status: party.status ?? -1) }

    static let lines: [(line: String, suite: String)] = [
        (
            "[cryptotag1audio] [cryptosuiteaescm128sha1801audio] [cryptokeyparams1audio]", "AES_CM_128_HMAC_SHA1_80"
        ),
        (
            "[cryptotag1audio] [cryptosuiteaescm128sha1321audio] [cryptokeyparams1audio]", "AES_CM_128_HMAC_SHA1_32"
        ),
        (
            "[cryptotag1audio] [cryptosuitenullsha1801audio] [cryptokeyparams1audio]",
            "AES_CM_128_HMAC_SHA1_80, not encrypted"
        ),
        (
            "[cryptotag1audio] [cryptosuiteaescm128sha1801audio] [cryptokeyparams1audio] [ueaescm128sha1801audio]",
            "AES_CM_128_HMAC_SHA1_80, not encrypted"
        )
    ]

    @Test("a pattern goes out under the caller's key and comes back under the other", arguments: lines.indices)
    func suites(_ place: Int) throws {
        let (line, suite) = Self.lines[place]
        let (caller, called) = try run(
            Media(offer: ["a=crypto:" + line], answer: ["a=crypto:" + line]), ["-audiotolerance", "0"])
        #expect(caller.status == 0, "\(caller.run.fatalMessage ?? "")")
        #expect(called.status == 0)
        for end in [caller, called] {
            #expect(summary(end).contains("\"srtp\":{\"\(suite)\":1},\"unauthentic\":0"), "\(summary(end))")
        }
    }

    @Test("of several lines the one of the answer counts, by suite when the tag is another's")
    func choice() throws {
        let first = "a=crypto:[cryptotag1audio] [cryptosuiteaescm128sha1801audio] [cryptokeyparams1audio]"
        let second = "a=crypto:[cryptotag2audio] [cryptosuiteaescm128sha1322audio] [cryptokeyparams2audio]"
        let answer = "a=crypto:[cryptotag1audio] [cryptosuiteaescm128sha1321audio] [cryptokeyparams1audio]"
        let (caller, called) = try run(Media(offer: [first, second], answer: [answer]), ["-audiotolerance", "0"])
        #expect(caller.status == 0)
        #expect(summary(called).contains("\"srtp\":{\"AES_CM_128_HMAC_SHA1_32\":1},\"unauthentic\":0"))
    }

    @Test("no suite in common: nothing is sent, and the check fails") func nothingInCommon() throws {
        let (caller, called) = try run(
            Media(
                offer: ["a=crypto:[cryptotag1audio] [cryptosuiteaescm128sha1801audio] [cryptokeyparams1audio]"],
                answer: ["a=crypto:[cryptotag1audio] [cryptosuiteaescm128sha1321audio] [cryptokeyparams1audio]"]))
        #expect(caller.status == ExitCode.mediaCheckFailed)
        #expect(called.status == 0)
        #expect(summary(called).contains("\"received\":0"))
    }

    @Test("a capture goes out as it is, and is none of the far end's stream") func strangers() throws {
        let line = "a=crypto:[cryptotag1audio] [cryptosuiteaescm128sha1801audio] [cryptokeyparams1audio]"
        let (caller, called) = try run(
            Media(offer: [line], answer: [line], play: "<exec play_pcap_audio=\"keys.pcap\"/>"))
        #expect(caller.status == 0)
        #expect(called.status == 0)
        let text = summary(called)
        #expect(text.contains("\"received\":0") && text.contains("\"unauthentic\":8,\"digits\":{}"), "\(text)")
    }

    @Test("an answer without encryption is a plain stream") func plain() throws {
        let (caller, _) = try run(
            Media(
                offer: ["a=crypto:[cryptotag1audio] [cryptosuiteaescm128sha1801audio] [cryptokeyparams1audio]"], answer: [],
                proto: "RTP/AVP 0"), ["-audiotolerance", "0"])
        #expect(caller.status == 0)
        #expect(summary(caller).contains("\"srtp\":{}"))
    }

    @Test("Opus has its own clock: no jitter where there is none, and keys on the same one")
    func opus() throws {
        let lines = ["a=rtpmap:96 opus/48000/2", "a=rtpmap:101 telephone-event/8000", "a=rtpmap:102 telephone-event/48000"]
        let (caller, called) = try run(
            Media(
                offer: lines, answer: lines, proto: "RTP/AVP 96 101 102",
                play: "<exec rtp_stream=\"tone.wav,-1,96,opus/48000/2\"/><exec play_dtmf=\"5*,100\"/>"))
        #expect(caller.status == 0)
        #expect(called.status == 0)
        for end in [caller, called] {
            let text = summary(end)
            #expect(text.contains("\"jitter_ms\":{\"p50\":0.0,\"p99\":0.0}"), "\(text)")
            #expect(text.contains("\"lost\":0"))
            #expect(text.contains("\"digits\":{\"5*\":1}"), "\(text)")
        }
    }

    @Test("-rtp_payload names the payload type of a stream, -audiotolerance what may be missing")
    func options() throws {
        let (caller, _) = try run(
            Media(offer: [], answer: [], proto: "RTP/AVP 0", play: "<exec rtp_stream=\"tone.wav\"/>"), ["-rtp_payload", "13"])
        #expect(caller.status == 0)
        let (deaf, _) = try run(
            Media(offer: [], answer: [], proto: "RTP/AVP 0", echo: "<exec rtp_echo=\"stopaudio\"/>"))
        #expect(deaf.status == ExitCode.mediaCheckFailed)
    }
}
