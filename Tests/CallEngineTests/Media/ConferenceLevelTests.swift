// Members of a conference go from an encoding for all to one of their own, and back: whatever their decoders have heard before, the others are
// as loud as they are.

import Audio
import Basics
import CallEngine
import Reactor
import TestKit
import Testing

@Suite struct ConferenceLevelTests {
    /// One that speaks hears an encoding of its own, with the others in it; the coders go on from what they have heard.
    @Test("who begins to speak, and falls silent again, hears the others as loud as before", arguments: ["g722", "opus", "pcma"])
    func steady(codec: String) throws {
        let meeting = Meeting()
        try meeting.join("pcmu")
        try meeting.join(codec)
        meeting.talk(0, level: -3)
        let file = temporaryFile("steady.wav")
        meeting.world.run(.seconds(4))
        let recording = try meeting.callers[1].record(RecordingRequest(path: file, channels: .caller))
        for level in [-3.0, -33, -33, -3, -3] {
            meeting.world.run(.milliseconds(500))
            let spoken = meeting.callers[1].play(PlaybackRequest([.tone(frequencies: [1310], cadence: [])], loop: .forever))
            meeting.world.run(.seconds(1))
            spoken.stop()
            meeting.world.run(.milliseconds(3500))
            // The other one is as loud for five seconds, then maybe otherwise.
            meeting.talk(0, level: level)
        }
        recording.stop()
        meeting.world.run(.milliseconds(200))
        let heard = try PromptFile.read(file)
        let frame = heard.rate / 50
        for (turn, level) in [-3.0, -3, -33, -33, -3].enumerated() {
            // Behind a change of the level itself a coder takes a while.
            for index in (turn * 250 + 10)..<(turn * 250 + 240) {
                let found = heard.samples[index * frame..<(index + 1) * frame].withUnsafeBufferPointer { Decibels.level(of: $0) }
                #expect(abs(found - level) < 3, "\(codec), \(index * 20) ms: \(found), not \(level)")
            }
        }
        meeting.world.end()
    }

    /// Its decoder does not know what was encoded for those who were there.
    @Test(
        "who comes, and who has heard a prompt, hears the others as loud as they are", arguments: ["g722", "opus", "pcma"],
        [-3.0, -40])
    func stranger(codec: String, prompt level: Double) throws {
        let meeting = Meeting()
        for codec in ["pcmu", codec, codec] { try meeting.join(codec) { $0.joinTone = false } }
        meeting.talk(0, level: -3)
        meeting.world.run(.seconds(2))
        meeting.talk(0, level: -33)
        let file = temporaryFile("stranger.wav")
        let recording = try meeting.callers[2].record(RecordingRequest(path: file, channels: .caller))
        let playback = meeting.hubs[2].play(
            PlaybackRequest([.tone(frequencies: [1990], cadence: [], level: level)], loop: .forever))
        meeting.world.run(.seconds(2))
        playback.stop()
        meeting.world.run(.seconds(3))
        recording.stop()
        meeting.world.run(.milliseconds(200))
        let heard = try PromptFile.read(file)
        let frames = (0..<240).map { heard.part(from: .milliseconds($0 * 20), until: .milliseconds($0 * 20 + 20)) }
        let last = try #require(frames.lastIndex { AudioProbe.level(at: 1990, in: $0) > max(level - 12, -46) })
        #expect((90...110).contains(last), "\(last)")
        // A packet of silence may lie between.
        for index in (last + 2)..<(last + 120) {
            let found = frames[index].samples.withUnsafeBufferPointer { Decibels.level(of: $0) }
            #expect(found < -29, "\((index - last) * 20) ms behind the prompt: \(found)")
            #expect(found > -37 || index < last + 6, "\((index - last) * 20) ms behind the prompt: \(found)")
        }
        meeting.world.end()
    }
}
