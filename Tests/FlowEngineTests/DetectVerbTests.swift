// `detect` in flows: each thing that can be heard, what it finds first, and what it does when nothing comes.

import CallEngine
import FlowEngine
import Reactor
import Testing

@Suite struct DetectVerbTests {
    /// A flow of these steps, and what it comes to with a far side.
    private func run(steps: [String], callee: String, expect: String) throws {
        let lines = (steps + ["hangup"]).map { "      - \($0)" }.joined(separator: "\n")
        try runCases(
            """
            flow: t
            direction: outbound
            vars: { heard: null }
            sections:
              main:
            \(lines)
            cases:
              - name: x
                callee: [ \(callee) ]
                expect: [ \(expect) ]
            """)
    }

    /// One that listens, after the step `before`.
    private func run(_ detect: String, callee: String, expect: String, before: String = "answer") throws {
        try run(steps: [before, "detect: \(detect)", "log: \"found ${result.found}\""], callee: callee, expect: expect)
    }

    /// What cannot be decoded cannot be heard: that is said, in place of "nothing".
    @Test func audioThatIsPassedOnOnlyIsNotListenedTo() throws {
        let flow = try #require(load(steps("answer", "expect: { hears: speech, within: 5s }", "detect: speech")).flow)
        let loop = VirtualLoop()
        let party = CallParty(uri: "sip:anna@example.com", user: "anna", host: "example.com")
        let call = SimulatedCall(
            loop: loop, info: CallInfo(id: "c", direction: .inbound, from: party, to: party, started: loop.now))
        call.codec = "G729/8000"
        var outcome: FlowOutcome?
        loop.spawn { outcome = await FlowRun(flow: flow, call: call, environment: FlowEnvironment()).run() }
        loop.run(for: .seconds(30))
        let why = "the call speaks G729, which is passed on and cannot be decoded"
        #expect(outcome?.expectations.map(\.actual) == [why])
        #expect(outcome?.error?.message == "detect: \(why)")
    }

    @Test(arguments: [
        ("[ human, machine ]", "answers, { waits: 1s }, { says: 800ms }, { waits: 5s }", "human"),
        ("[ human, machine ]", "answers, { waits: 300ms }, { says: 6s }", "machine"),
        ("[ human, machine ]", "answers, { waits: 300ms }, { tone: [ 1000 ], for: 400ms }", "machine"),
        ("[ human, machine ]", "answers, { waits: 8s }", "unsure"),
        ("{ what: human, limits: { greeting: 8s, total: 10s } }", "answers, { says: 5s }, { waits: 3s }", "human"),
        ("{ what: machine, limits: { initial-silence: 1s } }", "answers, { waits: 1500ms }, { says: 5s }", "unsure"),
        ("[ human, fax ]", "answers, { waits: 8s }, { tone: [ 2100 ], for: 1s }", "fax"),
        ("fax", "answers, { tone: [ 1100 ], for: 500ms }", "fax"),
        ("beep", "answers, { says: 12s }, { tone: [ 1000 ], for: 400ms }, { waits: 1s }", "beep"),
        ("beep", "answers, { says: 1s }, { tone: [ 1000 ], for: 4s }, { waits: 40s }", "nothing"),
        ("[ beep, tone ]", "answers, { tone: [ 1000 ], for: 400ms }, { waits: 1s }", "beep"),
        ("{ what: [ beep, machine, tone ], tone: { frequencies: [ 700 ] } }", "answers, { tone: [ 700 ], for: 400ms }", "tone"),
        // What is no beep on a real line is none here: too low, as near to another tone as that, and what sounds before a tone's pause.
        ("beep", "answers, { tone: [ 300 ], for: 400ms }, { waits: 40s }", "nothing"),
        (
            "{ what: [ beep, tone ], tone: { frequencies: [ 700 ] } }", "answers, { tone: [ 720 ], for: 400ms }, { waits: 40s }",
            "nothing"
        ),
        (
            "{ what: [ beep, tone ], tone: { frequencies: [ 700 ] } }", "answers, { tone: [ 730 ], for: 400ms }, { waits: 40s }",
            "beep"
        ),
        (
            "{ what: [ beep, tone ], tone: busy, country: de }", "answers, { tone: [ 1800 ], for: 330ms }, { waits: 40s }",
            "nothing"
        ),
        ("{ what: [ beep, tone ], tone: busy, country: de }", "answers, { tone: [ 950 ], for: 330ms }, { waits: 40s }", "beep"),
        ("speech", "answers, { waits: 2s }, { says: 1s }", "speech"),
        ("{ what: silence, for: 3s }", "answers, { says: 2s }, { waits: 5s }", "silence"),
        ("tone", "answers, { tone: busy }", "tone"),
        ("{ what: tone, tone: congestion, country: de }", "answers, { tone: { name: congestion, country: de } }", "tone"),
        (
            "{ what: tone, tone: busy, country: de }", "answers, { tone: { name: congestion, country: de } }, { waits: 12s }",
            "nothing"
        ),
        ("{ what: tone, tone: { frequencies: [ 700 ] } }", "answers, { tone: [ 700 ] }", "tone"),
        ("{ what: [ speech, tone ], within: 2s }", "answers, { waits: 5s }", "nothing")
    ]) func finds(detect: String, callee: String, found: String) throws {
        try run(detect, callee: callee, expect: "{ logged: \"found \(found)\" }")
    }

    @Test func theResultSaysMore() throws {
        try run(
            steps: [
                "answer",
                "detect: { what: [ machine, beep ], within: 20s, into: who, on: { machine: { log: \"${who.found}: ${who.reason}, ${who.after}\" } } }",
                "detect: { what: beep, into: heard }", "log: \"${heard.frequency} Hz, ${heard.length}\"",
                "detect: { what: tone, country: us, into: heard, on: { tone: { tag: \"${heard.tone}\" } } }",
                "detect: { what: fax, into: heard, on: { fax: { tag: \"${heard.fax}\" } } }"
            ],
            callee:
                "answers, { waits: 500ms }, { says: 4s }, { tone: [ 850 ], for: 300ms }, { waits: 1s }, { tone: info }, { tone: [ 2100 ], for: 3s }",
            expect: "{ logged: \"machine: long greeting\" }, { logged: \"850 Hz, 300ms\" }, { tag: info }, { tag: answering }")
    }

    /// Ringing and announcements come before the answer.
    @Test func itHearsEarlyMedia() throws {
        try run(
            "{ what: tone, country: us }", callee: "early-media, { tone: info }, { rejects: 404 }",
            expect: "{ logged: \"found tone\" }", before: "progress")
        // It waits for early media by itself, and says why there was none.
        try run(
            "{ what: tone, within: 3s }", callee: "rings, { waits: 1s }, early-media, { tone: ringback }, answers",
            expect: "{ logged: \"found tone\" }", before: "ring")
        try run("speech", callee: "rings, { waits: 1s }, busy", expect: "{ ended: busy }", before: "ring")
        try run(
            "{ what: speech, within: 1s }", callee: "rings, { waits: 2s }, answers", expect: "{ logged: \"found nothing\" }",
            before: "ring")
    }
}
