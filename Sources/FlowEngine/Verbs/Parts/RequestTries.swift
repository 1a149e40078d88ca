// What `request` does when a service is slow or down: another try after a pause, and something to hear meanwhile.

import CallEngine
import Reactor

/// `retry`: how often a request is sent again, and after which pauses. Each is twice the one before.
struct RequestRetry: Sendable {
    /// Tries after the first.
    private var times = 0
    private var first: FlowLength?
    private var longest: FlowLength?

    init() {}

    init(_ step: StepReader, _ map: MappingReader) {
        guard let node = map.node("retry") else { return }
        guard case .mapping = node.content, let map = MappingReader(node, "`retry`", step.sink) else {
            times = NodeRead.int(node, "`retry`", in: 0...10, step.sink) ?? 0
            return
        }
        times = map.int("times", in: 0...10) ?? 3
        first = map.node("wait").flatMap { step.flow.length($0, "`wait`") }
        longest = map.node("longest").flatMap { step.flow.length($0, "`longest`") }
        map.finish()
    }

    func pauses(_ run: FlowRun) throws -> Pauses {
        Pauses(
            times: times, first: try run.length(first, default: .milliseconds(500)),
            longest: try run.length(longest, default: .seconds(10)))
    }

    /// The pauses of one service.
    struct Pauses {
        let times: Int
        let first: Duration
        let longest: Duration
        private var done = 0
        private var pause = Duration.zero

        init(times: Int, first: Duration, longest: Duration) {
            self.times = times
            self.first = first
            self.longest = longest
        }

        /// For the next service.
        mutating func restart() { (done, pause) = (0, min(first, longest)) }

        /// Waits for the next try; false when there is none.
        mutating func wait(_ run: FlowRun, after what: String, _ outcome: WebOutcome) async throws -> Bool {
            guard done < times else { return false }
            done += 1
            run.emit(
                .warning("request: \(what): \(outcome.problem); again in \(FlowDuration.print(pause))", at: run.currentPlace))
            try await run.loop.sleep(for: pause)
            pause = min(pause * 2, longest)
            return true
        }
    }
}

extension WebOutcome {
    /// 0 without an answer.
    var status: Int { if case .response(let response) = self { response.status } else { 0 } }

    /// The service may do better at another time, or another one may: no answer, 408, 429, 500 and more. What else it says counts.
    var isWorthAnotherTry: Bool { status == 0 || status == 408 || status == 429 || status >= 500 }

    var problem: String {
        switch self {
        case .failed(let reason): reason
        case .response(let response): "the server answered \(response.status)"
        }
    }
}

/// `filler`: what is heard over and over while the answer is waited for, where there is audio.
struct RequestFiller: Sendable {
    private let sounds: [Sound]
    private var delay: FlowLength?

    init?(_ node: YAMLNode, _ step: StepReader) {
        if case .mapping = node.content, node["prompt"] != nil, let map = MappingReader(node, "`filler`", step.sink) {
            sounds = map.node("prompt").map { Sound.list($0, "`prompt`", step.flow) } ?? []
            delay = map.node("after").flatMap { step.flow.length($0, "`after`") }
            map.finish()
        } else {
            sounds = Sound.list(node, "`filler`", step.flow)
        }
        if sounds.isEmpty { return nil }
    }

    /// One wait.
    final class Filling {
        fileprivate var timer: LoopTimer?
        fileprivate var playback: Playback?

        func stop() {
            timer?.cancel()
            playback?.stop()
        }
    }

    /// nil where nothing could be heard.
    func begin(_ run: FlowRun) throws -> Filling? {
        guard run.call.state == .answered || run.call.state == .early else { return nil }
        let request = PlaybackRequest(try sounds.map { try run.source($0) }, loop: .forever)
        let names = try sounds.map { try run.shown($0) }
        let filling = Filling()
        filling.timer = run.loop.schedule(after: try run.length(delay, default: .seconds(1))) { [weak run, weak filling] in
            guard let run, let filling else { return }
            filling.playback = run.start(request, names: names) { end in
                if case .failed(let reason) = end { run.emit(.warning("request: filler: \(reason)", at: run.currentPlace)) }
            }
        }
        return filling
    }
}
