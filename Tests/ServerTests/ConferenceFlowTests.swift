// flows/conference.yaml with calls of the engine, on two of its loops: guests wait with music, the host lets them talk, and takes them along
// when he leaves.

import Audio
import Basics
import CallEngine
import FlowEngine
import Foundation
import Reactor
import TestKit
import Testing

@Suite struct ConferenceFlowTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL

    private final class Log: FlowObserver {
        private(set) var lines: [String] = []
        func flow(_ run: FlowRun, did event: FlowEvent) {
            switch event {
            case .promptBegan(let names): lines.append("plays \(names.joined())")
            case .conferenceJoined(_, let members): lines.append("joined \(members)")
            case .conferenceLeft(let room, let outcome, let members): lines.append("\(outcome) \(room) \(members)")
            case .conferenceSpeaking(_, let speaks): lines.append(speaks ? "speaks" : "listens")
            case .failed(let words, _): lines.append("failed: \(words)")
            default: break
            }
        }
    }

    /// What is heard at a call in the next second: the level of each frequency, in dBm0.
    private func levels(_ frequencies: [Double], at calls: [Call], _ world: VirtualWorld) throws -> [[Double]] {
        let folder = try TemporaryFolder()
        let files = calls.indices.map { folder.path("\($0).wav") }
        let recordings = try zip(calls, files).map { try $0.record(RecordingRequest(path: $1, channels: .caller)) }
        world.loop.run(for: .milliseconds(1200))
        for recording in recordings { recording.stop() }
        world.loop.run(for: .milliseconds(200))
        return try files.map { file in
            let clip = try PromptFile.read(file).part(from: .milliseconds(150), until: .milliseconds(1150))
            return frequencies.map { AudioProbe.level(at: $0, in: clip) }
        }
    }

    @Test func guestsWaitForTheirHostAndGoWithHim() throws {
        let flow = try #require(FlowLoader.load(path: Self.root.appending(path: "flows/conference.yaml").path).flow)
        let world = VirtualWorld(seed: 61)
        let hub = try world.engine(at: "192.0.2.1", loops: 2, settings: nil)
        let phones = try world.engine(at: "192.0.2.2")
        var logs: [Log] = []
        var outcomes: [FlowOutcome] = []
        for index in 0..<2 {
            hub.shard(index).onIncoming = { call in
                let log = Log()
                logs.append(log)
                var environment = FlowEnvironment()
                environment.observers = [log]
                call.loop.spawn { outcomes.append(await FlowRun(flow: flow, call: call, environment: environment).run()) }
            }
        }
        let tones: [Double] = [520, 870, 1310]
        var calls: [Call] = []
        func call() throws -> Call {
            let call = try phones.shard(0).place(CallRequest(target: "sip:100@192.0.2.1"))
            calls.append(call)
            world.loop.run(for: .seconds(2))
            return call
        }
        func talk(_ index: Int) {
            _ = calls[index].play(
                PlaybackRequest([.tone(frequencies: [tones[index]], cadence: [])], loop: .forever))
        }
        // Two guests say nothing and wait; they hear music and not each other.
        for _ in 0..<2 { _ = try call() }
        world.loop.run(for: .seconds(5))
        for index in 0..<2 { talk(index) }
        #expect(
            logs.map(\.lines) == [
                ["plays welcome.wav", "joined 1", "plays hold-music.wav"],
                ["plays welcome.wav", "joined 2", "plays hold-music.wav"]
            ])
        let before = try levels(tones, at: calls, world)
        #expect(before[0][1] < -40 && before[1][0] < -40, "\(before)")
        // The host has the PIN.
        let host = try call()
        host.loop.spawn { try? await host.sendDigits("4711#", options: SendDigitsOptions()) }
        world.loop.run(for: .seconds(3))
        talk(2)
        world.loop.run(for: .seconds(1))
        #expect(logs[2].lines.contains("joined 3"))
        for (listener, heard) in try levels(tones, at: calls, world).enumerated() {
            for (speaker, level) in heard.enumerated() {
                #expect(speaker == listener ? level < -40 : level > -16, "\(listener): \(heard)")
            }
        }
        // A guest mutes himself by key, and is not heard.
        calls[0].loop.spawn { try? await calls[0].sendDigits("*", options: SendDigitsOptions()) }
        world.loop.run(for: .seconds(1))
        talk(0)
        world.loop.run(for: .milliseconds(500))
        #expect(try levels(tones, at: calls, world)[2][0] < -40)
        // The host leaves by key: the guests are let go and hear goodbye.
        host.loop.spawn { try? await host.sendDigits("#", options: SendDigitsOptions()) }
        world.loop.run(for: .seconds(10))
        #expect(logs.map { $0.lines.contains("plays goodbye.wav") } == [true, true, true])
        #expect(
            logs.map { $0.lines.first { $0.hasPrefix("ended") || $0.hasPrefix("left") } } == [
                "ended 100 2", "ended 100 2", "left 100 3"
            ])
        #expect(logs.contains { $0.lines.contains("speaks") })
        #expect(calls.allSatisfy { $0.state == .ended(CallEnd(by: .callee, cause: .normal)) })
        #expect(outcomes.map(\.result) == [.passed, .passed, .passed])
        #expect(hub.mediaCounters.conferences == 0 && hub.mediaCounters.conferenceMembers == 0)
        #expect(world.finish() == [])
    }
}
