// The interpreter's rules, as flows with cases of their own: what fails says what happened.

import Basics
import CallEngine
import FlowEngine
import Reactor
import Testing

/// Runs the cases of a flow; all have to pass.
func runCases(_ text: String) throws {
    let result = load(text)
    let flow = try #require(result.flow, "\(result.diagnostics.map(\.description))")
    #expect(!flow.cases.isEmpty)
    for verdict in FlowBench.run(flow, prompts: Prompts()) {
        #expect(
            verdict.passed,
            "\(verdict.name)\n\(verdict.failures.joined(separator: "\n"))\n\(verdict.transcript.joined(separator: "\n"))")
    }
}

@Suite struct FlowRunTests {
    private func run(_ text: String, _ comment: Comment? = nil) throws { try runCases(text) }

    @Test func namesExistAsNullFromTheStart() throws {
        try run(
            """
            flow: t
            vars: { later: }
            sections:
              main:
                - log: "choice is ${choice == null} and later is ${later == null}"
                - answer
                - collect: { into: choice }
                - hangup
            always: [ { log: "ended with [${choice}]" } ]
            cases:
              - { name: early end, caller: [ { waits: 1s }, hangs-up ], expect: [ { logged: choice is true and later is true }, { logged: "ended with []" } ] }
            """)
    }

    @Test func anErrorBeforeTheAnswerIs500AndAfterItABYE() throws {
        try run(
            """
            flow: t
            vars: { zero: 0 }
            sections:
              main:
                - if: call.from.user == "late"
                  then: answer
                - log: "${1 / zero}"
                - hangup
            cases:
              - { name: before, expect: [ { rejected: 500 }, { result: error }, { error: "zero = 0" } ] }
              - { name: after, from: late, expect: [ answered, { ended: error }, { hung-up: flow }, { result: error } ] }
            """)
    }

    @Test func errorsGoToTheStepThenToTheFailedSection() throws {
        try run(
            """
            flow: t
            vars: { zero: 0 }
            failed: [ { log: "failed section" }, { goto: sorry } ]
            sections:
              main:
                - answer
                - wait: "${zero}"
                - hangup
              handled:
                - play: { file: "${1 / zero}.wav", into: played, on: { failed: { log: "step: ${result.error}" } } }
                - goto: sorry
              sorry:
                - play: sorry.wav
                - goto: handled2
              handled2:
                - hangup
            cases:
              - { name: section, expect: [ { logged: failed section }, { played: sorry.wav }, { ended: normal } ] }
            """)
        try run(
            """
            flow: t
            vars: { zero: 0 }
            sections:
              main:
                - answer
                - play: { file: "${1 / zero}.wav", on: { failed: { log: "step: ${result.error}" } } }
                - log: on it goes
                - hangup
            cases:
              - { name: step, expect: [ { logged: "/^step: .*zero/" }, { logged: on it goes }, { result: passed } ] }
            """)
    }

    @Test func aPromptThatCannotBePlayedNeverEndsTheCall() throws {
        try run(
            """
            flow: t
            vars: { file: missing }
            sections:
              main:
                - answer
                - play: "${file}.wav"
                - play: { file: "${file}.wav", on: { failed: { log: handled } } }
                - play: after.wav
                - hangup
            cases:
              - { name: x, expect: [ { played: after.wav }, { logged: handled }, { result: passed } ] }
            """)
    }

    @Test func secretsAreNowhere() throws {
        let result = load(
            """
            flow: t
            sections:
              main:
                - answer
                - collect: { digits: 4, secret: true, into: pin }
                - set: { copy: "x${pin}" }
                - log: "pin ${pin}, copy ${copy}, result ${result.value}, ${size(pin)}"
                - tag: { pin: "${copy}" }
                - request: { url: "https://example.com/${pin}" }
                - if: pin == "4711"
                  then: { log: right }
                - hangup
            cases:
              - { name: x, caller: [ { press: "4711" } ], expect: [ { logged: right }, { requested: "https://example.com/4711" } ] }
              - { name: typed ahead, caller: [ { press: "4711" } ], expect: [ { logged: "pin ***, copy ***, result ***, 3" } ] }
            """)
        let flow = try #require(result.flow, "\(result.diagnostics)")
        for verdict in FlowBench.run(flow) {
            #expect(verdict.passed, "\(verdict.failures)")
            #expect(!verdict.transcript.contains { $0.contains("4711") && !$0.contains("presses") }, "\(verdict.transcript)")
        }
    }

