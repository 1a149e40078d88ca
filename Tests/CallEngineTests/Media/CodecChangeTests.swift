// Descriptions that change in mid-call: another codec while a call is recorded, or in a bridge, which then forwards, transcodes and forwards
// again; and packets of other lengths than ours.

import Audio
import Basics
import CallEngine
import RTP
import Reactor
import SDP
import TestKit
import Testing

/// A device that says a prompt in the codec that it has described last.
private final class Speaker {
    let peer: RawPeer
    private let clip: AudioClip
    private(set) var codec: Audio.AudioCodec
    private var packetTime: Int
    private var prompt: EncodedPrompt
    /// Of the prompt, in milliseconds: what was encoded before, and packets since then.
    private var said = 0
    private var packet = 0
    private var version = 0
    var target = SocketAddress(ip: .any4, port: 0)

    init(_ world: MediaWorld, _ codec: Audio.AudioCodec, says name: String, port: UInt16 = 4000, packetTime: Int = 20) throws {
        peer = try RawPeer(world.loop, port: port)
        clip = try PromptFile.read(CallEngineTests.prompt(name))
        self.codec = codec
        self.packetTime = packetTime
        prompt = EncodedPrompt(clip, codec: codec, packetTime: packetTime)
    }

    private var number: UInt8 {
        switch codec {
        case .pcmu: 0
        case .pcma: 8
        case .g722: 9
        default: 107
        }
    }

    /// The next description: with another codec what is left of the prompt goes on in it.
    func description(_ next: Audio.AudioCodec? = nil) -> ArraySlice<UInt8> {
        if let next {
            said += packet * packetTime
            packet = 0
            codec = next
            prompt = EncodedPrompt(clip.part(from: .milliseconds(said), until: nil), codec: next, packetTime: packetTime)
        }
        version += 1
        var text = String(decoding: peer.description(formats: "\(number) 101", version: version), as: UTF8.self)
        if number == 107 { text += "a=rtpmap:107 opus/48000/2\r\n" }
        return Array(text.utf8)[...]
    }

    /// One packet; nothing when the prompt is over.
    func speak() {
        guard packet < prompt.packetCount else { return }
        var payload = [UInt8](repeating: 0, count: 4000)
        let count = payload.withUnsafeMutableBytes { prompt.copyPayload(packet, to: $0) }
        packet += 1
        peer.send(peer.sender.audio(payloadType: number, octets: count), Array(payload[..<count]), to: target)
        peer.sender.advance(by: codec.ticks(inMilliseconds: packetTime))
    }

    /// What it has heard since the start, each packet by its number.
    func heard(rate: Int = 8000) -> AudioClip {
        var heard = AudioClip(samples: [], rate: rate)
        var probe: (type: UInt8, ear: AudioProbe)?
        func take() { if let probe { heard.samples += probe.ear.heard.resampled(to: rate).samples } }
        for packet in peer.packets where packet.payloadType != 101 {
            if probe?.type != packet.payloadType {
                take()
                let codec: Audio.AudioCodec =
                    switch packet.payloadType {
                    case 0: .pcmu
                    case 8: .pcma
                    case 9: .g722
                    default: .opus(OpusParameters())
                    }
                probe = (packet.payloadType, AudioProbe(codec))
            }
            probe?.ear.hear(packet.payload)
        }
        take()
        return heard
    }

    func expectOrder(sourceLocation: SourceLocation = #_sourceLocation) {
        for (one, next) in zip(peer.packets, peer.packets.dropFirst()) {
            #expect(next.sequence == one.sequence &+ 1 && next.ssrc == one.ssrc, sourceLocation: sourceLocation)
            #expect(Int32(bitPattern: next.timestamp &- one.timestamp) > 0, sourceLocation: sourceLocation)
        }
    }
}

@Suite struct CodecChangeTests {
    private static let opus = Audio.AudioCodec.opus(OpusParameters())
    private static let changes: [(Audio.AudioCodec, Audio.AudioCodec)] = [
        (.pcmu, opus), (opus, .pcmu), (.pcmu, .g722), (.g722, opus), (.pcma, .pcmu)
    ]

