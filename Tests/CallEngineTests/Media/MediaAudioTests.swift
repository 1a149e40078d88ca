// Two sessions negotiate and hear each other's prompt, proved by correlation.

import Audio
import Basics
import CallEngine
import Reactor
import TestKit
import Testing

@Suite struct MediaAudioTests {
    @Test(arguments: [0.0, 0.05]) func eachHearsTheOthersPrompt(loss: Double) throws {
        let world = MediaWorld(seed: 7)
        world.network.impairment.loss = loss
        world.network.impairment.delay = .milliseconds(30)
        world.network.impairment.jitter = loss > 0 ? .milliseconds(40) : .zero
        world.network.impairment.duplication = loss
        world.network.impairment.reordering = loss
        let (left, right) = try world.pair()
        let files = [temporaryFile("left.wav"), temporaryFile("right.wav")]
        let recordings = [
            try left.record(RecordingRequest(path: files[0])), try right.record(RecordingRequest(path: files[1]))
        ]
        let playbacks = [
            left.play(PlaybackRequest([.file(path: prompt("welcome.wav"))])),
            right.play(PlaybackRequest([.file(path: prompt("goodbye.wav"))]))
        ]
        world.run(.seconds(8))
        #expect(playbacks.allSatisfy { $0.end == .finished })
        #expect(left.codecName == "PCMU/8000" && right.canSendEvents)
        for recording in recordings { recording.stop() }
        world.run(.seconds(1))
        let least = loss > 0 ? 0.85 : 0.97
        #expect(try AudioProbe.match(prompt: prompt("goodbye.wav"), recording: files[0]).peak > least)
        #expect(try AudioProbe.match(prompt: prompt("welcome.wav"), recording: files[1]).peak > least)
        for recording in recordings {
            #expect(recording.result?.complete == true)
            #expect(recording.result?.length == .seconds(8))
            #expect(recording.result?.checksum.count == 64)
            let lost = recording.result?.lost ?? .zero
            #expect(loss > 0 ? (.milliseconds(100)...(.seconds(1))).contains(lost) : lost == .zero, "\(lost)")
        }
        let report = right.report
        #expect(report.sent > 390 && report.received > 300)
        #expect(loss > 0 ? report.lost > 5 : report.lost == 0)
        #expect(loss > 0 ? report.jitter > .milliseconds(2) : report.jitter < .milliseconds(1))
        world.end()
    }

    @Test func stereoHasEachSideAtItsTime() throws {
        let world = MediaWorld(seed: 3)
        world.network.impairment.delay = .milliseconds(20)
        world.network.impairment.loss = 0.02
        let (left, right) = try world.pair()
        let file = temporaryFile("stereo.wav")
        let recording = try left.record(RecordingRequest(path: file, channels: .stereo))
        world.run(.seconds(1))
        _ = left.play(PlaybackRequest([.file(path: prompt("welcome.wav"))]))
        world.run(.seconds(1))
        _ = right.play(PlaybackRequest([.file(path: prompt("goodbye.wav"))]))
        world.run(.seconds(6))
        recording.stop()
        world.run(.seconds(1))
        let near = try AudioProbe.match(prompt: prompt("welcome.wav"), recording: file, channel: 1)
        let far = try AudioProbe.match(prompt: prompt("goodbye.wav"), recording: file, channel: 0)
        #expect(near.peak > 0.95 && far.peak > 0.85)
        // At 1 s and at 2 s of the recording, within two packets.
        #expect(abs(near.lag - 8000) < 400, "\(near.lag)")
        #expect(abs(far.lag - 16_160) < 400, "\(far.lag)")
        world.end()
    }

