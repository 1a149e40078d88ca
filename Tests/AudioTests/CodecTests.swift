// Every codec: names and clocks, packet times, and that it gives back what it was given, at every rate that is asked for.

import Audio
import Glibc
import Testing

@Suite struct CodecTests {
    @Test func namesAndClocks() {
        #expect(AudioCodec(name: "g722", clockRate: 8000) == .g722)
        #expect(AudioCodec(name: "OPUS", clockRate: 48000) == .opus(OpusParameters()))
        #expect(AudioCodec(name: "l16", clockRate: 16000) == .l16(rate: 16000))
        #expect(AudioCodec(name: "L16", clockRate: 44100) == nil && AudioCodec(name: "opus", clockRate: 16000) == nil)
        #expect(AudioCodec.g722.ticks(inMilliseconds: 20) == 160 && AudioCodec.g722.samples(inMilliseconds: 20) == 320)
        #expect(AudioCodec.opus(OpusParameters()).ticks(inMilliseconds: 20) == 960)
        #expect(
            AudioCodec.all.map(\.description) == [
                "PCMU/8000", "PCMA/8000", "G722/8000", "L16/16000", "L16/8000", "opus/48000/2"
            ])
    }

    @Test func packetTimesAreThoseThatTheCodecCanHave() {
        let wished = [0, 5, 10, 15, 20, 30, 40, 50, 60, 120]
        #expect(wished.map(AudioCodec.g722.packetTime) == [10, 10, 10, 10, 20, 30, 40, 50, 60, 60])
        #expect(wished.map(AudioCodec.l16(rate: 16000).packetTime) == [10, 10, 10, 10, 20, 30, 40, 40, 40, 40])
        #expect(wished.map(AudioCodec.opus(OpusParameters()).packetTime) == [10, 10, 10, 10, 20, 20, 40, 40, 60, 60])
    }

    @Test(arguments: AudioCodec.all, [8000, 16000, 48000]) func givesBackWhatItWasGiven(codec: AudioCodec, rate: Int) {
        let samples = Signal.samples(Signal.sweep(rate: rate))
        // Lossy codecs keep the sound and not the wave form of a sweep.
        let least: Double =
            switch codec {
            case .g722: 0.88
            case .opus: 0.93
            default: 0.98
            }
        for heardAt in [8000, 16000, 48000] {
            let encoder = FrameEncoder(codec, rate: rate)
            let decoder = FrameDecoder(codec, rate: heardAt)
            var heard: [Int16] = []
            let frame = rate / 50
            for start in stride(from: 0, to: samples.count - frame, by: frame) {
                let payload = encode(encoder, Array(samples[start..<start + frame]))
                heard += decode(decoder, payload)
            }
            #expect(abs(heard.count - (samples.count - frame) * heardAt / rate) <= heardAt / 50)
            let wanted = Signal.samples(Signal.sweep(rate: heardAt))
            let match = Correlation.search(wanted, in: heard, overlap: 0.9)
            #expect(match.peak > least, "\(codec.description) from \(rate) to \(heardAt): \(match)")
            // Encoders and resamplers add a few milliseconds.
            #expect((0...heardAt / 50).contains(match.lag), "\(match.lag)")
            let level = AudioClip(samples: heard, rate: heardAt).level - AudioClip(samples: wanted, rate: heardAt).level
            #expect(abs(level) < 1, "\(codec.description) from \(rate) to \(heardAt): \(level) dB")
        }
    }

    @Test(arguments: AudioCodec.all) func brokenPayloadsAreNoSound(codec: AudioCodec) {
        let decoder = FrameDecoder(codec)
        #expect(decode(decoder, []).isEmpty)
        // A packet of Opus whose frames are said to be longer than it is.
        if case .opus = codec { #expect(decode(decoder, [0xFF, 0xFF, 0xFF]).isEmpty) }
        if case .l16 = codec { #expect(decode(decoder, [1, 2, 3]) == [0x0102]) }
        var one: [Int16] = [7]
        let count = [UInt8](repeating: 0x55, count: 160).withUnsafeBytes { payload in
            one.withUnsafeMutableBufferPointer { decoder.decode(payload, into: $0) }
        }
        #expect(count <= 1)
    }

    // MARK: Opus

    @Test func parametersComeFromTheOtherSide() {
        #expect(OpusParameters(format: nil) == OpusParameters())
        #expect(OpusParameters(format: "nonsense; =; maxaveragebitrate=x; a=1;;maxaveragebitrate=100") == OpusParameters())
        let wished = OpusParameters(
            format: "maxplaybackrate=16000; sprop-maxcapturerate=16000;maxaveragebitrate=20000; stereo=1;useinbandfec=1; usedtx=1"
                + ";cbr=1")
        var wanted = OpusParameters()
        (wanted.bitRate, wanted.playbackRate) = (20000, 16000)
        (wanted.hasErrorCorrection, wanted.isDiscontinuous, wanted.isConstantRate) = (true, true, true)
        #expect(wished == wanted)
        #expect(OpusParameters(format: "maxaveragebitrate=510000; MaxPlaybackRate=44100").bitRate == 64000)
        #expect(OpusParameters(format: "MaxPlaybackRate=44100").playbackRate == 24000)
        #expect(OpusParameters(format: "maxplaybackrate=1").playbackRate == 8000)
    }

    @Test(arguments: [8000, 16000, 40000]) func theBitRateIsKept(rate: Int) {
        let clip = AudioClip(samples: Signal.samples(Signal.sweep(rate: 48000, seconds: 4)), rate: 48000)
        let prompt = EncodedPrompt(clip, codec: .opus(OpusParameters(format: "maxaveragebitrate=\(rate)")))
        let bits = (0..<prompt.packetCount).reduce(0) { $0 + prompt.range(ofPacket: $1).count * 8 }
        #expect(abs(bits / 4 - rate) < rate / 4, "\(bits / 4)")
        let constant = EncodedPrompt(clip, codec: .opus(OpusParameters(format: "maxaveragebitrate=\(rate);cbr=1")))
        #expect(Set((0..<constant.packetCount).map { constant.range(ofPacket: $0).count }) == [rate / 400])
    }

    @Test func theBandIsThatOfTheReceiver() {
        // 6 kHz, which a receiver of narrow band does not want.
        let tone = (0..<48000).map { Int16(8000 * sin(2 * Double.pi * 6000 * Double($0) / 48000)) }
        let levels = ["maxplaybackrate=48000", "maxplaybackrate=8000"].map { format in
            let prompt = EncodedPrompt(
                AudioClip(samples: tone, rate: 48000), codec: .opus(OpusParameters(format: format + ";maxaveragebitrate=40000")))
            return AudioClip(samples: EncodedPromptTests.decode(prompt), rate: 48000).level
        }
        #expect(levels[0] > -20 && levels[1] < levels[0] - 30, "\(levels)")
    }

    @Test func silenceCostsLittleAndPausesWhereThatIsWished() {
        for codec in AudioCodec.all {
            let silence = EncodedPrompt.silence(codec, packetTime: 20)
            #expect(silence.packetCount == (codec == .g722 ? 25 : 1) && silence.codec == codec)
            let heard = AudioClip(samples: EncodedPromptTests.decode(silence), rate: codec.sampleRate)
            #expect(heard.length == silence.length && heard.level < -60, "\(codec.description): \(heard.level)")
        }
        let pauses = EncodedPrompt.silence(.opus(OpusParameters(format: "usedtx=1")), packetTime: 20)
        #expect(pauses.packetCount == 20)
        #expect((0..<20).map { pauses.range(ofPacket: $0).isEmpty } == [false] + [Bool](repeating: true, count: 19))
        // And in a prompt that has a pause.
        let pause = AudioClip.silence(.seconds(2), rate: 48000)
        let speech = Signal.samples(Signal.sweep(rate: 48000))
        let prompt = EncodedPrompt(
            AudioClip(samples: speech + pause.samples + speech, rate: 48000), codec: .opus(OpusParameters(format: "usedtx=1")))
        let sent = (0..<prompt.packetCount).filter { !prompt.range(ofPacket: $0).isEmpty }.count
        #expect(sent > 150 && sent < prompt.packetCount - 60, "\(sent) of \(prompt.packetCount)")
    }

    private func encode(_ encoder: FrameEncoder, _ samples: [Int16]) -> [UInt8] {
        var payload = [UInt8](repeating: 0, count: encoder.codec.maximumBytes(forSamples: 60 * encoder.codec.sampleRate / 1000))
        let count = samples.withUnsafeBufferPointer { samples in
            payload.withUnsafeMutableBufferPointer { encoder.encode(samples, into: $0) }
        }
        return Array(payload.prefix(count))
    }

    private func decode(_ decoder: FrameDecoder, _ payload: [UInt8]) -> [Int16] {
        payload.withUnsafeBytes { payload in
            var samples = [Int16](repeating: 0, count: decoder.maximumSamples(in: payload))
            let count = samples.withUnsafeMutableBufferPointer { decoder.decode(payload, into: $0) }
            return Array(samples.prefix(count))
        }
    }
}
