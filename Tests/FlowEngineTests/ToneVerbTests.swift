// Tones that a flow plays.

import Testing

@Suite struct ToneVerbTests {
    /// A cadence goes on until the time is over, and does not end the step.
    @Test func tonesLastAsLongAsTheyShould() throws {
        try runCases(
            """
            flow: t
            sections:
              main:
                - answer
                - tone: { name: busy, country: de, for: 4s }
                - log: "tone ${call.duration}"
                - play: { tone: { frequencies: [ 400 ], cadence: [ 100ms, 100ms ] }, for: 2s }
                - log: "play ${call.duration}"
                - hangup
            cases:
              - { name: x, expect: [ { logged: tone 4s }, { logged: play 6s } ] }
            """)
    }
}
