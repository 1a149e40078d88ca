// Every codec through two sessions: negotiated, played, recorded and heard by the detectors; and what the other side's parameters change.

import Audio
import Basics
import CallEngine
import RTP
import Reactor
import TestKit
import Testing

@Suite struct MediaCodecTests {
    @Test(arguments: [("g722", "G722/8000"), ("l16", "L16/16000"), ("opus", "opus/48000/2"), ("pcma", "PCMA/8000")], [0.0, 0.03])
    func eachHearsTheOther(codec: (setting: String, name: String), loss: Double) throws {
        let world = MediaWorld(seed: 21)
        world.network.impairment.loss = loss
        world.network.impairment.delay = .milliseconds(30)
        world.network.impairment.jitter = loss > 0 ? .milliseconds(20) : .zero
        let (left, right) = try world.pair(codecs: [codec.setting])
        #expect(left.codecName == codec.name && right.codecName == codec.name)
        let files = [temporaryFile("left.wav"), temporaryFile("right.wav")]
        let recordings = [
            try left.record(RecordingRequest(path: files[0], channels: .stereo)),
            try right.record(RecordingRequest(path: files[1]))
        ]
        var events: [ListenEvent] = []
        let listening = right.listen(ListenRequest(speech: true))
        listening.onEvent = { events.append($0) }
        _ = left.play(PlaybackRequest([.file(path: prompt("welcome.wav"))]))
        world.run(.seconds(4))
        _ = right.play(PlaybackRequest([.file(path: prompt("goodbye.wav"))]))
        world.run(.seconds(4))
        for recording in recordings { recording.stop() }
        world.run(.seconds(1))
        #expect(recordings.allSatisfy { $0.result?.complete == true && $0.result?.length == .seconds(8) })
        // Speech that came through a codec without loss, and the near side always.
        let least = loss > 0 ? 0.75 : 0.9
        #expect(try AudioProbe.match(prompt: prompt("welcome.wav"), recording: files[1]).peak > least)
        #expect(try AudioProbe.match(prompt: prompt("goodbye.wav"), recording: files[0], channel: 0).peak > least)
        #expect(try AudioProbe.match(prompt: prompt("welcome.wav"), recording: files[0], channel: 1).peak > 0.9)
        #expect(try AudioProbe.match(prompt: prompt("sales.wav"), recording: files[1]).peak < 0.6)
        #expect(events.contains { if case .speechBegan = $0 { true } else { false } })
        #expect(left.report.sent > 440 && right.report.jitter < .milliseconds(20))
        // A recording has the rate of what was said.
        let rate = codec.setting == "opus" ? 48000 : codec.setting == "pcma" ? 8000 : 16000
        #expect(try PromptFile.read(files[1]).rate == rate)
        listening.stop()
        world.end()
    }

    @Test(arguments: ["g722", "opus", "l16"]) func keysAreEventsAtTheClockOfTheCodec(codec: String) throws {
        let world = MediaWorld()
        let (left, right) = try world.pair(codecs: [codec])
        #expect(left.canSendEvents && right.canSendEvents)
        world.loop.spawn { try? await left.sendDigits("1947#", options: SendDigitsOptions()) }
        world.run(.seconds(3))
        #expect(right.digits.history == "1947#")
        world.end()
    }

    @Test(arguments: ["g722", "opus", "l16"]) func keysAsSoundAreHeard(codec: String) throws {
        let world = MediaWorld()
        let (left, right) = try world.pair(codecs: [codec]) { $0.telephoneEvents = false }
        world.loop.spawn { try? await left.sendDigits("205*", options: SendDigitsOptions()) }
        world.run(.seconds(3))
        #expect(right.digits.history == "205*")
        world.end()
    }

