// The call progress tones of each country are known for what they are: through G.711, with noise, from their beginning or from the middle;
// and speech, music of tones and other tones are not.

import Audio
import Testing

@Suite struct CallProgressTests {
    /// What was reported, in order, with the time in seconds.
    static func heard(_ samples: [Int16], _ plan: TonePlan) -> [(names: [TonePlan.Name], at: Double)] {
        let detector = CallProgressDetector(plan)
        var found: [([TonePlan.Name], Double)] = []
        samples.withUnsafeBufferPointer { samples in
            for start in stride(from: 0, to: samples.count, by: 160) {
                let end = min(start + 160, samples.count)
                detector.process(UnsafeBufferPointer(rebasing: samples[start..<end])) { found.append(($0, Double(end) / 8000)) }
            }
        }
        return found
    }

    static func tone(_ tone: Tone, seconds: Double, from: Double = 0, level: Double = -13, noise: Double = -45) -> [Int16] {
        let clip = ToneGenerator.clip(tone, level: level, rate: 8000, length: .seconds(seconds + from)).samples
        return Signal.sum(Array(clip[Int(from * 8000)...]), Signal.noise(clip.count, level: noise))
    }

    static func throughLaw(_ samples: [Int16], _ law: G711Law) -> [Int16] { samples.map { law.decode(law.encode($0)) } }

    @Test(arguments: Array(TonePlan.all.map(\.country).enumerated())) func eachToneIsItself(number: Int, country: String) throws {
        let plan = try #require(TonePlan.country(country))
        for (place, name) in TonePlan.Name.allCases.enumerated() {
            let law: G711Law = (number + place).isMultiple(of: 2) ? .mu : .a
            let from = [0, 0.13, 0.71][(number + place) % 3]
            let seconds = max(4, 1 + 1.5 * Double((plan[name].cadence ?? .zero) / .seconds(1)))
            let heard = Self.heard(Self.throughLaw(Self.tone(plan[name], seconds: seconds, from: from), law), plan)
            #expect(heard.count == 1, "\(country) \(name) from \(from) s: \(heard)")
            #expect(heard.first?.names.contains(name) == true, "\(country) \(name) from \(from) s: \(heard)")
            for other in heard.first?.names ?? [] { #expect(plan[other] == plan[name], "\(country) \(name): \(heard)") }
        }
    }

    @Test(arguments: ["us", "gb", "in", "jp"]) func softAndNoisyTonesAreKnown(country: String) throws {
        let plan = try #require(TonePlan.country(country))
        for name in TonePlan.Name.allCases {
            for (level, noise) in [(-30.0, -50.0), (-10, -30), (-3, -45)] {
                let heard = Self.heard(Self.tone(plan[name], seconds: 13, level: level, noise: noise), plan)
                #expect(
                    heard.count == 1 && heard.first?.names.contains(name) == true,
                    "\(country) \(name) \(level) \(noise): \(heard)")
            }
        }
    }

    /// How soon: ringback with its first ring, busy in two seconds.
    @Test func theyAreKnownSoon() throws {
        let us = try #require(TonePlan.country("us"))
        for (name, latest) in [(TonePlan.Name.ringback, 2.2), (.busy, 2), (.congestion, 1.7), (.dial, 0.8), (.information, 1.2)] {
            let at = try #require(Self.heard(Self.tone(us[name], seconds: 13), us).first?.at)
            #expect(at <= latest, "\(name) after \(at) s")
        }
    }

    @Test func oneAfterTheOtherIsReported() throws {
        let de = try #require(TonePlan.country("de"))
        let samples =
            Self.tone(de.ringback, seconds: 10) + Self.tone(de.busy, seconds: 5) + Self.tone(de.busy, seconds: 0.48, from: 0.48)
            + Self.tone(de.congestion, seconds: 4)
        #expect(Self.heard(samples, de).map(\.names) == [[.ringback], [.busy], [.congestion]])
    }

    /// The eight forms of special information in North America: two frequencies and two lengths for each of the first two.
    @Test func northAmericanSpecialInformationIsKnown() throws {
        let us = try #require(TonePlan.country("us"))
        for (first, firstLength, second, secondLength) in [
            (913.8, 274, 1370.6, 274), (985.2, 380, 1428.5, 380), (913.8, 380, 1370.6, 274), (985.2, 274, 1370.6, 380)
        ] {
            let tones = [(first, firstLength), (second, secondLength), (1776.7, 380)].map { frequency, length in
                Tone.Element([frequency], duration: .milliseconds(length))
            }
            let tone = Tone(tones + [Tone.Element([], duration: .seconds(3))])
            let heard = Self.heard(Self.tone(tone, seconds: 3), us)
            #expect(heard.map(\.names) == [[.information]], "\(first) \(second): \(heard)")
        }
    }

    @Test func speechAndOtherTonesAreNot() throws {
        for plan in ["us", "de", "gb", "in", "jp", "au"].compactMap(TonePlan.country) {
            for name in ["menu", "voicemail-greeting", "echo-intro", "closed"] {
                let speech = try PromptFile.read("\(CommittedPromptsTests.folder)/\(name).wav").resampled(to: 8000).samples
                #expect(Self.heard(speech, plan).isEmpty, "\(plan.country): \(name)")
            }
            #expect(Self.heard(DTMFTones.clip("1234567890*#".utf8).samples, plan).isEmpty, "\(plan.country): keys")
            #expect(Self.heard(Self.tone(Tone("1100:500 0:3000")!, seconds: 8), plan).isEmpty, "\(plan.country): CNG")
            #expect(Self.heard(Self.tone(Tone("2100")!, seconds: 3), plan).isEmpty, "\(plan.country): CED")
            #expect(Self.heard(Signal.noise(24_000, level: -15), plan).isEmpty, "\(plan.country): noise")
        }
        // The right frequencies in another cadence.
        let us = try #require(TonePlan.country("us"))
        #expect(Self.heard(Self.tone(Tone("480+620:900 0:100")!, seconds: 10), us).isEmpty)
        #expect(Self.heard(Self.tone(Tone("440+480:700 0:4000")!, seconds: 15), us).isEmpty)
    }

