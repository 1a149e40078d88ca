// How good prompts sound, by PESQ: through each codec, with loss, and at a real phone and back.

import Audio
import CallEngine
import Foundation
import TestKit
import Testing

@Suite("sound quality", .serialized, SoundQuality.isWanted)
struct SoundQualityTests {
    /// What a codec makes of a clip, without a network; with `loss`, so many of a hundred packets are lost and concealed.
    private func through(_ codec: AudioCodec, _ clip: AudioClip, loss: Int = 0) -> AudioClip {
        let prompt = EncodedPrompt(clip, codec: codec)
        let decoder = FrameDecoder(codec, conceals: true)
        var heard = AudioClip(samples: [], rate: codec.sampleRate)
        var random = UInt32(12345)
        for packet in 0..<prompt.packetCount {
            random = random &* 1_664_525 &+ 1_013_904_223
            var payload = [UInt8](repeating: 0, count: prompt.range(ofPacket: packet).count)
            _ = payload.withUnsafeMutableBytes { prompt.copyPayload(packet, to: $0) }
            var frame = [Int16](repeating: 0, count: codec.samples(inMilliseconds: 20))
            frame.withUnsafeMutableBufferPointer { frame in
                if Int(random >> 16) % 100 < loss {
                    decoder.conceal(into: frame)
                } else {
                    payload.withUnsafeBytes { _ = decoder.decode($0, into: frame) }
                }
            }
            heard.samples += frame
        }
        return heard
    }

    /// Measured of these: PCMU 3.78 to 4.18, PCMA 3.78 to 4.14 (narrow band), G.722 2.90 to 3.25 (wide band). The least asked for is a tenth
    /// below.
    private static let prompts = ["menu", "closed", "voicemail-greeting", "leave-a-message", "sales", "menu-short"]

    @Test(
        "each codec on six prompts, without a network",
        arguments: [
            (AudioCodec.pcmu, 8000, 3.7), (.pcma, 8000, 3.7), (.g722, 16000, 2.8), (.opus(OpusParameters()), 16000, 3.1),
            (.l16(rate: 16000), 16000, 4.3)
        ])
    func offline(_ codec: AudioCodec, _ rate: Int, _ least: Double) throws {
        let clips = try Self.prompts.map { try PromptFile.read(Files.prompt($0)) }
        let scores = try SoundQuality.scores(clips.map { ($0, through(codec, $0)) }, rate: rate)
        #expect(scores.count == clips.count && scores.allSatisfy { $0 >= least }, "\(codec.description): \(scores)")
    }

    @Test("5% loss of G.711 and G.722, concealed", arguments: [(AudioCodec.pcmu, 8000, 2.8), (.g722, 16000, 2.0)])
    func loss(_ codec: AudioCodec, _ rate: Int, _ least: Double) throws {
        let clips = try Self.prompts.map { try PromptFile.read(Files.prompt($0)) }
        let scores = try SoundQuality.scores(clips.map { ($0, through(codec, $0, loss: 5)) }, rate: rate)
        let mean = scores.reduce(0, +) / Double(scores.count)
        #expect(mean >= least, "\(codec.description): \(scores)")
    }

    @Test(
        "baresip hears a prompt as the codec gives it offline, and we hear baresip",
        arguments: [
            ("pcmu", AudioCodec.pcmu, 8000), ("G722/16000/1", .g722, 16000), ("opus/48000/2", .opus(OpusParameters()), 16000)
        ])
    func phone(_ name: String, _ codec: AudioCodec, _ rate: Int) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("said.wav")
        let engine = try EngineUnderTest(codecs: ["opus", "g722", "pcmu"]) { call, notes in
            try await call.answer()
            try call.startRecording(path, notes: notes)
            try await call.stay(.milliseconds(500))
            try await call.say("menu")
            try await call.stay(.seconds(1))
        }
        defer { engine.close() }
        let baresip = try Baresip(speaking: "closed", codec: name, dial: "sip:ivr@127.0.0.1:\(engine.udpPort)")
        let report = try #require(engine.reports(1, within: .seconds(15)).first, "\(baresip.output)")
        #expect(report.error == nil && report.info.codec == codec.description)
        let ours = try PromptFile.read(Files.prompt("menu"))
        let theirs = try PromptFile.read(Files.prompt("closed"))
        let heard = try PromptFile.read(try #require(baresip.stopAndListen().first))
        // baresip wishes error correction and more bits than we send without a wish.
        let offline = codec.law == nil && codec.name == "opus" ? AudioCodec.opus(OpusParameters(format: "useinbandfec=1")) : codec
        let scores = try SoundQuality.scores(
            [(ours, heard), (ours, through(offline, ours)), (theirs, try PromptFile.read(path))], rate: rate)
        #expect(scores[0] >= scores[1] - 0.1, "\(codec.description): \(scores)")
        #expect(scores[2] >= (codec.law == nil ? 3.0 : 3.7), "\(codec.description): \(scores)")
    }