    /// A device that has telephone-event at 8000 Hz beside Opus.
    @Test func eventsAtAnotherClockThanTheAudio() throws {
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let (session, target) = try world.answering(Self.opus(peer, events: 8000), codecs: ["opus"])
        #expect(session.canSendEvents)
        world.run(.milliseconds(200))
        world.loop.spawn { try? await session.sendDigits("5", options: SendDigitsOptions(duration: .milliseconds(100))) }
        world.run(.seconds(1))
        let events = peer.packets.filter { $0.payloadType == 101 }
        // 20 ms are 160 units of 8000 Hz, although 960 of the audio's clock pass.
        #expect(events.map { Int($0.payload[2]) << 8 | Int($0.payload[3]) }.prefix(5) == [160, 320, 480, 640, 800])
        #expect(Set(events.map(\.timestamp)).count == 1)
        let audio = peer.packets.filter { $0.payloadType == 107 }
        #expect(zip(audio, audio.dropFirst()).allSatisfy { $1.timestamp &- $0.timestamp >= 960 })
        #expect(audio.contains { events[0].timestamp &- $0.timestamp == 960 })
        for index in 0..<8 {
            let header = peer.sender.header(payloadType: 101, marker: index == 0, timestamp: 77_000, octets: 4)
            let duration = UInt16(min(index + 1, 6) * 160)
            peer.send(header, [7, index >= 5 ? 0x8A : 0x0A, UInt8(duration >> 8), UInt8(duration & 255)], to: target)
            world.run(.milliseconds(20))
        }
        #expect(session.digits.history == "7")
        peer.close()
        world.end()
    }

    @Test func theOtherSidesParametersDecide() throws {
        let world = MediaWorld()
        func octets(_ parameters: String) throws -> (rate: Int, idle: Int) {
            let peer = try RawPeer(world.loop, port: 4000)
            let session = try world.session(world.left, codecs: ["opus"])
            _ = try session.answer(Self.opus(peer, parameters: parameters))
            session.start()
            world.run(.seconds(1))
            peer.forget()
            world.run(.seconds(2))
            let idle = peer.packets.count
            peer.forget()
            _ = session.play(PlaybackRequest([.file(path: prompt("hold-music.wav"))]))
            world.run(.seconds(4))
            let sum = peer.packets.reduce(0) { $0 + $1.payload.count * 8 }
            session.close()
            peer.close()
            return (sum / 4, idle)
        }
        let usual = try octets("useinbandfec=1")
        #expect(abs(usual.rate - 24000) < 6000, "\(usual)")
        #expect(usual.idle == 100)
        let low = try octets("maxaveragebitrate=10000;usedtx=1")
        #expect(abs(low.rate - 10000) < 3000, "\(low)")
        // Silence is a packet each 400 ms.
        #expect((4...6).contains(low.idle), "\(low)")
        world.end()
    }

    /// The packet time that they wish, where the codec can have it.
    @Test func packetTimesOfOpus() throws {
        let world = MediaWorld()
        for (wished, got) in [(10, 480), (20, 960), (30, 960), (40, 1920), (60, 2880)] as [(Int, UInt32)] {
            let peer = try RawPeer(world.loop)
            let session = try world.session(world.left, codecs: ["opus"])
            _ = try session.answer(Self.opus(peer, ptime: wished))
            session.start()
            world.run(.seconds(1))
            #expect(zip(peer.packets, peer.packets.dropFirst()).allSatisfy { $1.timestamp &- $0.timestamp == got }, "\(wished)")
            session.close()
            peer.close()
        }
        world.end()
    }

    @Test func aChangeOfTheCodecIsHeardWithoutAGap() throws {
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let session = try world.session(world.left, codecs: ["opus", "pcmu"])
        _ = try session.answer(peer.description(formats: "0 101"))
        session.start()
        let playback = session.play(PlaybackRequest([.file(path: prompt("menu.wav"))]))
        world.run(.seconds(1))
        _ = try session.answer(Self.opus(peer, version: 2))
        #expect(session.codecName == "opus/48000/2")
        world.run(.seconds(6))
        #expect(playback.end == .finished)
        let numbers = peer.packets.map(\.sequence)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
        #expect(peer.packets.first?.payloadType == 0 && peer.packets.last?.payloadType == 107)
        let probe = AudioProbe(.opus(OpusParameters()))
        for packet in peer.packets where packet.payloadType == 107 { probe.hear(packet.payload) }
        // The rest of the prompt: all but its first second.
        let match = try probe.match(prompt: prompt("menu.wav"), overlap: 0.5)
        #expect(match.peak > 0.85, "\(match)")
        peer.close()
        world.end()
    }

