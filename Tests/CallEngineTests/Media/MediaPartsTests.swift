// Ports, prompts and the merging of keys, each alone.

import Audio
import Basics
import CallEngine
import Reactor
import Testing

@Suite struct MediaPartsTests {
    @Test func portsRestAndAreUsedAgain() throws {
        let world = MediaWorld(ports: 20000...20005)
        let first = try (0..<3).map { _ in try world.session(world.left) }
        #expect(throws: MediaError.noPorts(20000...20005)) { _ = try world.session(world.left) }
        #expect(MediaError.noPorts(20000...20005).status == 503)
        #expect(world.left.counters.ports.refused == 1)
        for session in first { session.close() }
        // Not at once: a late packet would reach another call.
        #expect(throws: MediaError.noPorts(20000...20005)) { _ = try world.session(world.left) }
        world.run(.seconds(4))
        let again = try world.session(world.left)
        #expect(world.left.counters.ports.opened == 3 && world.left.counters.ports.restedLess == 0)
        again.close()
        world.end()
    }

    @Test func aPairRestsLongOnlyWhenAStreamCame() throws {
        let world = MediaWorld(ports: 20000...20003)
        let silent = try world.session(world.left)
        silent.close()
        world.run(.milliseconds(300))
        let again = try world.session(world.left)
        #expect(world.left.counters.ports.opened == 1 && world.left.counters.ports.restedLess == 0)
        again.close()

        let peer = try RawPeer(world.loop)
        world.run(.milliseconds(300))
        let heard = try world.session(world.left)
        var isHeard = false
        world.listen(to: heard, MediaEars(onFirstPacket: { isHeard = true }))
        let target = rtpAddress(try heard.answer(peer.description()), ip: MediaWorld.leftIP)
        heard.start()
        for sequence in 0..<5 {
            peer.send([0x80, 0, 0, UInt8(sequence)] + [UInt8](repeating: 1, count: 168), to: target)
            world.run(.milliseconds(20))
        }
        #expect(isHeard)
        heard.close()
        world.run(.milliseconds(300))
        let other = try world.session(world.left)
        #expect(world.left.counters.ports.opened == 2)
        other.close()
        peer.close()
        world.end()
    }

    @Test func latePacketsOfAFormerCallAreThrownAway() throws {
        let world = MediaWorld(ports: 20000...20001)
        let peer = try RawPeer(world.loop)
        let (first, target) = try world.answering(peer.description())
        world.run(.seconds(1))
        first.close()
        for _ in 0..<5 {
            peer.send([UInt8](repeating: 1, count: 160), to: target)
            world.run(.milliseconds(100))
        }
        let second = try world.session(world.left)
        var heard = false
        world.listen(to: second, MediaEars(onFirstPacket: { heard = true }))
        _ = try second.answer(peer.description())
        second.start()
        world.run(.seconds(1))
        #expect(!heard && second.report.received == 0)
        #expect(world.left.counters.ports.stray == 5)
        peer.close()
        world.end()
    }

    @Test func aMissingPromptNamesItself() throws {
        let world = MediaWorld()
        let (left, _) = try world.pair()
        let playback = left.play(PlaybackRequest([.file(path: prompt("welcome.wav")), .file(path: "/nowhere/none.wav")]))
        var end: PlaybackEnd?
        playback.onEnd = { end = $0 }
        world.run(.seconds(1))
        #expect(end == .failed("/nowhere/none.wav: there is no such file"))
        let unknown = left.play(PlaybackRequest([.countryTone(name: "ringback", country: "zz")]))
        guard case .failed = unknown.end else {
            Issue.record("\(String(describing: unknown.end))")
            return
        }
        let empty = left.play(PlaybackRequest([.silence(.zero)], loop: .forever))
        world.run(.milliseconds(100))
        #expect(empty.end == .finished)
        world.end()
    }

    @Test func manyLoadsOfOnePromptAreOne() throws {
        let world = MediaWorld(ports: 20000...20399)
        var playbacks: [Playback] = []
        for _ in 0..<100 {
            let (left, _) = try world.pair()
            playbacks.append(left.play(PlaybackRequest([.file(path: prompt("goodbye.wav"))])))
        }
        world.run(.seconds(5))
        #expect(playbacks.allSatisfy { $0.end == .finished })
        #expect(world.workers.promptCache.misses == 1)
        #expect(world.workers.prompts.counters.done == 1)
        world.end()
    }

    @Test func aChangedFileIsHeard() throws {
        let world = MediaWorld()
        let (left, right) = try world.pair()
        let file = temporaryFile("changing.wav")
        func write(_ seconds: Int, _ frequency: Double) throws {
            let writer = try WaveWriter(path: file, rate: 8000, channels: 1)
            let clip = ToneGenerator.clip(Tone(frequencies: [frequency]), rate: 8000, length: .seconds(seconds))
            clip.samples.withUnsafeBufferPointer { _ = writer.append($0) }
            _ = writer.finish()
        }
        try write(1, 440)
        let first = left.play(PlaybackRequest([.file(path: file)]))
        world.run(.seconds(2))
        #expect(first.end == .finished && first.played == .seconds(1))
        try write(2, 880)
        let second = left.play(PlaybackRequest([.file(path: file)]))
        world.run(.seconds(3))
        #expect(second.played == .seconds(2))
        _ = right
        world.end()
    }

    @Test func partsAndLoops() throws {
        let world = MediaWorld()
        let (left, _) = try world.pair()
        let part = left.play(
            PlaybackRequest(
                [.file(path: prompt("welcome.wav"))], loop: .times(3), from: .milliseconds(500), until: .milliseconds(900),
                volume: -6))
        world.run(.seconds(3))
        #expect(part.end == .finished && part.played == .milliseconds(1200))
        let first = left.play(PlaybackRequest([.tone(frequencies: [440], cadence: [])]))
        world.run(.seconds(10))
        #expect(first.end == nil)
        let second = left.play(PlaybackRequest([.silence(.seconds(1))]))
        #expect(first.end == .stopped)
        left.close()
        #expect(second.end == .stopped)
        #expect(left.play(PlaybackRequest([.silence(.seconds(1))])).end == .failed("the call has ended"))
        world.end()
    }
}
