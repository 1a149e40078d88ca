// Bridges between legs with different codecs: heard both ways, keys across clocks, packet times that differ, and back to forwarding.

import Audio
import Basics
import CallEngine
import Reactor
import SDP
import TestKit
import Testing

@Suite struct MediaTranscodingTests {
    static let pairs = [
        ("pcmu", "opus", 20), ("pcma", "g722", 20), ("g722", "opus", 20), ("opus", "g722", 40), ("l16", "pcmu", 30),
        ("opus", "pcma", 10), ("pcmu", "opus", 60)
    ]

    @Test(arguments: pairs) func bothHearEachOther(caller: String, callee: String, packetTime: Int) throws {
        let bridge = try BridgedCall(seed: 17, caller, callee) { $0.packetTime = packetTime }
        let world = bridge.world
        world.network.impairment.delay = .milliseconds(10)
        world.run(.seconds(1))
        let files = (0..<3).map { temporaryFile("transcoded\($0).wav") }
        let recordings = [
            try bridge.callee.record(RecordingRequest(path: files[0], channels: .caller)),
            try bridge.caller.record(RecordingRequest(path: files[1], channels: .caller)),
            try bridge.inner.record(RecordingRequest(path: files[2], channels: .stereo))
        ]
        var heard = false
        let listening = bridge.inner.listen(ListenRequest(speech: true))
        listening.onEvent = { if case .speechBegan = $0 { heard = true } }
        _ = bridge.caller.play(PlaybackRequest([.file(path: prompt("menu-short.wav"))]))
        _ = bridge.callee.play(PlaybackRequest([.file(path: prompt("goodbye.wav"))]))
        world.run(.seconds(5))
        for recording in recordings { recording.stop() }
        listening.stop()
        world.run(.milliseconds(100))
        let likeness = [
            try AudioProbe.match(prompt: prompt("menu-short.wav"), recording: files[0]),
            try AudioProbe.match(prompt: prompt("goodbye.wav"), recording: files[1]),
            try AudioProbe.match(prompt: prompt("menu-short.wav"), recording: files[2], channel: 0),
            try AudioProbe.match(prompt: prompt("goodbye.wav"), recording: files[2], channel: 1)
        ]
        #expect(likeness.allSatisfy { $0.peak > 0.85 }, "\(likeness)")
        #expect(heard)
        #expect(world.right.counters.packetsTranscoded > 200 && world.right.counters.packetsForwarded < 10)
        for session in [bridge.caller, bridge.callee] { #expect(session.report.lost == 0) }
        world.end()
    }

    @Test(arguments: [("pcmu", "opus"), ("opus", "g722")]) func keysPassOverClocks(caller: String, callee: String) throws {
        let bridge = try BridgedCall(seed: 17, caller, callee)
        bridge.world.run(.milliseconds(500))
        bridge.world.loop.spawn { try? await bridge.caller.sendDigits("19*!4", options: SendDigitsOptions()) }
        bridge.world.loop.spawn { try? await bridge.callee.sendDigits("05#", options: SendDigitsOptions()) }
        bridge.world.run(.seconds(4))
        #expect(bridge.callee.digits.history == "19*!4" && bridge.inner.digits.history == "19*!4")
        #expect(bridge.caller.digits.history == "05#" && bridge.outer.digits.history == "05#")
        bridge.world.end()
    }

    @Test func keysBecomeSoundWhereThereAreNoEvents() throws {
        let bridge = try BridgedCall(seed: 17, "opus", "pcmu") { $0.telephoneEvents = false }
        bridge.world.run(.milliseconds(500))
        bridge.world.loop.spawn { try? await bridge.caller.sendDigits("73", options: SendDigitsOptions()) }
        bridge.world.run(.seconds(3))
        #expect(bridge.callee.digits.history == "73")
        bridge.world.end()
    }

    @Test func aLossIsConcealedOnTheWay() throws {
        let bridge = try BridgedCall(seed: 17, "pcmu", "opus")
        bridge.world.run(.milliseconds(500))
        bridge.world.network.impairment.loss = 0.03
        bridge.world.network.impairment.jitter = .milliseconds(30)
        let file = temporaryFile("lossy.wav")
        let recording = try bridge.callee.record(RecordingRequest(path: file, channels: .caller))
        _ = bridge.caller.play(PlaybackRequest([.file(path: prompt("menu.wav"))]))
        bridge.world.run(.seconds(6))
        recording.stop()
        bridge.world.run(.milliseconds(100))
        // The jitter buffer may put in a pause, so a half of it has to be found.
        #expect(try AudioProbe.match(prompt: prompt("menu.wav"), recording: file, overlap: 0.5).peak > 0.6)
        bridge.world.end()
    }

    /// The encoder has last seen what was said before the prompt, the far side's decoder has heard the prompt.
    @Test(
        "what goes on behind a prompt is as loud as it is",
        arguments: ["opus", "g722"], [(-3.0, -33.0, -40.0), (-33, -3, -13), (-3, -33, -3)])
    func behindAPrompt(codec: String, levels: (before: Double, after: Double, prompt: Double)) throws {
        let bridge = try BridgedCall(seed: 17, "pcmu", codec)
        let world = bridge.world
        func say(_ level: Double) {
            _ = bridge.caller.play(PlaybackRequest([.tone(frequencies: [700], cadence: [], level: level)], loop: .forever))
        }
        say(levels.before)
        world.run(.seconds(2))
        let file = temporaryFile("behind.wav")
        let recording = try bridge.callee.record(RecordingRequest(path: file, channels: .caller))
        let playback = bridge.outer.play(
            PlaybackRequest([.tone(frequencies: [1900], cadence: [], level: levels.prompt)], loop: .forever))
        world.run(.milliseconds(500))
        say(levels.after)
        world.run(.milliseconds(500))
        playback.stop()
        world.run(.seconds(1))
        recording.stop()
        world.run(.milliseconds(200))
        let heard = try PromptFile.read(file)
        // From where the prompt's tone is not heard any more.
        let frames = stride(from: 0, to: heard.samples.count - heard.rate / 50, by: heard.rate / 50).map { first in
            heard.part(
                from: .milliseconds(first * 1000 / heard.rate), until: .milliseconds(first * 1000 / heard.rate + 20))
        }
        let last = try #require(frames.lastIndex { AudioProbe.level(at: 1900, in: $0) > levels.prompt - 12 })
        #expect((45...55).contains(last), "\(last)")
        for index in (last + 2)..<(last + 20) {
            let found = frames[index].samples.withUnsafeBufferPointer { Decibels.level(of: $0) }
            #expect(abs(found - levels.after) < 4, "\((index - last) * 20) ms behind it: \(found), not \(levels.after)")
        }
        world.end()
    }

    @Test("behind a prompt, a key or a hold nothing is later than before", arguments: ["opus", "g722"], ["prompt", "key", "hold"])
    func delay(codec: String, by what: String) throws {
        let bridge = try BridgedCall(seed: 17, "pcmu", codec)
        let world = bridge.world
        world.run(.seconds(1))
        let start = world.loop.now
        let file = temporaryFile("delay.wav")
        let recording = try bridge.callee.record(RecordingRequest(path: file, channels: .caller))
        var said: [Duration] = []
        func burst() {
            said.append(world.loop.now - start)
            _ = bridge.caller.play(
                PlaybackRequest([.tone(frequencies: [700], cadence: [.milliseconds(100), .milliseconds(100)])]))
            world.run(.seconds(1))
        }
        burst()
        switch what {
        case "prompt":
            _ = bridge.outer.play(PlaybackRequest([.silence(.milliseconds(500))]))
            world.run(.seconds(1))
        case "key":
            world.loop.spawn {
                try? await bridge.caller.sendDigits("5", options: SendDigitsOptions(duration: .milliseconds(500)))
            }
            world.run(.seconds(1))
        default:
            for direction in [MediaDirection.sendonly, .sendrecv] {
                bridge.callee.wantedDirection = direction
                try MediaWorld.agree(bridge.callee, bridge.outer)
                world.run(.milliseconds(500))
            }
        }
        burst()
        recording.stop()
        world.run(.milliseconds(200))
        let heard = try PromptFile.read(file)
        // When each begins to be heard, in steps of 5 ms.
        let step = heard.rate / 200
        var onsets: [Int] = []
        for index in 0..<heard.samples.count / step {
            let level = heard.samples[index * step..<(index + 1) * step].withUnsafeBufferPointer { Decibels.level(of: $0) }
            if level > -30, index > (onsets.last ?? -100) + 60 { onsets.append(index) }
        }
        try #require(onsets.count == 2, "\(onsets)")
        let delays = zip(onsets, said).map { Double($0) * 5 - $1.milliseconds }
        #expect(delays[1] <= delays[0] + 25, "\(delays)")
        world.end()
    }

    @Test func theEndOfALegEndsIt() throws {
        let bridge = try BridgedCall(seed: 17, "opus", "pcma")
        bridge.world.run(.seconds(1))
        bridge.callee.close()
        bridge.outer.close()
        let before = bridge.caller.report.received
        bridge.world.run(.seconds(1))
        #expect(bridge.caller.report.received >= before + 48, "silence again")
        bridge.world.end()
    }
}
