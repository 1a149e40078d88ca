// `ringback`: what a caller hears while something is being prepared: the country's ringback, or a file over and over.

import CallEngine

/// Plays ringback: for a while, or until something else plays.
package struct RingbackVerb: Verb {
    package static let name = "ringback"
    package static let needs = VerbNeed.media
    package static let example = "ringback: { country: gb, for: 6s }"

    private let sound: Sound
    private let length: FlowLength?

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            sound = .tone(.named("ringback", country: "us"))
            length = step.flow.length(plain, "`ringback`")
            return
        }
        guard let map = step.open() else { return nil }
        length = step.length("for")
        if let file = map.node("file") {
            guard let sound = Sound.read(file, "`file`", step.flow) else { return nil }
            self.sound = sound
        } else {
            guard let tone = ToneSpec.read(map, default: "ringback", step.sink) else { return nil }
            sound = .tone(tone)
        }
    }

    package var shape: StepShape { StepShape(takesTime: length != nil) }

    package func run(_ run: FlowRun) async throws -> StepResult {
        let request = PlaybackRequest([try run.source(sound)], loop: .forever)
        let names = [try run.shown(sound)]
        guard let length else {
            run.background = run.start(request, names: names) { _ in }
            return .done
        }
        let end = try await run.play(request, names: names, for: run.length(length))
        if case .failed(let reason) = end { throw FlowError("ringback: \(reason)") }
        return .done
    }
}
