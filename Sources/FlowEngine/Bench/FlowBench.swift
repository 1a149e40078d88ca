// Runs the cases of a flow against the real interpreter in virtual time. The same case gives the same result every time.

import Basics
import CallEngine
import Reactor

/// What a case came to.
package struct CaseResult: Sendable {
    package var name: String
    package var place: SourcePlace
    /// What was expected and what was there instead; empty when it passed.
    package var failures: [String]
    /// What happened, a line an event: `  2.000 caller presses 1`.
    package var transcript: [String]
    /// Virtual time from the start of the call to the end of the flow.
    package var took: Duration
    /// Every place at which a step began.
    package var steps: Set<SourcePlace>

    package var passed: Bool { failures.isEmpty }
}

package enum FlowBench {
    /// Runs all cases.
    package static func run(_ flow: Flow, prompts: any PromptInspector = FileExistence()) -> [CaseResult] {
        flow.cases.map { run($0, of: flow, prompts: prompts) }
    }

    /// Runs one case on a loop of its own.
    package static func run(_ flowCase: FlowCase, of flow: Flow, prompts: any PromptInspector = FileExistence()) -> CaseResult {
        CaseRun(flow: flow, flowCase: flowCase, prompts: prompts).run()
    }
}

/// One case at work.
final class CaseRun: FlowObserver {
    let flow: Flow
    let flowCase: FlowCase
    let loop = VirtualLoop()
    let call: SimulatedCall
    let environment: FlowEnvironment
    private let web: SimulatedWeb
    private(set) var played: [(name: String, whole: Bool)] = []
    private(set) var events: [FlowEvent] = []
    private(set) var sent = ""
    private(set) var outcome: FlowOutcome?
    private(set) var variables: [String: Value] = [:]
    private var transcript: [String] = []
    private var problems: [String] = []
    private var steps: Set<SourcePlace> = []
    private var farSide: FarSide?
    /// Those whom a bridge has called.
    private var callees: [FarSide] = []

    init(flow: Flow, flowCase: FlowCase, prompts: any PromptInspector) {
        self.flow = flow
        self.flowCase = flowCase
        var info = CallInfo(
            id: "case-1", direction: flowCase.direction, from: Self.party(flowCase.from), to: Self.party(flowCase.to),
            started: .zero)
        info.headers = flowCase.headers
        info.startedAt = flowCase.startedAt
        call = SimulatedCall(loop: loop, info: info)
        if let codecs = flow.codecs { call.prefer(codecs) }
        web = SimulatedWeb(answers: flowCase.web)
        var environment = FlowEnvironment()
        environment.variables = flowCase.environment
        environment.arguments = flowCase.arguments
        environment.target = flowCase.target
        environment.recordingsFolder = "/recordings"
        environment.requester = web
        self.environment = environment
        call.duration = { path in
            // Recordings are made up, so they last as long as anything unknown.
            if path.hasPrefix("/recordings/") { return (.seconds(2), nil) }
            return switch prompts.inspect(path: path) {
            case .playable(let length): (length ?? .seconds(2), nil)
            case .missing: (.zero, "there is no file \(PathConfinement.folderless(path))")
            case .unreadable(let why): (.zero, "\(PathConfinement.folderless(path)): \(why)")
            }
        }
        call.supply = { [web] origin in
            switch origin {
            case .web(let url, _): web.file(at: url).map { "\(origin.shown): \($0)" }
            case .speech: nil
            }
        }
        call.behaviour = { target in
            flowCase.bridges.first { FlowBenchPattern.matches($0.pattern, target) }?.behaviour ?? BridgeBehaviour()
        }
        call.room = { name in
            flowCase.rooms.first { FlowBenchPattern.matches($0.pattern, name) }?.behaviour ?? RoomBehaviour()
        }
    }

    private static func party(_ uri: String) -> CallParty {
        let address = uri.drop { $0 != ":" }.dropFirst()
        let parts = address.split(separator: "@", maxSplits: 1)
        return CallParty(uri: uri, user: parts.count == 2 ? String(parts[0]) : "", host: String(parts.last ?? ""))
    }

