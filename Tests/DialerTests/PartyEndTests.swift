// Tests with parties that end otherwise than by the flows: at once, for want of a recording, from outside, by a broken path.

import Basics
import CallEngine
import Dialer
import Reactor
import TestKit
import Testing

@Suite struct PartyEndTests {
    /// A call that is over as soon as it is answered has nothing to record, and that is no fault of the recording.
    @Test func thePartyHangsUpAtOnce() throws {
        let agent = "flow: agent\nsections: { call: [ answer, hangup ] }\n"
        let bench = try PartyTests.Bench(
            "  agent: { number: \"200\", flow: b.yaml }", flows: [agent], system: PartyTests.bridging(to: "sip:200@192.0.2.2"))
        try bench.begin()
        #expect(PartyTests.missed(try bench.finish()) == [])
        #expect(bench.outcomes[1]?.parties[0].half?.recording?.length == .zero)
    }

    /// What cannot be recorded cannot be compared: that is no agreement.
    @Test func recordingsThatCannotBeMade() throws {
        let bench = try PartyTests.Bench(
            "  agent: { number: \"200\", flow: b.yaml }", recordings: "/dev/null/nowhere",
            system: PartyTests.bridging(to: "sip:200@192.0.2.2"))
        try bench.begin()
        let missed = PartyTests.missed(try bench.finish())
        #expect(missed.count == 2 && missed.allSatisfy { $0.contains(" is recorded: ") }, "\(missed)")
    }

    /// What nobody listened to cannot be said to agree, although packets came.
    @Test func recordingsThatNobodyListensTo() throws {
        let bench = try PartyTests.Bench(
            "  agent: { number: \"200\", flow: b.yaml }", system: PartyTests.bridging(to: "sip:200@192.0.2.2"))
        try bench.begin()
        #expect(PartyTests.missed(try bench.finish()) == [])
        let outcome = PartyJudge.unheard(try #require(bench.outcomes[1]), why: "too many recordings wait for it")
        let missed = PartyTests.missed(PartyJudge.expectations(outcome))
        #expect(
            missed == [
                "caller is recorded: its recording was not listened to: too many recordings wait for it",
                "agent is recorded: its recording was not listened to: too many recordings wait for it"
            ])
    }

    /// Ctrl-C twice: both halves are over at once.
    @Test func endedFromOutside() throws {
        let bench = try PartyTests.Bench(
            "  agent: { number: \"200\", flow: b.yaml }", system: PartyTests.bridging(to: "sip:200@192.0.2.2"))
        try bench.begin()
        bench.world.loop.schedule(after: .seconds(1)) { bench.desk?.onLoop.interrupt() }
        _ = try bench.finish()
        #expect(bench.outcomes[1]?.wasInterrupted == true)
        #expect(bench.outcomes[1]?.halves.map(\.end.cause) == [.cancelled, .cancelled])
        #expect(bench.outcomes[1]?.parties[0].half?.wasAnswered == true)
    }

    /// The path of the caller's half breaks in the middle: it ends for want of audio, and the party is not left talking.
    @Test func theCallerFailsWhileThePartyTalks() throws {
        let bench = try PartyTests.Bench(
            "  agent: { number: \"200\", flow: b.yaml }", caller: PartyTests.caller.replacing("wait: 2s", with: "wait: 60s"),
            callers: { $0.rtpTimeout = .seconds(5) }, system: PartyTests.bridging(to: "sip:200@192.0.2.2"))
        bench.world.loop.schedule(after: .seconds(3)) { bench.world.network.partition(IPAddress("192.0.2.1")!) }
        try bench.begin()
        let missed = PartyTests.missed(try bench.finish(seconds: 200))
        #expect(missed.contains("the hang-up of caller reaches agent: no BYE came within 5s"), "\(missed)")
        #expect(bench.outcomes[1]?.caller.end.cause == .mediaTimeout)
    }
}
