// What comes of a stream that is not as it should be: lost packets, wrap-around, another SSRC, another payload in mid-stream, comfort noise,
// pauses, odd packet times. Heard by the recorder and by a detector.

import Audio
import Basics
import CallEngine
import RTP
import Reactor
import TestKit
import Testing

@Suite struct MediaReceptionTests {
    /// A session with a recorder and a listener, and a peer that sends what a test wants.
    private final class Ear {
        let world = MediaWorld()
        let peer: RawPeer
        let session: MediaSession
        let target: SocketAddress
        let file = temporaryFile("heard.wav")
        let recording: Recording
        let listening: Listening
        var events: [ListenEvent] = []

        init(codecs: [String] = ["pcmu", "pcma"], formats: String = "0 8 101", opus: Bool = false) throws {
            peer = try RawPeer(world.loop)
            let offer = opus ? MediaCodecTests.opus(peer) : peer.description(formats: formats)
            (session, target) = try world.answering(offer, codecs: codecs)
            recording = try session.record(RecordingRequest(path: file, channels: .caller))
            listening = session.listen(ListenRequest(speech: true, tones: [[440]]))
            listening.onEvent = { [unowned self] in events.append($0) }
        }

        /// Sends a prompt, a packet each packet time; `header` may change, or leave out, what is sent.
        func send(
            _ prompt: EncodedPrompt, type: UInt8 = 0, _ header: (Int, RTPHeader) -> RTPHeader? = { $1 }
        ) {
            for packet in 0..<prompt.packetCount {
                var payload = [UInt8](repeating: 0, count: prompt.range(ofPacket: packet).count)
                _ = payload.withUnsafeMutableBytes { prompt.copyPayload(packet, to: $0) }
                let usual = peer.sender.audio(payloadType: type, octets: payload.count)
                if let header = header(packet, usual) { peer.send(header, payload, to: target) }
                peer.sender.advance(by: prompt.codec.ticks(inMilliseconds: prompt.packetTime))
                world.run(.milliseconds(prompt.packetTime))
            }
        }

        /// What was recorded.
        func finish() throws -> AudioClip {
            recording.stop()
            listening.stop()
            world.run(.seconds(1))
            #expect(recording.result?.complete == true)
            peer.close()
            world.end()
            return try PromptFile.read(file)
        }

        var heardSpeech: Bool { events.contains { if case .speechBegan = $0 { true } else { false } } }
        var heardTone: Bool { events.contains { if case .tone = $0 { true } else { false } } }
    }

    private static func speech(_ codec: Audio.AudioCodec, packetTime: Int = 20) throws -> EncodedPrompt {
        EncodedPrompt(try PromptFile.read(prompt("menu.wav")), codec: codec, packetTime: packetTime)
    }

    private static func likeness(_ clip: AudioClip) throws -> Double {
        Correlation.search(try PromptFile.read(prompt("menu.wav")), in: clip, overlap: 0.9).peak
    }

    private static let tone = EncodedPrompt(
        ToneGenerator.clip(Tone(frequencies: [440]), rate: 8000, length: .seconds(1)), codec: .pcmu)

    @Test(arguments: [10, 20, 30, 40, 60]) func oddPacketTimes(packetTime: Int) throws {
        let ear = try Ear()
        ear.send(try Self.speech(.pcmu, packetTime: packetTime))
        #expect(ear.heardSpeech)
        #expect(try Self.likeness(ear.finish()) > 0.97)
    }

    @Test func numbersAndTimestampsWrap() throws {
        let ear = try Ear()
        ear.peer.sender = RTPSender(ssrc: 1, sequence: 65_500, timestamp: UInt32.max - 4000)
        ear.send(try Self.speech(.pcmu))
        #expect(ear.session.report.lost == 0 && ear.heardSpeech)
        #expect(try Self.likeness(ear.finish()) > 0.97)
    }

