// The state machine of `collect`: keys, ends of prompts and deadlines in, what to play and the result out. It knows no clock and
// no audio (CollectDriver has them).
//
//   state      prompt ended    key of the entry            deadline            last key
//   prompting  -> entering     cuts: -> entering           -                   kept or dropped
//   entering   -              joins the entry              silence / invalid   -> done, or next try
//                                                          / timeout
//   farewell   -> done         left for the next step      -                   -
//
// A try begins in `prompting` (passed at once when nothing is to be played); a counter that is used up leads to `farewell`.

package import Basics
package import CallEngine

package struct CollectMachine {
    package enum Action: Equatable, Sendable {
        /// Plays these one after the other; `promptEnded` follows unless it is stopped.
        case play([CollectSettings.Prompt])
        case stopPrompt
        case finish(CollectResult)
    }

    private enum State: Equatable {
        case idle, prompting, entering
        case farewell(CollectResult.Reason)
        case done
    }

    private enum Verdict {
        case silence
        case invalid
        case valid(CollectResult.Reason, choice: Int)
    }

    private let settings: CollectSettings
    private var state = State.idle
    private var began = Instant.zero
    private var entry: [Digit] = []
    private var keys = ""
    private var ignored = ""
    private var source: DigitSource?
    /// The key that is down; `between` starts when it comes up.
    private var held: Digit?
    /// Keys that did not cut the prompt that plays.
    private var kept: [DigitEvent] = []
    /// Typed ahead and not looked at yet.
    private var queue: [DigitEvent] = []
    private var silences = 0
    private var invalids = 0
    /// `first-digit` or `between`.
    private var timer: Instant?
    private var withinEnd: Instant?

    package init(_ settings: CollectSettings) {
        self.settings = settings
    }

    /// When `deadline` is to be called; nil while nothing runs.
    package var nextDeadline: Instant? {
        guard let timer else { return withinEnd }
        return min(timer, withinEnd ?? .never)
    }

    /// Keys that no entry used, for the step that comes next. Read it after the result.
    package var unused: [DigitEvent] { queue }

    // MARK: Events

    /// The step begins; `typed` are the keys that were pressed before.
    package mutating func start(at now: Instant, typed: [DigitEvent]) -> [Action] {
        precondition(state == .idle, "a machine starts once")
        began = now
        queue = settings.typeAhead ? typed : []
        return beginTry([.first], at: now)
    }

    package mutating func digit(_ event: DigitEvent) -> [Action] {
        switch state {
        case .idle, .done: return []
        case .farewell:
            queue.append(event)
            return []
        case .prompting: return digitDuringPrompt(event)
        case .entering: return digitOfEntry(event)
        }
    }

    package mutating func promptEnded(at now: Instant) -> [Action] {
        switch state {
        case .prompting: return enter(at: now)
        case .farewell(let reason): return finish(reason, value: "", choice: nil, at: now)
        case .idle, .entering, .done: return []
        }
    }

    /// `nextDeadline` has come: `first-digit`, `between` and `within` ask the same question.
    package mutating func deadline(at now: Instant) -> [Action] {
        guard state == .entering, let due = nextDeadline, due <= now else { return [] }
        if entry.isEmpty { return conclude(.silence, at: now) }
        return conclude(entry.count < settings.min ? .invalid : judged(.timeout), at: now)
    }

    // MARK: Tries

    private mutating func beginTry(_ prompts: [CollectSettings.Prompt], at now: Instant) -> [Action] {
        state = .prompting
        entry = []
        keys = ""
        source = nil
        held = nil
        kept = []
        stopTimers()
        // Typed ahead: first in the entry. What completes it leaves no reason to play anything.
        if let verdict = takeQueue() { return conclude(verdict, at: now) }
        let parts = available(prompts)
        return parts.isEmpty ? enter(at: now) : [.play(parts)]
    }

    /// `repeat` falls back to `first`; what is not there is left out.
    private func available(_ prompts: [CollectSettings.Prompt]) -> [CollectSettings.Prompt] {
        prompts.map { $0 == .repeat && !settings.prompts.contains(.repeat) ? .first : $0 }.filter(settings.prompts.contains)
    }

    /// The prompt is over: the timers begin, keys that were kept are delivered.
    private mutating func enter(at now: Instant) -> [Action] {
        state = .entering
        if withinEnd == nil, let within = settings.within { withinEnd = now + within }
        queue = kept + queue
        kept = []
        if let verdict = takeQueue() { return conclude(verdict, at: now) }
        if entry.isEmpty {
            timer = now + settings.firstDigit
        } else {
            timer = held == nil ? now + settings.between : nil
        }
        return []
    }

    private mutating func takeQueue() -> Verdict? {
        while !queue.isEmpty {
            let event = queue.removeFirst()
            if event.phase == .ended {
                if held == event.digit { held = nil }
            } else if belongs(event) {
                if let verdict = accept(event) { return verdict }
            }
        }
        return nil
    }

    // MARK: Keys

    private mutating func digitDuringPrompt(_ event: DigitEvent) -> [Action] {
        guard event.phase == .began else {
            if !kept.isEmpty { kept.append(event) }
            if held == event.digit { held = nil }
            return []
        }
        guard belongs(event) else { return [] }
        let cuts: Bool =
            switch settings.bargeIn {
            case .any: true
            case .none: false
            case .keys(let keys): keys.contains(event.digit)
            }
        guard cuts else {
            if settings.duringPrompt == .keep { kept.append(event) }
            return []
        }
        kept.append(event)
        return [.stopPrompt] + enter(at: event.at)
    }

    private mutating func digitOfEntry(_ event: DigitEvent) -> [Action] {
        guard event.phase == .began else {
            guard held == event.digit else { return [] }
            held = nil
            if !entry.isEmpty { timer = event.at + settings.between }
            return []
        }
        guard belongs(event) else { return [] }
        timer = nil
        if let verdict = accept(event) { return conclude(verdict, at: event.at) }
        return []
    }

    /// Whether the key is one of the entry's; others are counted and change nothing.
    private mutating func belongs(_ event: DigitEvent) -> Bool {
        if let sources = settings.sources, !sources.contains(event.source) { return false }
        if event.digit == settings.finishOn || settings.allow.contains(event.digit) { return true }
        ignored.append(event.digit.character)
        return false
    }

    private mutating func accept(_ event: DigitEvent) -> Verdict? {
        held = event.digit
        keys.append(event.digit.character)
        source = event.source
        if event.digit == settings.finishOn {
            return entry.count < settings.min ? .invalid : judged(.finished)
        }
        entry.append(event.digit)
        return entry.count >= settings.max ? judged(.complete) : nil
    }

    private func judged(_ reason: CollectResult.Reason) -> Verdict {
        settings.judge(String(entry.map(\.character))).map { .valid(reason, choice: $0) } ?? .invalid
    }

    // MARK: Ends

    private mutating func conclude(_ verdict: Verdict, at now: Instant) -> [Action] {
        stopTimers()
        switch verdict {
        case .valid(let reason, let choice):
            return finish(reason, value: String(entry.map(\.character)), choice: choice, at: now)
        case .silence:
            silences += 1
            return silences < settings.silenceTries ? beginTry([.silence, .repeat], at: now) : farewell(.silence, at: now)
        case .invalid:
            invalids += 1
            return invalids < settings.invalidTries ? beginTry([.invalid, .repeat], at: now) : farewell(.invalid, at: now)
        }
    }

    private mutating func farewell(_ reason: CollectResult.Reason, at now: Instant) -> [Action] {
        let parts = available([reason == .silence ? .silence : .invalid, .goodbye])
        guard !parts.isEmpty else { return finish(reason, value: "", choice: nil, at: now) }
        state = .farewell(reason)
        return [.play(parts)]
    }

    private mutating func finish(
        _ reason: CollectResult.Reason, value: String, choice: Int?, at now: Instant
    ) -> [Action] {
        state = .done
        stopTimers()
        return [
            .finish(
                CollectResult(
                    value: value, reason: reason, choice: choice, keys: keys, ignored: ignored, source: source, took: now - began)
            )
        ]
    }

    private mutating func stopTimers() {
        timer = nil
        withinEnd = nil
    }
}
