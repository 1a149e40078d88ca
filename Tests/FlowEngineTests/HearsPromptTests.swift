// `expect: hears: { prompt: … }` in flows: what passes, what does not, and what is said then. Files last two seconds.

import CallEngine
import FlowEngine
import Testing

@Suite struct HearsPromptTests {
    private func run(_ expect: String, callee: String, is verdict: String) throws {
        try runCases(
            """
            flow: t
            direction: outbound
            prompts: sounds
            vars: { heard: null, name: menu.wav }
            sections:
              main:
                - answer
                - expect: \(expect)
                - log: "actual ${result.actual}"
                - hangup
            cases:
              - name: x
                callee: [ \(callee) ]
                expect: [ \(verdict) ]
            """)
    }

    @Test(arguments: [
        ("{ hears: { prompt: menu.wav } }", "answers, { plays: menu.wav }", "after 1500 ms"),
        ("{ hears: { prompt: menu.wav }, within: 5s }", "answers, { waits: 2s }, { plays: menu.wav }", "after 3500 ms"),
        ("{ hears: { prompt: \"${name}\" } }", "answers, { plays: menu.wav }", "after 1500 ms"),
        ("{ hears: { prompt: menu.wav } }", "answers, { plays: other.wav }, { plays: menu.wav }", "after 3500 ms"),
        ("{ hears: speech }", "answers, { waits: 1s }, { plays: menu.wav }", "after 1000 ms")
    ])
    func itIsHeard(expect: String, callee: String, actual: String) throws {
        try run(expect, callee: callee, is: "{ logged: \"actual \(actual)\" }, { result: passed }")
    }

    @Test(arguments: [
        ("{ hears: { prompt: menu.wav }, within: 5s }", "answers, { plays: other.wav }", "no menu.wav within 5s"),
        ("{ hears: { prompt: menu.wav }, within: 5s }", "answers, { says: 3s }", "no menu.wav within 5s"),
        ("{ hears: { prompt: menu.wav }, within: 1s }", "answers, { plays: menu.wav }", "no menu.wav within 1s")
    ])
    func itIsNot(expect: String, callee: String, actual: String) throws {
        try run(
            expect, callee: "\(callee), { waits: 10s }",
            is: "{ logged: \"actual \(actual)\" }, { failed: hears menu.wav }, { result: failed }")
    }

    /// A name that comes from a value is looked for when it is known.
    @Test func aFileThatIsNotThereIsNamed() throws {
        try run(
            "{ hears: { prompt: \"missing-${name}\" }, name: greeting }", callee: "answers, { waits: 20s }",
            is: "{ logged: \"actual there is no file missing-menu.wav\" }, { failed: greeting }")
    }

    @Test(arguments: [
        ("{ hears: { prompt: missing.wav } }", "there is no prompt `missing.wav` in"),
        ("{ hears: { prompt: broken.wav } }", "the prompt `broken.wav` cannot be played: no audio in it"),
        ("{ hears: { prompt: ../../menu.wav } }", ""), ("{ hears: { prompt: [ a, b ] } }", ""), ("{ hears: {} }", "asks nothing")
    ])
    func whatIsWrongIsToldByTheCheck(expect: String, message: String) {
        let errors = load(steps("answer", "expect: \(expect)")).diagnostics.map(\.description)
        #expect(errors.contains { $0.hasPrefix("f.yaml:5:") && $0.contains(message) }, "\(errors)")
    }

    @Test func aFarSideThatCannotPlaySaysSo() throws {
        let text =
            steps("answer", "hangup")
            + "cases:\n  - { name: x, caller: [ { plays: missing.wav } ], expect: [ { ended: normal } ] }\n"
        let flow = try #require(load(text).flow)
        let failures = FlowBench.run(flow, prompts: Prompts()).flatMap(\.failures)
        #expect(failures == ["caller cannot play missing.wav: there is no file missing.wav"])
    }
}