    @Test("a codec that changes is recorded without a break", arguments: changes, [RecordingRequest.Channels.stereo, .mono])
    func recorded(change: (from: Audio.AudioCodec, to: Audio.AudioCodec), channels: RecordingRequest.Channels) throws {
        let world = MediaWorld(seed: 71)
        let speaker = try Speaker(world, change.from, says: "menu.wav")
        let (session, target) = try world.answering(speaker.description(), codecs: ["opus", "g722", "pcmu", "pcma"])
        speaker.target = target
        let file = temporaryFile("change.wav")
        let recording = try session.record(RecordingRequest(path: file, channels: channels))
        // One after the other where both lie in one channel.
        if channels == .stereo { _ = session.play(PlaybackRequest([.file(path: prompt("closed.wav"))])) }
        for tick in 0..<300 {
            if tick == 70 { _ = try session.answer(speaker.description(change.to)) }
            speaker.speak()
            world.run(.milliseconds(20))
        }
        recording.stop()
        world.run(.milliseconds(200))
        let result = try #require(recording.result)
        #expect(result.complete && result.detail == "" && result.lost == .zero, "\(result)")
        #expect(abs(result.length.milliseconds - 6000) <= 20, "\(result.length)")
        let sides = channels == .stereo ? [("menu.wav", 0), ("closed.wav", 1)] : [("menu.wav", nil)] as [(String, Int?)]
        for (name, channel) in sides {
            let said = try PromptFile.read(prompt(name))
            let clip = try PromptFile.read(file, channel: channel)
            // Before the change and behind it, as far apart as they were said: a codec itself takes up to 7 ms.
            let places = [200, 1600].map { start in
                let match = Correlation.search(
                    said.part(from: .milliseconds(start), until: .milliseconds(start + 1000)), in: clip, overlap: 0.9)
                #expect(match.peak > 0.85, "\(name) from \(start) ms: \(match)")
                return Double(match.lag) / Double(clip.rate)
            }
            #expect(abs(places[1] - places[0] - 1.4) < 0.01, "\(name): \(places)")
        }
        speaker.peer.close()
        world.end()
    }

    @Test("a leg of a bridge changes its codec, and back: forwarded, transcoded, forwarded", arguments: [opus, .g722])
    func bridged(other: Audio.AudioCodec) throws {
        let world = MediaWorld(seed: 72)
        let codecs = ["opus", "g722", "pcmu"]
        let caller = try Speaker(world, .pcmu, says: "menu.wav")
        let callee = try Speaker(world, .pcmu, says: "closed.wav", port: 5000)
        let inner: MediaSession
        let outer: MediaSession
        (inner, caller.target) = try world.answering(caller.description(), codecs: codecs)
        (outer, callee.target) = try world.answering(callee.description(), codecs: codecs)
        inner.connect(to: outer)
        var forwarded: [UInt64] = []
        for tick in 0..<240 {
            if tick == 60 { _ = try outer.answer(callee.description(other)) }
            if tick == 120 { _ = try outer.answer(callee.description(.pcmu)) }
            if tick % 60 == 59 { forwarded.append(world.left.counters.packetsForwarded) }
            caller.speak()
            callee.speak()
            world.run(.milliseconds(20))
        }
        #expect(forwarded[0] > 110 && forwarded[1] - forwarded[0] < 10 && forwarded[2] - forwarded[1] > 105, "\(forwarded)")
        caller.expectOrder()
        callee.expectOrder()
        // Each third of the whole, so far as it holds a part of the prompt: jitter buffers may put in a pause at each change.
        for (speaker, name) in [(caller, "closed.wav"), (callee, "menu.wav")] {
            let said = try PromptFile.read(prompt(name))
            let heard = speaker.heard()
            for start in [0, 1300, 2500] {
                let part = said.part(from: .milliseconds(start), until: .milliseconds(start + 1000))
                let match = Correlation.search(part, in: heard, overlap: 0.9)
                #expect(match.peak > 0.8, "\(name) from \(start) ms: \(match)")
            }
        }
        caller.peer.close()
        callee.peer.close()
        world.end()
    }

    @Test("packets of another length than the other leg's are forwarded as they are", arguments: [10, 40], [10, 20])
    func lengths(milliseconds: Int, others: Int) throws {
        let world = MediaWorld(seed: 73)
        let caller = try Speaker(world, .pcmu, says: "menu.wav", packetTime: milliseconds)
        let callee = try RawPeer(world.loop, port: 5000)
        let inner: MediaSession
        (inner, caller.target) = try world.answering(caller.description())
        let (outer, _) = try world.answering(callee.description(ptime: others))
        inner.connect(to: outer)
        for _ in 0..<(4000 / milliseconds) {
            caller.speak()
            world.run(.milliseconds(milliseconds))
        }
        let probe = AudioProbe(.pcmu)
        let spoken = callee.packets.filter { $0.payload.count == milliseconds * 8 && !$0.isSilence }
        for packet in callee.packets { probe.hear(packet.payload) }
        #expect(spoken.count > 3000 / milliseconds)
        // From the first sound to the last: each packet when it is said, its timestamp behind all of the one before.
        let audio = Array(callee.packets.drop { $0.isSilence }.reversed().drop { $0.isSilence }.reversed())
        for (one, next) in zip(audio, audio.dropFirst()) {
            #expect(next.sequence == one.sequence &+ 1 && next.timestamp &- one.timestamp == UInt32(one.payload.count))
            #expect(next.at - one.at == .milliseconds(milliseconds))
        }
        let match = try probe.match(prompt: prompt("menu.wav"))
        #expect(match.peak > 0.95, "\(match)")
        caller.peer.close()
        callee.close()
        world.end()
    }
}
