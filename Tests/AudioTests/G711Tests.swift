// G.711 over all of its inputs: against spandsp's conversion, and against the definition (the nearest of the 256 values).

import Audio
import CSpanDSP
import Testing

@Suite struct G711Tests {
    @Test(arguments: G711Law.allCases) func everyCodeDecodesAsTheReferenceDoes(law: G711Law) {
        for code in UInt8.min...UInt8.max {
            #expect(law.decode(code) == (law == .mu ? ulaw_to_linear(code) : alaw_to_linear(code)))
        }
    }

    @Test(arguments: G711Law.allCases) func everyCodeSurvives(law: G711Law) {
        for code in UInt8.min...UInt8.max {
            // µ-law has two zeros; the negative one comes back as the positive.
            let expected = law == .mu && code == 0x7F ? 0xFF : code
            #expect(law.encode(law.decode(code)) == expected)
        }
    }

    @Test func everySampleEncodesToAnALawCodeAsTheReferenceDoes() {
        var wrong = 0
        for sample in Int16.min...Int16.max where G711Law.a.encode(sample) != linear_to_alaw(Int32(sample)) { wrong += 1 }
        #expect(wrong == 0)
    }

    /// The reference has 14 bits and ones' complement, spandsp 16 bits and two's: they part only at decision values.
    @Test func everySampleEncodesToAMuLawCodeAsTheReferenceDoes() {
        var differ = 0
        for sample in Int16.min...Int16.max {
            let other = linear_to_ulaw(Int32(sample))
            guard G711Law.mu.encode(sample) != other else { continue }
            differ += 1
            #expect(sample < 0 && sample % 4 == 0, "sample \(sample)")
            #expect(abs(Int(G711Law.mu.encode(sample)) - Int(other)) == 1, "sample \(sample)")
        }
        #expect(differ <= 128)
    }

    /// The definition: steps of 16 (8 for µ-law) that double with each segment; a sample lies within half a step of its value.
    @Test(arguments: G711Law.allCases) func aSampleLiesWithinHalfAStep(law: G711Law) {
        var last = Int(Int16.min)
        for sample in Int16.min...Int16.max {
            let code = law.encode(sample)
            let value = Int(law.decode(code))
            let segment = Int((law == .mu ? ~code : code ^ 0x55) >> 4) & 7
            let step = law == .mu ? 8 << segment : 16 << max(0, segment - 1)
            // µ-law ends at 32,124 plus half a step: what is louder is clipped.
            let error = abs(max(-32636, min(32636, Int(sample))) - value)
            if error > step / 2 { Issue.record("\(sample) became \(value)") }
            if value < last { Issue.record("\(sample) became \(value), the sample before \(last)") }
            last = value
        }
    }

    @Test func silenceIsZero() {
        #expect(G711Law.mu.encode(0) == G711Law.mu.silence)
        #expect(G711Law.a.encode(0) == G711Law.a.silence)
        #expect(G711Law.mu.decode(0x80) == 32124)
        #expect(G711Law.mu.decode(0x00) == -32124)
        #expect(G711Law.a.decode(0xAA) == 32256)
        #expect(abs(Int(G711Law.a.decode(G711Law.a.silence))) == 8)
    }

    @Test func buffersAreEncodedAsSamplesAre() {
        let samples = Signal.noise(1000, level: -10)
        for law in G711Law.allCases {
            var bytes = [UInt8](repeating: 0, count: samples.count)
            var back = [Int16](repeating: 0, count: samples.count)
            samples.withUnsafeBufferPointer { samples in
                bytes.withUnsafeMutableBufferPointer { #expect(law.encode(samples, into: $0) == 1000) }
            }
            bytes.withUnsafeBufferPointer { bytes in
                back.withUnsafeMutableBufferPointer { #expect(law.decode(bytes, into: $0) == 1000) }
            }
            #expect(bytes == samples.map { law.encode($0) })
            #expect(back == bytes.map { law.decode($0) })
            let other: G711Law = law == .mu ? .a : .mu
            bytes.withUnsafeMutableBufferPointer { law.convertToOther($0) }
            #expect(bytes == back.map { other.encode($0) })
        }
    }

    @Test func codecsAreFoundByName() {
        #expect(AudioCodec(name: "pcmu", clockRate: 8000) == .pcmu)
        #expect(AudioCodec(name: "PCMA", clockRate: 8000) == .pcma)
        #expect(AudioCodec(name: "PCMA", clockRate: 16000) == nil)
        #expect(AudioCodec(name: "GSM", clockRate: 8000) == nil)
        #expect(AudioCodec.pcmu.samples(inMilliseconds: 20) == 160)
        #expect(AudioCodec.pcmu.ticks(inMilliseconds: 30) == 240)
    }
}