    /// A description of a peer that speaks Opus as 107.
    static func opus(
        _ peer: RawPeer, parameters: String = "useinbandfec=1", events: Int = 48000, ptime: Int = 20, version: Int = 1
    ) -> ArraySlice<UInt8> {
        let address = peer.socket.localAddress
        var text = "v=0\r\no=- 1 \(version) IN IP4 \(address.ip)\r\ns=-\r\nc=IN IP4 \(address.ip)\r\nt=0 0\r\n"
        text += "m=audio \(address.port) RTP/AVP 107 101\r\na=rtpmap:107 opus/48000/2\r\na=fmtp:107 \(parameters)\r\n"
        text += "a=rtpmap:101 telephone-event/\(events)\r\na=ptime:\(ptime)\r\n"
        return Array(text.utf8)[...]
    }

    /// The tone is encoded once and played over and over: the seam must not be heard, 20 times a second.
    @Test(arguments: ["pcmu", "g722", "opus", "l16"]) func aSteadyToneIsPure(codec: String) throws {
        let world = MediaWorld(seed: 3)
        let pair = try world.pair(codecs: [codec])
        _ = pair.left.play(PlaybackRequest([.tone(frequencies: [520], cadence: [])], loop: .forever))
        world.run(.seconds(1))
        let file = temporaryFile("tone.wav")
        let recording = try pair.right.record(RecordingRequest(path: file, channels: .caller))
        world.run(.milliseconds(1200))
        recording.stop()
        world.run(.milliseconds(200))
        let clip = try PromptFile.read(file).part(from: .milliseconds(150), until: .milliseconds(1150))
        let tone = AudioProbe.level(at: 520, in: clip)
        #expect(abs(tone + 13) < 1, "\(tone)")
        for other in [440.0, 530, 1040, 1560, 2080] {
            let level = AudioProbe.level(at: other, in: clip)
            #expect(level < -50, "\(other) Hz: \(level)")
        }
        world.end()
    }

    /// Encoded once each, they are heard one behind the other: the second is 30 dB quieter.
    @Test("what plays behind another sound in G.722 begins as loud as it is", arguments: [false, true]) func quietBehindLoud(
        isCut: Bool
    ) throws {
        let world = MediaWorld(seed: 4)
        let peer = try RawPeer(world.loop)
        let (session, _) = try world.answering(peer.description(formats: "9"), codecs: ["g722"])
        let loud = AudioSource.tone(frequencies: [1000], cadence: isCut ? [] : [.milliseconds(400)], level: -4)
        let quiet = AudioSource.tone(frequencies: [425], cadence: [], level: -34)
        if isCut {
            let first = session.play(PlaybackRequest([loud]))
            world.run(.milliseconds(400))
            first.stop()
            _ = session.play(PlaybackRequest([quiet]))
        } else {
            _ = session.play(PlaybackRequest([loud, quiet]))
        }
        world.run(.milliseconds(600))
        let decoder = FrameDecoder(.g722, rate: 16000)
        let levels = peer.packets.map { packet in
            withUnsafeTemporaryAllocation(of: Int16.self, capacity: 320) { samples in
                let count = packet.payload.withUnsafeBytes { decoder.decode($0, into: samples) }
                return Decibels.level(of: UnsafeBufferPointer(rebasing: samples[..<count]))
            }
        }
        // The first frame behind the loud ones has the end of them, which the band filters hold back.
        let last = try #require(levels.lastIndex { $0 > -8 })
        let behind = levels[(last + 2)...].prefix(8)
        #expect(behind.count == 8 && behind.allSatisfy { abs($0 + 34) < 6.5 }, "\(levels)")
        peer.close()
        world.end()
    }

    @Test("a key that is sent as sound goes on in the codec of a re-INVITE, and is one key") func keyOverAChange() throws {
        let world = MediaWorld(seed: 5)
        let (left, right) = try world.pair(codecs: ["pcmu", "g722"]) { $0.telephoneEvents = false }
        world.run(.milliseconds(200))
        var isOver = false
        world.loop.spawn {
            try? await left.sendDigits("5", options: SendDigitsOptions(duration: .seconds(1)))
            isOver = true
        }
        world.run(.milliseconds(400))
        let offer = String(decoding: right.makeOffer(), as: UTF8.self)
        let wideband = offer.replacing(" 0 9", with: " 9 0")
        try right.receive(answer: left.answer(Array(wideband.utf8)[...])[...])
        world.run(.seconds(1))
        #expect(isOver && right.digits.history == "5" && left.codecName == "G722/8000")
        world.end()
    }
}
