// One listener at work: the detectors that a request asks for, on one clock.

import Audio
import Basics
import Reactor

/// Hears the far side at 8 kHz, kept filled up with silence where nothing comes. Belongs to its session.
final class AudioListener {
    let listening: Listening
    private let request: ListenRequest
    private let start: Instant
    private let speech: SpeechDetector?
    private let tones: ToneDetector?
    /// Which of the request's sets the detector's are.
    private let sets: [Int]
    private let progress: CallProgressDetector?
    private let fax: FaxDetector?
    private let beep: BeepDetector?
    private var answerer: (blocks: SoundBlocks, judge: AnswererJudge)?
    private let reference: ReferenceListener?
    private var position = 0
    /// What may still come late.
    private static let patience = Duration.milliseconds(200)
    private static let rate = MediaServices.listeningRate

    init(_ request: ListenRequest, listening: Listening, services: MediaServices) {
        self.request = request
        self.listening = listening
        start = services.loop.now
        let isForSpeech = request.speech || request.silence != nil
        speech = isForSpeech ? SpeechDetector(settings: SpeechDetector.Settings(silence: request.silence)) : nil
        let most = Double(Self.rate) / 2
        sets = request.tones.indices.filter { index in
            let set = request.tones[index]
            return (1...4).contains(set.count) && set.allSatisfy { $0 > 0 && $0 < most }
        }
        tones = sets.isEmpty ? nil : ToneDetector(sets.map { request.tones[$0] }, rate: Self.rate)
        let plan = request.progress.flatMap(TonePlan.country)
        progress = plan.map { CallProgressDetector($0) }
        fax = request.fax ? FaxDetector() : nil
        beep = request.beep || request.answerer != nil ? BeepDetector(request.beepLimits) : nil
        answerer = request.answerer.map { (SoundBlocks(), AnswererJudge($0)) }
        reference = request.reference.map { path in
            ReferenceListener(path, services: services) { [weak listening] in listening?.onEvent?($0) }
        }
    }

    func hear(_ samples: UnsafeBufferPointer<Int16>, at now: Instant) {
        position += samples.count
        speech?.process(samples) { report($0, now) }
        tones?.process(samples) { report($0, now) }
        progress?.process(samples) { listening.onEvent?(.progress($0.map(\.rawValue), at: now)) }
        fax?.process(samples) { listening.onEvent?(.fax($0.rawValue, at: now)) }
        answerer?.blocks.process(samples) { judge($0, now) }
        beep?.process(samples) { report($0, now) }
        reference?.hear(samples)
    }

    /// Fills up with silence what did not come until `now`.
    func passTime(until now: Instant) {
        let missing = AudioClip.samples(in: now - start - Self.patience, rate: Self.rate) - position
        guard missing > 0 else { return }
        position += missing
        speech?.processMissing(missing) { report($0, now) }
        tones?.processMissing(missing) { report($0, now) }
        progress?.processMissing(missing) { listening.onEvent?(.progress($0.map(\.rawValue), at: now)) }
        fax?.processMissing(missing) { listening.onEvent?(.fax($0.rawValue, at: now)) }
        answerer?.blocks.processMissing(missing) { judge($0, now) }
        beep?.processMissing(missing) { report($0, now) }
        reference?.hear(repeatElement(0, count: missing))
    }

    private func instant(_ sample: Int, _ now: Instant) -> Instant {
        min(now, start + .nanoseconds(Int64(sample) * 1_000_000_000 / Int64(Self.rate)))
    }

    private func report(_ event: SpeechDetector.Event, _ now: Instant) {
        switch event {
        case .speechBegan(let sample):
            if request.speech { listening.onEvent?(.speechBegan(at: instant(sample, now))) }
        case .speechEnded(let sample):
            if request.speech { listening.onEvent?(.speechEnded(at: instant(sample, now))) }
        case .silence: listening.onEvent?(.silence(at: now))
        }
    }

    private func report(_ event: ToneDetector.Event, _ now: Instant) {
        guard case .began(let set, let sample) = event else { return }
        listening.onEvent?(.tone(request.tones[sets[set]], at: instant(sample, now)))
    }

    private func report(_ beep: BeepDetector.Beep, _ now: Instant) {
        // Whoever beeps before a word is no person.
        if answerer != nil { decide(AnswererVerdict(.machine, .beep), now) }
        if request.beep { listening.onEvent?(.beep(frequency: beep.frequency, length: beep.length, at: now)) }
    }

    private func judge(_ kind: SoundBlocks.Kind, _ now: Instant) {
        // The verdict leaves the rest of the samples to nobody.
        if let verdict = answerer?.judge.take(isSpeech: kind == .speech, .milliseconds(32)) { decide(verdict, now) }
    }

    private func decide(_ verdict: AnswererVerdict, _ now: Instant) {
        guard answerer != nil else { return }
        answerer = nil
        listening.onEvent?(.answerer(verdict, at: now))
    }
}