    func run() -> CaseResult {
        let farSide = FarSide(call: call, script: flowCase.script, name: flowCase.direction == .inbound ? "caller" : "callee")
        self.farSide = farSide
        farSide.onStep = { [unowned self] words in note(words) }
        farSide.onStuck = { [unowned self] problem in problems.append(problem) }
        call.onAction = { [unowned self] words in note(words) }
        call.onSound = { [unowned self] source, isOver in heard(source, isOver, by: self.farSide) }
        call.leg = { [unowned self] target, behaviour in leg(to: target, behaviour) }
        call.onDigitsSent = { [unowned self] key in
            sent += key
            self.farSide?.received(key)
        }
        var environment = environment
        environment.observers.append(self)
        let run = FlowRun(flow: flow, call: call, environment: environment)
        var over = false
        loop.spawn {
            self.outcome = await run.run()
            self.variables = self.flow.names.reduce(into: [:]) { $0[$1] = run.variable($1) }
            over = true
        }
        farSide.start()
        if !loop.run(until: .zero + flowCase.limit), !over {
            problems.append("the call did not end within \(FlowDuration.print(flowCase.limit)) (of virtual time)")
            call.farSideHangsUp()
            loop.run(for: .seconds(120))
        }
        if !over { problems.append("the flow did not end after the call: step \(run.currentPlace?.description ?? "-")") }
        for side in [farSide] + callees { side.finish() }
        let took = (call.info.ended ?? loop.now) - Instant.zero
        let failures = problems + flowCase.expectations.compactMap { CaseJudge(run: self).failure(of: $0) }
        return CaseResult(
            name: flowCase.name, place: flowCase.place, failures: failures, transcript: transcript, took: took, steps: steps)
    }

    /// A target of a bridge that has answered.
    private func leg(to target: String, _ behaviour: BridgeBehaviour) -> SimulatedCall {
        let info = CallInfo(
            id: "\(call.info.id)-\(callees.count + 1)", direction: .outbound, from: call.info.from, to: Self.party(target),
            started: loop.now)
        let leg = SimulatedCall(loop: loop, info: info)
        (leg.duration, leg.supply) = (call.duration, call.supply)
        leg.accept()
        let side = FarSide(call: leg, script: behaviour.script, name: target)
        callees.append(side)
        side.onStep = { [unowned self] words in note(words) }
        side.onStuck = { [unowned self] problem in problems.append(problem) }
        leg.onSound = { [unowned self] source, isOver in heard(source, isOver, by: side, of: target) }
        leg.onDigitsSent = { key in side.received(key) }
        side.start()
        return leg
    }

    // MARK: What happens

    private func note(_ words: String) {
        let seconds = Value.double(((loop.now - .zero).milliseconds).rounded() / 1000).text
        transcript.append("\(String(repeating: " ", count: max(0, 9 - seconds.count)))\(seconds)  \(words)")
    }

    private func heard(_ source: AudioSource, _ isOver: Bool, by side: FarSide?, of target: String? = nil) {
        let name = name(of: source)
        if isOver {
            if let index = played.lastIndex(where: { $0.name == name }) { played[index].whole = true }
        } else {
            played.append((name, false))
            note("plays \(name)\(target.map { " to \($0)" } ?? "")")
        }
        side?.heard(name, whole: isOver)
    }

    private func name(of source: AudioSource) -> String {
        switch source {
        case .file(let path):
            let roots = ["/recordings", flow.promptsFolder] + flow.subflows.values.map(\.promptsFolder)
            return PathConfinement.relative(path, to: roots)
        case .supplied(.web(let url, _)): return url
        case .supplied(.speech(let utterance)): return utterance.text
        case .countryTone(let name, _): return "tone \(name)"
        case .tone(let frequencies, _, _): return "tone \(frequencies.map { Value.double($0).text }.joined(separator: "+"))"
        case .silence(let length): return "silence \(FlowDuration.print(length))"
        }
    }

