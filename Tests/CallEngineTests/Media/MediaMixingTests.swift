// Music under prompts: both are heard, each as loud as it should be, and the stream goes on through all changes.

import Audio
import Basics
import CallEngine
import Foundation
import Reactor
import TestKit
import Testing

@Suite struct MediaMixingTests {
    private static func tone(_ frequency: Double, _ length: Duration = .seconds(1)) -> AudioSource {
        .tone(frequencies: [frequency], cadence: [length], level: -20)
    }

    private static func under(_ frequency: Double, loop: PlaybackRequest.Loop = .forever) -> PlaybackRequest {
        var request = PlaybackRequest([tone(frequency)], loop: loop)
        request.layer = .under
        return request
    }

    /// How loud a frequency is in each tenth of a second, in dBm0.
    private static func levels(_ clip: AudioClip, _ frequency: Double) -> [Double] {
        let block = clip.rate / 10
        return stride(from: 0, to: clip.samples.count - block + 1, by: block).map { start in
            var (sine, cosine) = (0.0, 0.0)
            for index in 0..<block {
                let angle = 2 * Double.pi * frequency * Double(index) / Double(clip.rate)
                sine += Double(clip.samples[start + index]) * sin(angle)
                cosine += Double(clip.samples[start + index]) * cos(angle)
            }
            let amplitude = 2 * (sine * sine + cosine * cosine).squareRoot() / Double(block)
            // dBm0 of a sine: full scale is +3.14.
            return 20 * log10(max(amplitude, 1) / 32768) + 3.14
        }
    }

    /// Whether the frequency is there at -20 dBm0, in each tenth of a second: `#` or `.`.
    private static func picture(_ clip: AudioClip, _ frequency: Double) -> String {
        levels(clip, frequency).map { $0 > -45 ? "#" : "." }.joined()
    }

    @Test(arguments: [("pcmu", "0 101", 8000), ("g722", "9 101", 8000), ("opus", "107 101", 48000)])
    func bothAreHeard(codec: String, formats: String, clock: Int) throws {
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let session = try world.session(world.left, codecs: [codec])
        _ = try session.answer(codec == "opus" ? MediaCodecTests.opus(peer) : peer.description(formats: formats))
        session.start()
        let under = session.play(Self.under(440))
        world.run(.seconds(1))
        let upper = session.play(PlaybackRequest([Self.tone(1000), .silence(.milliseconds(500)), Self.tone(1000)]))
        world.run(.seconds(4))
        #expect(upper.end == .finished && upper.played == .milliseconds(2500))
        #expect(under.end == nil)
        under.stop()
        world.run(.milliseconds(500))
        let next = session.play(PlaybackRequest([Self.tone(1000)]))
        world.run(.milliseconds(1500))
        #expect(next.end == .finished)
        // Nothing is missing, nothing is twice, no pause is marked.
        let units = UInt32(clock / 50)
        for (one, other) in zip(peer.packets, peer.packets.dropFirst()) {
            #expect(other.sequence == one.sequence &+ 1 && other.timestamp == one.timestamp &+ units && !other.marker)
        }
        let probe = AudioProbe(try #require(AudioCodec.all.first { $0.name.lowercased() == codec }))
        for packet in peer.packets { probe.hear(packet.payload) }
        let music = Self.levels(probe.heard, 440)
        let voice = Self.levels(probe.heard, 1000)
        // In the middle of each part: alone, with the voice, between the voices, after it, and gone.
        for (at, isMusic, isVoice) in [
            (5, true, false), (15, true, true), (22, true, false), (30, true, true), (42, true, false), (53, false, false),
            (60, false, true)
        ] {
            #expect(isMusic ? abs(music[at] + 20) < 2 : music[at] < -45, "\(at): \(music[at])")
            #expect(isVoice ? abs(voice[at] + 20) < 2 : voice[at] < -45, "\(at): \(voice[at])")
        }
        peer.close()
        world.end()
    }

    @Test func aLayerEndsByItself() throws {
        let world = MediaWorld()
        let (left, _) = try world.pair()
        let under = left.play(Self.under(440, loop: .times(2)))
        let upper = left.play(PlaybackRequest([Self.tone(1000)]))
        world.run(.milliseconds(1500))
        #expect(upper.end == .finished && under.end == nil)
        world.run(.seconds(1))
        #expect(under.end == .finished && under.played == .seconds(2))
        // A new one takes the place of the one in its layer, and of no other.
        let music = left.play(Self.under(440))
        let prompt = left.play(PlaybackRequest([Self.tone(1000)], loop: .forever))
        let other = left.play(Self.under(600))
        #expect(music.end == .stopped && prompt.end == nil && other.end == nil)
        let failing = PlaybackRequest([.file(path: "/nowhere/none.wav")])
        var below = failing
        below.layer = .under
        let none = left.play(below)
        world.run(.milliseconds(100))
        #expect(other.end == .stopped && none.end == .failed("/nowhere/none.wav: there is no such file") && prompt.end == nil)
        _ = left.play(Self.under(440))
        left.close()
        #expect(prompt.end == .stopped)
        world.end()
    }

    @Test func theEndOfTheCallInTheMiddle() throws {
        let world = MediaWorld()
        let (left, right) = try world.pair()
        let under = left.play(Self.under(440))
        let upper = left.play(PlaybackRequest([Self.tone(1000)]))
        // Whoever hears of an end may end the call in that turn.
        upper.onEnd = { _ in left.close() }
        world.run(.seconds(2))
        #expect(upper.end == .finished && under.end == .stopped)
        _ = right
        world.end()
    }

    @Test func aChangeOfTheCodecGoesOnWhereItWas() throws {
        let world = MediaWorld()
        let peer = try RawPeer(world.loop)
        let session = try world.session(world.left, codecs: ["opus", "pcmu"])
        _ = try session.answer(peer.description(formats: "0 101"))
        session.start()
        let under = session.play(Self.under(440, loop: .times(3)))
        let upper = session.play(PlaybackRequest([Self.tone(1000, .seconds(2))]))
        world.run(.seconds(1))
        _ = try session.answer(MediaCodecTests.opus(peer, version: 2))
        world.run(.seconds(3))
        #expect(upper.end == .finished && under.end == .finished)
        let numbers = peer.packets.map(\.sequence)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
        let probe = AudioProbe(.opus(OpusParameters()))
        for packet in peer.packets where packet.payloadType == 107 { probe.hear(packet.payload) }
        let (music, voice) = (Self.picture(probe.heard, 440), Self.picture(probe.heard, 1000))
        #expect(music.hasPrefix("##################"), "\(music)")
        // A second of it is left, and what the encoder holds back.
        #expect(voice.hasPrefix("#########") && !voice.dropFirst(12).contains("#"), "\(voice)")
        peer.close()
        world.end()
    }

    @Test func aConnectedCallHasNothingUnderIt() throws {
        let call = try BridgedCall(seed: 3, "pcmu", "pcmu", isConnected: false)
        let before = call.inner.play(Self.under(440))
        call.world.run(.milliseconds(100))
        call.inner.connect(to: call.outer)
        #expect(before.end == .stopped)
        let after = call.inner.play(Self.under(440))
        #expect(after.end == .failed("nothing can be played under a connected call"))
        call.world.end()
    }
}
