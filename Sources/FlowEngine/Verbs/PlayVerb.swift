// `play`: a file, a list of them, silence. What cannot be played is reported to the flow (`on: failed`) and never ends the call.

import CallEngine
import Reactor

/// Plays prompts.
package struct PlayVerb: Verb {
    package static let name = "play"
    package static let needs = VerbNeed.media
    package static let outcomes = ["finished", "stopped"]
    package static let example = "play: { file: welcome.wav, loop: 3, volume: -6, barge-in: \"*#\", on: { failed: hangup } }"

    private let sounds: [Sound]
    private var tone: ToneSpec?
    private var loop = PlaybackRequest.Loop.times(1)
    private var from: FlowLength?
    private var until: FlowLength?
    private var limit: FlowLength?
    private var volume = 0.0
    /// Keys that cut it; nil: none does.
    private var bargeIn: Set<Digit>?
    private var background = false

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            sounds = Sound.list(plain, "`play`", step.flow)
            if sounds.isEmpty { return nil }
            return
        }
        guard step.argument != nil, let map = step.open() else {
            step.wrong("a file, a list of files or a mapping")
            return nil
        }
        var sounds: [Sound] = []
        if let file = map.node("file") { sounds += Sound.list(file, "`file`", step.flow) }
        if let files = map.node("files") { sounds += Sound.list(files, "`files`", step.flow) }
        if let recording = step.text("recording") { sounds.append(.recording(recording)) }
        if let silence = step.length("silence") { sounds.append(.silence(silence)) }
        if let node = map.node("tone") { tone = ToneSpec.read(node, step.sink) }
        self.sounds = sounds
        if sounds.isEmpty, tone == nil {
            step.sink.error(at: map.place, "`play` needs `file`, `recording`, `tone` or `silence`")
        }
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
        background = map.bool("background") ?? false
        bargeIn = Self.bargeIn(step)
        if tone != nil, limit == nil, !background {
            step.sink.error(at: map.place(of: "tone"), "a tone has no end of its own", mend: "add `for: 3s`")
        }
    }

    private static func bargeIn(_ step: StepReader) -> Set<Digit>? {
        guard let node = step.map?.node("barge-in") else { return nil }
        if case .scalar(let scalar) = node.content, case .bool(let flag) = scalar.value {
            return flag ? CollectSettings.digits("0123456789*#ABCD") : nil
        }
        return step.keys(node, "`barge-in`")
    }

    package var shape: StepShape { StepShape(takesTime: !background) }

    package func run(_ run: FlowRun) async throws -> StepResult {
        var request = PlaybackRequest(try tone.map { [$0.source] } ?? sounds.map { try run.source($0) })
        // A cadence is no end.
        request.loop = tone == nil ? loop : .forever
        request.from = try run.length(from, default: .zero)
        request.until = try until.map { try run.length($0) }
        request.volume = volume
        let names = try tone.map { [$0.words] } ?? sounds.map { try run.shown($0) }
        if background {
            run.background = run.start(request, names: names) { [weak run] end in
                if case .failed(let reason) = end { run?.emit(.warning("play: \(reason)", at: run?.currentPlace)) }
            }
            return .done
        }
        let end = try await play(request, names, run)
        switch end {
        case .finished: return StepResult(value: .object(["outcome": "finished"]), outcome: "finished")
        case .stopped: return StepResult(value: .object(["outcome": "stopped"]), outcome: "stopped")
        case .failed(let reason):
            run.emit(.warning("play: \(reason)", at: run.currentPlace))
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
