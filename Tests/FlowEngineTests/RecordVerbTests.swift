// `record` in flows: where files may lie, and when they are finished.

import FlowEngine
import Testing

@Suite struct RecordVerbTests {
    @Test func recordingsAreConfined() throws {
        try runCases(
            """
            flow: t
            vars: { name: ../../etc/passwd }
            sections:
              main:
                - answer
                - record: { to: "${name}", on: { failed: { log: "${result.error}" } } }
                - record: { to: call.wav, background: true, stereo: true }
                - wait: 3s
                - record: pause
                - record: resume
                - record: stop
                - hangup
            always: [ { log: "${recording.file} ${recording.length} ${recording.complete}" } ]
            cases:
              - { name: x, expect: [ { logged: leads out of its folder }, { logged: call.wav 3s true }, { recorded: call.wav } ] }
            """)
    }

    /// What comes behind `record: stop` may send the file.
    @Test func aRecordingThatWasStoppedIsFinished() throws {
        try runCases(
            """
            flow: t
            sections:
              main:
                - answer
                - record: { to: a.wav, background: true }
                - wait: 3s
                - record: { stop: true, into: made }
                - log: "${recording.file} ${recording.length} ${recording.complete} ${made.bytes}"
                - record: { to: b.wav, background: true, max: 1s }
                - wait: 2s
                - record: stop
                - log: "${recording.file} ${recording.length} ${recording.complete}"
                - hangup
            cases:
              - { name: x, expect: [ { logged: a.wav 3s true 48044 }, { logged: b.wav 1s true }, { not: { logged: false } } ] }
            """)
    }

    /// A recording in the background that has ended by itself is still the one that `record: stop` ends and tells of; `recording` is the
    /// latest one.
    @Test func eachTellsOfItsOwnFile() throws {
        try runCases(
            """
            flow: t
            sections:
              main:
                - answer
                - record: { to: whole.wav, background: true, max: 2s }
                - bridge: { to: "sip:desk@example.com", whisper: ask }
                - record: { stop: true, into: made }
                - log: "made ${made.file} ${made.length}, last ${recording.file} ${recording.reason}"
                - hangup
              ask:
                - record: { to: name.wav, max: 3s }
                - wait: 1s
            cases:
              - name: x
                bridges: { "*": { answers: 1s, does: [ { waits: 3500ms }, hangs-up ] } }
                expect: [ { logged: "made whole.wav 2s, last name.wav max" } ]
            """)
    }

    /// The callee says a name, which is kept, while the call is recorded.
    @Test func aMessageWaitsForItsOwnFileAlone() throws {
        try runCases(
            """
            flow: t
            sections:
              main:
                - answer
                - record: { to: whole.wav, background: true }
                - bridge: { to: "sip:desk@example.com", whisper: ask }
                - hangup
              ask:
                - record: { to: name.wav, max: 2s, into: made }
                - log: "${made.file} ${made.length}"
                - wait: 1s
            cases:
              - name: x
                bridges: { "*": { answers: 1s, does: [ { waits: 3500ms }, hangs-up ] } }
                expect: [ { logged: name.wav 2s }, { recorded: name.wav }, { recorded: whole.wav } ]
            """)
    }
}
