// `play`: a file, a list of them, silence. What cannot be played is reported to the flow (`on: failed`) and never ends the call.

import CallEngine

/// Plays prompts.
package struct PlayVerb: Verb {
    package static let name = "play"
    package static let needs = VerbNeed.media
    package static let outcomes = PlaySettings.outcomes
    package static let example = "play: { file: welcome.wav, loop: 3, volume: -6, barge-in: \"*#\", on: { failed: hangup } }"

    private let sounds: [Sound]
    private var settings = PlaySettings()
    /// What plays in the background ends.
    private var stops = false

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
        if case .scalar(let scalar) = map.node("background")?.content, scalar.text == "stop" {
            sounds = []
            stops = true
            return
        }
        var sounds: [Sound] = []
        if let file = map.node("file") { sounds += Sound.list(file, "`file`", step.flow) }
        if let files = map.node("files") { sounds += Sound.list(files, "`files`", step.flow) }
        if let recording = step.text("recording") { sounds.append(.recording(recording)) }
        if let silence = step.length("silence") { sounds.append(.silence(silence)) }
        let tone = map.node("tone").flatMap { ToneSpec.read($0, step.sink) }
        if sounds.isEmpty, !map.has("tone") {
            step.sink.error(at: map.place, "`play` needs `file`, `recording`, `tone` or `silence`")
        }
        // A tone sounds alone.
        self.sounds = tone.map { [.tone($0)] } ?? sounds
        settings = PlaySettings(step)
        if tone != nil, settings.limit == nil, settings.background == .no {
            step.sink.error(at: map.place(of: "tone"), "a tone has no end of its own", mend: "add `for: 3s`")
        }
    }

    package var shape: StepShape { StepShape(takesTime: !stops && settings.background == .no) }

    package func run(_ run: FlowRun) async throws -> StepResult {
        guard stops else { return try await settings.play(sounds, as: Self.name, run) }
        run.background?.stop()
        run.underlay?.stop()
        (run.background, run.underlay) = (nil, nil)
        return .done
    }
}
