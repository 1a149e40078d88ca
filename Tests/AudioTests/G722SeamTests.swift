// What is heard where streams of G.722 meet that were encoded apart: each begins as loud as it is, whatever the far end's decoder has heard before.

import Audio
import Basics
import Testing

@Suite struct G722SeamTests {
    /// 20 ms at 16 kHz.
    private static let frame = 320

    private struct Piece {
        var source = G722Seam.Source.prompt
        var payloads: [[UInt8]]

        init(_ prompt: EncodedPrompt, of source: G722Seam.Source = .prompt, packets: Int? = nil) {
            self.source = source
            self.source = source
            payloads = (0..<(packets ?? prompt.packetCount)).map { prompt.payload($0 % prompt.packetCount) }
        }
    }

    /// What a decoder hears of pieces that follow each other.
    private func heard(_ pieces: [Piece]) -> [Int16] {
        let seam = G722Seam()
        let decoder = FrameDecoder(.g722, rate: 16000)
        var samples: [Int16] = []
        for piece in pieces {
            for (index, payload) in piece.payloads.enumerated() {
                var payload = payload
                payload.withUnsafeMutableBytes { seam.pass($0, of: piece.source, isJoint: index == 0 && piece.source == .prompt) }
                samples += decoded(payload, decoder)
            }
        }
        return samples
    }

    private func decoded(_ payload: [UInt8], _ decoder: FrameDecoder) -> [Int16] {
        [Int16](unsafeUninitializedCapacity: Self.frame) { output, count in
            count = payload.withUnsafeBytes { decoder.decode($0, into: output) }
        }
    }

    /// What the band filters of two coders and a decoder hold back, at 16 kHz.
    private static let delay = 48

    /// Of each frame of the first 100 ms behind `start`, in dBm0.
    private func levels(_ samples: [Int16], from start: Int) -> [Double] {
        (0..<5).map { index in
            let first = start + Self.delay + index * Self.frame
            return samples[first..<first + Self.frame].withUnsafeBufferPointer { Decibels.level(of: $0) }
        }
    }

    private func tone(_ frequency: Double, level: Double, seconds: Double = 0.4) -> AudioClip {
        ToneGenerator.clip(
            Tone(frequencies: [frequency]), level: level, rate: 16000, length: .milliseconds(Int(seconds * 1000)))
    }

