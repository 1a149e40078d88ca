// What a listener of a call reports of the far side: tones of a country by name, fax machines, beeps, and who answered. The far side's sound
// goes through RTP, with loss.

import Audio
import Basics
import CallEngine
import Reactor
import Testing

@Suite struct MediaDetectionTests {
    /// What is reported while the far side plays these sources, with the time since the beginning.
    private func heard(
        _ request: ListenRequest, _ sources: [AudioSource], loss: Double = 0, seconds: Int = 12, loops: Bool = false
    ) throws -> [(event: ListenEvent, after: Duration)] {
        let world = MediaWorld(seed: 11)
        world.network.impairment.loss = loss
        world.network.impairment.delay = .milliseconds(20)
        let (left, right) = try world.pair()
        let start = world.loop.now
        let listening = left.listen(request)
        var events: [(ListenEvent, Duration)] = []
        listening.onEvent = { events.append(($0, world.loop.now - start)) }
        _ = right.play(PlaybackRequest(sources, loop: loops ? .forever : .times(1)))
        world.run(.seconds(seconds))
        listening.stop()
        world.end()
        return events
    }

    @Test(arguments: [
        ("us", "busy"), ("us", "ringback"), ("de", "congestion"), ("gb", "ringback"), ("au", "busy"), ("fr", "info")
    ])
    func tonesAreKnownByName(country: String, name: String) throws {
        let events = try heard(
            ListenRequest(progress: country), [.countryTone(name: name, country: country)], loss: 0.01, loops: true)
        #expect(events.count == 1, "\(events)")
        guard case .progress(let names, _)? = events.first?.event else {
            Issue.record("\(country) \(name): \(events)")
            return
        }
        #expect(names == CallTones.namesLike(name, country: country))
    }

    @Test func faxMachinesAreKnown() throws {
        var request = ListenRequest()
        request.fax = true
        let calling = try heard(
            request, [.tone(frequencies: [1100], cadence: [.milliseconds(500), .seconds(3)], level: -13)], seconds: 3)
        guard case .fax("calling", _)? = calling.first?.event else {
            Issue.record("\(calling)")
            return
        }
        let answering = try heard(request, [.tone(frequencies: [2100], cadence: [], level: -13)], seconds: 3)
        guard case .fax("answering", _)? = answering.first?.event else {
            Issue.record("\(answering)")
            return
        }
    }

    /// The prompts of this project play the answerer.
    @Test(arguments: [0, 0.02]) func aMachineTalksOnAndBeeps(loss: Double) throws {
        var request = ListenRequest()
        request.answerer = AnswererSettings()
        request.beep = true
        let events = try heard(
            request,
            [
                .silence(.milliseconds(600)), .file(path: prompt("voicemail-greeting.wav")), .file(path: prompt("beep.wav")),
                .silence(.seconds(2))
            ],
            loss: loss, seconds: 20)
        let verdicts = events.compactMap { if case .answerer(let verdict, _) = $0.event { verdict } else { nil } }
        #expect(verdicts.map(\.answerer) == [.machine], "\(events)")
        #expect(try #require(events.first).after < .seconds(4))
        let beeps = events.compactMap { if case .beep(let frequency, _, _) = $0.event { frequency } else { nil } }
        #expect(beeps.count == 1 && abs(beeps[0] - 1000) < 20, "\(events)")
    }

    @Test(arguments: [0, 0.02]) func aPersonSaysHelloAndWaits(loss: Double) throws {
        var request = ListenRequest()
        request.answerer = AnswererSettings()
        request.beep = true
        // The first second of a prompt: a word or two.
        let file = temporaryFile("hello.wav")
        let clip = try PromptFile.read(prompt("welcome.wav")).part(from: .zero, until: .milliseconds(900))
        let writer = try WaveWriter(path: file, rate: clip.rate, channels: 1)
        clip.samples.withUnsafeBufferPointer { _ = writer.append($0) }
        _ = writer.finish()
        let events = try heard(
            request, [.silence(.milliseconds(700)), .file(path: file), .silence(.seconds(4))], loss: loss, seconds: 6)
        let verdicts = events.compactMap { if case .answerer(let verdict, _) = $0.event { verdict } else { nil } }
        #expect(verdicts == [AnswererVerdict(.human, .shortGreeting)], "\(events)")
        #expect(events.count == 1)
    }

    /// A beep is known by its end, and a cadence has to come again before it is known.
    @Test(
        "the first sound of a tone that is listened for is no beep, nor a machine's",
        arguments: [
            ("us", "ringback"), ("us", "busy"), ("de", "ringback"), ("de", "busy"), ("gb", "ringback"), ("sg", "ringback"),
            ("it", "dial"), ("fr", "info"), ("fi", "info"), ("es", "info"), ("nz", "info")
        ])
    func firstSound(country: String, name: String) throws {
        var request = ListenRequest(progress: country)
        request.beep = true
        request.answerer = AnswererSettings()
        let events = try heard(request, [.countryTone(name: name, country: country)], seconds: 9, loops: true)
        let isMachine = events.contains {
            if case .answerer(let verdict, _) = $0.event { verdict.reason == .beep } else { false }
        }
        let isBeep = events.contains { if case .beep = $0.event { true } else { false } }
        #expect(!isMachine && !isBeep, "\(events)")
        let isKnown = events.contains { if case .progress(let names, _) = $0.event { names.contains(name) } else { false } }
        #expect(isKnown, "\(events)")
    }

    @Test("other beeps are found while tones are listened for", arguments: [850.0, 1000, 1400, 2000], ["us", "de", "gb"])
    func beepBesideTones(frequency: Double, country: String) throws {
        var request = ListenRequest(tones: [[700], [440, 480]], progress: country)
        request.beep = true
        let events = try heard(
            request,
            [
                .tone(frequencies: [700], cadence: [.milliseconds(500), .seconds(1)], level: -13),
                .tone(frequencies: [frequency], cadence: [.milliseconds(500), .seconds(1)], level: -13)
            ], seconds: 3)
        let beeps = events.compactMap { if case .beep(let frequency, _, _) = $0.event { frequency } else { nil } }
        #expect(beeps.count == 1 && abs(beeps[0] - frequency) < 20, "\(events)")
        #expect(events.contains { if case .tone([700], _) = $0.event { true } else { false } })
    }

    @Test func aBeepAtOnceIsAMachinesAndSilenceIsNobodys() throws {
        var request = ListenRequest()
        request.answerer = AnswererSettings()
        let beep = try heard(
            request, [.silence(.milliseconds(400)), .file(path: prompt("beep.wav")), .silence(.seconds(2))], seconds: 4)
        #expect(beep.count == 1)
        guard case .answerer(let verdict, _)? = beep.first?.event, verdict == AnswererVerdict(.machine, .beep) else {
            Issue.record("\(beep)")
            return
        }
        let silence = try heard(request, [.silence(.seconds(6))], seconds: 6)
        guard case .answerer(let verdict, _)? = silence.first?.event, verdict == AnswererVerdict(.unsure, .noSpeech) else {
            Issue.record("\(silence)")
            return
        }
        #expect(silence.count == 1)
    }
}
