// Pauses as comfort noise (RFC 3389): what a peer gets that agreed on it, and one that did not.

import Audio
import Basics
import CallEngine
import RTP
import Reactor
import SDP
import TestKit
import Testing

@Suite struct MediaNoiseTests {
    @Test func aPauseIsToldAndNotSent() throws {
        let line = try NoiseLine(MediaWorld())
        line.world.run(.seconds(2))
        #expect(line.audio.isEmpty)
        #expect(line.noise.map(\.payload) == Array(repeating: [65], count: 5))
        #expect(line.noise.allSatisfy { !$0.marker })
        let steps = zip(line.noise, line.noise.dropFirst()).map { ($1.timestamp &- $0.timestamp, $1.at - $0.at) }
        #expect(steps.allSatisfy { $0 == 3200 && $1 == .milliseconds(400) })
        line.peer.forget()
        // What plays begins at once, with the marker; the pause after it is told at once.
        _ = line.session.play(PlaybackRequest([.tone(frequencies: [500], cadence: [.milliseconds(200), .zero])]))
        line.world.run(.milliseconds(600))
        #expect(line.audio.map(\.marker) == [true] + Array(repeating: false, count: 9))
        #expect(line.noise.count == 1 || line.noise.count == 2)
        let (last, first) = (try #require(line.audio.last), try #require(line.noise.last { $0.at > line.audio[0].at }))
        #expect(first.at - last.at == .milliseconds(20) && first.timestamp &- last.timestamp == 160)
        #expect(zip(line.peer.packets, line.peer.packets.dropFirst()).allSatisfy { $1.sequence == $0.sequence &+ 1 })
        #expect(line.world.left.counters.noiseSent == UInt64(5 + line.noise.count))
        line.peer.close()
        line.world.end()
    }

    @Test func whereItWasNotOfferedSilenceIsSent() throws {
        let line = try NoiseLine(MediaWorld(), formats: "0 101")
        line.world.run(.seconds(1))
        #expect(line.noise.isEmpty && line.audio.count > 45 && line.audio.allSatisfy(\.isSilence))
        line.peer.close()
        line.world.end()
    }

    @Test func anOfferOfOursMayAskForIt() throws {
        let world = MediaWorld()
        let pair = try world.pair { $0.comfortNoise = .offered }
        world.run(.seconds(2))
        #expect(world.left.counters.noiseSent == 5 && world.right.counters.noiseSent == 5)
        #expect(pair.left.report.lost == 0 && pair.right.report.lost == 0)
        // Both hear what the other plays after a pause.
        let file = temporaryFile("after-noise.wav")
        let recording = try pair.right.record(RecordingRequest(path: file, channels: .caller))
        _ = pair.left.play(PlaybackRequest([.file(path: prompt("menu-short.wav"))]))
        world.run(.seconds(5))
        recording.stop()
        world.run(.milliseconds(100))
        #expect(try AudioProbe.match(prompt: prompt("menu-short.wav"), recording: file).peak > 0.95)
        world.end()
    }

    @Test func aRecordingIsAsLongAsThePause() throws {
        let line = try NoiseLine(MediaWorld())
        let file = temporaryFile("pause.wav")
        let recording = try line.session.record(RecordingRequest(path: file, channels: .stereo))
        line.world.run(.seconds(3))
        recording.stop()
        line.world.run(.milliseconds(100))
        let length = recording.result?.length ?? .zero
        #expect(length >= .milliseconds(2960) && length <= .milliseconds(3040), "\(length)")
        #expect(try PromptFile.read(file, channel: 1).level == -.infinity)
        line.peer.close()
        line.world.end()
    }

    /// One leg pauses; the other one's far side hears the same background, by a packet where it agreed on that, else as silence.
    @Test(arguments: [true, false]) func aBridgePassesPausesOn(isAgreed: Bool) throws {
        let world = MediaWorld()
        let speaker = try NoiseLine(world)
        let listener = try NoiseLine(world, formats: isAgreed ? "0 13 101" : "0 101", port: 4002)
        speaker.session.connect(to: listener.session)
        func talk() {
            for _ in 0..<10 {
                speaker.peer.send([UInt8](repeating: 0x55, count: 160), to: speaker.target)
                world.run(.milliseconds(20))
            }
        }
        talk()
        listener.peer.forget()
        speaker.peer.send(speaker.peer.sender.audio(payloadType: 13, octets: 1), [45], to: speaker.target)
        let paused = world.loop.now
        world.run(.seconds(1))
        if isAgreed {
            #expect(listener.audio.isEmpty && listener.noise.map(\.payload) == [[45], [45], [45]])
            #expect((listener.noise.first?.at ?? .never) - paused < .milliseconds(25))
        } else {
            #expect(listener.noise.isEmpty && listener.audio.count > 40 && listener.audio.allSatisfy(\.isSilence))
        }
        speaker.peer.sender.advance(by: 8000)
        listener.peer.forget()
        talk()
        #expect(listener.audio.filter { !$0.isSilence }.count == 10)
        let numbers = listener.peer.packets.map(\.sequence)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
        speaker.session.disconnect()
        world.run(.milliseconds(500))
        if isAgreed { #expect(listener.noise.last?.payload == [65]) }
        speaker.peer.close()
        listener.peer.close()
        world.end()
    }
}

/// A peer that has offered these formats to a session, which stands.
final class NoiseLine {
    let world: MediaWorld
    let peer: RawPeer
    let session: MediaSession
    let target: SocketAddress

    init(_ world: MediaWorld, formats: String = "0 13 101", port: UInt16 = 4000) throws {
        self.world = world
        peer = try RawPeer(world.loop, port: port)
        (session, target) = try world.answering(peer.description(formats: formats))
    }

    var noise: [RawPeer.Packet] { peer.packets.filter { $0.payloadType == 13 } }
    var audio: [RawPeer.Packet] { peer.packets.filter { $0.payloadType == 0 } }
}
