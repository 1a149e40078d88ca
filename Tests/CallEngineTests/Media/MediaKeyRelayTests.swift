// Keys in a bridge whose sides send and take them in different ways: as events (RFC 4733), by INFO, as sound. Each arrives once, in the
// way that its receiver knows.

import Audio
import Basics
import CallEngine
import RTP
import Reactor
import SDP
import Testing

@Suite struct MediaKeyRelayTests {
    private func press(_ keys: String, _ session: MediaSession) {
        session.loop.spawn { try? await session.sendDigits(keys, options: SendDigitsOptions()) }
    }

    /// Keys and the ways by which they came.
    private func follow(_ session: MediaSession) -> () -> [String] {
        var all: [String] = []
        _ = session.digits.read { if $0.phase == .began { all.append("\($0.digit) \($0.source.rawValue)") } }
        return { all }
    }

    @Test(arguments: [("pcmu", "pcmu"), ("pcmu", "pcma"), ("pcmu", "opus"), ("g722", "pcma")])
    func soundBecomesEvents(listener: String, presser: String) throws {
        let bridge = try BridgedCall(seed: 21, listener, presser) { $0.telephoneEvents = false }
        let heard = follow(bridge.caller)
        bridge.world.run(.milliseconds(500))
        press("7*3", bridge.callee)
        bridge.world.run(.seconds(3))
        // The callee may have been heard before the sound was taken for a key: one key once all the same.
        #expect(heard() == ["7 rfc4733", "* rfc4733", "3 rfc4733"])
        #expect(bridge.caller.report.lost == 0)
        bridge.world.end()
    }

    @Test func aKeyThatSoundsEndsWithTheBridge() throws {
        let bridge = try BridgedCall(seed: 22, "pcmu", "pcmu") { $0.telephoneEvents = false }
        bridge.world.run(.milliseconds(500))
        bridge.world.loop.spawn {
            try? await bridge.callee.sendDigits("5", options: SendDigitsOptions(duration: .seconds(4)))
        }
        bridge.world.run(.seconds(1))
        bridge.inner.disconnect()
        bridge.world.run(.seconds(1))
        let before = bridge.caller.report.received
        bridge.world.run(.seconds(1))
        #expect(bridge.caller.report.received >= before + 48, "silence, and no event that goes on")
        #expect(bridge.caller.digits.history == "5")
        bridge.world.end()
    }

    @Test(arguments: [true, false]) func infoBecomesEventsOrSound(hasEvents: Bool) throws {
        let bridge = try BridgedCall(seed: 23, "pcmu", "pcma") { $0.telephoneEvents = hasEvents }
        let heard = follow(bridge.callee)
        bridge.world.run(.milliseconds(500))
        for (digit, duration) in [("4", Duration.milliseconds(250)), ("4", nil), ("#", .seconds(60)), ("9", .milliseconds(1))] {
            bridge.inner.receiveInfo(digit: try #require(Digit(Character(digit))), duration: duration)
            bridge.world.run(digit == "#" ? .seconds(6) : .milliseconds(600))
        }
        let way = hasEvents ? "rfc4733" : "inband"
        #expect(heard() == ["4", "4", "#", "9"].map { "\($0) \(way)" })
        #expect(bridge.inner.digits.history == "44#9" && bridge.caller.digits.history == "")
        bridge.world.end()
    }

    /// A phone that tells each key twice, as an event and by INFO.
    @Test func whatComesByTwoWaysGoesOnOnce() throws {
        let bridge = try BridgedCall(seed: 24, "pcmu", "pcma")
        let heard = follow(bridge.callee)
        bridge.world.run(.milliseconds(500))
        for digit in "12" {
            press("\(digit)", bridge.caller)
            bridge.world.run(.milliseconds(120))
            bridge.inner.receiveInfo(digit: try #require(Digit(digit)), duration: .milliseconds(160))
            bridge.world.run(.milliseconds(1500))
        }
        #expect(heard() == ["1 rfc4733", "2 rfc4733"])
        bridge.world.end()
    }

    @Test("a first key that INFO tells before the event goes on once", arguments: [5, 100]) func infoFirst(milliseconds: Int)
        throws
    {
        let bridge = try BridgedCall(seed: 24, "pcmu", "pcma")
        let heard = follow(bridge.callee)
        bridge.world.run(.milliseconds(500))
        for digit in "12" {
            bridge.inner.receiveInfo(digit: try #require(Digit(digit)), duration: .milliseconds(160))
            bridge.world.run(.milliseconds(milliseconds))
            press("\(digit)", bridge.caller)
            bridge.world.run(.milliseconds(1500))
        }
        #expect(heard() == ["1 rfc4733", "2 rfc4733"])
        bridge.world.end()
    }

    @Test func aLegThatIsHeldGetsNoKeys() throws {
        let bridge = try BridgedCall(seed: 25, "pcmu", "pcma")
        let heard = follow(bridge.callee)
        bridge.world.run(.milliseconds(500))
        bridge.outer.wantedDirection = .inactive
        try bridge.outer.receive(answer: bridge.callee.answer(bridge.outer.makeOffer()[...])[...])
        bridge.inner.receiveInfo(digit: try #require(Digit("6")), duration: nil)
        bridge.world.run(.seconds(1))
        #expect(heard() == [] && bridge.inner.digits.history == "6")
        bridge.world.end()
    }

    @Test("a key that sounds while events are agreed on is over, and the next one is its own") func eventsInTheMiddleOfASound()
        throws
    {
        let world = MediaWorld(seed: 26)
        let peer = try RawPeer(world.loop)
        let (session, target) = try world.answering(peer.description(formats: "0", events: false))
        let tone = EncodedPrompt(
            DTMFTones.clip("5".utf8, timing: DTMFTones.Timing(on: .seconds(2), off: .milliseconds(100))), codec: .pcmu)
        for packet in 0..<25 {
            var payload = [UInt8](repeating: 0, count: 160)
            _ = payload.withUnsafeMutableBytes { tone.copyPayload(packet, to: $0) }
            peer.send(payload, to: target)
            world.run(.milliseconds(20))
        }
        #expect(session.digits.history == "5")
        _ = try session.answer(peer.description(version: 2))
        world.run(.seconds(10))
        let start = peer.sender.timestamp &+ 80_000
        for tick in 1...5 {
            let header = peer.sender.header(payloadType: 101, marker: tick == 1, timestamp: start, octets: 4)
            peer.send(header, [5, tick == 5 ? 0x8A : 0x0A, UInt8(tick * 160 >> 8), UInt8(tick * 160 & 255)], to: target)
            world.run(.milliseconds(20))
        }
        #expect(session.digits.history == "55")
        peer.close()
        world.end()
    }
}
