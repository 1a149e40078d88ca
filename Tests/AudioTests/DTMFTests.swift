// The in-band DTMF receiver against the limits of Q.24 and the Mitel procedure, by the matrix of the corpora (its ids are
// named). Everything is synthesised here.

import Audio
import Basics
import Glibc
import Testing

/// The stimulus of one key, with everything that can be wrong with it.
struct Press {
    var key: Character
    var milliseconds = 60.0
    var lowLevel = -10.0
    var highLevel = -10.0
    /// Relative errors of the frequencies.
    var lowError = 0.0
    var highError = 0.0
    var gap = 60.0

    var samples: [Int16] {
        let tones = DTMFTones.frequencies(of: key.asciiValue!)!
        let turn = 2 * Double.pi / 8000
        let sound: [Int16] = (0..<Int(milliseconds * 8)).map { index in
            let low = Decibels.amplitude(lowLevel) * sin(Double(index) * turn * tones.low * (1 + lowError))
            let high = Decibels.amplitude(highLevel) * sin(Double(index) * turn * tones.high * (1 + highError))
            return Int16(max(-32768, min(32767, low + high)))
        }
        return sound + [Int16](repeating: 0, count: Int(gap * 8))
    }
}

@Suite struct DTMFTests {
    static let group: [Character] = ["1", "5", "9", "D"]
    static let all = "1234567890*#ABCD"

    static func keys(_ samples: [Int16], chunk: Int = 160) -> String {
        let receiver = DTMFReceiver()
        var began = ""
        var ended = ""
        samples.withUnsafeBufferPointer { samples in
            for start in stride(from: 0, to: samples.count, by: chunk) {
                let part = UnsafeBufferPointer(rebasing: samples[start..<min(start + chunk, samples.count)])
                receiver.process(part) { event in
                    switch event {
                    case .began(let key): began.append(Character(Unicode.Scalar(key)))
                    case .ended(let key): ended.append(Character(Unicode.Scalar(key)))
                    }
                }
            }
        }
        // Each press is one beginning and one end.
        #expect(began == ended || began == ended + (receiver.present.map { String(Unicode.Scalar($0)) } ?? ""))
        return began
    }

    static func laws(_ samples: [Int16]) -> [[Int16]] {
        [samples] + G711Law.allCases.map { law in samples.map { law.decode(law.encode($0)) } }
    }

    /// Silence, the presses, silence: as it is and through both laws.
    private func expect(_ presses: [Press], _ expected: String, _ id: Comment) {
        let pause = [Int16](repeating: 0, count: 400)
        for samples in Self.laws(pause + presses.flatMap(\.samples) + pause) {
            #expect(Self.keys(samples) == expected, id)
        }
    }

    @Test func everyKeyIsFoundTenTimes() {
        expect(
            Self.all.flatMap { key in
                (0..<10).map { _ in Press(key: key, milliseconds: 50, lowLevel: -4, highLevel: -4, gap: 50) }
            },
            Self.all.map { String(repeating: $0, count: 10) }.joined(), "Mitel 2")
    }

    @Test func ourOwnTonesAreFound() {
        for twist in [0.0, 2] {
            let clip = DTMFTones.clip(Self.all.utf8, timing: .init(on: .milliseconds(50), off: .milliseconds(50), twist: twist))
            #expect(Self.keys(clip.samples) == Self.all)
        }
        let wide = DTMFTones.clip("159D".utf8, rate: 16000)
        #expect(Self.keys(wide.resampled(to: 8000).samples) == "159D")
    }

    @Test func frequencyLimits() {
        for key in Self.group {
            for (low, high) in [(1.4, 1.4), (1.4, -1.4), (-1.4, 1.4), (-1.4, -1.4)] {
                expect(
                    [Press(key: key, milliseconds: 80, lowError: low / 100, highError: high / 100)], String(key),
                    "F1 \(key) \(low) \(high)")
            }
            for error in [3.5, 4, 4.5, 5, 6].flatMap({ [$0, -$0] }) {
                expect([Press(key: key, lowError: error / 100)], "", "F2 \(key) low \(error)")
                expect([Press(key: key, highError: error / 100)], "", "F2 \(key) high \(error)")
                expect([Press(key: key, lowError: error / 100, highError: error / 100)], "", "F3 \(key) \(error)")
            }
        }
    }

