// `conference` over a simulated call: what it returns, what its keys do, when its music plays, what the checker says.

import Basics
import CallEngine
import FlowEngine
import Reactor
import Testing

@Suite struct ConferenceVerbTests {
    private func load(_ conference: String, _ after: String = "", cases: String = "") -> (flow: Flow?, errors: [String]) {
        let text = """
            flow: t
            vars: { talk: {} }
            sections:
              main:
                - answer
                - \(conference)
            \(after)
                - wait: 1s
            \(cases)
            """
        let result = FlowLoader.load(text: text, file: "/flow.yaml", options: FlowLoadOptions())
        return (result.flow, result.diagnostics.filter { $0.severity == .error }.map(\.description))
    }

    private func results(_ conference: String, cases: String) throws -> [String: [String]] {
        let (flow, errors) = load(
            conference, "    - log: \"${talk.outcome} ${talk.members} ${talk.most} ${talk.duration}\"", cases: cases)
        #expect(errors == [])
        return FlowBench.run(try #require(flow)).reduce(into: [:]) { $0[$1.name] = $1.failures + [] }
    }

    @Test func casesTellHowItEnds() throws {
        let failures = try results(
            "conference: { room: \"r-${call.to.user}\", max: 4, for: 10m, into: talk, wait-for-moderator: true, end-with-moderator: true, music: { silence: 1s }, keys: { \"#\": leave } }",
            cases: """
                cases:
                  - name: by key
                    caller: [ { waits: 5s }, { press: "7#" } ]
                    conferences: { r-100: { others: 2, moderator: 0s } }
                    expect: [ { conference: r-100 }, { conference: { room: r-100, outcome: left } }, { logged: "left 3 3 5s200ms" } ]
                  - name: full
                    conferences: { "r-*": { others: 4 } }
                    expect: [ { conference: { room: r-100, outcome: full } }, { logged: "full 4 0 0s" }, { not: { conference: r-100 } } ]
                  - name: the moderator ends it
                    conferences: { "r-*": { moderator: 3s, ends: 20s } }
                    expect: [ { conference: { room: r-100, outcome: ended } }, { played: silence 1s }, { logged: "ended 3 3 20s" } ]
                  - name: too long
                    limit: 20m
                    expect: [ { conference: { room: r-100, outcome: timeout } }, { logged: timeout } ]
                  - name: hang-up
                    caller: [ { waits: 2s }, hangs-up ]
                    expect: [ { conference: r-100 }, { hung-up: caller }, { not: { logged: left } } ]
                """)
        #expect(failures.count == 5)
        for (name, failures) in failures { #expect(failures == [], "\(name)") }
    }

    @Test(arguments: [
        ("conference: { max: 3 }", "needs `room`"),
        ("conference: { room: a, max: 1 }", "from 2 to 1000"),
        ("conference: { room: a, keys: { \"1\": mutte } }", "did you mean `mute`?"),
        ("conference: { room: a, keys: { \"12\": mute } }", "one key"),
        ("conference: { room: a, moderator: true, wait-for-moderator: true }", "no moderators"),
        ("conference: { room: a, talk-volume: 60 }", "from -40.0 to 20.0"),
        ("conference: { room: a, modreator: true }", "did you mean `moderator`?"),
        ("conference", "needs the name of a room")
    ])
    func mistakesAreTold(step: String, words: String) {
        let errors = load(step).errors
        #expect(errors.contains { $0.contains(words) && $0.contains("/flow.yaml:6") }, "\(errors)")
    }

    @Test func keysSteerIt() throws {
        let loop = VirtualLoop()
        let party = CallParty(uri: "sip:anna@example.com", user: "anna", host: "example.com")
        let call = SimulatedCall(
            loop: loop, info: CallInfo(id: "c", direction: .inbound, from: party, to: party, started: loop.now))
        let (flow, errors) = load(
            "conference: { room: r, keys: { \"1\": mute, \"2\": unmute, \"3\": toggle-mute, \"4\": louder, \"5\": softer, \"6\": talk-louder, \"7\": talk-softer, \"0\": reset-volume } }"
        )
        #expect(errors == [])
        let run = FlowRun(flow: try #require(flow), call: call, environment: FlowEnvironment())
        loop.spawn { _ = await run.run() }
        loop.run(for: .seconds(1))
        let part = try #require(call.participation)
        func press(_ key: Character) -> (Bool, Double, Double) {
            call.farSidePresses(Digit(key)!, .began)
            call.farSidePresses(Digit(key)!, .ended)
            return (part.isMuted, part.listenVolume, part.talkVolume)
        }
        #expect(press("1") == (true, 0, 0))
        #expect(press("3") == (false, 0, 0))
        #expect(press("3") == (true, 0, 0))
        #expect(press("2") == (false, 0, 0))
        #expect(press("4") == (false, 3, 0))
        #expect(press("6") == (false, 3, 3))
        #expect(press("5") == (false, 0, 3))
        for _ in 0..<30 { _ = press("7") }
        #expect(press("9") == (false, 0, -40))
        #expect(press("0") == (false, 0, 0))
        call.farSideHangsUp()
        loop.run(for: .seconds(1))
        #expect(part.end == .left && loop.liveTasks == 0 && loop.pendingTimers == 0)
    }

    @Test(arguments: ["", String(repeating: "r", count: 129)]) func aRoomHasAName(name: String) throws {
        let (flow, _) = load(
            "conference: \"${call.headers[\\\"Room\\\"]}\"",
            cases: """
                cases:
                  - name: it
                    headers: { Room: "\(name)" }
                    expect: [ { error: "1 to 128 letters" }, { result: error } ]
                """)
        #expect(FlowBench.run(try #require(flow))[0].failures == [])
    }
}
