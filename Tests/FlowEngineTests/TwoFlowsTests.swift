// The demo without a network: caller.yaml talks to reception.yaml, each on a simulated call, in virtual time. What one plays the other
// hears as speech; keys arrive; prompts last as long as their files.

import Basics
import CallEngine
import FlowEngine
import Foundation
import Reactor
import Testing

@Suite struct TwoFlowsTests {
    private func flow(_ name: String) throws -> Flow {
        try #require(FlowLoader.load(path: "\(FlowFilesTests.folder)/\(name).yaml").flow)
    }

    /// The prompts are 16 kHz, 16 bit, mono.
    private func length(_ path: String) -> (length: Duration, failure: String?) {
        guard let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int else { return (.zero, "missing") }
        return (.microseconds((size - 44) * 1_000_000 / 32_000), nil)
    }

    private final class Log: FlowObserver {
        var events: [FlowEvent] = []
        func flow(_ run: FlowRun, did event: FlowEvent) { events.append(event) }
    }

    @Test func theCallerLeavesAMessageAtTheReception() throws {
        let loop = VirtualLoop()
        let anna = CallParty(uri: "sip:anna@example.com", user: "anna", host: "example.com")
        let desk = CallParty(uri: "sip:100@example.com", user: "100", host: "example.com")
        let out = SimulatedCall(loop: loop, info: CallInfo(id: "out", direction: .outbound, from: anna, to: desk, started: .zero))
        let into = SimulatedCall(loop: loop, info: CallInfo(id: "in", direction: .inbound, from: anna, to: desk, started: .zero))
        for (one, other) in [(out, into), (into, out)] {
            one.duration = length
            one.onSound = { _, isOver in other.farSideSounds(isOver ? nil : .speech) }
            one.onSoundStopped = { other.farSideSounds(nil) }
            one.onAction = { words in
                switch words {
                case "180 Ringing": other.farSideRings()
                case "200 OK": other.farSideAnswers()
                case "BYE", "CANCEL": loop.schedule(after: .milliseconds(1)) { other.farSideHangsUp() }
                default: break
                }
            }
            one.onDigitsSent = { key in
                guard let digit = key.first.flatMap({ Digit($0) }) else { return }
                other.farSidePresses(digit, .began)
                loop.schedule(after: .milliseconds(160)) { other.farSidePresses(digit, .ended) }
            }
        }
        let reception = Log()
        var surroundings = FlowEnvironment()
        surroundings.observers = [reception]
        surroundings.recordingsFolder = "/recordings"
        var outcomes: [String: FlowOutcome] = [:]
        let callerFlow = try flow("caller")
        let receptionFlow = try flow("reception")
        loop.spawn { outcomes["out"] = await FlowRun(flow: callerFlow, call: out, environment: FlowEnvironment()).run() }
        loop.spawn { outcomes["in"] = await FlowRun(flow: receptionFlow, call: into, environment: surroundings).run() }
        loop.run(until: .zero + .seconds(120))

        #expect(outcomes["out"]?.result == .passed, "\(outcomes["out"].map { "\($0.expectations)" } ?? "no end")")
        #expect(outcomes["in"]?.result == .passed)
        #expect(outcomes["out"]?.digitsSent == "2#")
        #expect(into.digits.history == "2#")
        #expect(reception.events.contains(.collected(digits: "2", reason: "complete")))
        #expect(reception.events.contains(.recordingBegan(path: "messages/in.wav")))
        // The whole message is in the recording: it ended by the key, not by silence before the message.
        let recorded = reception.events.compactMap { event in
            if case .recorded(_, let length, _) = event { length } else { nil }
        }
        #expect(recorded.count == 1 && recorded[0] > .seconds(2))
        #expect(reception.events.contains { if case .stepEnded("record", "finished", _) = $0 { true } else { false } })
    }
}
