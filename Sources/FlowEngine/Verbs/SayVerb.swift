// `say`: a text that is spoken. Who makes the audio of it, and how, the configuration says (`speech`).

/// Speaks a text.
package struct SayVerb: Verb {
    package static let name = "say"
    package static let needs = VerbNeed.media
    package static let outcomes = PlaySettings.outcomes
    package static let example = "say: { text: \"You are number ${count}.\", language: en, barge-in: true }"

    private let speech: SpokenText
    private var settings = PlaySettings()

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            guard let speech = SpokenText.read(plain, in: nil, "`say`", step.flow) else { return nil }
            self.speech = speech
            return
        }
        guard step.argument != nil, let map = step.open() else {
            step.wrong("a text or a mapping")
            return nil
        }
        guard let text = map.required("text", mend: "text: \"Good morning\""),
            let speech = SpokenText.read(text, in: map, "`text`", step.flow)
        else { return nil }
        self.speech = speech
        settings = PlaySettings(step)
    }

    package var shape: StepShape { StepShape(takesTime: settings.background == .no) }

    package func run(_ run: FlowRun) async throws -> StepResult {
        try await settings.play([.speech(speech)], as: Self.name, run)
    }
}
