// `whisper`, `screen`, `keys` and `limit` of `bridge` over simulated calls: what each side hears, who is connected, where the flow goes on,
// what the checker says.

import CallEngine
import FlowEngine
import Foundation
import Testing

@Suite struct BridgeVerbTests {
    private typealias Loaded = (flow: Flow?, errors: [String], warnings: [String])

    private func load(
        _ bridge: String, after: String = "hangup", sections: String = "", cases: String, folder: String = ""
    ) -> Loaded {
        let text = """
            flow: t
            vars: { choice: "", bridged: {} }
            sections:
              main:
                - answer
                - bridge: \(bridge)
                - \(after)
            \(sections)
            always:
              - log: "choice ${choice}"
            \(cases)
            """
        let result = FlowLoader.load(text: text, file: "\(folder)/flow.yaml", options: FlowLoadOptions())
        func of(_ severity: Diagnostic.Severity) -> [String] {
            result.diagnostics.filter { $0.severity == severity }.map(\.description)
        }
        return (result.flow, of(.error), of(.warning))
    }

    private func expectAllPass(_ loaded: Loaded, _ count: Int) throws {
        #expect(loaded.errors + loaded.warnings == [])
        let results = FlowBench.run(try #require(loaded.flow))
        #expect(results.count == count)
        for result in results { #expect(result.failures == [], "\(result.name)\n\(result.transcript.joined(separator: "\n"))") }
    }

    private static let announce = """
          announce:
            - say: "A call from ${call.from.user}"
            - collect: { digits: 1, first-digit: 4s, tries: 1, into: choice }
            - if: choice == "2"
              then: hangup
            - if: choice == "3"
              then: { goto: voicemail }
          voicemail:
            - say: "Leave a message"
            - tag: voicemail
            - hangup
        """

    @Test func aWhisperIsHeardByTheCalleeAloneAndDecides() throws {
        try expectAllPass(
            load(
                "{ to: [ \"sip:a@h\", \"sip:b@h\" ], order: sequence, whisper: announce, into: bridged }",
                after: "log: \"${bridged.outcome} ${bridged.target} ${bridged.status}\"\n    - hangup", sections: Self.announce,
                cases: """
                    cases:
                      - name: the callee hears who calls, then talks
                        from: bob
                        bridges: { "sip:a@h": { answers: 1s, talks: 3s, does: [ { hears: "A call from bob", whole: true }, { press: "1" } ] } }
                        expect: [ { bridged: { to: "sip:a@h", outcome: answered } }, { logged: "answered sip:a@h 200" }, { value: { choice: "1" } }, { not: { tag: voicemail } } ]
                      - name: who hangs up there is not connected, and the next is called
                        bridges: { "sip:a@h": { answers: 1s, does: [ { press: "2" } ] }, "sip:b@h": { answers: 1s, does: [ { press: "1" } ] } }
                        expect: [ { logged: "answered sip:b@h 200" } ]
                      - name: all refuse
                        bridges: { "*": { answers: 1s, does: [ { press: "2" } ] } }
                        expect: [ { bridged: { to: "sip:b@h", outcome: rejected } }, { logged: "rejected sip:b@h 200" } ]
                      - name: the callee sends the caller somewhere else
                        bridges: { "*": { answers: 1s, does: [ { press: "3" } ] } }
                        caller: [ { hears: "Leave a message" } ]
                        expect: [ { section: voicemail }, { tag: voicemail }, { hung-up: flow }, { not: { bridged: { to: "*", outcome: answered } } } ]
                      - name: the callee is gone in the middle
                        bridges: { "*": { answers: 1s, does: [ { hears: "A call from *" }, hangs-up ] } }
                        expect: [ { logged: "rejected sip:b@h" } ]
                      - name: the caller is gone in the middle
                        bridges: { "*": { answers: 1s, does: [ { hears: "A call from *" } ] } }
                        caller: [ { waits: 2s }, hangs-up ]
                        expect: [ { hung-up: caller }, { logged: "choice" }, { not: { bridged: { to: "*", outcome: answered } } } ]
                    """), 6)
    }

    @Test func aScreenWantsAKey() throws {
        try expectAllPass(
            load(
                "{ to: \"sip:a@h\", screen: { key: \"1\", reject: \"9\", prompt: { say: \"Press 1\" }, timeout: 3s, tries: 2 }, on: { rejected: { tag: refused }, no-answer: { tag: silent } } }",
                cases: """
                    cases:
                      - { name: takes it, bridges: { "*": { answers: 1s, does: [ { hears: "Press 1" }, { press: "1" } ] } }, expect: [ { bridged: { to: "sip:a@h", outcome: answered } } ] }
                      - { name: at the second prompt, bridges: { "*": { answers: 1s, does: [ { hears: "Press 1", whole: true }, { hears: "Press 1" }, { press: "51" } ] } }, expect: [ { bridged: { to: "sip:a@h", outcome: answered } } ] }
                      - { name: refuses, bridges: { "*": { answers: 1s, does: [ { hears: "Press 1" }, { press: "9" } ] } }, expect: [ { tag: refused } ] }
                      - { name: a machine answers, bridges: { "*": { answers: 1s, does: [ { says: 20s } ] } }, expect: [ { tag: silent }, { played: [ "Press 1", "Press 1" ] } ] }
                      - { name: hangs up, bridges: { "*": { answers: 1s, does: [ { waits: 1s }, hangs-up ] } }, expect: [ { tag: refused } ] }
                    """), 5)
    }

    @Test func oneThatRefusesLeavesTheOthersRinging() throws {
        try expectAllPass(
            load(
                "{ to: [ \"sip:a@h\", \"sip:b@h\" ], screen: \"5\" }",
                cases: """
                    cases:
                      - { name: the other takes it, bridges: { "sip:a@h": { answers: 1s, does: [ hangs-up ] }, "sip:b@h": { answers: 2s, does: [ { waits: 1s }, { press: "5" } ] } }, expect: [ { bridged: { to: "sip:b@h", outcome: answered } } ] }
                    """), 1)
    }

    private static let features = """
          save:
            - record: { to: "a.wav", background: true }
            - say: "Recording"
          ask:
            - say: "Which one"
            - collect: { digits: 2, into: choice }
          leave:
            - goto: desk
          end: hangup
          desk:
            - say: "The desk"
            - hangup
          wrong:
            - set: { choice: "${1 / 0}" }
        """

    private static let allKeys =
        "{ to: \"sip:a@h\", keys: { \"*1\": save, \"*2\": { section: ask, by: callee }, \"*3\": { section: leave, by: caller }, \"*4\": end, \"*5\": wrong }, into: bridged, on: { failed: { tag: failed }, answered: { tag: over } } }"

    @Test func keysRunSectionsWhileTheTwoTalk() throws {
        try expectAllPass(
            load(
                Self.allKeys, sections: Self.features,
                cases: """
                    cases:
                      - name: the caller begins a recording, which goes on
                        bridges: { "*": { answers: 1s, talks: 20s } }
                        caller: [ { waits: 3s }, { press: "7*1" }, { hears: "Recording", whole: true } ]
                        expect: [ { recorded: a.wav }, { bridged: { to: "sip:a@h", outcome: answered } }, { tag: over } ]
                      - name: the callee is asked, on his side
                        bridges: { "*": { answers: 1s, talks: 20s, does: [ { waits: 2s }, { press: "*2" }, { hears: "Which one" }, { press: "47" } ] } }
                        expect: [ { value: { choice: "47" } }, { tag: over } ]
                      - name: what is for the other side does nothing
                        bridges: { "*": { answers: 1s, talks: 5s, does: [ { waits: 1s }, { press: "*3" } ] } }
                        caller: [ { waits: 3s }, { press: "*2" } ]
                        expect: [ { tag: over }, { not: { section: desk } }, { not: { played: "Which one" } } ]
                      - name: goto ends the bridge
                        bridges: { "*": { answers: 1s, talks: 20s } }
                        caller: [ { waits: 3s }, { press: "*3" }, { hears: "The desk" } ]
                        expect: [ { section: desk }, { hung-up: flow }, { not: { tag: over } } ]
                      - name: the callee hangs up by key
                        bridges: { "*": { answers: 1s, talks: 20s, does: [ { waits: 2s }, { press: "*4" } ] } }
                        expect: [ { tag: over }, { hung-up: flow } ]
                      - name: the caller hangs up by key
                        bridges: { "*": { answers: 1s, talks: 20s } }
                        caller: [ { waits: 3s }, { press: "*4" } ]
                        expect: [ { hung-up: flow }, { not: { tag: over } } ]
                      - name: a mistake in a section is the bridge's
                        bridges: { "*": { answers: 1s, talks: 20s } }
                        caller: [ { waits: 3s }, { press: "*5" } ]
                        expect: [ { tag: failed }, { not: { tag: over } } ]
                      - name: the callee is gone while the caller is asked
                        bridges: { "*": { answers: 1s, talks: 20s, does: [ { waits: 2s }, { press: "*2" }, { hears: "Which one" }, hangs-up ] } }
                        expect: [ { tag: over } ]
                      - name: slow keys are none
                        bridges: { "*": { answers: 1s, talks: 20s } }
                        caller: [ { waits: 3s }, { press: "*" }, { waits: 4s }, { press: "3" } ]
                        expect: [ { tag: over }, { not: { section: desk } } ]
                    """), 9)
    }

    @Test("whom a key has put on hold is taken back when the bridge ends, unless the flow has left it") func heldByAKey() throws {
        let loaded = load(
            "{ to: \"sip:a@h\", keys: { \"*1\": park, \"*2\": away } }", after: "say: \"behind\"\n    - hangup",
            sections: """
                  park:
                    - hold
                  away:
                    - hold
                    - goto: later
                  later:
                    - wait: 1s
                """,
            cases: """
                cases:
                  - { name: ends, bridges: { "*": { answers: 1s, talks: 9s } }, caller: [ { waits: 3s }, { press: "*1" } ], expect: [ held ] }
                  - { name: leaves, bridges: { "*": { answers: 1s, talks: 9s } }, caller: [ { waits: 3s }, { press: "*2" } ], expect: [ held ] }
                """)
        #expect(loaded.errors == [])
        let holds = FlowBench.run(try #require(loaded.flow)).map { result in
            result.transcript.compactMap { $0.split(separator: " ").last }.filter { ["hold", "unhold", "behind"].contains($0) }
        }
        #expect(holds == [["hold", "unhold", "behind"], ["hold"]])
    }

    @Test func aLimitEndsTheTalkAfterAWarning() throws {
        try expectAllPass(
            load(
                "{ to: \"sip:a@h\", limit: { after: 60s, warn: 10s, prompt: { say: \"Ten seconds\" } }, into: bridged }",
                after: "log: \"${bridged.outcome} ${bridged.limited} ${bridged.connected}\"",
                cases: """
                    cases:
                      - name: both are warned
                        bridges: { "*": { answers: 1s, talks: 5m, does: [ { hears: "Ten seconds", whole: true } ] } }
                        caller: [ { hears: "Ten seconds", whole: true } ]
                        expect: [ { logged: "answered true 1m" }, { played: [ "Ten seconds", "Ten seconds" ] } ]
                      - { name: shorter, bridges: { "*": { answers: 1s, talks: 20s } }, expect: [ { logged: "answered false 20s" }, { not: { played: "Ten seconds" } } ] }
                    """), 2)
    }

    @Test(arguments: [
        ("{ to: \"sip:a@h\", whisper: anounce }", "unknown section `anounce` of `whisper`; did you mean `announce`?"),
        ("{ to: \"sip:a@h\", screen: \"12\" }", "`screen` is one key of 0-9, *, #, A-D, !, not `12`"),
        ("{ to: \"sip:a@h\", screen: { key: \"1\", reject: \"1\" } }", "`reject` and `key` are the same key"),
        ("{ to: \"sip:a@h\", screen: { prmpt: a.wav } }", "unknown key `prmpt` of `screen`; did you mean `prompt`?"),
        ("{ to: \"sip:a@h\", keys: { \"*x\": announce } }", "`keys` names one to eight keys of 0-9, *, #, A-D, ! each, not `*x`"),
        ("{ to: \"sip:a@h\", keys: { \"*1\": announce, \"*12\": voicemail } }", "`*12` and `*1`: one begins as the other"),
        ("{ to: \"sip:a@h\", keys: { \"*1\": nowhere } }", "unknown section `nowhere` of `*1`"),
        ("{ to: \"sip:a@h\", keys: { \"*1\": { section: announce, by: agent } } }", "unknown value `agent` of `by`"),
        ("{ to: \"sip:a@h\", keys: { \"*1\": { by: caller } } }", "`*1` needs `section`"),
        ("{ to: \"sip:a@h\", limit: 10 }", "has no unit"),
        (
            "{ to: \"sip:a@h\", limit: { after: 1m, warn: 2m, prompt: \"http://h/a.wav\" } }",
            "`warn` is as long as `after`, or longer"
        ),
        ("{ to: \"sip:a@h\", limit: { after: 1m, warn: 10s } }", "`warn` needs the `prompt` that is played then"),
        ("{ to: \"sip:a@h\", keys: { \"*1\": again } }", "`bridge` in a section that a bridge runs beside it (`*1`)")
    ])
    func theCheckerRefuses(bridge: String, words: String) {
        let again = bridge.contains("again") ? "\n  again:\n    - bridge: \"sip:c@h\"" : ""
        let errors = load(bridge, sections: Self.announce + again, cases: "").errors
        #expect(errors.contains { $0.contains(words) }, "\(errors)")
    }

    /// Where the checker does not see it, it is an error when it runs.
    @Test func noBridgeWithinABridge() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ringwright-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try "flow: other\nsections: { main: [ { bridge: \"sip:b@h\" } ] }\n".write(
            to: folder.appendingPathComponent("other.yaml"), atomically: true, encoding: .utf8)
        let loaded = load(
            "{ to: \"sip:a@h\", keys: { \"*1\": hidden }, on: { failed: { log: \"${result.error}\" } } }",
            sections: "  hidden:\n    - run: other.yaml",
            cases:
                "cases: [ { name: a, bridges: { \"*\": { talks: 20s } }, caller: [ { waits: 3s }, { press: \"*1\" } ], expect: [ { logged: \"bridge: the call is in a bridge\" }, { not: { bridged: \"sip:b@h\" } } ] } ]",
            folder: folder.path)
        try expectAllPass(loaded, 1)
    }
}
