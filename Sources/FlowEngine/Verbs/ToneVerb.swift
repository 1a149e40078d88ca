// `tone`: a tone of a country's plan, or frequencies with a cadence, for a while.

import CallEngine

/// Plays a tone.
package struct ToneVerb: Verb {
    package static let name = "tone"
    package static let needs = VerbNeed.media
    package static let example = "tone: { name: busy, country: de, for: 4s }"

    private let tone: ToneSpec
    private let length: FlowLength

    package init?(_ step: StepReader) {
        var read: ToneSpec?
        var length: FlowLength?
        if let plain = step.plain {
            read = ToneSpec.read(plain, step.sink)
        } else if step.argument != nil, let map = step.open() {
            read = ToneSpec.read(map, default: nil, step.sink)
            length = step.length("for")
        } else if step.argument == nil {
            step.wrong("the name of a tone, such as busy")
        }
        guard let read else { return nil }
        tone = read
        self.length = length ?? .fixed(.seconds(3))
    }

    package var shape: StepShape { StepShape(takesTime: true) }

    package func run(_ run: FlowRun) async throws -> StepResult {
        let end = try await run.play(PlaybackRequest([tone.source], loop: .forever), names: [tone.words], for: run.length(length))
        if case .failed(let reason) = end { throw FlowError("tone: \(reason)") }
        return .done
    }
}
