// Comfort noise (RFC 3389) between this engine and a stranger: ffmpeg's encoder measures noise and says how it sounds, its decoder makes
// noise of what it is told.

import Audio
import Basics
import CallEngine
import Foundation
import RTP
import Reactor
import TestKit
import Testing

@Suite(.enabled(if: PeerProgram.path(of: "ffmpeg") != nil, "ffmpeg is not installed")) struct MediaNoiseJudgeTests {
    /// What ffmpeg makes of payloads and of sound, in pieces of 80 ms. A payload of its own has the level and ten reflection coefficients.
    private final class Stranger {
        private static let octets = 11
        private static let linear = ["-f", "s16le", "-ar", "8000", "-ac", "1"]
        private let folder: TemporaryFolder

        init() throws { folder = try TemporaryFolder() }

        private func run(_ arguments: [String]) throws {
            let path = try #require(PeerProgram.path(of: "ffmpeg"))
            let program = try PeerProgram(path: path, ["-hide_banner", "-loglevel", "error", "-y"] + arguments, in: folder)
            #expect(program.wait(.seconds(30)) == 0 && program.output.isEmpty, "\(program.output)")
        }

        /// How its encoder describes this sound.
        func payloads(of clip: AudioClip) throws -> [[UInt8]] {
            try folder.write(
                clip.samples.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }, to: "raw")
            try run(Self.linear + ["-i", "raw", "-c:a", "comfortnoise", "told.nut"])
            try run(["-i", "told.nut", "-map", "0", "-c", "copy", "-f", "data", "told"])
            let all = Array(try Data(contentsOf: folder.url.appending(path: "told")))
            return stride(from: 0, to: all.count - Self.octets + 1, by: Self.octets).map { Array(all[$0..<$0 + Self.octets]) }
        }

        /// What its decoder makes of payloads. They are read in tens: 127 says that a coefficient is 0 (RFC 3389 section 3.2).
        func sound(of payloads: [[UInt8]]) throws -> AudioClip {
            try folder.write(payloads.flatMap { ($0 + [UInt8](repeating: 127, count: 10)).prefix(10) }, to: "told.g729")
            try run(["-f", "g729", "-c:a", "comfortnoise", "-i", "told.g729"] + Self.linear + ["raw"])
            let bytes = Array(try Data(contentsOf: folder.url.appending(path: "raw")))
            let samples = stride(from: 0, to: bytes.count - 1, by: 2).map {
                Int16(bytes[$0]) | Int16(bitPattern: UInt16(bytes[$0 + 1]) << 8)
            }
            // Its filter settles in the first pieces.
            return AudioClip(samples: samples, rate: 8000).part(from: .milliseconds(320), until: nil)
        }
    }

    /// Three seconds of noise, with its root mean square that many dB below full scale.
    private static func noise(_ level: UInt8) -> AudioClip {
        var random = SeededRandom(seed: 7)
        let amplitude = 32768 * Decibels.ratio(-Double(level)) * 1.732
        return AudioClip(
            samples: (0..<24_000).map { _ in Int16(amplitude * (Double(random.next() % 65_536) / 32_768 - 1)) }, rate: 8000)
    }

    private static func median(_ levels: [UInt8]) -> UInt8 { levels.sorted()[levels.count / 2] }

    /// A pause with these payloads, one each 80 ms, after speech: what is heard of it.
    private static func pause(_ payloads: [[UInt8]]) throws -> AudioClip {
        let line = try NoiseLine(MediaWorld())
        let file = temporaryFile("pause.wav")
        let recording = try line.session.record(RecordingRequest(path: file, channels: .caller))
        for _ in 0..<10 {
            line.peer.send([UInt8](repeating: 0x22, count: 160), to: line.target)
            line.world.run(.milliseconds(20))
        }
        for payload in payloads {
            line.peer.send(line.peer.sender.audio(payloadType: 13, octets: payload.count), payload, to: line.target)
            line.peer.sender.advance(by: 640)
            line.world.run(.milliseconds(80))
        }
        #expect(line.session.report.lost == 0)
        recording.stop()
        line.world.run(.seconds(1))
        line.peer.close()
        line.world.end()
        return try PromptFile.read(file).part(from: .milliseconds(600), until: .milliseconds(200 + 80 * payloads.count))
    }

    /// What the stranger sends is heard as loud as what it measured, and it measures the same in what is heard.
    @Test(arguments: [35, 45, 55, 65] as [UInt8]) func theStrangersNoiseIsHeardAsLoudAsItWas(level: UInt8) throws {
        let stranger = try Stranger()
        let noise = Self.noise(level)
        // The last piece is not whole.
        let payloads = try Array(stranger.payloads(of: noise).dropLast())
        #expect(payloads.count > 30 && payloads.allSatisfy { abs(Int($0[0]) - Int(level)) <= 1 }, "\(payloads.map { $0[0] })")
        let heard = try Self.pause(payloads)
        // A step of the payload is 1 dB; G.711 has none below -66.
        #expect(abs(heard.level - noise.level) < 1.5, "\(heard.level) \(noise.level)")
        let again = Self.median(try stranger.payloads(of: heard).map { $0[0] })
        // It rounds up each time.
        let told = Self.median(payloads.map { $0[0] })
        #expect(abs(Int(again) - Int(told)) <= 1, "\(again) \(told)")
    }

    /// Noise that hums and noise that hisses sound so when they are heard: the likeness of a sample to the next ones is the same.
    @Test(arguments: [0.8, -0.6]) func theStrangersNoiseSoundsAsItDid(tilt: Double) throws {
        var noise = Self.noise(52)
        var last = 0.0
        for index in noise.samples.indices {
            last = Double(noise.samples[index]) + tilt * last
            noise.samples[index] = Int16(last)
        }
        let heard = try Self.pause(try Array(Stranger().payloads(of: noise).dropLast()))
        #expect(abs(heard.level - noise.level) < 1.5, "\(heard.level) \(noise.level)")
        for lag in 1...3 {
            let (was, sounds) = (Self.likeness(noise, lag), Self.likeness(heard, lag))
            #expect(abs(was - sounds) < 0.08, "\(lag): \(was) \(sounds)")
        }
    }

    private static func likeness(_ clip: AudioClip, _ lag: Int) -> Double {
        let samples = clip.samples.map(Double.init)
        return zip(samples, samples.dropFirst(lag)).reduce(0) { $0 + $1.0 * $1.1 } / samples.reduce(0) { $0 + $1 * $1 }
    }

    /// What this engine says of its own pauses, and of a bridged leg's, is as loud to the stranger as what it would say itself.
    @Test(arguments: [nil, 35, 50, 60] as [UInt8?]) func whatWeTellIsAsLoudForTheStranger(level: UInt8?) throws {
        let world = MediaWorld()
        let listener = try NoiseLine(world)
        let speaker = try NoiseLine(world, port: 4002)
        if let level {
            speaker.session.connect(to: listener.session)
            speaker.peer.send(speaker.peer.sender.audio(payloadType: 13, octets: 1), [level], to: speaker.target)
        }
        world.run(.seconds(20))
        let told = listener.noise.map(\.payload)
        #expect(told.count >= 49 && listener.audio.isEmpty)
        for line in [listener, speaker] { line.peer.close() }
        world.end()
        let stranger = try Stranger()
        let own = try stranger.payloads(of: Self.noise(level ?? 65)).map { [$0[0]] }
        let (ours, theirs) = (try stranger.sound(of: told), try stranger.sound(of: own))
        #expect(ours.samples.count >= 28_000 && abs(ours.level - theirs.level) < 1.5, "\(ours.level) \(theirs.level)")
    }
}