    @Test(arguments: ["pcmu", "opus"]) func whatIsLostIsConcealed(name: String) throws {
        let codec: Audio.AudioCodec = name == "pcmu" ? .pcmu : .opus(OpusParameters(format: "useinbandfec=1"))
        let ear = try Ear(codecs: [name], formats: "0", opus: name == "opus")
        let speech = try Self.speech(codec)
        var random = SeededRandom(seed: 3)
        let lost = Set((5..<speech.packetCount).filter { _ in random.next() % 6 == 0 })
        ear.send(speech, type: name == "pcmu" ? 0 : 107) { lost.contains($0) ? nil : $1 }
        #expect(ear.session.report.lost == Int64(lost.count))
        let heard = try ear.finish()
        let whole = try PromptFile.read(prompt("menu.wav")).resampled(to: heard.rate)
        let lag = Correlation.search(whole, in: heard, overlap: 0.9).lag
        var (loud, filled) = (0, 0)
        for packet in lost {
            let first = packet * heard.rate / 50
            guard first + heard.rate / 50 <= whole.samples.count, first + lag >= 0 else { continue }
            let levels = [(whole, first), (heard, first + lag)].map { clip, first in
                AudioClip(samples: Array(clip.samples[first..<first + heard.rate / 50]), rate: heard.rate).level
            }
            guard levels[0] > -25 else { continue }
            loud += 1
            if levels[1] > levels[0] - 12 { filled += 1 }
        }
        #expect(loud > 5 && filled * 10 >= loud * 8, "\(filled) of \(loud)")
    }

    @Test func lateAndDoubledPacketsComeToTheirPlaces() throws {
        let ear = try Ear(codecs: ["g722"], formats: "9 101")
        let speech = try Self.speech(.g722)
        var held: (RTPHeader, [UInt8])?
        for packet in 0..<speech.packetCount {
            var payload = [UInt8](repeating: 0, count: speech.range(ofPacket: packet).count)
            _ = payload.withUnsafeMutableBytes { speech.copyPayload(packet, to: $0) }
            let header = ear.peer.sender.audio(payloadType: 9, octets: payload.count)
            if packet % 7 == 3 {
                held = (header, payload)
            } else {
                ear.peer.send(header, payload, to: ear.target)
                if packet % 5 == 0 { ear.peer.send(header, payload, to: ear.target) }
                // Two packets later.
                if packet % 7 == 5, let (header, payload) = held { ear.peer.send(header, payload, to: ear.target) }
            }
            ear.peer.sender.advance(by: 160)
            ear.world.run(.milliseconds(20))
        }
        // None too late to be heard.
        #expect(ear.session.report.late == 0 && ear.world.left.counters.droppedDuplicate > 20)
        // A codec with a memory is decoded in its order.
        #expect(try Self.likeness(ear.finish()) > 0.9)
    }

    /// Opus that leaves pauses out (RFC 7587 section 3.1.3): numbers go on, timestamps jump. It is no loss, and takes its time.
    @Test func aPauseByDTXIsNoLoss() throws {
        let ear = try Ear(codecs: ["opus"], formats: "107", opus: true)
        let menu = try PromptFile.read(prompt("menu-short.wav")).resampled(to: 48000)
        let pause = AudioClip.silence(.seconds(3), rate: 48000)
        let whole = AudioClip(samples: menu.samples + pause.samples + menu.samples, rate: 48000)
        let speech = EncodedPrompt(whole, codec: .opus(OpusParameters(format: "usedtx=1")))
        var left = 0
        for packet in 0..<speech.packetCount {
            var payload = [UInt8](repeating: 0, count: speech.range(ofPacket: packet).count)
            _ = payload.withUnsafeMutableBytes { speech.copyPayload(packet, to: $0) }
            if payload.isEmpty {
                left += 1
            } else {
                ear.peer.send(ear.peer.sender.audio(payloadType: 107, octets: payload.count), payload, to: ear.target)
            }
            ear.peer.sender.advance(by: 960)
            ear.world.run(.milliseconds(20))
        }
        #expect(left > 100)
        let report = ear.session.report
        #expect(report.lost == 0 && report.late == 0 && report.jitter < .milliseconds(5), "\(report)")
        #expect(ear.events.filter { if case .speechBegan = $0 { true } else { false } }.count >= 2)
        let heard = try ear.finish()
        #expect(abs((heard.length - whole.length).milliseconds) < 100, "\(heard.length)")
        // Each half lies where it was said.
        let second = heard.part(from: menu.length + pause.length - .milliseconds(200), until: nil)
        for part in [heard.part(from: .zero, until: menu.length + .milliseconds(200)), second] {
            #expect(Correlation.search(menu.resampled(to: part.rate), in: part, overlap: 0.9).peak > 0.8)
        }
        let silence = heard.part(from: menu.length + .milliseconds(500), until: menu.length + .seconds(2))
        #expect(silence.level < -55, "\(silence.level)")
    }

