// What was heard, found by correlation.

import Audio
import TestKit
import Testing

/// The prompt is in one of the recordings; another is in none.
func expectHeard(
    _ prompt: String, in recordings: [String], not other: String, least: Double = 0.85, _ place: SourceLocation = #_sourceLocation
) {
    func best(_ prompt: String) -> Double {
        recordings.compactMap { try? AudioProbe.match(prompt: Files.prompt(prompt), recording: $0).peak }.max() ?? 0
    }
    #expect(best(prompt) > least, "\(prompt) was not heard in \(recordings.count) recordings", sourceLocation: place)
    #expect(best(other) < 0.6, "\(other) was heard", sourceLocation: place)
}
