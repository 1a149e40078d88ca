// `codecs` of a flow and of `bridge`: what is read, what the checker says, what a call that comes in is told.

import CallEngine
import FlowEngine
import Testing

@Suite struct FlowCodecsTests {
    private func load(_ codecs: String, bridge: String = "") -> FlowLoadResult {
        let text = """
            flow: t
            codecs: \(codecs)
            sections:
              main:
                - answer
                - expect: { codec: opus, on: { failed: { tag: other } } }
                - bridge: { to: "sip:a@h"\(bridge) }
                - hangup
            cases:
              - { name: in, expect: [ { not: { tag: other } } ] }
              - { name: out, callee: [ { waits: 1s } ], expect: [ { not: { tag: other } } ] }
            """
        return FlowLoader.load(text: text, file: "/f.yaml", options: FlowLoadOptions())
    }

    @Test(arguments: ["opus", "[ opus, pcmu ]"]) func bothDirectionsHaveThem(codecs: String) throws {
        let flow = try #require(load(codecs, bridge: ", codecs: pcma").flow)
        #expect(flow.codecs?.first == "opus")
        for result in FlowBench.run(flow) { #expect(result.failures == [], "\(result.name)") }
    }

    @Test(arguments: [
        ("opsu", "", "/f.yaml:2:9: error: unknown codec `opsu` of `codecs`; did you mean `opus`?"),
        ("[ opus, opus ]", "", "/f.yaml:2:17: error: `opus` stands twice in `codecs`; remove one"),
        ("[]", "", "/f.yaml:2:9: error: `codecs` names no codec; remove it"),
        ("opus", ", codecs: [ g711 ]", "unknown codec `g711` of `codecs`; known: `opus`, `g722`, `pcmu`, `pcma`, `l16`, `g729`")
    ])
    func theCheckerRefuses(codecs: String, bridge: String, message: String) {
        let errors = load(codecs, bridge: bridge).diagnostics.filter { $0.severity == .error }.map(\.description)
        #expect(errors.contains { $0.hasSuffix(message) }, "\(errors)")
    }
}