    @Test func anotherSSRCGoesOn() throws {
        let ear = try Ear()
        let speech = try Self.speech(.pcmu)
        ear.send(speech) { packet, header in
            guard packet >= 90 else { return header }
            return RTPHeader(
                marker: packet == 90, payloadType: 0, sequence: UInt16(packet) &+ 40_000, timestamp: UInt32(packet * 160),
                ssrc: 0xBEEF)
        }
        let clip = try ear.finish()
        // The first packet of the new source only announces it.
        let whole = try PromptFile.read(prompt("menu.wav"))
        #expect(Correlation.search(whole.part(from: .zero, until: .milliseconds(1750)), in: clip, overlap: 1).peak > 0.97)
        #expect(Correlation.search(whole.part(from: .milliseconds(1850), until: nil), in: clip, overlap: 1).peak > 0.95)
    }

    @Test func anotherPayloadInMidStream() throws {
        let ear = try Ear()
        // We answered with PCMU; PCMA was never agreed on.
        ear.send(try Self.speech(.pcma), type: 8)
        #expect(ear.world.left.counters.droppedUnknownPayload > 100)
        ear.recording.stop()
        ear.listening.stop()
        ear.session.close()
        // Where we offered both and both are in the answer, either may come at any time.
        let session = try ear.world.session(ear.world.left, codecs: ["pcmu", "opus", "pcma"])
        let target = rtpAddress(session.makeOffer(), ip: MediaWorld.leftIP)
        try session.receive(answer: ear.peer.description(formats: "0 8", events: false))
        let file = temporaryFile("both.wav")
        let recording = try session.record(RecordingRequest(path: file, channels: .caller))
        let prompts = [try Self.speech(.pcmu), try Self.speech(.pcma)]
        for packet in 0..<prompts[0].packetCount {
            let prompt = prompts[packet / 50 % 2]
            var payload = [UInt8](repeating: 0, count: prompt.range(ofPacket: packet).count)
            _ = payload.withUnsafeMutableBytes { prompt.copyPayload(packet, to: $0) }
            ear.peer.send(payload, type: packet / 50 % 2 == 0 ? 0 : 8, to: target)
            ear.world.run(.milliseconds(20))
        }
        recording.stop()
        ear.world.run(.seconds(1))
        #expect(try Self.likeness(PromptFile.read(file)) > 0.97)
        ear.peer.close()
        ear.world.end()
    }

    @Test func comfortNoiseFillsAPause() throws {
        let ear = try Ear()
        let tone = Self.tone
        ear.send(tone)
        // Silence at -50 dBov, told once; then 2 s without a packet, and the tone again.
        ear.peer.send(ear.peer.sender.audio(payloadType: 13, octets: 1), [50], to: ear.target)
        ear.peer.sender.advance(by: 16_000)
        ear.world.run(.seconds(2))
        ear.send(tone)
        #expect(ear.session.report.lost == 0)
        #expect(ear.events.filter { if case .tone = $0 { true } else { false } }.count == 2)
        let start = tone.length
        let clip = try ear.finish()
        let noise = clip.part(from: start + .milliseconds(300), until: start + .milliseconds(1700)).level
        #expect(abs(noise - 6.15 + 50) < 1.5, "\(noise)")
        #expect(clip.part(from: start + .milliseconds(2100), until: start + .milliseconds(2100) + tone.length / 2).level > -16)
    }

    @Test func timestampsThatJumpAreTiedAnew() throws {
        let ear = try Ear()
        let tone = Self.tone
        ear.send(tone)
        ear.peer.sender.advance(by: 80_000_000)
        ear.send(tone)
        #expect(ear.heardTone)
        let clip = try ear.finish()
        #expect(clip.part(from: .milliseconds(100), until: tone.length).level > -16)
        #expect(clip.part(from: tone.length + .milliseconds(200), until: tone.length * 2).level > -16)
    }
}
