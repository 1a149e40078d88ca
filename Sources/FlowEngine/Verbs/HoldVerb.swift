// `hold`: a re-INVITE (before the answer an UPDATE) with `sendonly`; the held side hears music or nothing.

import CallEngine

/// Puts the far side on hold.
package struct HoldVerb: Verb {
    package static let name = "hold"
    package static let needs = VerbNeed.media
    package static let example = "hold: hold-music.wav"

    private let music: Sound?

    package init?(_ step: StepReader) {
        if let plain = step.plain {
            music = Sound.read(plain, "`hold`", step.flow)
            return
        }
        guard let map = step.open() else { return nil }
        music = map.node("music").flatMap { Sound.read($0, "`music`", step.flow) }
    }

    package func run(_ run: FlowRun) async throws -> StepResult {
        try await run.call.hold(music: music.map { try run.source($0) })
        return .done
    }
}
