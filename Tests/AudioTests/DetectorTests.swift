// Speech, silence and tones: found where they are, and not where they aren't.

import Audio
import Testing

@Suite struct DetectorTests {
    private func run(_ clip: AudioClip, _ settings: SpeechDetector.Settings = .init(), chunk: Int = 160) -> [SpeechDetector.Event]
    {
        let detector = SpeechDetector(rate: clip.rate, settings: settings)
        var events: [SpeechDetector.Event] = []
        clip.samples.withUnsafeBufferPointer { samples in
            for start in stride(from: 0, to: samples.count, by: chunk) {
                detector.process(UnsafeBufferPointer(rebasing: samples[start..<min(start + chunk, samples.count)])) {
                    events.append($0)
                }
            }
        }
        return events
    }

    private func prompt(_ name: String, rate: Int) throws -> [Int16] {
        try PromptFile.read("\(CommittedPromptsTests.folder)/\(name).wav").resampled(to: rate).samples
    }

    /// A second of silence before, two after; with noise behind it all when a level is given.
    private func framed(_ samples: [Int16], rate: Int, noise: Double? = nil) -> AudioClip {
        let padded = [Int16](repeating: 0, count: rate) + samples + [Int16](repeating: 0, count: rate * 2)
        let clip = noise.map { Signal.sum(padded, Signal.noise(padded.count, level: $0)) } ?? padded
        return AudioClip(samples: clip, rate: rate)
    }

