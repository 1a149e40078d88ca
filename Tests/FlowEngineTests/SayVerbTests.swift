// `say` in flows: heard as it is written, wherever prompts may stand.

import CallEngine
import FlowEngine
import Testing

@Suite struct SayVerbTests {
    @Test func textsAreHeardAsTheyAreWritten() throws {
        try runCases(
            """
            flow: t
            vars: { position: 3 }
            sections:
              main:
                - answer
                - say: Good morning
                - log: "after ${call.duration}"
                - say: { text: "You are number ${position}.", voice: "en-us+f3", language: en-US, loop: 2, volume: -3 }
                - play: [ a.wav, { say: "Please choose" } ]
                - collect: { prompts: { first: { say: "Press a key" } }, tries: 1, into: key }
                - say: { text: "You pressed ${key}", background: true }
                - wait: 1s
                - hangup
            cases:
              - name: x
                caller: [ { hears: "Press *" }, { press: "1" }, { hears: "You pressed 1" } ]
                expect:
                  - played: [ Good morning, You are number 3., You are number 3., a.wav, Please choose, Press a key, You pressed 1 ]
                  # 60 ms a letter
                  - logged: "after 720ms"
            """)
    }

    @Test func aKeyCutsIt() throws {
        try runCases(
            """
            flow: t
            sections:
              main:
                - answer
                - say: { text: "This is a very long text that nobody wants to hear to its end.", barge-in: "5", into: how, on: { stopped: { log: "cut ${call.duration}" } } }
                - collect: { into: key }
                - hangup
            cases:
              - name: x
                caller: [ { waits: 1s }, { press: "5" } ]
                expect: [ { logged: cut 1s }, { collected: "5" }, { value: { how: { outcome: stopped } } } ]
            """)
    }

    @Test func whatCannotBeSaidFailsTheStep() throws {
        try runCases(
            """
            flow: t
            vars: { empty: " ", voice: "../../etc/passwd" }
            sections:
              main:
                - answer
                - say: { text: "${empty}", on: { failed: { log: "1 ${result.error}" } } }
                - say: { text: a, voice: "${voice}", on: { failed: { log: "2 ${result.error}" } } }
                - hangup
            cases:
              - name: x
                expect: [ { logged: "1 there is nothing to say: the text is empty" }, { logged: "2 `../../etc/passwd` is no name of a voice" }, { not: { played: "*" } } ]
            """)
    }

    /// Music goes on under what plays next, until it is stopped.
    @Test func musicUnderPrompts() throws {
        try runCases(
            """
            flow: t
            sections:
              main:
                - answer
                - play: { file: a.wav, loop: forever, volume: -15, background: mixed }
                - say: Good morning
                - log: "said ${call.duration}"
                - wait: 1s
                - play: { background: stop }
                - log: "stopped ${call.duration}"
                - hangup
            cases:
              - name: x
                caller: [ { hears: a.wav }, { hears: Good morning, whole: true } ]
                expect: [ { played: [ a.wav, Good morning ] }, { logged: said 720ms }, { logged: stopped 1s720ms } ]
            """)
    }
}
