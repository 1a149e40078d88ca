// A call without a network: `CallControl` in virtual time. Prompts last as long as their files, keys 100 ms; a script plays the far
// side (FarSide.swift).

package import Basics
package import CallEngine
package import Reactor

package final class SimulatedCall: CallControl {
    package let loop: EventLoop
    package var info: CallInfo {
        get {
            var info = facts
            info.texts = receivedTexts.all
            return info
        }
        set { facts = newValue }
    }
    private var facts: CallInfo
    package var direction: CallInfo.Direction { info.direction }
    package private(set) var state = CallState.new
    package var onEnd: ((CallEnd) -> Void)?
    package var onQuality: ((QualityEvent) -> Void)?
    package let digits = DigitInbox()
    package let receivedTexts = TextInbox()

    /// How long a file plays; nil: it cannot be played, for the reason.
    package var duration: (String) -> (length: Duration, failure: String?) = { _ in (.seconds(2), nil) }
    /// Why something that has to be got cannot be; nil: it can, and plays for as long as anything unknown.
    package var supply: (PromptOrigin) -> String? = { _ in nil }
    /// How a bridge target behaves.
    var behaviour: (String) -> BridgeBehaviour = { _ in BridgeBehaviour() }
    /// A call with a target that has answered, and what it does.
    var leg: (String, BridgeBehaviour) -> SimulatedCall? = { _, _ in nil }
    /// What it speaks, as `CallInfo.codec`.
    package var codec = "PCMU/8000"
    /// Called for what the flow does to the call, in words: the transcript.
    package var onAction: ((String) -> Void)?
    /// Called as each sound begins and when it has been played whole.
    package var onSound: ((AudioSource, _ isOver: Bool) -> Void)?
    /// Called when what plays was cut.
    package var onSoundStopped: (() -> Void)?
    /// Called for each key that the flow sends.
    package var onDigitsSent: ((String) -> Void)?

    private var playback: Playback?
    private var underlay: Playback?
    private var milestones: [(CallMilestone, Waiter<MilestoneResult>)] = []
    private var ears: [SimulatedEar] = []
    private var recordings: [Recording] = []
    /// Who is in a conference.
    var room: (String) -> RoomBehaviour = { _ in RoomBehaviour() }
    package internal(set) var participation: Participation?
    var rotation = 0
    package private(set) var isHeldByUs = false
    private(set) var wasHeld = false
    private(set) var finalStatus = 0
    private(set) var redirectedTo: [String] = []
    private(set) var recordedPaths: [String] = []

    package init(loop: EventLoop, info: CallInfo) {
        self.loop = loop
        facts = info
    }

    private var hasMedia: Bool { state == .answered || state == .early }

    // MARK: Signaling of a call that came in

    package func ring() throws(CallControlError) {
        try beforeAnswer("ring")
        guard state == .new else { return }
        onAction?("180 Ringing")
        state = .ringing
    }

    package func progress() throws(CallControlError) {
        try beforeAnswer("progress")
        onAction?("183 Session Progress")
        state = .early
        reach()
    }

    package func answer() async throws {
        try beforeAnswer("answer")
        accept()
        onAction?("200 OK")
    }

    package func reject(status: Int, reason: String?, headers: [CallHeader]) throws(CallControlError) {
        try beforeAnswer("reject")
        finalStatus = status
        info.sipStatus = status
        info.sipReason = reason ?? ""
        onAction?("\(status)\(reason.map { " \($0)" } ?? "")")
        finish(CallEnd(by: .callee, cause: CallEnd.cause(ofStatus: status)))
    }

    package func redirect(to contacts: [String]) throws(CallControlError) {
        try beforeAnswer("redirect")
        finalStatus = 302
        redirectedTo = contacts
        onAction?("302 to \(contacts.joined(separator: ", "))")
        finish(CallEnd(by: .callee, cause: .normal, detail: "redirected"))
    }

    private func beforeAnswer(_ operation: String) throws(CallControlError) {
        guard info.direction == .inbound else { throw .wrongState(operation: operation, why: "the call goes out") }
        if state.isEnded { throw .wrongState(operation: operation, why: "the call has ended") }
        if state == .answered { throw .wrongState(operation: operation, why: "the call was answered") }
    }

    func accept() {
        state = .answered
        info.answered = loop.now
        info.codec = codec
        // A line on which nothing is lost.
        (info.media.sent, info.media.received) = (1, 1)
        info.sipStatus = 200
        info.sipReason = "OK"
        info.timings.answer = loop.now - info.started
        reach()
    }

    // MARK: The far side

    /// 180 of the far side.
    package func farSideRings() {
        guard state == .new else { return }
        state = .ringing
        info.sipStatus = 180
        info.timings.ringing = loop.now - info.started
        reach()
    }

    func farSideSendsEarlyMedia() {
        guard state == .new || state == .ringing else { return }
        state = .early
        info.sipStatus = 183
        reach()
    }

    /// The far side answers.
    package func farSideAnswers() {
        guard !state.isEnded, state != .answered else { return }
        accept()
    }

    func farSideRejects(_ status: Int) {
        guard !state.isEnded, state != .answered else { return }
        info.sipStatus = status
        info.sipReason =
            [486: "Busy Here", 480: "Temporarily Unavailable", 603: "Decline", 503: "Service Unavailable"][status] ?? ""
        finish(CallEnd(by: .callee, cause: CallEnd.cause(ofStatus: status)))
    }

    /// The far side ends the call.
    package func farSideHangsUp() {
        let caller: CallEnd.Party = info.direction == .inbound ? .caller : .callee
        finish(CallEnd(by: caller, cause: state == .answered ? .normal : .cancelled))
    }

    /// A key of the far side goes down or comes up.
    package func farSidePresses(_ digit: Digit, _ phase: DigitEvent.Phase) {
        guard !state.isEnded else { return }
        digits.receive(DigitEvent(digit: digit, phase: phase, source: .rfc4733, at: loop.now))
    }

    /// Sound of the far side: speech, a tone or a file.
    package func farSideSounds(_ sound: FarSideSound?) {
        self.sound = sound
        for ear in ears { ear.hear(sound) }
    }

    package enum FarSideSound: Sendable {
        case speech
        case tone(ToneSpec)
        case prompt(path: String, length: Duration, began: Instant)

        /// A prompt is taken for speech, too.
        var isSpeech: Bool { if case .tone = self { false } else { true } }
    }
    private var sound: FarSideSound?

    // MARK: Milestones

    package func wait(
        for milestone: CallMilestone, timeout: Duration?
    ) async throws(CancellationError) -> MilestoneResult {
        if let now = result(of: milestone) { return now }
        let over = Waiter<MilestoneResult>()
        milestones.append((milestone, over))
        let timer = timeout.map { loop.schedule(after: $0) { over.resume(returning: .timedOut) } }
        defer {
            timer?.cancel()
            milestones.removeAll { $0.1 === over }
        }
        return try await over.wait()
    }

    private func result(of milestone: CallMilestone) -> MilestoneResult? {
        if case .ended(let end) = state { return .ended(end) }
        switch milestone {
        case .ringing: return state == .new ? nil : .reached
        case .earlyMedia: return hasMedia ? .reached : nil
        case .answered: return state == .answered ? .reached : nil
        }
    }

    private func reach() {
        for (milestone, over) in milestones {
            if let result = result(of: milestone) { over.resume(returning: result) }
        }
    }

    // MARK: The end

    package func hangUp(_ reason: HangUpReason) {
        guard !state.isEnded else { return }
        let party: CallEnd.Party = info.direction == .inbound ? .callee : .caller
        if info.direction == .inbound, state != .answered {
            finalStatus = reason.status
            info.sipStatus = reason.status
            onAction?("\(reason.status)\(reason.detail.isEmpty ? "" : " \(reason.detail)")")
            let cause = reason.cause == .normal ? CallEnd.cause(ofStatus: reason.status) : reason.cause
            finish(CallEnd(by: party, cause: cause, detail: reason.detail))
            return
        }
        onAction?(state == .answered ? "BYE" : "CANCEL")
        if state != .answered { (info.sipStatus, info.sipReason) = (487, "Request Terminated") }
        let cause = state != .answered && reason.cause == .normal ? CallEnd.Cause.cancelled : reason.cause
        finish(CallEnd(by: party, cause: cause, detail: reason.detail))
    }

    package func finalAnswer() async {}

    private func finish(_ end: CallEnd) {
        guard !state.isEnded else { return }
        state = .ended(end)
        info.ended = loop.now
        participation?.leave()
        playback?.stop()
        underlay?.stop()
        (playback, underlay) = (nil, nil)
        for ear in ears { ear.close() }
        ears = []
        for recording in recordings { recording.stop() }
        reach()
        onEnd?(end)
    }

    package func hold(music: AudioSource?) async throws {
        isHeldByUs = true
        wasHeld = true
        onAction?("hold")
    }

    package func unhold() async throws {
        guard isHeldByUs else { return }
        isHeldByUs = false
        onAction?("unhold")
    }

    // MARK: Media

    package func play(_ request: PlaybackRequest) -> Playback {
        if request.layer == .under { underlay?.stop() } else { playback?.stop() }
        let playback = Playback()
        guard hasMedia else {
            playback.finish(.failed("no audio yet"))
            return playback
        }
        for case .supplied(let origin) in request.sources {
            guard let failure = supply(origin) else { continue }
            playback.finish(.failed(failure))
            return playback
        }
        if request.layer == .under { underlay = playback } else { self.playback = playback }
        let timers = SoundTimers()
        var offset = Duration.zero
        let rounds = if case .times(let times) = request.loop { times } else { 1 }
        var endless = request.loop == .forever
        outer: for _ in 0..<max(rounds, 1) {
            var wasFile = false
            for source in request.sources {
                var length = Duration.zero
                switch source {
                case .silence(let duration): length = duration
                case .tone(_, let cadence, _): if cadence.isEmpty { endless = true } else { length = cadence.reduce(.zero, +) }
                case .countryTone(let name, let country):
                    if let cadence = CallTones.cadence(of: name, country: country) { length = cadence } else { endless = true }
                case .supplied(let origin):
                    length = Self.usualLength(of: origin)
                case .file(let path):
                    let known = duration(path)
                    if let failure = known.failure {
                        playback.finish(.failed(failure))
                        timers.cancel()
                        return playback
                    }
                    length = known.length
                }
                // `from` and `until` are about the first file.
                if source.isFile, !wasFile {
                    length = max(.zero, min(length, request.until ?? length) - request.from)
                    wasFile = true
                }
                note(source, after: offset, isOver: false, timers)
                offset += length
                if endless { break outer }
                note(source, after: offset, isOver: true, timers)
            }
        }
        let began = loop.now
        playback.stopAudio = { [weak self, weak playback] in
            guard let self else { return }
            playback?.played = self.loop.now - began
            timers.cancel()
            self.onSoundStopped?()
        }
        if !endless {
            let end = loop.schedule(after: offset) { [weak playback] in playback?.finish(.finished) }
            timers.all.append(end)
        }
        return playback
    }

    /// A text takes 60 ms a letter.
    private static func usualLength(of origin: PromptOrigin) -> Duration {
        switch origin {
        case .web: .seconds(2)
        case .speech(let utterance): max(.milliseconds(500), .milliseconds(60 * utterance.text.count))
        }
    }

    private func note(_ source: AudioSource, after offset: Duration, isOver: Bool, _ timers: SoundTimers) {
        if offset == .zero, !isOver {
            onSound?(source, false)
            return
        }
        timers.all.append(loop.schedule(after: offset) { [weak self] in self?.onSound?(source, isOver) })
    }

    package func record(_ request: RecordingRequest) throws(CallControlError) -> Recording {
        guard hasMedia else { throw .noMedia(operation: "record") }
        guard !recordings.contains(where: { $0.result == nil }) else {
            throw .invalid(operation: "record", why: "a recording runs already")
        }
        let recording = Recording()
        recordedPaths.append(request.path)
        let began = loop.now
        recording.stopRecorder = { [weak recording, loop] in
            let length = loop.now - began
            let bytes = 44 + Int(length.milliseconds) * 16
            // The file is closed elsewhere.
            loop.schedule(after: .milliseconds(1)) {
                recording?.finish(RecordingResult(path: request.path, length: length, bytes: bytes, complete: true))
            }
        }
        recordings.append(recording)
        return recording
    }

    package func listen(_ request: ListenRequest) -> Listening {
        let ear = SimulatedEar(request, on: loop, sound, missing: request.reference.flatMap { duration($0).failure })
        ears.append(ear)
        ear.listening.stopListening = { [weak self, weak ear] in
            ear?.close()
            self?.ears.removeAll { $0 === ear }
        }
        return ear.listening
    }

    package func sendDigits(_ keys: String, options: SendDigitsOptions) async throws {
        guard hasMedia else { throw CallControlError.noMedia(operation: "send-digits") }
        for key in keys {
            switch key {
            case "w": try await loop.sleep(for: .milliseconds(500))
            case "W": try await loop.sleep(for: .seconds(1))
            default:
                onDigitsSent?(String(key))
                try await loop.sleep(for: options.duration + options.gap)
            }
        }
    }
}

/// The timers of one playback.
private final class SoundTimers {
    var all: [LoopTimer] = []

    func cancel() {
        for timer in all { timer.cancel() }
        all = []
    }
}
