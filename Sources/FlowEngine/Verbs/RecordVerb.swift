// `record`: a file under the recordings folder: a message (until a key, silence or a limit) or the call in the background.

import CallEngine
import Reactor

/// Records.
package struct RecordVerb: Verb {
    package static let name = "record"
    package static let needs = VerbNeed.media
    package static let outcomes = ["finished", "silence", "max"]
    package static let example = "record: { to: \"messages/${call.id}.wav\", beep: true, max: 2m, silence: 3s, finish-on: \"#\" }"

    private enum Action: String, CaseIterable, Sendable {
        case start, stop, pause, resume
    }

    private var action = Action.start
    private var target: FlowText?
    private var channels = RecordingRequest.Channels.caller
    private var beep = false
    private var longest: FlowLength?
    private var silence: FlowLength?
    private var finishOn = Digit("#")
    private var background = false

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            guard let word = NodeRead.string(plain, "`record`", step.sink) else { return nil }
            guard let action = Action(rawValue: word), action != .start else {
                NodeRead.unknown(
                    "value", word, of: "`record`", at: plain.place, known: ["stop", "pause", "resume"], step.sink)
                return nil
            }
            self.action = action
            return
        }
        guard let map = step.open() else { return nil }
        for other in [Action.pause, .resume, .stop] where map.bool(other.rawValue) == true { action = other }
        if action != .start { return }
        target = step.requiredText("to", mend: "to: \"messages/${call.id}.wav\"")
        if let target { Self.checkName(of: target, step.sink) }
        background = map.bool("background") ?? false
        channels = background ? .mono : .caller
        if map.bool("mono") == true { channels = .mono }
        if map.bool("stereo") == true { channels = .stereo }
        if let node = map.node("channels"), let word = NodeRead.string(node, "`channels`", step.sink) {
            if let known = RecordingRequest.Channels(rawValue: word) {
                channels = known
            } else {
                NodeRead.unknown("value", word, of: "`channels`", at: node.place, known: ["mono", "stereo", "caller"], step.sink)
            }
        }
        beep = map.bool("beep") ?? false
        longest = step.length("max")
        silence = step.length("silence")
        if let key = step.key("finish-on") { finishOn = key }
        if background, silence != nil || map.has("finish-on") {
            step.sink.error(
                at: map.place(of: silence != nil ? "silence" : "finish-on"),
                "a recording in the background has no end by key or silence",
                mend: "end it with `record: stop`")
        }
    }

    package var shape: StepShape { StepShape(takesTime: action == .start && !background) }

    package func run(_ run: FlowRun) async throws -> StepResult {
        switch action {
        case .start: break
        case .pause, .resume:
            try current(run).recording.isPaused = action == .pause
            return .done
        case .stop:
            let current = try current(run)
            run.root.backgroundRecording = nil
            current.recording.stop()
            // The next step may send the file, or tell its length.
            try await run.root.whenClosed(current.recording)
            return StepResult(value: current.told)
        }
        guard let target else { throw FlowError("record: no file") }
        let path = try run.path(target, under: run.environment.recordingsFolder)
        if beep {
            _ = try await run.play(
                PlaybackRequest([.tone(frequencies: [1000], cadence: [])]), names: ["beep"], for: .milliseconds(300))
        }
        // What goes on beside the flow is the flow's own, whoever has begun it.
        let kept = try run.root.startRecording(
            RecordingRequest(path: path, channels: channels), shown: try run.shown(target),
            of: background ? run.root.call : run.call)
        if background {
            run.root.backgroundRecording = kept
            if let longest {
                run.loop.schedule(after: try run.length(longest)) { [weak recording = kept.recording] in recording?.stop() }
            }
            return StepResult(value: kept.told)
        }
        let reason = try await waitForEnd(of: kept.recording, run)
        var map = kept.told.asMap ?? ValueMap()
        map["reason"] = .string(reason)
        kept.told = .map(map)
        return StepResult(value: .map(map), outcome: reason)
    }

    /// What is known of a recording's name: that it stays below the recordings folder, and its ending, which says the format: one that is written
    /// out is one of ours, or none.
    static func checkName(of target: FlowText, _ sink: DiagnosticSink) {
        if let name = target.constant {
            do throws(PathConfinement.Refused) {
                _ = try PathConfinement.parts(of: name)
            } catch {
                sink.error(at: target.place, error.message, mend: "recordings lie below the recordings folder")
            }
        }
        let parts = target.source.split(separator: "/").last?.split(separator: ".", omittingEmptySubsequences: false) ?? []
        guard parts.count > 1, let ending = parts.last.map(String.init), (2...4).contains(ending.count),
            ending.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }),
            !RecordingRequest.endings.contains(ending.lowercased())
        else { return }
        NodeRead.unknown("format", ending, of: "recordings", at: target.place, known: RecordingRequest.endings, sink)
    }

    private func current(_ run: FlowRun) throws -> KeptRecording {
        guard let recording = run.root.backgroundRecording else {
            throw FlowError("record: \(action.rawValue): nothing is being recorded in the background")
        }
        return recording
    }

    private func waitForEnd(of recording: Recording, _ run: FlowRun) async throws -> String {
        let over = Waiter<String>()
        let limit = run.loop.schedule(after: try run.length(longest, default: .seconds(3600))) { over.resume(returning: "max") }
        var listening: Listening?
        if let silence {
            listening = run.call.listen(ListenRequest(silence: try run.length(silence)))
            listening?.onEvent = { if case .silence = $0 { over.resume(returning: "silence") } }
        }
        // Keys that were typed before the recording began don't end it.
        _ = run.call.digits.read { [finishOn] event in
            if event.phase == .began, event.digit == finishOn { over.resume(returning: "finished") }
        }
        defer {
            limit.cancel()
            listening?.stop()
            run.call.digits.stopReading()
            recording.stop()
        }
        let reason = try await over.wait()
        recording.stop()
        try await run.root.whenClosed(recording)
        return reason
    }
}

