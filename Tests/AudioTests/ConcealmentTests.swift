// What is made up for lost packets: it sounds on, fades, and joins what comes after. Comfort noise.

import Audio
import Glibc
import Testing

@Suite struct ConcealmentTests {
    private static func vowel(rate: Int, seconds: Double = 1) -> [Int16] {
        (0..<Int(seconds * Double(rate))).map { index in
            let time = Double(index) / Double(rate)
            var sum = 0.0
            for overtone in 1...5 { sum += 3000 / Double(overtone) * sin(2 * Double.pi * 120 * Double(overtone) * time) }
            return Int16(sum)
        }
    }

    /// Decodes a stream of 20 ms packets without those in `lost`; Opus gets the packet after each.
    private func decode(_ codec: AudioCodec, rate: Int, lost: Set<Int>, samples: [Int16]) -> [Int16] {
        let prompt = EncodedPrompt(AudioClip(samples: samples, rate: rate), codec: codec)
        let decoder = FrameDecoder(codec, rate: rate, conceals: true)
        var heard: [Int16] = []
        func payload(_ packet: Int) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: prompt.range(ofPacket: packet).count)
            _ = bytes.withUnsafeMutableBytes { prompt.copyPayload(packet, to: $0) }
            return bytes
        }
        for packet in 0..<prompt.packetCount {
            var frame = [Int16](repeating: 0, count: rate / 50)
            let isNextThere = packet + 1 < prompt.packetCount && !lost.contains(packet + 1)
            frame.withUnsafeMutableBufferPointer { frame in
                if !lost.contains(packet) {
                    payload(packet).withUnsafeBytes { _ = decoder.decode($0, into: frame) }
                } else if isNextThere {
                    payload(packet + 1).withUnsafeBytes { decoder.conceal(into: frame, before: $0) }
                } else {
                    decoder.conceal(into: frame)
                }
            }
            heard += frame
        }
        return heard
    }

    @Test(arguments: [AudioCodec.pcmu, .g722, .l16(rate: 16000), .opus(OpusParameters())], [8000, 16000])
    func aLostPacketOfAVowelIsHardlyHeard(codec: AudioCodec, rate: Int) {
        let samples = Self.vowel(rate: rate)
        let whole = decode(codec, rate: rate, lost: [], samples: samples)
        let heard = decode(codec, rate: rate, lost: [25], samples: samples)
        let gap = 25 * rate / 50..<26 * rate / 50
        let levels = [heard, whole].map { AudioClip(samples: Array($0[gap]), rate: rate).level }
        #expect(abs(levels[0] - levels[1]) < 3, "\(codec.description): \(levels)")
        let match = Correlation.search(Array(whole[gap]), in: Array(heard[gap]), overlap: 0.8)
        #expect(match.peak > 0.9, "\(codec.description): \(match)")
        // No click at either end: no step is larger than the vowel's own, nearly.
        func steepest(_ samples: ArraySlice<Int16>) -> Int {
            var most = 0
            for (one, next) in zip(samples, samples.dropFirst()) { most = max(most, abs(Int(next) - Int(one))) }
            return most
        }
        let around = gap.lowerBound - 5..<gap.upperBound + 5
        #expect(steepest(heard[around]) < steepest(whole[around]) * 2)
        // And afterwards all is as it was.
        let after = gap.upperBound + rate / 25..<heard.count - rate / 25
        #expect(Correlation.search(Array(whole[after]), in: Array(heard[after]), overlap: 0.95).peak > 0.97)
    }

    @Test(arguments: [AudioCodec.pcma, .g722]) func aLongGapFades(codec: AudioCodec) {
        let heard = decode(codec, rate: 16000, lost: Set(20..<40), samples: Self.vowel(rate: 16000))
        func level(_ packet: Int) -> Double {
            AudioClip(samples: Array(heard[packet * 320..<(packet + 1) * 320]), rate: 16000).level
        }
        #expect(level(20) > level(22) && level(22) > -60 && level(25) < -80)
        #expect(level(41) > level(20) - 3)
    }

    @Test func opusTakesTheCopyThatTheNextPacketCarries() {
        let speech = Signal.samples(Signal.sweep(rate: 16000))
        func likeness(_ format: String) -> Double {
            let codec = AudioCodec.opus(OpusParameters(format: format))
            let lost = Set(stride(from: 10, to: 70, by: 4))
            let whole = decode(codec, rate: 16000, lost: [], samples: speech)
            return Correlation.search(whole, in: decode(codec, rate: 16000, lost: lost, samples: speech)).peak
        }
        let (with, without) = (likeness("useinbandfec=1"), likeness("useinbandfec=0"))
        #expect(with > without + 0.02, "\(with) and \(without)")
    }

    @Test func nothingWasHeardBefore() {
        let decoder = FrameDecoder(.pcmu, conceals: true)
        var frame = [Int16](repeating: 7, count: 160)
        frame.withUnsafeMutableBufferPointer { decoder.conceal(into: $0) }
        #expect(frame.allSatisfy { $0 == 0 })
    }

    @Test(arguments: [30, 45, 60]) func comfortNoiseIsAsLoudAsItSays(level: UInt8) {
        var noise = [level, 127, 127].withUnsafeBytes { ComfortNoise($0) }
        var samples = [Int16](repeating: 0, count: 8000)
        samples.withUnsafeMutableBufferPointer { noise.fill($0) }
        // Overload is a square wave of the largest sample, which lies at 6.15 dBm0.
        let heard = AudioClip(samples: samples, rate: 8000).level - 6.15
        #expect(abs(heard + Double(level)) < 1, "\(heard)")
        #expect(abs(Correlation.search(Array(samples[..<4000]), in: Array(samples[4000...])).peak) < 0.2)
    }

    /// Whatever the coefficients, it is no louder and stays where it is; the first one is the likeness of a sample to the one before, negated.
    @Test(arguments: [[12], [240], [0, 254, 0, 254], Array(repeating: 255, count: 40), [60, 180, 90, 200, 127, 100]] as [[UInt8]])
    func comfortNoiseHasTheSpectrumThatItSays(coefficients: [UInt8]) {
        var noise = ([45] + coefficients).withUnsafeBytes { ComfortNoise($0) }
        var samples = [Int16](repeating: 0, count: 80_000)
        samples.withUnsafeMutableBufferPointer { noise.fill($0) }
        let heard = AudioClip(samples: samples, rate: 8000).level - 6.15
        // Noise of a hair's width is hardly the same for ten seconds.
        #expect(
            abs(heard + 45) < (coefficients.count > 1 && coefficients.contains(254) || coefficients.count > 12 ? 12 : 1),
            "\(heard)")
        let power = samples.reduce(0.0) { $0 + Double($1) * Double($1) }
        let likeness = zip(samples, samples.dropFirst()).reduce(0.0) { $0 + Double($1.0) * Double($1.1) } / power
        if coefficients.count == 1 { #expect(abs(likeness + (Double(coefficients[0]) - 127) / 128) < 0.02, "\(likeness)") }
        // At another rate it is flat.
        samples.withUnsafeMutableBufferPointer { noise.fill($0, rate: 16000) }
        #expect(abs(AudioClip(samples: samples, rate: 16000).level - 6.15 + 45) < 1)
    }

    @Test func comfortNoiseWithoutALevelIsSilence() {
        var noise = ComfortNoise(UnsafeRawBufferPointer(start: nil, count: 0))
        var samples = [Int16](repeating: 5, count: 800)
        samples.withUnsafeMutableBufferPointer { noise.fill($0) }
        #expect(samples.allSatisfy { $0 == 0 })
    }
}
