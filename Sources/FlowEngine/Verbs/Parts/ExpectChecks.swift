// What `expect` can ask, one struct a question: read from the flow, asked of the call, answered with a verdict.

import Basics
import CallEngine
import Reactor

/// One question of an `expect`.
enum ExpectCheck: Sendable {
    case answered
    case status([String])
    case digits(FlowText)
    /// A text by MESSAGE.
    case text(FlowText)
    case speech
    case silence(Duration)
    case tone(ToneSpec)
    /// A recording, by its file's name in the prompts folder.
    case prompt(FlowText)
    case header(name: String, wanted: FlowText?)
    case codec([String])
    case quality(QualityCheck)
    case timing(TimingCheck)
    /// Nobody answers within the time.
    case unanswered
    case ended(EndPattern)

    /// For results: "hears speech".
    var name: String {
        switch self {
        case .answered: "answered"
        case .status(let wanted): "status \(wanted.joined(separator: " or "))"
        case .digits(let text): "digits \(text.source)"
        case .text(let text): "text \(text.source)"
        case .speech: "hears speech"
        case .silence: "hears silence"
        case .tone(let tone): "hears \(tone.words)"
        case .prompt(let text): "hears \(text.source)"
        case .header(let name, _): "header \(name)"
        case .codec(let wanted): "codec \(wanted.joined(separator: " or "))"
        case .quality(let check): check.name
        case .timing(let check): check.name
        case .unanswered: "is not answered"
        case .ended(let pattern): pattern.name
        }
    }
}

/// Asks one question of a call.
struct ExpectAsker {
    let run: FlowRun
    let within: Duration
    private var call: any CallControl { run.call }

    init(run: FlowRun, within: Duration) {
        self.run = run
        self.within = within
    }

    func ask(_ check: ExpectCheck) async throws -> (passed: Bool, actual: String) {
        switch check {
        case .answered: return try await answered()
        case .status(let wanted): return try await status(wanted)
        case .digits(let text): return try await digits(try run.text(text))
        case .text(let wanted): return try await text(try run.text(wanted))
        case .speech:
            return try await hears(ListenRequest(speech: true), "no speech") { if case .speechBegan = $0 { true } else { false } }
        case .silence(let length):
            return try await hears(ListenRequest(silence: length), "no silence") { if case .silence = $0 { true } else { false } }
        case .tone(let tone): return try await hears(tone.listening, "no \(tone.words)", tone.isHeard)
        case .prompt(let text): return try await prompt(text)
        case .header(let name, let wanted): return try header(name, wanted)
        case .codec(let wanted): return try await codec(wanted)
        case .quality(let check): return check.verdict(on: call.info.media, codec: call.info.codec)
        case .timing(let check): return check.verdict(on: call.info, at: run.loop.now)
        case .unanswered: return try await unanswered()
        case .ended(let pattern): return try await ended(pattern)
        }
    }

    private var waited: String { "within \(FlowDuration.print(within))" }

    private func since(_ start: Instant) -> String { "after \(Int((run.loop.now - start).milliseconds.rounded())) ms" }

    /// Waits for the answer; the end of the call does not end the flow meanwhile.
    private func answerOrEnd() async throws -> MilestoneResult {
        try await run.seeingTheEnd { try await call.wait(for: .answered, timeout: within) }
    }

    private func answered() async throws -> (Bool, String) {
        if call.state == .answered { return (true, "answered already") }
        let start = run.loop.now
        if call.direction == .inbound { return (false, "the flow has not answered") }
        let reached = try await answerOrEnd()
        switch reached {
        case .reached: return (true, since(start))
        case .timedOut: return (false, "no answer \(waited)")
        case .ended(let end): return (false, run.words(for: end))
        }
    }

    /// A call that ends without an answer is what is wanted, too.
    private func unanswered() async throws -> (Bool, String) {
        if call.state == .answered { return (false, "answered already") }
        let start = run.loop.now
        if call.direction == .inbound { return (true, "the flow has not answered") }
        let reached = try await answerOrEnd()
        switch reached {
        case .reached: return (false, "answered \(since(start))")
        case .timedOut: return (true, "no answer \(waited)")
        case .ended(let end):
            run.handledEnd = true
            return (true, run.words(for: end))
        }
    }

    /// Of a call that is over, as in `always`; one that rings is waited for.
    private func ended(_ pattern: EndPattern) async throws -> (Bool, String) {
        if case .ended(let end) = call.state { return (pattern.matches(end), EndPattern.words(end)) }
        if call.state == .answered { return (false, "the call goes on") }
        let reached = try await answerOrEnd()
        switch reached {
        case .reached: return (false, "answered")
        case .timedOut: return (false, "no end \(waited)")
        case .ended(let end):
            if pattern.matches(end) { run.handledEnd = true }
            return (pattern.matches(end), EndPattern.words(end))
        }
    }