    @Test func aLostPacketIsNoEnd() throws {
        let us = try #require(TonePlan.country("us"))
        let samples = Self.tone(us.ringback, seconds: 5)
        let detector = CallProgressDetector(us)
        var found: [[TonePlan.Name]] = []
        samples.withUnsafeBufferPointer { samples in
            for start in stride(from: 0, to: samples.count, by: 160) {
                if start == 8000 {
                    detector.processMissing(160) { found.append($0) }
                } else {
                    detector.process(UnsafeBufferPointer(rebasing: samples[start..<start + 160])) { found.append($0) }
                }
            }
        }
        #expect(found == [[.ringback]])
    }
}

@Suite struct FaxAndBeepTests {
    private func fax(_ samples: [Int16]) -> [FaxTone] {
        let detector = FaxDetector()
        var found: [FaxTone] = []
        samples.withUnsafeBufferPointer { samples in
            for start in stride(from: 0, to: samples.count, by: 160) {
                detector.process(UnsafeBufferPointer(rebasing: samples[start..<min(start + 160, samples.count)])) {
                    found.append($0)
                }
            }
        }
        return found
    }

    private let pause = [Int16](repeating: 0, count: 4000)

    @Test(arguments: G711Law.allCases) func faxMachinesAreKnown(law: G711Law) {
        for (text, expected) in [
            ("1100:500 0:3000", FaxTone.calling), ("1070:500 0:3000", .calling), ("1130:500 0:3000", .calling),
            ("2100:3300 0:1000", .answering), ("2088:3300 0:1000", .answering), ("2112:3300 0:1000", .answering)
        ] {
            for level in [-10.0, -25] {
                let samples = CallProgressTests.tone(Tone(text)!, seconds: 7.5, level: level, noise: -50)
                let found = fax(CallProgressTests.throughLaw(pause + samples, law))
                #expect(!found.isEmpty && Set(found) == [expected], "\(text) \(level): \(found)")
            }
        }
    }

    @Test func otherSoundIsNoFax() throws {
        for name in ["menu", "voicemail-greeting", "echo-intro", "closed", "beep"] {
            let speech = try PromptFile.read("\(CommittedPromptsTests.folder)/\(name).wav").resampled(to: 8000).samples
            #expect(fax(pause + speech + pause) == [], "\(name)")
        }
        for plan in ["us", "de", "th", "cn"].compactMap(TonePlan.country) {
            for name in TonePlan.Name.allCases {
                #expect(fax(CallProgressTests.tone(plan[name], seconds: 6)) == [], "\(plan.country) \(name)")
            }
        }
        #expect(fax(DTMFTones.clip("1234567890*#".utf8).samples) == [])
    }

    private func beeps(_ samples: [Int16]) -> [BeepDetector.Beep] {
        let detector = BeepDetector()
        var found: [BeepDetector.Beep] = []
        samples.withUnsafeBufferPointer { samples in
            for start in stride(from: 0, to: samples.count, by: 160) {
                detector.process(UnsafeBufferPointer(rebasing: samples[start..<min(start + 160, samples.count)])) {
                    found.append($0)
                }
            }
        }
        return found
    }

    @Test(arguments: [440.0, 850, 1000, 1400, 2000, 2500], [160, 200, 400, 1000, 2800]) func beepsAreFound(
        frequency: Double, milliseconds: Int
    ) throws {
        let greeting = try PromptFile.read("\(CommittedPromptsTests.folder)/voicemail-greeting.wav").resampled(to: 8000).samples
        let beep = ToneGenerator.clip(
            Tone(frequencies: [frequency]), level: -15, rate: 8000, length: .milliseconds(milliseconds))
        let clean = pause + greeting + beep.samples + pause
        let noisy = Signal.sum(clean, Signal.noise(clean.count, level: -45))
        for samples in [clean, noisy] + G711Law.allCases.map({ CallProgressTests.throughLaw(noisy, $0) }) {
            let found = beeps(samples)
            #expect(found.count == 1, "\(found)")
            #expect(abs((found.first?.frequency ?? 0) - frequency) < 15, "\(found)")
            #expect(abs((found.first?.length ?? .zero) / .milliseconds(1) - Double(milliseconds)) <= 40, "\(found)")
        }
    }

    @Test func otherSoundIsNoBeep() throws {
        for name in ["menu", "voicemail-greeting", "echo-intro", "closed", "welcome", "are-you-there", "goodbye"] {
            let speech = try PromptFile.read("\(CommittedPromptsTests.folder)/\(name).wav").resampled(to: 8000).samples
            #expect(beeps(pause + speech + pause) == [], "\(name)")
        }
        #expect(beeps(DTMFTones.clip("1234567890*#".utf8).samples) == [])
        #expect(beeps(Signal.noise(80_000, level: -15)) == [])
        for text in ["350+620:500 0:500", "1000:100 0:500", "1000:4000 0:1000", "950:330 1400:330 0:5"] {
            #expect(beeps(pause + CallProgressTests.tone(Tone(text)!, seconds: 0.66, noise: -60)).isEmpty, "\(text)")
        }
        #expect(beeps(pause + CallProgressTests.tone(Tone("1000:4000 0:1000")!, seconds: 5, noise: -60)).isEmpty)
    }
}