    @Test(arguments: [8000, 16000], [nil, -55, -45]) func speechBeginsAndEnds(rate: Int, noise: Double?) throws {
        for name in ["welcome", "menu", "are-you-there", "goodbye", "connecting", "echo-intro", "closed"] {
            let speech = try prompt(name, rate: rate)
            let events = run(framed(speech, rate: rate, noise: noise))
            guard events.count == 2, case .speechBegan(let began) = events[0], case .speechEnded(let ended) = events[1] else {
                Issue.record("\(name) at \(rate) Hz with noise \(noise ?? -99): \(events)")
                continue
            }
            #expect(began >= rate * 9 / 10 && began <= rate * 14 / 10, "\(name) began at \(Double(began) / Double(rate))")
            let end = rate + speech.count
            #expect(
                ended <= end + rate / 10 && ended >= end - rate / 2, "\(name) ended \(Double(end - ended) / Double(rate)) s early"
            )
        }
    }

    @Test func softSpeechIsHeard() throws {
        let speech = AudioClip(samples: try prompt("voicemail-greeting", rate: 8000), rate: 8000).amplified(by: -15)
        #expect(run(framed(speech.samples, rate: 8000)).count == 2)
    }

    @Test func tonesAreNoSpeech() {
        for (index, tone) in ToneTests.distinct.enumerated() {
            let law: G711Law = index.isMultiple(of: 2) ? .mu : .a
            let clip = ToneGenerator.clip(tone, rate: 8000, length: .seconds(2))
            let heard = framed(clip.samples.map { law.decode(law.encode($0)) }, rate: 8000, noise: -60)
            #expect(run(heard) == [], "\(tone)")
        }
        #expect(run(framed(DTMFTones.clip("1234567890*#".utf8).samples, rate: 8000)) == [])
    }

    @Test func steadyNoiseIsNoSpeech() {
        for level in [-60.0, -45, -35] {
            let noise = AudioClip(samples: Signal.noise(8000 * 8, level: level), rate: 8000)
            let events = run(noise)
            // A loud noise that starts is sound at first, until it is known as background.
            #expect(events.count <= (level > -40 ? 2 : 0), "\(level): \(events)")
        }
    }

    @Test func silenceIsReportedOnceUntilSoundComes() {
        let tone = ToneGenerator.clip(Tone(frequencies: [425]), rate: 8000, length: .seconds(1)).samples
        let quiet = [Int16](repeating: 0, count: 8000 * 5)
        let events = run(AudioClip(samples: quiet + tone + quiet, rate: 8000), .init(silence: .seconds(2)))
        #expect(events.count == 2)
        for (event, second) in zip(events, [2, 8]) {
            guard case .silence(let sample) = event else {
                Issue.record("\(event)")
                continue
            }
            #expect(sample >= second * 8000 && sample <= second * 8000 + 512)
        }
    }

    @Test func missingPacketsAreSilence() {
        let detector = SpeechDetector(settings: .init(silence: .seconds(1)))
        var events: [SpeechDetector.Event] = []
        for _ in 0..<100 { detector.processMissing(160) { events.append($0) } }
        #expect(events.count == 1)
        #expect(detector.position == 16000)
    }

    @Test func theSizeOfTheChunksDoesNotMatter() throws {
        let clip = framed(try prompt("menu", rate: 8000), rate: 8000, noise: -50)
        let settings = SpeechDetector.Settings(silence: .seconds(1))
        #expect(run(clip, settings, chunk: 160) == run(clip, settings, chunk: 77))
    }

    // MARK: Tones

    private func tones(_ sets: [[Double]], _ clip: AudioClip) -> [ToneDetector.Event] {
        let detector = ToneDetector(sets, rate: clip.rate)
        var events: [ToneDetector.Event] = []
        clip.samples.withUnsafeBufferPointer { samples in detector.process(samples) { events.append($0) } }
        return events
    }

    @Test(arguments: [8000, 16000]) func eachCountrysTonesAreFound(rate: Int) {
        for tone in ToneTests.distinct where tone.elements[0].modulation == nil {
            let clip = ToneGenerator.clip(tone, rate: rate, length: .seconds(1))
            let events = tones([tone.mainFrequencies], framed(clip.samples, rate: rate, noise: -55))
            guard case .began(0, let sample)? = events.first else {
                Issue.record("\(tone) was not found")
                continue
            }
            #expect(sample <= rate + rate * 13 / 100, "\(tone)")
            #expect(events.count.isMultiple(of: 2), "each beginning has its end")
        }
    }

    @Test func tonesOf100MillisecondsAreFoundAndShorterClicksNot() {
        for shift in stride(from: 0, to: 320, by: 40) {
            let before = [Int16](repeating: 0, count: 800 + shift)
            for (milliseconds, expected) in [(100, 2), (120, 2), (50, 0)] {
                let clip = ToneGenerator.clip(Tone(frequencies: [1000]), rate: 8000, length: .milliseconds(milliseconds))
                let events = tones([[1000]], AudioClip(samples: before + clip.samples + before, rate: 8000))
                #expect(events.count == expected, "\(milliseconds) ms at \(shift)")
            }
        }
    }

    @Test func onlyTheSetThatSoundsIsFound() throws {
        let sets: [[Double]] = [[440, 480], [480, 620], [350, 440], [425], [440], [400, 450]]
        for (index, set) in sets.enumerated() {
            let clip = ToneGenerator.clip(Tone(frequencies: set), rate: 8000, length: .seconds(1))
            // Twice 12 ms of silence at the end let it end.
            let events = tones(sets, AudioClip(samples: clip.samples + [Int16](repeating: 0, count: 800), rate: 8000))
            #expect(events.map(\.set) == [index, index], "\(set): \(events)")
        }
        for name in ["menu", "voicemail-greeting", "echo-intro", "probe", "closed"] {
            let speech = AudioClip(samples: try prompt(name, rate: 8000), rate: 8000)
            #expect(tones(sets, speech) == [], "\(name)")
        }
        #expect(tones(sets, AudioClip(samples: Signal.noise(80000, level: -15), rate: 8000)) == [])
        let beep = AudioClip(samples: try prompt("beep", rate: 8000), rate: 8000)
        #expect(tones([[1000]], framed(beep.samples, rate: 8000)).count == 2)
    }
}

extension ToneDetector.Event {
    fileprivate var set: Int {
        switch self {
        case .began(let set, _), .ended(let set, _): set
        }
    }
}
