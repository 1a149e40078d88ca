// A calls B through a system under test, and both are ours, in virtual time: what agrees, and each fault with the half that missed it.

import Basics
import CallEngine
import Dialer
import FlowEngine
import Foundation
import Reactor
import TestKit
import Testing

@Suite struct PartyTests {
    /// What the system under test does with a call that came in; on its own shard.
    typealias System = (Call, CallShard) -> Void

    static let caller = """
        flow: caller
        direction: outbound
        sections:
          call:
            - answer: { timeout: 20s }
            - wait: 300ms
            - tone: { frequencies: [ 440 ], for: 900ms }
            - send-digits: "12"
            - wait: 2s
            - hangup
        """
    static let agent = """
        flow: agent
        direction: inbound
        sections:
          call:
            - ring
            - answer
            - wait: 500ms
            - send-digits: "9"
            - tone: { frequencies: [ 620 ], for: 800ms }
            - wait: 30s
        """

    // MARK: What agrees

    @Test(arguments: [[], ["X-Ringwright-Test"]]) func bothHalvesAgree(_ passed: [String]) throws {
        let bench = try Bench(
            "  agent: { number: \"200\", flow: b.yaml }", system: Self.bridging(to: "sip:200@192.0.2.2", headers: passed))
        bench.world.network.impairment.delay = .milliseconds(30)
        try bench.begin()
        let all = try bench.finish()
        #expect(Self.missed(all) == [])
        let names = all.map(\.name)
        #expect(
            names == [
                "agent is called", "the hang-up of caller reaches agent", "agent hears the keys 12 of caller",
                "caller hears the keys 9 of agent", "agent hears caller", "caller hears agent"
            ])
        let party = try #require(bench.outcomes[1]?.parties.first)
        #expect(party.match == (passed.isEmpty ? "number" : "mark") && party.number == "200" && party.calls == 1)
        // The INVITE crossed the network twice, and so did every packet.
        #expect(
            party.setUp.map { $0 >= .milliseconds(60) && $0 < .milliseconds(80) } == true, "\(String(describing: party.setUp))")
        for sound in [party.heard, party.wasHeard] {
            let sound = try #require(sound)
            #expect(sound.said >= .milliseconds(700) && sound.heard == sound.said, "\(sound)")
            let latency = try #require(sound.latency)
            #expect(latency >= .milliseconds(40) && latency <= .milliseconds(160), "\(latency)")
        }
        #expect(bench.strays == [])
    }

    @Test func userToUserIsAMarkToo() throws {
        let bench = try Bench(
            "  agent: { flow: b.yaml }", mark: "mark: User-to-User",
            system: Self.bridging(to: "sip:anything@192.0.2.2", headers: ["User-to-User"]))
        try bench.begin()
        #expect(Self.missed(try bench.finish()) == [])
        #expect(bench.outcomes[1]?.parties[0].match == "mark")
    }

    /// Ten tests at once, at one number: each call finds its own by the mark.
    @Test func manyTestsAtOneNumber() throws {
        let bench = try Bench(
            "  agent: { number: \"200\", flow: b.yaml }",
            system: Self.bridging(to: "sip:200@192.0.2.2", headers: ["X-Ringwright-Test"]))
        for index in 0..<10 { try bench.begin(after: .milliseconds(index * 7)) }
        _ = try bench.finish()
        #expect(bench.outcomes.count == 10)
        for (row, outcome) in bench.outcomes {
            #expect(Self.missed(PartyJudge.expectations(outcome)) == [], "row \(row)")
            #expect(outcome.parties[0].match == "mark")
        }
    }

    @Test func thePartyHangsUp() throws {
        let agent = Self.agent.replacing("wait: 30s", with: "hangup")
        let bench = try Bench(
            "  agent: { flow: b.yaml, number: \"200\" }", caller: Self.caller.replacing("wait: 2s", with: "wait: 60s"),
            flows: [agent],
            system: Self.bridging(to: "sip:200@192.0.2.2"))
        try bench.begin()
        let all = try bench.finish()
        #expect(Self.missed(all) == [])
        #expect(all.contains { $0.name == "the hang-up of agent reaches caller" && $0.passed })
    }

    // MARK: What does not

    /// A fault of the system, and what the report has to say about it: that and no more.
    struct Fault: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let missed: [String]
        var parties = "  agent: { number: \"200\", flow: b.yaml }"
        var callers: @Sendable (inout EngineSettings) -> Void = { _ in }
        var network: @Sendable (VirtualWorld) -> Void = { _ in }
        let system: @Sendable () -> System

        init(_ name: String, _ missed: [String], system: @escaping @Sendable () -> System) {
            (testDescription, self.missed, self.system) = (name, missed, system)
        }

        func with(_ change: (inout Fault) -> Void) -> Fault {
            var fault = self
            change(&fault)
            return fault
        }
    }

    static let faults = [
        Fault("nobody is called", ["agent is called: was not called"]) {
            { call, _ in call.loop.spawn { try? await call.answer() } }
        },
        Fault("refused, and nobody is called", ["agent is called: was not called"]) {
            { call, _ in try? call.reject(status: 503, reason: nil, headers: []) }
        },
        Fault("another number", ["agent is called at 200: at 300"]) {
            bridging(to: "sip:300@192.0.2.2", headers: ["X-Ringwright-Test"])
        },
        Fault("another number, and no mark", ["agent is called: was not called"]) { bridging(to: "sip:300@192.0.2.2") },
        Fault("called twice", ["agent is called once: 2 times"]) {
            bridging(to: "sip:200@192.0.2.2 sip:200@192.0.2.2")
        },
        Fault(
            "keys and audio do not pass",
            [
                "agent hears the keys 12 of caller: none", "agent hears caller: 0.0 of 0.9 s",
                "caller hears the keys 9 of agent: none", "caller hears agent: 0.0 of 0.8 s"
            ]
        ) { apart() },
        Fault("one way", ["agent hears the keys 12 of caller: none", "agent hears caller: 0.0 of 0.9 s"]) {
            bridging(to: "sip:200@192.0.2.2")
        }.with {
            $0.callers = { $0.rtpPorts = 20000...20001 }
            $0.network = {
                var lost = VirtualNetwork.Impairment()
                lost.loss = 1
                $0.network.impair(from: SocketAddress(ip: IPAddress("192.0.2.1")!, port: 20000), lost)
            }
        },
        Fault("the caller's hang-up is not told", ["the hang-up of caller reaches agent: no BYE came within 5s"]) {
            apart(tells: false)
        }
        .with { $0.parties = "  agent: { number: \"200\", flow: b.yaml, agree: [ hang-up ] }" },
        Fault("a party that must not be called", ["agent is not called: was called after "]) {
            bridging(to: "sip:200@192.0.2.2")
        }.with { $0.parties = "  agent: { number: \"200\", called: never }" },
        Fault("late", ["agent is called: after 20"]) {
            let bridge = bridging(to: "sip:200@192.0.2.2")
            return { call, shard in call.loop.schedule(after: .seconds(2)) { bridge(call, shard) } }
        }.with { $0.parties = "  agent: { number: \"200\", flow: b.yaml, within: 1s }" }
    ]

    @Test(arguments: faults) func theFaultIsNamedAndNoOther(_ fault: Fault) throws {
        let bench = try Bench(fault.parties, callers: fault.callers, system: fault.system())
        fault.network(bench.world)
        try bench.begin()
        let missed = Self.missed(try bench.finish())
        #expect(missed.count == fault.missed.count, "\(missed)")
        for words in fault.missed { #expect(missed.contains { $0.hasPrefix(words) }, "\(missed)") }
    }

    @Test func thePartysHangUpIsNotTold() throws {
        let bench = try Bench(
            "  agent: { number: \"200\", flow: b.yaml, agree: [ hang-up ] }",
            caller: Self.caller.replacing("wait: 2s", with: "wait: 60s"),
            flows: [Self.agent.replacing("wait: 30s", with: "hangup")], system: Self.apart(tells: false))
        try bench.begin()
        #expect(Self.missed(try bench.finish()) == ["the hang-up of agent reaches caller: no BYE came within 5s"])
        #expect(bench.outcomes[1]?.caller.end.detail == "its far side had hung up")
    }

    /// The call belongs to one test by its mark, and was sent to the number of the other.
    @Test func aCallOfAnotherAttempt() throws {
        let bench = try Bench(
            "  agent: { number: \"${target.number}\", flow: b.yaml }\n  backup: { number: \"9${target.number}\", called: never }",
            system: Self.bridging(to: "sip:300@192.0.2.2", headers: ["X-Ringwright-Test"]))
        try bench.begin("300")
        try bench.begin("200", after: .milliseconds(10))
        #expect(Self.missed(try bench.finish()) == [])
        #expect(
            Self.missed(PartyJudge.expectations(try #require(bench.outcomes[2]))) == [
                "agent is called: was not called", "only the parties are called: at 300, which is for row 1"
            ])
    }

    /// It comes when its test is over, and is told so.
    @Test func aCallThatComesTooLate() throws {
        let bench = try Bench(
            "  agent: { number: \"200\", flow: b.yaml }",
            system: { call, shard in
                let headers = call.info.headers.filter { $0.name == "X-Ringwright-Test" }
                call.loop.schedule(after: .seconds(40)) {
                    _ = try? shard.place(CallRequest(target: "sip:200@192.0.2.2", headers: headers))
                }
                try? call.reject(status: 486, reason: nil, headers: [])
            })
        try bench.begin()
        #expect(Self.missed(try bench.finish()) == ["agent is called: was not called"])
        #expect(bench.strays == ["a call to 200 came when its test was over (row 1, attempt 1)"])
    }

    @Test func aStrangerIsRefused() throws {
        let bench = try Bench("  agent: { number: \"200\", flow: b.yaml }", system: Self.bridging(to: "sip:200@192.0.2.2"))
        let stranger = try bench.world.engine(at: "192.0.2.66")
        var status = 0
        let call = try stranger.shard(0).place(CallRequest(target: "sip:555@192.0.2.2"))
        call.onEnd = { _ in status = call.finalStatus }
        try bench.begin(after: .seconds(1))
        #expect(Self.missed(try bench.finish()) == [])
        #expect(status == 404)
        #expect(bench.strays == ["a call to 555 belongs to no test"])
    }

    /// What a stranger's request says is told in one line that steers no terminal, and in no more words than are of use.
    @Test func theWordsOfAStrangerAreTamed() throws {
        let bench = try Bench("  agent: { number: \"200\", flow: b.yaml }", system: Self.bridging(to: "sip:200@192.0.2.2"))
        let stranger = try bench.world.engine(at: "192.0.2.66")
        for user in ["%1b%5b2J%0aall", String(repeating: "5", count: 300)] {
            _ = try stranger.shard(0).place(CallRequest(target: "sip:\(user)@192.0.2.2"))
        }
        try bench.begin(after: .seconds(1))
        #expect(Self.missed(try bench.finish()) == [])
        let long = "a call to \(String(repeating: "5", count: 99))… belongs to no test"
        #expect(bench.strays.sorted() == [long, #"a call to \u{1b}[2J\u{a}all belongs to no test"#])
    }

    /// A row that has no number for a party calls nobody: its destination stays unknown.
    @Test func aPartyAtNoNumber() throws {
        let bench = try Bench(
            "  agent: { number: \"${target.number}\", flow: b.yaml }", system: Self.bridging(to: "sip:200@192.0.2.2"))
        var attempt = CampaignAttempt(row: 1, number: 1, target: .object(["number": .string("")]))
        #expect(attempt.fill(from: bench.plan) == "`number` of the party `agent` is empty")
        #expect(attempt.destination.isEmpty)
    }
}
