// Tones: their spectrum and cadence, loops without a seam, and the table of countries.

import Audio
import Basics
import Testing

@Suite struct ToneTests {
    /// The tones of all countries by what sounds first: pauses don't matter to a detector.
    static let distinct: [Tone] = {
        var seen: Set<[Double]> = []
        return TonePlan.all.flatMap { plan in TonePlan.Name.allCases.map { plan[$0] } }.filter { tone in
            let first = tone.elements[0]
            return seen.insert(first.frequencies + [first.modulation ?? 0, first.duration == nil ? 0 : 1]).inserted
        }
    }()

    @Test func frequenciesHaveTheirLevel() {
        let clip = ToneGenerator.clip(Tone(frequencies: [440, 480]), level: -13, rate: 8000, length: .seconds(1))
        #expect(abs(Signal.level(of: 440, in: clip) + 13) < 0.05)
        #expect(abs(Signal.level(of: 480, in: clip) + 13) < 0.05)
        #expect(Signal.level(of: 460, in: clip) < -60)
        #expect(abs(clip.level + 9.99) < 0.1)
    }

    @Test func modulationMakesSidebands() throws {
        let tone = try #require(Tone("400*25"))
        let clip = ToneGenerator.clip(tone, level: -10, rate: 8000, length: .seconds(1))
        let carrier = Signal.level(of: 400, in: clip)
        #expect(abs(Signal.level(of: 375, in: clip) - carrier + 6.9) < 0.2)
        #expect(abs(Signal.level(of: 425, in: clip) - carrier + 6.9) < 0.2)
    }

    @Test func cadenceIsExact() throws {
        let tone = try #require(Tone("425:330 0:170"))
        let clip = ToneGenerator.clip(tone, rate: 8000, length: .seconds(2))
        for cadence in 0..<4 {
            let start = cadence * 4000
            #expect(AudioClip(samples: Array(clip.samples[start..<start + 2640]), rate: 8000).level > -14)
            #expect(clip.samples[start + 2640..<start + 4000].allSatisfy { $0 == 0 })
        }
    }

    @Test func theSizeOfTheBuffersDoesNotMatter() throws {
        let tone = try #require(Tone("440+480:100 0:50"))
        let whole = ToneGenerator.clip(tone, rate: 8000, length: .seconds(1)).samples
        var generator = ToneGenerator(tone, rate: 8000)
        var pieces: [Int16] = []
        var random = SeededRandom(seed: 1)
        while pieces.count < whole.count {
            var piece = [Int16](repeating: 0, count: min(Int.random(in: 1...300, using: &random), whole.count - pieces.count))
            piece.withUnsafeMutableBufferPointer { generator.fill($0) }
            pieces += piece
        }
        #expect(pieces == whole)
    }

    @Test(arguments: ["350+440", "425", "413+438", "400*33", "414", "440.5"]) func aSteadyLoopHasNoSeam(text: String) throws {
        let tone = try #require(Tone(text))
        let prompt = EncodedPrompt(looping: tone, codec: .pcma)
        let once = EncodedPromptTests.decode(prompt)
        #expect(once.count == prompt.packetCount * 160 && once.count <= 16000)
        // The step over the seam is no larger than the steps within.
        let steps = zip(once, once.dropFirst()).map { abs(Int($0) - Int($1)) }
        let seam = abs(Int(once[once.count - 1]) - Int(once[0]))
        #expect(seam <= (steps.max() ?? 0) + 16)
        // And played twice it still is the tone: a generator that never stops.
        let endless = ToneGenerator.clip(tone, rate: 8000, length: .milliseconds(once.count / 4))
        #expect(Correlation.search(endless.samples, in: once + once, overlap: 1).peak > 0.99)
    }

    @Test func aCadenceIsRepeatedUntilItFillsPackets() throws {
        // 1990 ms: two of them are 199 packets.
        let information = try #require(Tone("950:330 1400:330 1800:330 0:1000"))
        #expect(EncodedPrompt(looping: information, codec: .pcmu).packetCount == 199)
        let ringback = try #require(Tone("440+480:2000 0:4000"))
        #expect(EncodedPrompt(looping: ringback, codec: .pcmu).packetCount == 300)
        #expect(EncodedPrompt(looping: ringback, codec: .pcmu, packetTime: 30).packetCount == 200)
    }

    @Test(arguments: ["", "abc", "440+", "440:0", "440:-5", "440:x", "440 480", "440*", "0.2:100", "99999", ":5", "440:100 0"])
    func nonsenseIsNoTone(text: String) {
        #expect(Tone(text) == nil)
    }

    // MARK: Countries

    @Test func thereAreManyCountriesAndEachIsSane() {
        #expect(TonePlan.all.count >= 40)
        #expect(Set(TonePlan.all.map(\.country)).count == TonePlan.all.count)
        for plan in TonePlan.all {
            #expect(plan.country.count == 2 && plan.country == plan.country.lowercased())
            for name in TonePlan.Name.allCases {
                let tone = plan[name]
                for element in tone.elements {
                    #expect(element.frequencies.allSatisfy { (300...2000).contains($0) }, "\(plan.country) \(name)")
                    #expect(element.modulation.map { (10...60).contains($0) } ?? true, "\(plan.country) \(name)")
                    #expect(element.duration.map { $0 >= .milliseconds(15) && $0 <= .seconds(5) } ?? true)
                }
                // Only a dial tone is steady; everything else has pauses.
                #expect(name == .dial || tone.cadence != nil, "\(plan.country) \(name)")
                #expect(name == .dial || tone.elements.contains { $0.frequencies.isEmpty }, "\(plan.country) \(name)")
            }
            let ringback = plan.ringback.cadence ?? .zero
            #expect(ringback >= .seconds(2.5) && ringback <= .seconds(6), "\(plan.country)")
            #expect((plan.busy.cadence ?? .seconds(9)) <= .seconds(2), "\(plan.country)")
            #expect((plan.congestion.cadence ?? .seconds(9)) <= .seconds(2), "\(plan.country)")
        }
    }

    @Test func countriesAreFoundByCode() throws {
        #expect(TonePlan.standard.country == "xx")
        #expect(TonePlan.country("zz") == nil)
        #expect(TonePlan.country("UK")?.country == "gb")
        let us = try #require(TonePlan.country("US"))
        #expect(us.ringback == Tone(frequencies: [440, 480], cadence: [.seconds(2), .seconds(4)]))
        #expect(us.busy.mainFrequencies == [480, 620])
        let de = try #require(TonePlan.country("de"))
        #expect(de.busy == Tone(frequencies: [425], cadence: [.milliseconds(480), .milliseconds(480)]))
        #expect(de.dial == Tone(frequencies: [425]))
    }
}
