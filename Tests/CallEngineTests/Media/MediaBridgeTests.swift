// Bridging: a caller, the engine's two legs, a callee.

import Audio
import Basics
import CallEngine
import Reactor
import TestKit
import Testing

@Suite struct MediaBridgeTests {
    @Test(arguments: ["pcmu", "pcma"]) func audioPassesBothWays(codec: String) throws {
        let bridge = try BridgedCall(seed: 11, "pcmu", codec, isConnected: false)
        let world = bridge.world
        let music = bridge.inner.play(PlaybackRequest([.countryTone(name: "ringback", country: "de")], loop: .forever))
        world.run(.seconds(1))
        bridge.inner.connect(to: bridge.outer)
        #expect(music.end == .stopped)
        let files = (0..<3).map { temporaryFile("bridge\($0).wav") }
        let recordings = [
            try bridge.callee.record(RecordingRequest(path: files[0])),
            try bridge.caller.record(RecordingRequest(path: files[1])),
            try bridge.inner.record(RecordingRequest(path: files[2], channels: .stereo))
        ]
        _ = bridge.caller.play(PlaybackRequest([.file(path: prompt("welcome.wav"))]))
        _ = bridge.callee.play(PlaybackRequest([.file(path: prompt("goodbye.wav"))]))
        world.run(.seconds(8))
        for recording in recordings { recording.stop() }
        world.run(.milliseconds(100))
        #expect(recordings.allSatisfy { $0.result?.complete == true })
        #expect(try AudioProbe.match(prompt: prompt("welcome.wav"), recording: files[0]).peak > 0.95)
        #expect(try AudioProbe.match(prompt: prompt("goodbye.wav"), recording: files[1]).peak > 0.95)
        #expect(try AudioProbe.match(prompt: prompt("welcome.wav"), recording: files[2], channel: 0).peak > 0.95)
        #expect(try AudioProbe.match(prompt: prompt("goodbye.wav"), recording: files[2], channel: 1).peak > 0.95)
        #expect(world.right.counters.packetsForwarded > 790)
        for session in [bridge.caller, bridge.callee] {
            #expect(session.report.lost == 0 && session.report.late == 0)
            #expect(session.report.jitter < .milliseconds(5), "\(session.report.jitter)")
        }
        bridge.inner.disconnect()
        let before = bridge.caller.report.received
        world.run(.seconds(1))
        #expect(bridge.caller.report.received >= before + 49, "silence again")
        world.end()
    }

    @Test(arguments: ["pcmu", "pcma"]) func keysPassOnceAndAreHeardOnTheWay(codec: String) throws {
        let bridge = try BridgedCall(seed: 11, "pcmu", codec)
        bridge.world.network.impairment.loss = 0.05
        bridge.world.loop.spawn { try? await bridge.caller.sendDigits("1947#", options: SendDigitsOptions()) }
        bridge.world.run(.seconds(5))
        #expect(bridge.inner.digits.history == "1947#")
        #expect(bridge.callee.digits.history == "1947#")
        #expect(bridge.caller.digits.history.isEmpty && bridge.outer.digits.history.isEmpty)
        bridge.world.end()
    }

    @Test func aSilentLegIsFilled() throws {
        let bridge = try BridgedCall(seed: 11, "pcmu", "pcmu")
        bridge.world.run(.seconds(1))
        bridge.callee.close()
        let before = bridge.caller.report.received
        bridge.world.run(.seconds(2))
        #expect(bridge.caller.report.received >= before + 90)
        // The end of a leg ends the bridge.
        bridge.outer.close()
        bridge.world.run(.seconds(1))
        #expect(bridge.caller.report.received >= before + 140)
        bridge.world.end()
    }
}