    func flow(_ run: FlowRun, did event: FlowEvent) {
        events.append(event)
        switch event {
        case .stepBegan(_, let place): steps.insert(place)
        case .section(let name): note("section \(name)")
        case .collected(let digits, let reason): note("collected \(digits.isEmpty ? "nothing" : digits) (\(reason))")
        case .digitsSent(let keys): note("sends \(keys)")
        case .bridged(let target, let outcome, _): note("bridge to \(target): \(outcome)")
        case .transferred(let target, let outcome, _): note("transfer to \(target): \(outcome)")
        case .messageSent(let target, let text, let outcome, _):
            note("text to \(target.isEmpty ? "the far side" : target): \(outcome): \(text)")
        case .infoSent(let body, let outcome, _): note("INFO: \(outcome): \(body)")
        case .conferenceLeft(let room, let outcome, let members): note("conference \(room): \(outcome), \(members) in it")
        case .recordingBegan(let path): note("records \(path)")
        case .recorded(let path, let length, _): note("recorded \(path), \(FlowDuration.print(length))")
        case .requested(let method, let url, let status): note("\(method) \(url): \(status)")
        case .log(let text): note("log: \(text)")
        case .warning(let text, let place): note("warning: \(place.map { "\($0): " } ?? "")\(text)")
        case .tag(let name, let value): note("tag \(name)\(value.isEmpty ? "" : " = \(value)")")
        case .expectation(let verdict): note("\(verdict.passed ? "passed" : "FAILED"): \(verdict.name): \(verdict.actual)")
        case .failed(let text, let place): note("error: \(place.map { "\($0): " } ?? "")\(text)")
        case .quality, .promptBegan, .promptEnded, .stepEnded, .bridging, .conferenceJoined, .conferenceSpeaking, .ended: break
        }
    }

    var requests: [String] { web.requests.map { "\($0.method) \($0.url)" } }
}

/// Texts with `*` for anything, `/pattern/`, or the text itself.
enum FlowBenchPattern {
    static func matches(_ pattern: String, _ text: String) -> Bool {
        if pattern.count > 1, pattern.hasPrefix("/"), pattern.hasSuffix("/"),
            let compiled = try? Pattern(String(pattern.dropFirst().dropLast()))
        {
            return compiled.matches(text)
        }
        guard pattern.contains("*") else { return pattern == text }
        let parts = pattern.split(separator: "*", omittingEmptySubsequences: false)
        var rest = Substring(text)
        guard rest.hasPrefix(parts[0]) else { return false }
        rest = rest.dropFirst(parts[0].count)
        for part in parts.dropFirst().dropLast() {
            guard !part.isEmpty else { continue }
            guard let range = rest.firstRange(of: part) else { return false }
            rest = rest[range.upperBound...]
        }
        return rest.hasSuffix(parts[parts.count - 1])
    }
}

/// Answers `request` as the case says; each URL's answers in turn, the last one over and over.
private final class SimulatedWeb: WebRequester {
    private let answers: [(pattern: String, answers: [WebAnswer])]
    private var asked: [Int: Int] = [:]
    private(set) var requests: [WebRequest] = []

    init(answers: [(pattern: String, answers: [WebAnswer])]) { self.answers = answers }

    /// Why a prompt at `url` is not there; nil: it is. A prompt takes no time to come.
    func file(at url: String) -> String? {
        switch next(url) {
        case nil: nil
        case .failed(let reason): reason
        case .response(let response, _): response.status < 300 ? nil : "the server answered \(response.status)"
        }
    }

    /// What is said next for `url`; nil: nothing was.
    private func next(_ url: String) -> WebAnswer? {
        guard let index = answers.firstIndex(where: { FlowBenchPattern.matches($0.pattern, url) }),
            !answers[index].answers.isEmpty
        else { return nil }
        let count = asked[index, default: 0]
        asked[index] = count + 1
        return answers[index].answers[min(count, answers[index].answers.count - 1)]
    }

    func perform(_ request: WebRequest, on loop: EventLoop) async throws(CancellationError) -> WebOutcome {
        requests.append(request)
        switch next(request.url) {
        case nil:
            // Nobody said how the world answers: it takes what it is given.
            try await loop.sleep(for: .milliseconds(50))
            return .response(WebResponse(status: 200))
        case .failed(let reason):
            try await loop.sleep(for: .milliseconds(50))
            return .failed(reason)
        case .response(let response, let delay):
            guard delay <= request.timeout else {
                try await loop.sleep(for: request.timeout)
                return .failed("no answer within \(FlowDuration.print(request.timeout))")
            }
            try await loop.sleep(for: delay)
            return .response(response)
        }
    }
}