/// A recording of a flow, and what `recording` says of it: again when its file is closed.
final class KeptRecording {
    let recording: Recording
    var told: Value

    init(_ recording: Recording, told: Value) {
        self.recording = recording
        self.told = told
    }
}

extension FlowRun {
    /// Starts recording; `recording` tells of it until another one begins.
    func startRecording(_ request: RecordingRequest, shown: String, of call: any CallControl) throws -> KeptRecording {
        let kept = KeptRecording(
            try call.record(request), told: .object(["path": .string(request.path), "file": .string(shown), "complete": false]))
        pendingRecordings += 1
        recordings.append(request.path)
        newestRecording = kept
        emit(.recordingBegan(path: shown))
        kept.recording.onEnd = { [weak self, weak kept] result in self?.recorded(result, shown: shown, kept) }
        return kept
    }

    private func recorded(_ result: RecordingResult, shown: String, _ kept: KeptRecording?) {
        pendingRecordings -= 1
        kept?.told = .object([
            "path": .string(result.path), "file": .string(shown), "length": .duration(FlowDuration.rounded(result.length)),
            "bytes": .int(Int64(result.bytes)), "checksum": .string(result.checksum), "complete": .bool(result.complete),
            "detail": .string(result.detail), "lost": .duration(result.lost)
        ])
        emit(.recorded(path: shown, length: result.length, problem: result.complete ? nil : result.detail))
        if pendingRecordings == 0 { allClosed?.resume(returning: ()) }
    }

    /// Waits until the file of a recording that was stopped is closed, on the recorder's thread; 5 s at most.
    func whenClosed(_ recording: Recording) async throws {
        guard recording.result == nil else { return }
        let closed = Waiter<Void>()
        recording.onEnd = { [told = recording.onEnd] result in
            told?(result)
            closed.resume(returning: ())
        }
        let timer = loop.schedule(after: .seconds(5)) { closed.resume(returning: ()) }
        defer { timer.cancel() }
        try await closed.wait()
    }
}
