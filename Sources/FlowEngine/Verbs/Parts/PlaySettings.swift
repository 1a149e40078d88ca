// How something is played: the settings of `play` and `say`.

import CallEngine
import Reactor

/// How often, which part, how loud, who may cut it, and whether the flow waits for it.
struct PlaySettings: Sendable {
    static let outcomes = ["finished", "stopped"]

    private var loop = PlaybackRequest.Loop.times(1)
    private var from: FlowLength?
    private var until: FlowLength?
    private(set) var limit: FlowLength?
    private var volume = 0.0
    /// Keys that cut it; nil: none does.
    private var bargeIn: Set<Digit>?
    private(set) var background = Background.no

    /// Whether the flow waits.
    enum Background: Sendable {
        case no
        /// It goes on; the next thing that plays ends this.
        case alone
        /// It goes on; what plays next is heard over this.
        case mixed
    }

    init() {}

    init(_ step: StepReader) {
        guard let map = step.map else { return }
        if let node = map.node("loop") {
            if case .scalar(let scalar) = node.content, scalar.text == "forever" {
                loop = .forever
            } else if let times = NodeRead.int(node, "`loop` (a number or forever)", in: 1...100_000, step.sink) {
                loop = .times(times)
            }
        }
        from = step.length("from")
        until = step.length("until")
        limit = step.length("for")
        volume = map.double("volume", in: -60...20) ?? 0
        background = Self.background(step)
        bargeIn = Self.bargeIn(step)
    }

    private static func background(_ step: StepReader) -> Background {
        guard let node = step.map?.node("background") else { return .no }
        if case .scalar(let scalar) = node.content {
            if case .bool(let flag) = scalar.value { return flag ? .alone : .no }
            if scalar.text == "mixed" { return .mixed }
        }
        step.sink.error(at: node.place, "`background` is true, false or mixed", mend: "mixed: heard under what plays next")
        return .no
    }

    private static func bargeIn(_ step: StepReader) -> Set<Digit>? {
        guard let node = step.map?.node("barge-in") else { return nil }
        if case .scalar(let scalar) = node.content, case .bool(let flag) = scalar.value {
            return flag ? CollectSettings.digits("0123456789*#ABCD") : nil
        }
        return step.keys(node, "`barge-in`")
    }

    /// Plays these, one after the other.
    func play(_ sounds: [Sound], as verb: String, _ run: FlowRun) async throws -> StepResult {
        var request = PlaybackRequest(try sounds.map { try run.source($0) })
        request.loop = loop
        // A cadence is no end.
        if case .tone = sounds.first { request.loop = .forever }
        request.from = try run.length(from, default: .zero)
        request.until = try until.map { try run.length($0) }
        request.volume = volume
        let names = try sounds.map { try run.shown($0) }
        guard background == .no else {
            if background == .mixed { request.layer = .under }
            let playback = run.start(request, names: names) { [weak run] end in
                if case .failed(let reason) = end { run?.emit(.warning("\(verb): \(reason)", at: run?.currentPlace)) }
            }
            if background == .mixed { run.underlay = playback } else { run.background = playback }
            return .done
        }
        let end = try await play(request, names, run)
        switch end {
        case .finished: return StepResult(value: .object(["outcome": "finished"]), outcome: "finished")
        case .stopped: return StepResult(value: .object(["outcome": "stopped"]), outcome: "stopped")
        case .failed(let reason):
            run.emit(.warning("\(verb): \(reason)", at: run.currentPlace))
            return StepResult(value: .object(["outcome": "failed", "error": .string(reason)]), outcome: "failed")
        }
    }

    private func play(_ request: PlaybackRequest, _ names: [String], _ run: FlowRun) async throws -> PlaybackEnd {
        let limit = try limit.map { try run.length($0) }
        guard let bargeIn else { return try await run.play(request, names: names, for: limit) }
        let over = Waiter<PlaybackEnd>()
        let playback = run.start(request, names: names) { over.resume(returning: $0) }
        let timer = limit.map { run.loop.schedule(after: $0) { playback.stop() } }
        var heard: [DigitEvent] = []
        // The keys stay typed ahead for the next `collect`.
        heard = run.call.digits.read { event in
            heard.append(event)
            if event.phase == .began, bargeIn.contains(event.digit) { playback.stop() }
        }
        if heard.contains(where: { $0.phase == .began && bargeIn.contains($0.digit) }) { playback.stop() }
        defer {
            timer?.cancel()
            playback.stop()
            run.call.digits.stopReading()
            run.call.digits.putBack(heard)
        }
        return try await over.wait()
    }
}
