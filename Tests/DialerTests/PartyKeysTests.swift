// Keys that one half of a test keeps secret: nothing of them is compared or told, at neither end.

import Dialer
import FlowEngine
import TestKit
import Testing

@Suite struct PartyKeysTests {
    private static let parties = "  agent: { number: \"200\", flow: b.yaml, agree: [ digits, hang-up ] }"

    private static func collecting(_ settings: String) -> String {
        PartyTests.agent.replacing("wait: 30s", with: "collect: { \(settings) }\n    - wait: 30s")
    }

    private func outcome(agent: String, caller: String = PartyTests.caller) throws -> (PartyOutcome, [FlowEngine.Expectation]) {
        let bench = try PartyTests.Bench(
            Self.parties, caller: caller, flows: [agent], system: PartyTests.bridging(to: "sip:200@192.0.2.2"))
        try bench.begin()
        let all = try bench.finish()
        return (try #require(bench.outcomes[1]), all)
    }

    /// Also where the caller hangs up before he has pressed enough of them.
    @Test(arguments: ["max: 2, secret: true", "max: 8, first-digit: 20s, secret: true"])
    func thePartyCollectsThem(_ settings: String) throws {
        let (outcome, all) = try outcome(agent: Self.collecting(settings))
        #expect(outcome.hasSecretKeys)
        for half in outcome.halves { #expect(half.outcome.digitsSent == "" && half.digitsReceived == "", "\(half.name)") }
        #expect(PartyTests.missed(all) == [] && !all.contains { $0.name.contains("keys") }, "\(all)")
    }

    @Test func theyAreComparedWhereNothingIsSecret() throws {
        let (outcome, all) = try outcome(agent: Self.collecting("max: 2"))
        #expect(!outcome.hasSecretKeys && PartyTests.missed(all) == [])
        #expect(all.contains { $0.name == "agent hears the keys 12 of caller" })
    }
}