    /// What was heard of a prompt that was played `count` times with pauses, one after the other.
    private func pieces(of heard: AudioClip, _ count: Int, like original: AudioClip) -> [AudioClip] {
        let speech = original.resampled(to: heard.rate).samples
        let margin = heard.rate / 10
        var start = 0
        return (0..<count).map { _ in
            let window = Array(heard.samples.dropFirst(start).prefix(speech.count + heard.rate * 2))
            let lag = max(0, Correlation.search(speech, in: window, overlap: 1).lag)
            start += lag + speech.count
            return AudioClip(
                samples: Array(window[min(window.count, max(0, lag - margin))..<min(window.count, lag + speech.count + margin)]),
                rate: heard.rate)
        }
    }

    @Test(
        "prompts of nine formats sound at baresip as the codec makes them offline",
        arguments: [
            ("pcmu", AudioCodec.pcmu, 8000), ("pcma", .pcma, 8000), ("G722/16000/1", .g722, 16000),
            ("opus/48000/2", .opus(OpusParameters(format: "useinbandfec=1")), 16000), ("L16/16000/1", .l16(rate: 16000), 16000)
        ])
    func formats(_ name: String, _ codec: AudioCodec, _ rate: Int) throws {
        let folder = try TemporaryFolder()
        let original = try PromptFile.read(Files.prompt("menu-short"))
        let paths = try PromptFormat.all.map { try $0.write(original, in: folder) }
        let engine = try EngineUnderTest(codecs: ["opus", "l16", "g722", "pcma", "pcmu"]) { call, notes in
            try await call.answer()
            try await call.stay(.milliseconds(500))
            for path in paths {
                notes.add("\(try await call.play(PlaybackRequest([.file(path: path)])).finished())")
                try await call.stay(.milliseconds(300))
            }
            try await call.stay(.milliseconds(500))
        }
        defer { engine.close() }
        let baresip = try Baresip(
            speaking: "closed", room: .seconds(60), codec: name, dial: "sip:ivr@127.0.0.1:\(engine.udpPort)", limit: 60)
        let report = try #require(engine.reports(1, within: .seconds(50)).first, "\(baresip.output)")
        #expect(report.error == nil && report.info.codec == codec.description, "\(report.info.codec)")
        #expect(report.notes == Array(repeating: "finished", count: paths.count))
        let heard = try PromptFile.read(try #require(baresip.stopAndListen().first))
        let played = try paths.map { try PromptFile.read($0) }
        let scores = try SoundQuality.scores(
            pieces(of: heard, paths.count, like: original).map { (original, $0) } + played.map { (original, through(codec, $0)) },
            rate: rate)
        try #require(scores.count == paths.count * 2)
        for (index, format) in PromptFormat.all.enumerated() {
            let (real, offline) = (scores[index], scores[paths.count + index])
            #expect(real >= offline - 0.1, "\(format) in \(codec.name): \(real) at the phone, \(offline) offline")
            // A file of 8 kHz lacks half of what a wide band codec could carry.
            #expect(offline >= (format.rate < rate ? 1.8 : 2.4), "\(format) in \(codec.name): \(offline) offline")
        }
    }
}