    private func status(_ wanted: [String]) async throws -> (Bool, String) {
        if call.direction == .outbound, call.state != .answered, !call.state.isEnded {
            let reached = try await answerOrEnd()
            if reached == .timedOut { return (false, "no final answer \(waited)") }
        }
        let status = String(call.info.sipStatus)
        let passed = wanted.contains { pattern in
            pattern.count == status.count && zip(pattern, status).allSatisfy { $0 == $1 || $0 == "x" }
        }
        if passed { run.handledEnd = true }
        return (passed, status == "0" ? "no final answer" : "\(status) \(call.info.sipReason)")
    }

    /// `opus` is any Opus; `opus/48000/2` is that of this clock.
    private func codec(_ wanted: [String]) async throws -> (Bool, String) {
        if call.info.codec.isEmpty, call.direction == .outbound, !call.state.isEnded {
            let reached = try await run.seeingTheEnd { try await call.wait(for: .earlyMedia, timeout: within) }
            if case .ended(let end) = reached { return (false, run.words(for: end)) }
        }
        let codec = call.info.codec.lowercased()
        let name = codec.prefix { $0 != "/" }
        let passed = wanted.contains { $0.lowercased() == codec || $0.lowercased() == name }
        return (passed && !codec.isEmpty, codec.isEmpty ? "no audio \(waited)" : call.info.codec)
    }

    private func digits(_ wanted: String) async throws -> (Bool, String) {
        let pattern =
            try wanted.hasPrefix("/") && wanted.hasSuffix("/") && wanted.count > 1
            ? Pattern(String(wanted.dropFirst().dropLast())) : nil
        let start = run.loop.now
        let keys = Mailbox<DigitEvent>(loop: run.loop)
        for event in call.digits.read({ keys.send($0) }) { keys.send(event) }
        defer { call.digits.stopReading() }
        var heard = ""
        while let event = try await keys.next(until: start + within) {
            guard event.phase == .began else { continue }
            heard.append(event.digit.character)
            if let pattern {
                if pattern.matches(heard, whole: true) { return (true, heard) }
            } else if heard == wanted {
                return (true, heard)
            } else if !wanted.hasPrefix(heard) {
                break
            }
        }
        return (false, heard.isEmpty ? "no digits \(waited)" : heard)
    }

    /// The first that fits, of those that came and of those that come. It and what came before it is done with.
    private func text(_ wanted: String) async throws -> (Bool, String) {
        let isExpression = wanted.count > 1 && wanted.hasPrefix("/") && wanted.hasSuffix("/")
        let pattern = isExpression ? try Pattern(String(wanted.dropFirst().dropLast())) : nil
        let inbox = call.receivedTexts
        let end = run.loop.now + within
        while true {
            let waiting = inbox.waiting
            if let place = waiting.firstIndex(where: { pattern?.matches($0) ?? ($0 == wanted) }) {
                inbox.take(place - waiting.startIndex + 1)
                return (true, waiting[place])
            }
            let change = Waiter<Bool>()
            inbox.onText = { change.resume(returning: true) }
            let timer = run.loop.schedule(at: end) { change.resume(returning: false) }
            defer {
                timer.cancel()
                inbox.onText = nil
            }
            guard try await change.wait() else { return (false, inbox.waiting.last ?? "no text \(waited)") }
        }
    }

    /// Most of the recording is heard; how much of it, when it is not enough.
    private func prompt(_ text: FlowText) async throws -> (Bool, String) {
        var request = ListenRequest()
        request.reference = try run.path(text, under: run.frame.flow.promptsFolder)
        let name = try run.shown(text)
        var share = 0.0
        var failure: String?
        let verdict = try await hears(request, "no \(name)") { event in
            switch event {
            case .reference(let heard, _): share = heard
            case .referenceFailed(let why): failure = why
            default: break
            }
            return share >= ListenRequest.enoughOfReference || failure != nil
        }
        if let failure { return (false, failure) }
        if verdict.0 || share == 0 { return verdict }
        return (false, "\(Int(share * 100))% of \(name) \(waited)")
    }

    /// Listens until an event is `isIt`; `missing` says what was not heard.
    private func hears(
        _ request: ListenRequest, _ missing: String, _ isIt: @escaping (ListenEvent) -> Bool
    ) async throws -> (Bool, String) {
        let start = run.loop.now
        if let why = try await run.noAudio("expect: hears", within) { return (false, why) }
        if let why = call.info.undecodable { return (false, why) }
        let over = Waiter<Bool>()
        let listening = call.listen(request)
        listening.onEvent = { if isIt($0) { over.resume(returning: true) } }
        let timer = run.loop.schedule(at: start + within) { over.resume(returning: false) }
        defer {
            timer.cancel()
            listening.stop()
        }
        return try await over.wait() ? (true, since(start)) : (false, "\(missing) \(waited)")
    }

    private func header(_ name: String, _ wanted: FlowText?) throws -> (Bool, String) {
        guard let header = call.info.headers.first(where: { $0.name.lowercased() == name.lowercased() }) else {
            return (false, "no such header")
        }
        guard let wanted else { return (true, header.value) }
        let text = try run.text(wanted)
        if text.count > 1, text.hasPrefix("/"), text.hasSuffix("/") {
            return (try Pattern(String(text.dropFirst().dropLast())).matches(header.value), header.value)
        }
        return (text == header.value, header.value)
    }
}
