// `retry`, `fallback` and `filler` of `request` over a simulated web: how often is asked, whom, what is heard meanwhile.

import CallEngine
import FlowEngine
import Testing

@Suite struct RequestVerbTests {
    private func load(_ request: String, before: String = "answer", cases: String) -> (flow: Flow?, errors: [String]) {
        let text = """
            flow: t
            vars: { answer: {} }
            sections:
              main:
                - \(before)
                - request: \(request)
                - log: "${answer.status} after ${answer.attempts}"
                - hangup
            \(cases)
            """
        let result = FlowLoader.load(text: text, file: "/flow.yaml", options: FlowLoadOptions())
        return (result.flow, result.diagnostics.filter { $0.severity == .error }.map(\.description))
    }

    private func expectAllPass(_ loaded: (flow: Flow?, errors: [String])) throws -> [CaseResult] {
        #expect(loaded.errors == [])
        let results = FlowBench.run(try #require(loaded.flow))
        for result in results { #expect(result.failures == [], "\(result.name)\n\(result.transcript.joined(separator: "\n"))") }
        return results
    }

    @Test func whatFailsIsTriedAgainAfterLongerPauses() throws {
        let results = try expectAllPass(
            load(
                "{ url: \"https://a\", retry: { times: 3, wait: 1s, longest: 3s }, into: answer, on: { failed: { tag: failed } } }",
                cases: """
                    cases:
                      - { name: first, expect: [ { logged: "200 after 1" } ] }
                      - { name: third, web: { "https://a": [ 503, failed, 200 ] }, expect: [ { logged: "200 after 3" }, { not: { tag: failed } } ] }
                      - { name: never, web: { "https://a": 500 }, expect: [ { logged: "500 after 4" }, { tag: failed } ] }
                      - { name: what is wrong stays wrong, web: { "https://a": [ 404, 200 ] }, expect: [ { logged: "404 after 1" }, { tag: failed } ] }
                      - { name: hang-up in a pause, web: { "https://a": 503 }, caller: [ { waits: 2s }, hangs-up ], expect: [ { hung-up: caller }, { not: { logged: "after" } } ] }
                    """))
        // 1 s, 2 s and 3 s of pauses, 50 ms for each answer.
        #expect(results[2].took == .milliseconds(6200))
        #expect(results[2].transcript.filter { $0.contains("GET https://a: 500") }.count == 4)
        #expect(results[4].took == .seconds(2))
    }

    @Test func anotherServiceIsAskedWhereTheFirstIsDown() throws {
        let results = try expectAllPass(
            load(
                "{ url: \"https://a/x\", retry: 1, fallback: [ \"https://b/x\", \"https://c/x\" ], timeout: 2s, json: { n: 1 }, into: answer, on: { failed: { tag: failed } } }",
                cases: """
                    cases:
                      - { name: first, expect: [ { requested: "https://a/x" }, { not: { requested: "https://b/x" } }, { logged: "200 after 1" } ] }
                      - { name: second, web: { "https://a/*": { status: 200, after: 5s } }, expect: [ { requested: "https://b/x" }, { not: { requested: "https://c/x" } }, { logged: "200 after 3" } ] }
                      - { name: none, web: { "*": failed }, expect: [ { requested: "https://c/x" }, { tag: failed }, { logged: "0 after 6" } ] }
                      - { name: an answer that counts, web: { "https://a/*": 403 }, expect: [ { not: { requested: "https://b/x" } }, { logged: "403 after 1" }, { tag: failed } ] }
                    """))
        #expect(results[1].transcript.contains { $0.contains("POST https://b/x: 200") })
    }

    @Test func theCallerHearsSomethingMeanwhile() throws {
        let results = try expectAllPass(
            load(
                "{ url: \"https://a\", timeout: 30s, filler: { prompt: { say: \"One moment please\" }, after: 2s }, into: answer }",
                cases: """
                    cases:
                      - { name: quick, expect: [ { not: { played: "One moment please" } } ] }
                      - { name: slow, web: { "https://a": { status: 200, after: 8s } }, caller: [ { hears: "One moment please" } ], expect: [ { logged: "200 after 1" } ] }
                      - { name: hang-up, web: { "https://a": { status: 200, after: 20s } }, caller: [ { hears: "One moment please" }, hangs-up ], expect: [ { hung-up: caller } ] }
                    """))
        #expect(results[1].took == .seconds(8))
        #expect(results[2].took == .seconds(2))
    }

    @Test func beforeTheAnswerNothingIsHeard() throws {
        _ = try expectAllPass(
            load(
                "{ url: \"https://a\", filler: { say: \"One moment please\" }, into: answer }", before: "ring",
                cases:
                    "cases: [ { name: a, web: { \"https://a\": { after: 5s } }, expect: [ { logged: \"200 after 1\" }, { not: { played: \"One moment please\" } } ] } ]"
            ))
    }

    @Test(arguments: [
        ("{ url: \"https://a\", retry: 11 }", "`retry` is from 0 to 10, not 11"),
        ("{ url: \"https://a\", retry: { often: 2 } }", "unknown key `often` of `retry`"),
        ("{ url: \"https://a\", retry: { wait: 2 } }", "has no unit"),
        ("{ url: \"https://a\", fallback: \"ftp://b\" }", "`fallback` begins with http:// or https://"),
        ("{ url: \"https://a\", filler: { prompt: a.wav, before: 1s } }", "unknown key `before` of `filler`"),
        ("{ url: \"https://a\", sign: x }", "`sign` of `request` is not built yet")
    ])
    func theCheckerRefuses(request: String, words: String) {
        let errors = load(request, cases: "").errors
        #expect(errors.contains { $0.contains(words) }, "\(errors)")
    }

    /// Where a fallback may not be asked, nothing is.
    @Test func aFallbackIsAllowedOrRefused() throws {
        let loaded = load(
            "{ url: \"https://a\", fallback: \"${'ht' + 'ml'}\", into: answer }",
            cases: "cases: [ { name: a, expect: [ { result: error } ] } ]")
        _ = try expectAllPass(loaded)
    }
}