    @Test func secretKeysStayOutOfTheHistory() throws {
        let flow = try #require(
            load(steps("answer", "collect: { digits: 2, secret: true }", "collect: { digits: 1 }", "wait: 1h")).flow)
        let loop = VirtualLoop()
        let party = CallParty(uri: "sip:a@b")
        let call = SimulatedCall(loop: loop, info: CallInfo(id: "c", direction: .inbound, from: party, to: party, started: .zero))
        for key in "12" { call.farSidePresses(Digit(key)!, .began) }
        loop.spawn { _ = await FlowRun(flow: flow, call: call, environment: FlowEnvironment()).run() }
        loop.schedule(after: .seconds(1)) { call.farSidePresses(Digit("7")!, .began) }
        loop.schedule(after: .seconds(2)) { call.farSideHangsUp() }
        loop.run()
        #expect(call.digits.history == "7")
    }

    @Test func alwaysIsLimitedAndHasNoAudio() throws {
        try run(
            """
            flow: t
            always-limit: 2s
            sections:
              main: [ answer, { wait: 1m }, hangup ]
            always: [ { log: "state ${call.state}" }, { wait: 1s }, { log: still }, { wait: 2s }, { log: too late } ]
            cases:
              - name: x
                caller: [ { waits: 5s }, hangs-up ]
                expect: [ { logged: state ended }, { logged: still }, { not: { logged: too late } }, { hung-up: caller } ]
            """)
    }

    @Test func aCycleThatTakesNoTimeIsAnErrorAtRunTimeToo() throws {
        try run(
            """
            flow: t
            vars: { n: 0 }
            sections:
              main:
                - answer
                - repeat: { while: "n < 1", do: [ { set: { n: 0 } } ] }
                - hangup
            cases:
              - { name: x, expect: [ { error: steps in no time }, { result: error } ] }
            """)
    }

    @Test func choicesAndSwitchesAndLoops() throws {
        try run(
            """
            flow: t
            vars: { n: 0, list: "" }
            sections:
              main:
                - answer
                - repeat: { times: 3, do: [ { set: { n: "${n + 1}", list: "${list}${n}" } } ] }
                - collect:
                    choices:
                      "1": { goto: one }
                      "/^[3-5]$/": [ { set: { list: "${result.value}" } }, { goto: two } ]
                    into: choice
                    tries: 1
                    on: { invalid: { goto: two } }
                - hangup
              one:
                - switch: { value: "${n}", cases: { "2": { log: two }, "/^3/": { log: three } }, default: { log: other } }
                - hangup
              two:
                - log: "two ${choice} ${list}"
                - hangup
            cases:
              - { name: first, caller: [ { press: "1" } ], expect: [ { value: { n: 3, list: "123", choice: "1" } }, { logged: three } ] }
              - { name: pattern, caller: [ { press: "4" } ], expect: [ { logged: "two 4 4" }, { section: two } ] }
              - { name: invalid, caller: [ { press: "9" } ], expect: [ { logged: "two  123" } ] }
              - { name: silence goes on, expect: [ { value: { choice: "" } }, { not: { section: two } } ] }
            """)
    }

    @Test func requestsGiveValues() throws {
        try run(
            """
            flow: t
            sections:
              main:
                - request:
                    url: "https://example.com/${call.from.user}"
                    json: { who: "${call.from.user}", n: 3 }
                    timeout: 2s
                    into: answer
                    on: { failed: [ { log: "failed ${answer.status} ${answer.error}" }, { reject: 503 } ] }
                - log: "hello ${answer.json.name}, ${answer.json.text}"
                - hangup
            cases:
              - { name: good, from: anna, web: { "https://example.com/*": { json: { name: Anna, text: "$${1+1}" } } }, expect: [ { logged: "hello Anna, ${1+1}" }, { requested: "POST https://example.com/anna" } ] }
              - { name: refused, web: { "*": 404 }, expect: [ { logged: "failed 404 the server answered 404" }, { rejected: 503 } ] }
              - { name: slow, web: { "*": { after: 5s } }, expect: [ { logged: "failed 0 no answer within 2s" } ] }
              - { name: down, web: { "*": failed }, expect: [ { rejected: 503 } ] }
            """)
    }

    @Test func outboundAnswers() throws {
        try run(
            """
            flow: t
            direction: outbound
            sections:
              main:
                - ring
                - answer: { timeout: 10s, on: { busy: [ { tag: busy }, hangup ], no-answer: { tag: nobody } } }
                - play: a.wav
                - hangup
            cases:
              - { name: answered, callee: [ rings, { waits: 2s }, answers ], expect: [ { played: a.wav }, { result: passed } ] }
              - { name: busy, callee: [ rings, { waits: 1s }, busy ], expect: [ { tag: busy }, { ended: busy }, { result: passed } ] }
              - { name: nobody, callee: [ rings, { waits: 1m } ], expect: [ { tag: nobody }, { not: { played: a.wav } }, { hung-up: caller } ] }
              - { name: refused, callee: [ rejects ], expect: [ { ended: rejected }, { result: failed } ] }
            """)
    }

    @Test func expectationsGiveVerdicts() throws {
        try run(
            """
            flow: t
            direction: outbound
            sections:
              main:
                - expect: { answered: 5s }
                - expect: { status: 2xx, header: { Server: "/ring/" } }
                - expect: { codec: [ opus, pcmu ] }
                - expect: { codec: g722/8000, name: wideband }
                - expect: { mos: 4.0, loss: 1%, jitter: 30ms, audio: two-way }
                - expect: { hears: { tone: busy }, within: 5s }
                - expect: { digits: "42", within: 5s }
                - expect: { hears: silence, for: 2s, within: 10s }
                - expect: { digits: "1", within: 1s, on: { failed: { tag: none } } }
                - hangup
            cases:
              - name: x
                headers: { Server: a ring }
                callee: [ answers, { tone: [ 480, 620 ], for: 1s }, { press: "42" } ]
                expect:
                  - passed: [ answered, status 2xx, header Server, codec opus or pcmu, mos at least 4, loss at most 1%, jitter at most 30ms, audio both ways, hears tone busy, digits 42, hears silence ]
                  - failed: [ digits 1, wideband ]
                  - tag: none
                  - result: failed
            """)
    }

    @Test func qualityIsAskedOfWhatWasHeard() throws {
        try run(
            """
            flow: t
            sections:
              main:
                - expect: { mos: 1, loss: 100%, jitter: 1s, audio: two-way }
                - answer
                - expect: { mos: 4.5, name: heard }
                - hangup
            cases:
              - name: x
                caller: [ { waits: 1s } ]
                expect:
                  - failed: [ mos at least 1, loss at most 100%, jitter at most 1s, audio both ways ]
                  - passed: heard
            """)
    }

    @Test func bargeInOfPlayLeavesTheKeyForCollect() throws {
        try run(
            """
            flow: t
            sections:
              main:
                - answer
                - play: { file: long.wav, loop: forever, barge-in: true }
                - collect: { prompts: menu.wav, into: choice }
                - hangup
            cases:
              - { name: x, caller: [ { waits: 3s }, { press: "5" } ], expect: [ { value: { choice: "5" } }, { not: { played: menu.wav } } ] }
            """)
    }

    @Test func holdAndBackgroundAndDigits() throws {
        try run(
            """
            flow: t
            sections:
              main:
                - progress
                - ringback: 2s
                - answer
                - hold: music.wav
                - unhold
                - play: { file: noise.wav, background: true, loop: forever }
                - send-digits: "1w2#"
                - tone: { name: busy, for: 1s }
                - hangup
            cases:
              - { name: x, expect: [ held, { sent: "12#" }, { played: [ tone ringback, noise.wav, tone busy ] }, { ended: normal } ] }
            """)
    }

    @Test func aFlowForTheOtherDirectionIsRefused() throws {
        let flow = try #require(load("direction: outbound\n" + steps("wait: 1s", "hangup")).flow)
        let loop = VirtualLoop()
        let party = CallParty(uri: "sip:a@b")
        let call = SimulatedCall(loop: loop, info: CallInfo(id: "c", direction: .inbound, from: party, to: party, started: .zero))
        var outcome: FlowOutcome?
        loop.spawn { outcome = await FlowRun(flow: flow, call: call, environment: FlowEnvironment()).run() }
        loop.run()
        #expect(outcome?.result == .error)
        #expect(outcome?.error?.message == "the flow `t` is for outbound calls; this call is inbound")
    }

    @Test func aFailingCaseSaysWhatWasThere() throws {
        let flow = try #require(
            load(
                steps("answer", "play: a.wav", "hangup")
                    + "cases:\n  - { name: x, caller: [ { hears: b.wav } ], expect: [ { played: c.wav } ] }\n"
            ).flow)
        let verdict = FlowBench.run(flow)[0]
        #expect(!verdict.passed)
        #expect(
            FlowBench.run(flow, prompts: Prompts())[0].failures == [
                "caller waited for b.wav, which never came", "f.yaml:8:58: expected played c.wav, got a.wav"
            ])
    }
}