    /// Each format, through loss: as long as the call, each side at its place.
    @Test(arguments: ["wav", "opus", "ogg", "flac"]) func everyFormatHasBothSides(format: String) throws {
        let world = MediaWorld(seed: 5)
        world.network.impairment.delay = .milliseconds(20)
        world.network.impairment.loss = 0.01
        let (left, right) = try world.pair()
        let file = temporaryFile("both.\(format)")
        let recording = try left.record(RecordingRequest(path: file, channels: .stereo))
        world.run(.seconds(1))
        _ = left.play(PlaybackRequest([.file(path: prompt("welcome.wav"))]))
        _ = right.play(PlaybackRequest([.file(path: prompt("goodbye.wav"))]))
        world.run(.milliseconds(4370))
        recording.stop()
        world.run(.seconds(1))
        let result = try #require(recording.result)
        #expect(result.complete && result.length == .milliseconds(5370) && result.detail == "")
        #expect(try PromptFile.read(file).length == .milliseconds(5370))
        let near = try AudioProbe.match(prompt: prompt("welcome.wav"), recording: file, channel: 1)
        let far = try AudioProbe.match(prompt: prompt("goodbye.wav"), recording: file, channel: 0)
        #expect(near.peak > 0.93 && abs(near.lag - 8000) < 400, "\(near)")
        #expect(far.peak > 0.85 && abs(far.lag - 8160) < 400, "\(far)")
        world.end()
    }

    @Test(arguments: ["wav", "opus", "flac"]) func pauseIsSilenceInTheFile(format: String) throws {
        let world = MediaWorld()
        let (left, right) = try world.pair()
        let file = temporaryFile("paused.\(format)")
        let recording = try left.record(RecordingRequest(path: file))
        _ = right.play(PlaybackRequest([.tone(frequencies: [440], cadence: [])]))
        world.run(.seconds(2))
        recording.isPaused = true
        world.run(.seconds(2))
        recording.isPaused = false
        world.run(.seconds(2))
        #expect(throws: CallControlError.self) { try left.record(RecordingRequest(path: file)) }
        left.close()
        world.run(.seconds(1))
        let clip = try PromptFile.read(file)
        #expect(recording.result?.length == .seconds(6) && clip.length == .seconds(6))
        #expect(clip.part(from: .seconds(1), until: .milliseconds(1900)).level > -20)
        #expect(clip.part(from: .milliseconds(2200), until: .milliseconds(3900)).level < -60)
        #expect(clip.part(from: .milliseconds(4200), until: .milliseconds(5700)).level > -20)
        world.end()
    }

    @Test func aRecordingThatCannotBeMadeSaysSo() throws {
        let world = MediaWorld()
        let (left, _) = try world.pair()
        let recording = try left.record(RecordingRequest(path: "/proc/no/such/folder.wav"))
        world.run(.seconds(2))
        #expect(recording.result?.complete == false)
        #expect(recording.result?.detail.contains("/proc/no/such/folder.wav") == true)
        // And the next one may begin.
        let file = temporaryFile("second.wav")
        let second = try left.record(RecordingRequest(path: file))
        world.run(.seconds(1))
        second.stop()
        world.run(.milliseconds(100))
        #expect(second.result?.complete == true)
        world.end()
    }

    @Test func listenersHearSpeechTonesAndSilence() throws {
        let world = MediaWorld()
        let (left, right) = try world.pair()
        var events: [ListenEvent] = []
        let listening = left.listen(ListenRequest(speech: true, silence: .seconds(2), tones: [[440, 480]]))
        listening.onEvent = { events.append($0) }
        world.run(.milliseconds(500))
        _ = right.play(PlaybackRequest([.file(path: prompt("welcome.wav"))]))
        world.run(.seconds(12))
        guard case .speechBegan(let began)? = events.first else {
            Issue.record("no speech: \(events)")
            return
        }
        #expect(began > .zero + .milliseconds(450) && began < .zero + .milliseconds(1500))
        #expect(events.contains { if case .speechEnded = $0 { true } else { false } })
        #expect(events.contains { if case .silence = $0 { true } else { false } })
        events = []
        _ = right.play(PlaybackRequest([.countryTone(name: "ringback", country: "us")], loop: .forever))
        world.run(.seconds(2))
        #expect(events.contains { if case .tone([440, 480], _) = $0 { true } else { false } })
        // A far side that vanishes is silence as well.
        _ = right.play(PlaybackRequest([.countryTone(name: "ringback", country: "us")], loop: .forever))
        world.run(.seconds(1))
        events = []
        right.close()
        world.run(.seconds(4))
        #expect(events.filter { if case .silence = $0 { true } else { false } }.count == 1)
        listening.stop()
        world.end()
    }
}