    /// Mitel 3: in steps of 0.1% up to 6%, either way. A receiver for 1.5% and 3.5% has 15 to 35 hits on each side.
    @Test func bandwidthAndCentre() {
        for key in Self.group {
            for isLow in [true, false] {
                let hits = [1.0, -1].map { sign in
                    (1...60).filter { step in
                        let error = sign * Double(step) / 1000
                        let press = Press(
                            key: key, milliseconds: 50, lowLevel: -17, highLevel: -17, lowError: isLow ? error : 0,
                            highError: isLow ? 0 : error, gap: 50)
                        return Self.keys([Int16](repeating: 0, count: 400) + press.samples) == String(key)
                    }.count
                }
                #expect(hits.allSatisfy { (15...35).contains($0) }, "Mitel 3 \(key) \(isLow ? "low" : "high") \(hits)")
                // Centre offset and bandwidth by the procedure's own formula.
                let (bandwidth, offset) = (Double(hits[0] + hits[1]) / 10, Double(hits[0] - hits[1]) / 10)
                #expect(bandwidth >= 3 + offset && bandwidth < 15 + offset, "Mitel 3 \(key) \(hits)")
            }
        }
    }

    /// Mitel 4: one tone at -3 dBm0, the other falls by 0.1 dB.
    @Test func twistInSteps() {
        for key in Self.group {
            let hits = [true, false].map { isHigh in
                (0...200).filter { step in
                    let level = -3 - Double(step) / 10
                    let press = Press(
                        key: key, milliseconds: 50, lowLevel: isHigh ? -3 : level, highLevel: isHigh ? level : -3, gap: 50)
                    return Self.keys(press.samples) == String(key)
                }.count
            }
            #expect(hits[0] >= 80 && hits[1] >= 40, "Mitel 4 \(key) \(hits)")
        }
    }

    /// Mitel 5: from +3 to -50 dBm0.
    @Test func dynamicRange() {
        let found = (-50...3).filter { level in
            Self.keys(Press(key: "1", milliseconds: 50, lowLevel: Double(level), highLevel: Double(level)).samples) == "1"
        }
        #expect(found.count >= 35 && found.contains(0) && found.contains(-25), "Mitel 5 \(found)")
    }

