// What a run tells of its call's quality, and what is kept of it for the result.

import Basics
import CallEngine
import FlowEngine
import Reactor
import Testing

@Suite struct QualityEventTests {
    private final class Ears: FlowObserver {
        var events: [QualityEvent] = []

        func flow(_ run: FlowRun, did event: FlowEvent) {
            if case .quality(let event) = event { events.append(event) }
        }
    }

    private static func measured(_ score: Double?) -> QualityEvent {
        .measured(
            QualityFigures(received: 250, lost: 0, late: 0, jitter: .zero, roundTrip: nil, score: score, remote: nil))
    }

    private func run(observed: Bool) throws -> (heard: [QualityEvent], outcome: FlowOutcome?) {
        let flow = try #require(load(steps("answer", "wait: 10s", "hangup")).flow)
        let loop = VirtualLoop()
        let party = CallParty(uri: "sip:anna@example.com", user: "anna", host: "example.com")
        let call = SimulatedCall(
            loop: loop, info: CallInfo(id: "c", direction: .inbound, from: party, to: party, started: loop.now))
        let ears = Ears()
        var environment = FlowEnvironment()
        if observed { environment.observers = [ears] }
        var outcome: FlowOutcome?
        loop.spawn { outcome = await FlowRun(flow: flow, call: call, environment: environment).run() }
        for (second, event) in [
            (1, Self.measured(4.4)), (2, .oneWay(.hearsNothing)), (3, Self.measured(2.5)), (4, Self.measured(nil)),
            (5, Self.measured(4.2))
        ] {
            loop.schedule(after: .seconds(second)) { call.onQuality?(event) }
        }
        loop.run(for: .seconds(30))
        return (ears.events, outcome)
    }

    @Test func itIsToldAsItComes() throws {
        let (heard, outcome) = try run(observed: true)
        #expect(
            heard == [
                Self.measured(4.4), .oneWay(.hearsNothing), Self.measured(2.5), Self.measured(nil), Self.measured(4.2)
            ])
        #expect(outcome?.worstScore == 2.5)
    }

    @Test func withoutAnObserverNobodyMeasures() throws {
        let (heard, outcome) = try run(observed: false)
        #expect(heard.isEmpty && outcome != nil && outcome?.worstScore == nil)
    }
}
