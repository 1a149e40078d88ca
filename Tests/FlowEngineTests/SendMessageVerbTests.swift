// `send-message` over a simulated call: what it returns and when, what cases can expect of it, what the checker says.

import CallEngine
import FlowEngine
import Testing

@Suite struct SendMessageVerbTests {
    private func load(_ steps: String, always: String = "", cases: String = "") -> (flow: Flow?, errors: [String]) {
        let text = """
            flow: t
            vars: { sent: {} }
            sections:
              main:
                - answer
            \(steps)
                - hangup
            \(always)
            \(cases)
            """
        let result = FlowLoader.load(text: text, file: "/flow.yaml", options: FlowLoadOptions())
        return (result.flow, result.diagnostics.filter { $0.severity == .error }.map(\.description))
    }

    @Test func casesTellWhatBecameOfIt() throws {
        let (flow, errors) = load(
            """
                - send-message: "Your ticket is ${1 + 1}."
                - send-message: { to: "user:anna", text: "${call.from.user} calls", timeout: 4s, into: sent, on: { delivered: { tag: well }, unreachable: { tag: nobody } } }
                - log: "${sent.outcome} ${sent.status} ${sent.reason}"
            """,
            always: "always: [ { send-message: { to: \"sip:log@h\", text: \"over\" } } ]",
            cases: """
                cases:
                  - name: well
                    from: bob
                    expect:
                      - message: "Your ticket is 2."
                      - message: { to: "user:*", text: bob calls, outcome: delivered }
                      - message: { to: "sip:log@h", text: over }
                      - { logged: "delivered 200 OK" }
                      - { tag: well }
                      - { not: { message: { outcome: refused } } }
                  - name: nobody
                    bridges: { "user:anna": unreachable }
                    expect: [ { message: { to: "user:anna", outcome: unreachable } }, { tag: nobody }, { logged: "unreachable 0" } ]
                  - name: refused
                    bridges: { "user:anna": rejected }
                    expect: [ { message: { to: "user:anna", outcome: refused } }, { logged: "refused 603 Decline" } ]
                  - name: silent
                    bridges: { "user:anna": no-answer }
                    expect: [ { message: { outcome: no-answer } }, { logged: "no-answer 0 no answer in time" } ]
                  - name: hang-up in the middle
                    bridges: { "user:anna": no-answer }
                    caller: [ { waits: 2s }, hangs-up ]
                    expect: [ { not: { message: { to: "user:anna" } } }, { message: over }, { hung-up: caller } ]
                """)
        #expect(errors == [])
        let results = FlowBench.run(try #require(flow))
        #expect(results.count == 5)
        for result in results { #expect(result.failures == [], "\(result.name)") }
    }

    @Test func aCaseThatIsWrongSaysWhatWasThere() throws {
        let (flow, errors) = load(
            "    - send-message: hello", cases: "cases: [ { name: a, expect: [ { message: { text: bye, to: \"sip:*\" } } ] } ]")
        #expect(errors == [])
        let failures = FlowBench.run(try #require(flow)).flatMap(\.failures)
        #expect(failures.count == 1)
        #expect(failures.first?.hasSuffix("expected message bye to sip:*, got hello (delivered)") == true)
    }

    @Test(arguments: [
        ("send-message: \"\"", "the text is empty"),
        ("send-message:", "needs `text`"),
        ("send-message: { to: \"sip:a@h\" }", "needs `text`"),
        ("send-message: { to: \"anna\", text: a }", "`anna` is nobody a text can be sent to"),
        ("send-message: { to: \"line:trunk\", text: a }", "`line:trunk` is nobody"),
        ("send-message: { text: a, type: plain }", "`plain` is no media type"),
        ("send-message: { text: a, subject: b }", "subject"),
        ("send-message: { text: a, on: { lost: hangup } }", "lost"),
        ("send-message: \"\(String(repeating: "x", count: 1301))\"", "the text has 1301 octets; a MESSAGE has 1300 at most")
    ])
    func theCheckerRefuses(step: String, words: String) {
        let errors = load("    - \(step)").errors
        #expect(errors.contains { $0.contains(words) && $0.contains("/flow.yaml:6") }, "\(errors)")
    }

    @Test(arguments: [
        ("send-message: { to: \"${sent.nobody}\", text: a }", "nobody"),
        ("send-message: { to: \"${'an' + 'na'}\", text: a }", "`anna` is nobody a text can be sent to"),
        ("send-message: { type: \"${'pla' + 'in'}\", text: a }", "`plain` is no media type"),
        ("send-message: \"${''}\"", "the text is empty")
    ])
    func whatIsFoundAtRunTimeIsAFailure(step: String, words: String) throws {
        let (flow, errors) = load("    - \(step)", cases: "cases: [ { name: a, expect: [ { result: error } ] } ]")
        #expect(errors == [])
        let result = FlowBench.run(try #require(flow))[0]
        #expect(result.failures == [])
        #expect(result.transcript.contains { $0.contains("error:") && $0.contains(words) }, "\(result.transcript)")
    }

    @Test func inTheCallItNeedsTheCall() throws {
        let text = """
            flow: t
            sections: { main: [ { send-message: { text: early, on: { failed: { log: "${result.error}" } } } }, hangup ] }
            always: [ { send-message: late } ]
            cases: [ { name: a, expect: [ { logged: "not answered yet" }, { error: "the call has ended" } ] } ]
            """
        let flow = try #require(FlowLoader.load(text: text, file: "/flow.yaml", options: FlowLoadOptions()).flow)
        #expect(FlowBench.run(flow).flatMap(\.failures) == [])
    }

    // What comes is read by `call.texts`, and waited for by `expect`.
    @Test func textsThatCome() throws {
        let (flow, errors) = load(
            """
                - expect: { text: yes, within: 2s, on: { failed: { tag: silent } } }
                - expect: { text: "/order ([0-9]+)/", within: 5s, into: order, on: { failed: { tag: none } } }
                - log: "${order.actual} of ${size(call.texts)}: ${call.texts}"
            """,
            cases: """
                cases:
                  - name: before and while it waits
                    caller: [ { texts: yes }, { waits: 1s }, { texts: hello }, { waits: 1s }, { texts: "my order 4711, please" } ]
                    expect: [ { passed: "text yes" }, { logged: "my order 4711, please of 3: *hello*" } ]
                  - name: each counts once, and what came before it no more
                    caller: [ { texts: order 1 }, { texts: yes } ]
                    expect: [ { failed: "text /order ([0-9]+)/" }, { tag: none }, { logged: "no text within 5s of 2*" } ]
                  - name: none
                    expect: [ { tag: silent }, { tag: none }, { logged: "no text within 5s of 0*" } ]
                  - name: hang-up in the middle
                    caller: [ { waits: 1s }, hangs-up ]
                    expect: [ { hung-up: caller }, { failed: text yes }, { not: { tag: silent } } ]
                """)
        #expect(errors == [])
        for result in FlowBench.run(try #require(flow)) { #expect(result.failures == [], "\(result.name) \(result.transcript)") }
    }

    @Test func theInboxKeepsTheLatest() {
        let inbox = TextInbox()
        for number in 0..<30 { inbox.receive("\(number)") }
        #expect(inbox.all.count == TextInbox.capacity && inbox.all.first == "10" && Array(inbox.waiting) == inbox.all)
        inbox.take(15)
        inbox.receive("30")
        #expect(Array(inbox.waiting) == (25...30).map(String.init))
        inbox.take(99)
        #expect(inbox.waiting.isEmpty && inbox.all.last == "30")
    }
}