    /// Mitel 6: from 49 ms down to 10 ms in steps of 0.1 ms.
    @Test func guardTime() {
        for step in 100...490 {
            let before = [Int16](repeating: 0, count: 400 + step * 7 % 102)
            let press = Press(key: "1", milliseconds: Double(step) / 10, lowLevel: -3, highLevel: -3)
            let found = Self.keys(before + press.samples)
            if step >= 400 { #expect(found == "1", "Mitel 6 \(step)") }
            if step <= 240 { #expect(found == "", "Mitel 6 \(step)") }
        }
    }

    /// Mitel 7: 26 dB of signal to noise, and the 15 dB of Q.24.
    @Test(arguments: [26.0, 15]) func noiseUnderDigits(ratio: Double) {
        let presses = (0..<500).flatMap { _ in Press(key: "1", milliseconds: 50, lowLevel: -4, highLevel: -4, gap: 50).samples }
        let noisy = Signal.sum(presses, Signal.noise(presses.count, level: -1 - ratio))
        #expect(Self.keys(noisy).count == 500, "Mitel 7 \(ratio)")
    }

    /// A receiver without a notch finds a digit that is 10 dB above dial tone.
    @Test func digitsOverDialTone() {
        let presses =
            [Int16](repeating: 0, count: 800)
            + Self.all.flatMap { Press(key: $0, milliseconds: 60, lowLevel: -15, highLevel: -15).samples }
        let dial = ToneGenerator.clip(Tone("350+440")!, level: -25, rate: 8000, length: .seconds(4)).samples
        #expect(Self.keys(Signal.sum(presses, dial)) == Self.all)
    }

    @Test func twistLimits() {
        for key in Self.group {
            expect([Press(key: key, lowLevel: -5, highLevel: -12.5)], String(key), "T1 \(key)")
            expect([Press(key: key, lowLevel: -8.5, highLevel: -5)], String(key), "T2 \(key)")
            expect([Press(key: key, lowLevel: -5, highLevel: -20)], "", "T3 \(key) low louder")
            expect([Press(key: key, lowLevel: -17, highLevel: -5)], "", "T3 \(key) high louder")
        }
    }

    @Test func levelLimits() {
        for key in Self.group {
            expect([Press(key: key, lowLevel: -25, highLevel: -25)], String(key), "L1 \(key)")
            expect([Press(key: key, lowLevel: -55, highLevel: -55)], "", "L2 \(key)")
            expect([Press(key: key, lowLevel: 0, highLevel: 0)], String(key), "L3 \(key)")
        }
    }

    @Test func durationLimits() {
        for key in Self.group {
            // Wherever the tone lies in the receiver's blocks.
            for shift in stride(from: 0, to: 102, by: 17) {
                let before = [Int16](repeating: 0, count: shift)
                #expect(Self.keys(before + Press(key: key, milliseconds: 40).samples) == String(key), "D1 \(key) \(shift)")
                for length in [18.0, 22, 24] {
                    #expect(
                        Self.keys(before + Press(key: key, milliseconds: length).samples) == "", "D2 \(key) \(shift) \(length)")
                }
                let twice = Press(key: key, milliseconds: 40, gap: 40).samples + Press(key: key, milliseconds: 40).samples
                #expect(Self.keys(before + twice) == "\(key)\(key)", "P1, B043 \(key) \(shift)")
                var hole = Press(key: key, milliseconds: 200).samples
                for index in 800..<872 { hole[index] = 0 }
                #expect(Self.keys(before + hole) == String(key), "P2 \(key) \(shift)")
            }
        }
    }

    @Test func quickDigits() {
        let digits = String(repeating: "1590*#A26D", count: 5)
        expect(digits.map { Press(key: $0, milliseconds: 50, gap: 43) }, digits, "R1")
    }

    @Test func noise() {
        let presses = (0..<100).flatMap { Press(key: Self.group[$0 % 4], lowLevel: -10, highLevel: -10, gap: 50).samples }
        // Both tones together are -7 dBm0.
        let noisy = Signal.sum(presses, Signal.noise(presses.count, level: -22))
        #expect(Self.keys(noisy) == String(repeating: "159D", count: 25), "N1")
        #expect(Self.keys(Signal.noise(8000 * 60, level: -10)) == "", "N2")
    }

    @Test func whatIsNoDigit() {
        for tone in ["697", "1336", "697+770", "1209+1477", "440+480", "480+620", "350+440", "425", "1100", "2100", "941+852"] {
            for level in [-3.0, -13, -25] {
                let clip = ToneGenerator.clip(Tone(tone)!, level: level, rate: 8000, length: .seconds(5))
                #expect(Self.keys(clip.samples) == "", "X1, X2, X4 \(tone) \(level)")
            }
        }
        for tone in ToneTests.distinct {
            let clip = ToneGenerator.clip(tone, rate: 8000, length: .seconds(1.2))
            #expect(Self.keys(clip.samples) == "", "X4 \(tone)")
        }
    }

    @Test func aThirdToneMakesNoOtherDigit() {
        for key in Self.group {
            let press = Press(key: key, milliseconds: 100).samples
            for frequency in [500.0, 852, 1336, 1800, 2600] {
                let third = ToneGenerator.clip(Tone(frequencies: [frequency]), level: -16, rate: 8000, length: .milliseconds(160))
                    .samples
                let found = Self.keys(Signal.sum(press, third))
                #expect(found == "" || found == String(key), "X3 \(key) \(frequency)")
            }
        }
    }

    @Test(arguments: [1, 37, 80, 160, 240, 4000]) func theSizeOfTheChunksDoesNotMatter(chunk: Int) {
        let samples = Self.all.flatMap { Press(key: $0, gap: 57).samples }
        #expect(Self.keys(samples, chunk: chunk) == Self.all, "C1")
    }

    @Test func aLostPacketDoesNotSplitADigit() {
        let samples = Press(key: "5", milliseconds: 200).samples
        let receiver = DTMFReceiver()
        var events: [DTMFReceiver.Event] = []
        samples.withUnsafeBufferPointer { samples in
            for start in stride(from: 0, to: samples.count, by: 160) {
                if start == 640 {
                    receiver.processMissing(160)
                } else {
                    receiver.process(UnsafeBufferPointer(rebasing: samples[start..<min(start + 160, samples.count)])) {
                        events.append($0)
                    }
                }
            }
        }
        #expect(events == [.began(UInt8(ascii: "5")), .ended(UInt8(ascii: "5"))], "C1")
    }

    @Test func digitsAreFoundOverAPromptsEchoAndAnOffset() throws {
        let prompt = try PromptFile.read(CommittedPromptsTests.folder + "/echo-intro.wav").resampled(to: 8000).amplified(by: -20)
        var samples = [Int16](repeating: 0, count: prompt.samples.count)
        var expected = ""
        for (number, start) in stride(from: 2000, to: samples.count - 2000, by: 2000).enumerated() {
            let key = Self.group[number % 4]
            expected.append(key)
            for (index, sample) in Press(key: key, milliseconds: 80).samples.enumerated() { samples[start + index] = sample }
        }
        #expect(Self.keys(Signal.sum(samples, prompt.samples)) == expected, "C2")
        let offset = [Int16](repeating: 1500, count: samples.count)
        #expect(Self.keys(Signal.sum(samples, offset)) == expected, "offset")
    }

    @Test func speechIsNoDigit() throws {
        for name in try CommittedPromptsTests.names() where name != "beep" {
            let clip = try PromptFile.read("\(CommittedPromptsTests.folder)/\(name).wav").resampled(to: 8000)
            #expect(Self.keys(clip.samples) == "", "\(name)")
        }
    }
}