    @Test(
        "a prompt behind a loud one that ends or is cut begins as loud as it is",
        arguments: [200.0, 425, 1000, 3000, 6000], [-6.0, -30])
    func behindAPrompt(frequency: Double, level: Double) {
        for loud in [tone(350, level: -3), tone(1000, level: -6), tone(5000, level: -6)] {
            let before = EncodedPrompt(loud, codec: .g722)
            let after = EncodedPrompt(tone(frequency, level: level), codec: .g722)
            let samples = heard([Piece(before), Piece(after)])
            let levels = levels(samples, from: loud.samples.count)
            // Steps that were made for a tone of 27 dB more take a while to shrink in a stream of one piece too.
            for (index, found) in levels.enumerated() { #expect(abs(found - level) < (index < 2 ? 6 : 3.5), "\(levels)") }
        }
    }

    @Test("a prompt behind any part of our silence begins as loud as it is", arguments: [425.0, 1000, 5000], [-6.0, -36])
    func behindSilence(frequency: Double, level: Double) {
        let silence = EncodedPrompt.silence(.g722, packetTime: 20)
        #expect(silence.packetCount == 25)
        let after = EncodedPrompt(tone(frequency, level: level), codec: .g722)
        for packets in [0, 1, 2, 3, 4, 5, 6, 7, 12, 30, 49, 103] {
            let samples = heard([Piece(silence, of: .silence, packets: packets), Piece(after)])
            let levels = levels(samples, from: packets * Self.frame)
            for found in levels { #expect(abs(found - level) < 3.5, "\(packets) packets: \(levels)") }
        }
    }

    @Test(
        "a steady tone, and a prompt that goes on behind a key, begin as loud as they are", arguments: [true, false], [0, 2, 50])
    func inTheMiddle(isLooped: Bool, silentPackets: Int) {
        let sound =
            isLooped
            ? EncodedPrompt(looping: Tone(frequencies: [425]), level: -13, codec: .g722)
            : EncodedPrompt(tone(425, level: -13, seconds: 2), codec: .g722)
        let first = isLooped ? 0 : 40
        let seam = G722Seam()
        let decoder = FrameDecoder(.g722, rate: 16000)
        let silence = EncodedPrompt.silence(.g722, packetTime: 20)
        let loud = EncodedPrompt(tone(1000, level: -3), codec: .g722)
        var samples: [Int16] = []
        for packet in 0..<20 {
            var payload = loud.payload(packet)
            payload.withUnsafeMutableBytes { seam.pass($0, of: .key, isJoint: packet == 0) }
            samples += decoded(payload, decoder)
        }
        for packet in 0..<silentPackets {
            var payload = silence.payload(packet % 25)
            payload.withUnsafeMutableBytes { seam.pass($0, of: .silence, isJoint: false) }
            samples += decoded(payload, decoder)
        }
        let start = samples.count
        for packet in first..<first + 8 {
            var payload = sound.payload(packet % sound.packetCount)
            payload.withUnsafeMutableBytes {
                seam.pass(
                    $0, of: .prompt, isJoint: packet == first,
                    lead: sound.lead(before: packet % sound.packetCount, octets: G722Seam.history))
            }
            samples += decoded(payload, decoder)
        }
        let levels = levels(samples, from: start)
        for found in levels { #expect(abs(found + 13) < 4, "\(levels)") }
    }

    @Test(
        "what an encoder makes that goes on is as loud behind a key as before it",
        arguments: [G722Seam.Source.conference, .mix], [0, 2, 50])
    func live(source: G722Seam.Source, silentPackets: Int) {
        let sound = EncodedPrompt(tone(425, level: -13, seconds: 3), codec: .g722)
        let silence = EncodedPrompt.silence(.g722, packetTime: 20)
        let loud = EncodedPrompt(tone(1000, level: -3), codec: .g722)
        let seam = G722Seam()
        let decoder = FrameDecoder(.g722, rate: 16000)
        var samples: [Int16] = []
        func pass(_ prompt: EncodedPrompt, _ packets: Range<Int>, of source: G722Seam.Source) {
            for packet in packets {
                var payload = prompt.payload(packet % prompt.packetCount)
                payload.withUnsafeMutableBytes { seam.pass($0, of: source, isJoint: source == .key && packet == 0) }
                samples += decoded(payload, decoder)
            }
        }
        for _ in 0..<2 {
            seam.begins(source)
            pass(sound, 0..<40, of: source)
            pass(loud, 0..<20, of: .key)
            pass(silence, 0..<silentPackets, of: .silence)
            let start = samples.count
            pass(sound, 40..<48, of: source)
            let levels = levels(samples, from: start)
            for found in levels { #expect(abs(found + 13) < 4, "\(levels)") }
            pass(loud, 0..<20, of: .key)
        }
    }

    @Test("silence is silent, and nothing of it is changed") func silence() {
        let silence = EncodedPrompt.silence(.g722, packetTime: 20)
        let samples = heard([Piece(silence, of: .silence, packets: 500)])
        #expect(samples.withUnsafeBufferPointer { Decibels.level(of: $0) } < -70)
        let seam = G722Seam()
        for packet in 0..<60 {
            var payload = silence.payload(packet % 25)
            payload.withUnsafeMutableBytes { seam.pass($0, of: .silence, isJoint: false) }
            #expect(payload == silence.payload(packet % 25))
        }
    }

    @Test("from 100 ms on, and behind settled silence, payloads go out as they were encoded") func untouched() {
        let seam = G722Seam()
        let prompt = EncodedPrompt(tone(1000, level: -6), codec: .g722)
        let silence = EncodedPrompt.silence(.g722, packetTime: 20)
        func passed(_ payload: [UInt8], _ source: G722Seam.Source, isJoint: Bool = false) -> [UInt8] {
            var payload = payload
            payload.withUnsafeMutableBytes { seam.pass($0, of: source, isJoint: isJoint) }
            return payload
        }
        for packet in 0..<prompt.packetCount {
            let payload = passed(prompt.payload(packet), .prompt, isJoint: packet == 0)
            #expect((payload == prompt.payload(packet)) == (packet >= 5), "\(packet)")
        }
        for packet in 0..<5 { _ = passed(silence.payload(packet), .silence) }
        for packet in 0..<prompt.packetCount {
            #expect(passed(prompt.payload(packet), .prompt, isJoint: packet == 0) == prompt.payload(packet))
        }
        // A key cuts in.
        #expect(passed(prompt.payload(0), .key) != prompt.payload(0))
        // What a bridge passed on is left alone, and what follows it is a joint.
        seam.passed(UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(passed(prompt.payload(9), .prompt) != prompt.payload(9))
    }
}

extension EncodedPrompt {
    /// The payload of a packet.
    fileprivate func payload(_ packet: Int) -> [UInt8] {
        let size = range(ofPacket: packet).count
        var bytes = [UInt8](repeating: 0, count: size)
        _ = bytes.withUnsafeMutableBytes { copyPayload(packet, to: $0) }
        return bytes
    }
}
