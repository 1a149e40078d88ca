// `send-info` over a simulated call: what it returns, what cases can expect of it, what the checker says.

import CallEngine
import FlowEngine
import Testing

@Suite struct SendInfoVerbTests {
    private func load(_ steps: String, cases: String = "") -> (flow: Flow?, errors: [String]) {
        let text = "flow: t\nvars: { sent: {} }\nsections:\n  main:\n\(steps)\n    - hangup\n\(cases)\n"
        let result = FlowLoader.load(text: text, file: "/flow.yaml", options: FlowLoadOptions())
        return (result.flow, result.diagnostics.filter { $0.severity == .error }.map(\.description))
    }

    @Test func casesTellWhatWasSent() throws {
        let (flow, errors) = load(
            """
                - answer
                - send-info: "state=${1 + 1}"
                - send-info: { type: application/x-desk, body: busy, package: x-desk, into: sent, on: { delivered: { tag: well } } }
                - log: "${sent.outcome} ${sent.status}"
            """,
            cases: """
                cases:
                  - name: a
                    expect: [ { info: "state=2" }, { info: busy }, { tag: well }, { logged: delivered 200 }, { not: { info: "x*" } } ]
                  - name: b
                    expect: [ { info: lost } ]
                """)
        #expect(errors == [])
        let results = FlowBench.run(try #require(flow))
        #expect(results.first?.failures == [] && results.last?.failures.count == 1, "\(results)")
        #expect(results.last?.failures.first?.hasSuffix("expected info lost, got state=2, busy") == true, "\(results)")
    }

    @Test(arguments: [
        ("send-info:", "needs `body`"), ("send-info: { type: application/x }", "needs `body`"),
        ("send-info: { body: a, type: plain }", "`plain` is no media type"),
        ("send-info: { body: a, package: \"a b\" }", "`a b` is no name of a package"),
        ("send-info: { body: a, to: \"sip:a@h\" }", "to"), ("send-info: { body: a, on: { accepted: hangup } }", "accepted")
    ])
    func theCheckerRefuses(step: String, words: String) {
        let errors = load("    - answer\n    - \(step)").errors
        #expect(errors.contains { $0.contains(words) }, "\(errors)")
    }

    @Test(arguments: [
        ("    - send-info: early", "answer"),
        ("    - answer\n    - send-info: { body: a, package: \"${'a' + ';b'}\" }", "`a;b` is no name of a package")
    ])
    func whatIsFoundAtRunTimeIsAFailure(steps: String, words: String) throws {
        let (flow, errors) = load(steps, cases: "cases: [ { name: a, expect: [ { result: error } ] } ]")
        guard let flow, errors.isEmpty else { return #expect(errors.contains { $0.contains(words) }, "\(errors)") }
        let result = FlowBench.run(flow)[0]
        #expect(result.failures == [])
        #expect(result.transcript.contains { $0.contains("error:") && $0.contains(words) }, "\(result.transcript)")
    }
}
