// What a listener of a simulated call hears: the far side's script says what sounds, so nothing has to be found in it.

import Basics
import CallEngine
import Reactor

/// One listener. Events come a turn after the sound, when the one who listens has said what it wants to hear about.
final class SimulatedEar {
    let listening = Listening()
    private let request: ListenRequest
    private let loop: EventLoop
    private var sound: SimulatedCall.FarSideSound?
    private var since: Instant
    /// nil: nobody asks, or it is decided.
    private var judge: AnswererJudge?
    private var timers: [LoopTimer] = []
    private var isClosed = false

    private static let block = Duration.milliseconds(32)

    /// - Parameter missing: why the reference cannot be looked for.
    init(_ request: ListenRequest, on loop: EventLoop, _ sound: SimulatedCall.FarSideSound?, missing: String?) {
        self.request = request
        self.loop = loop
        since = loop.now
        judge = request.answerer.map { AnswererJudge($0) }
        timers.append(
            loop.schedule(at: loop.now) { [weak self] in
                self?.hear(sound, isFirst: true)
                if let missing { self?.tell(.referenceFailed(missing)) }
            })
        if judge != nil { waitForBlock() }
    }

    func close() {
        isClosed = true
        for timer in timers { timer.cancel() }
        timers = []
    }

    func hear(_ sound: SimulatedCall.FarSideSound?, isFirst: Bool = false) {
        guard !isClosed else { return }
        let (before, lasted) = (self.sound, loop.now - since)
        self.sound = sound
        if !isFirst { since = loop.now }
        if before?.isSpeech == true, sound == nil, request.speech { tell(.speechEnded(at: loop.now)) }
        if case .tone(let tone)? = before { toneEnded(tone, lasted) }
        if sound?.isSpeech == true, request.speech { tell(.speechBegan(at: loop.now)) }
        switch sound {
        case .speech?: break
        case .tone(let tone)?: toneBegan(tone)
        case .prompt(let path, let length, let began)?:
            if path == request.reference { hearPrompt(length, missed: loop.now - began) }
        case nil: armSilence()
        }
    }

    private func tell(_ event: ListenEvent) { listening.onEvent?(event) }

    private func toneBegan(_ tone: ToneSpec) {
        let heard: [Double]
        switch tone {
        case .named(let name, let country):
            heard = []
            if request.progress == country { tell(.progress(CallTones.namesLike(name, country: country), at: loop.now)) }
        case .frequencies(let frequencies, _, _): heard = frequencies
        }
        for wanted in request.tones where wanted.allSatisfy({ tone in heard.contains { abs($0 - tone) <= 10 } }) {
            tell(.tone(wanted, at: loop.now))
        }
        // Without a cadence all tones of these frequencies may be meant.
        let names = request.progress.map { CallTones.names(of: heard, country: $0) } ?? []
        if !names.isEmpty { tell(.progress(names, at: loop.now)) }
        if request.fax, heard == [1100] { tell(.fax("calling", at: loop.now)) }
        if request.fax, heard == [2100] { tell(.fax("answering", at: loop.now)) }
    }

    private func hearPrompt(_ length: Duration, missed: Duration) {
        let needed = length * ListenRequest.enoughOfReference
        guard missed <= length - needed else { return }
        let began = since
        timers.append(
            loop.schedule(after: needed) { [weak self] in
                guard let self, since == began else { return }
                tell(.reference(share: ListenRequest.enoughOfReference, at: loop.now))
            })
    }

    private func toneEnded(_ tone: ToneSpec, _ length: Duration) {
        guard case .frequencies(let heard, _, _) = tone, heard.count == 1, request.isBeep(heard[0], length) else { return }
        if judge != nil { decide(AnswererVerdict(.machine, .beep)) }
        if request.beep { tell(.beep(frequency: heard[0], length: length, at: loop.now)) }
    }

    private func armSilence() {
        guard let length = request.silence else { return }
        let began = since
        timers.append(
            loop.schedule(at: began + length) { [weak self] in
                if let self, sound == nil, since == began { tell(.silence(at: loop.now)) }
            })
    }

    private func waitForBlock() {
        timers.append(
            loop.schedule(after: Self.block) { [weak self] in
                guard let self, judge != nil else { return }
                if let verdict = judge?.take(isSpeech: sound?.isSpeech == true, Self.block) {
                    decide(verdict)
                } else {
                    waitForBlock()
                }
            })
    }

    private func decide(_ verdict: AnswererVerdict) {
        judge = nil
        tell(.answerer(verdict, at: loop.now))
    }
}
