// Two legs of one codec, their far sides nothing but sockets: what reaches the one of what the other sends, packet by packet.

import Basics
import CallEngine
import RTP
import Reactor
import SDP
import Testing

@Suite struct MediaForwardingTests {
    private static let sound = [UInt8](repeating: 0x12, count: 160)

    private struct Legs {
        let world: MediaWorld
        let caller: RawPeer
        let callee: RawPeer
        let inner: MediaSession
        let outer: MediaSession
        let target: SocketAddress

        /// `calleeSays`: further lines of the callee's description.
        init(seed: UInt64, codecs: [String] = ["pcmu", "pcma"], calleeSays: String = "", isConnected: Bool = true) throws {
            world = MediaWorld(seed: seed)
            caller = try RawPeer(world.loop)
            callee = try RawPeer(world.loop, port: 5000)
            (inner, target) = try world.answering(caller.description(), codecs: codecs)
            (outer, _) = try world.answering(callee.description() + Array(calleeSays.utf8), codecs: codecs)
            if isConnected { inner.connect(to: outer) }
        }

        func talk(_ packets: Int) {
            for _ in 0..<packets {
                caller.send(MediaForwardingTests.sound, to: target)
                world.run(.milliseconds(20))
            }
        }

        /// An event packet of the caller, of key 5.
        func press(at timestamp: UInt32, duration: UInt16, isEnd: Bool = false, marker: Bool = false) {
            let header = caller.sender.header(payloadType: 101, marker: marker, timestamp: timestamp, octets: 4)
            caller.send(header, [5, isEnd ? 0x8A : 0x0A, UInt8(duration >> 8), UInt8(duration & 255)], to: target)
        }

        /// The timestamps of the keys that came to the callee.
        var keys: [UInt32] {
            callee.packets.filter { $0.payloadType == 101 }.map(\.timestamp).reduce(into: []) {
                if $0.last != $1 { $0.append($1) }
            }
        }

        func end() {
            caller.close()
            callee.close()
            world.end()
        }
    }

    /// Every packet of audio is behind the ones before it, by its number and by its timestamp.
    private func expectOrder(_ packets: [RawPeer.Packet]) {
        let audio = packets.filter { $0.payloadType == 0 }
        for (one, next) in zip(audio, audio.dropFirst()) {
            #expect(next.sequence &- one.sequence < 100)
            #expect(Int32(bitPattern: next.timestamp &- one.timestamp) >= 160, "\(one.timestamp) \(next.timestamp)")
        }
    }

    /// B032: updates that come far apart, and a gap before the end.
    @Test("a key whose packets have gaps is one key at the other leg") func gaps() throws {
        let legs = try Legs(seed: 51)
        legs.talk(10)
        let start = legs.caller.sender.timestamp
        for (duration, wait) in [(1280, 160), (2560, 160), (3840, 1300)] as [(UInt16, Int)] {
            legs.press(at: start, duration: duration, marker: duration == 1280)
            legs.world.run(.milliseconds(wait))
        }
        for _ in 0..<3 {
            legs.press(at: start, duration: 14_400, isEnd: true)
            legs.world.run(.milliseconds(20))
        }
        legs.world.run(.milliseconds(300))
        #expect(legs.keys.count == 1 && legs.inner.digits.history == "5")
        legs.end()
    }

    @Test("a packet that is longer than the other side takes goes in pieces", arguments: [20, 40, 60])
    func longest(milliseconds: Int) throws {
        let legs = try Legs(seed: 57, calleeSays: "a=maxptime:\(milliseconds)\r\n")
        legs.talk(5)
        // Packets of 60 ms.
        for _ in 0..<50 {
            legs.caller.send(Self.sound + Self.sound + Self.sound, to: legs.target)
            legs.caller.sender.advance(by: 320)
            legs.world.run(.milliseconds(60))
        }
        let audio = legs.callee.packets.suffix(40)
        let longest = audio.map(\.payload.count).max() ?? 0
        #expect(longest <= milliseconds * 8)
        #expect((longest == 480) == (milliseconds == 60), "what may be forwarded is")
        #expect(audio.allSatisfy { $0.payload.allSatisfy { $0 == 0x12 } })
        for (one, next) in zip(audio, audio.dropFirst()) {
            #expect(next.timestamp &- one.timestamp == UInt32(one.payload.count))
        }
        legs.talk(50)
        #expect(legs.callee.packets.suffix(20).allSatisfy { $0.payload == Self.sound })
        expectOrder(legs.callee.packets)
        legs.end()
    }

    @Test("a key is told over what plays at the other leg") func overAPrompt() throws {
        let legs = try Legs(seed: 52)
        legs.talk(10)
        let playback = legs.outer.play(PlaybackRequest([.silence(.seconds(5))]))
        let start = legs.caller.sender.timestamp
        for tick in 1...5 {
            legs.press(at: start, duration: UInt16(tick) * 160, isEnd: tick == 5, marker: tick == 1)
            legs.world.run(.milliseconds(20))
        }
        legs.world.run(.milliseconds(300))
        #expect(legs.keys.count == 1 && playback.end == nil)
        legs.end()
    }

    @Test("a key of which only the end came is a key of 40 ms") func endAlone() throws {
        let legs = try Legs(seed: 53)
        legs.talk(10)
        legs.press(at: legs.caller.sender.timestamp, duration: 800, isEnd: true)
        legs.world.run(.milliseconds(300))
        let events = legs.callee.packets.filter { $0.payloadType == 101 }
        #expect(legs.keys.count == 1 && events.last.map { Int($0.payload[2]) << 8 | Int($0.payload[3]) } == 320)
        legs.end()
    }

    @Test("keys that come faster than they can be sent are all sent", arguments: [true, false]) func fast(hasEvents: Bool) throws
    {
        let bridge = try BridgedCall(seed: 54, "pcmu", "pcmu") { $0.telephoneEvents = hasEvents }
        bridge.world.run(.milliseconds(500))
        for digit in "44917" { bridge.inner.receiveInfo(digit: try #require(Digit(digit)), duration: .milliseconds(160)) }
        bridge.world.run(.seconds(4))
        #expect(bridge.inner.digits.history == "44917" && bridge.callee.digits.history == "44917")
        bridge.world.end()
    }

    @Test("a key that is down when the bridge ends is let go", arguments: ["pcmu", "opus"]) func bridgeEnds(codec: String) throws
    {
        let bridge = try BridgedCall(seed: 55, "pcmu", codec)
        bridge.world.run(.milliseconds(500))
        bridge.world.loop.spawn {
            try? await bridge.caller.sendDigits("5", options: SendDigitsOptions(duration: .seconds(4)))
        }
        bridge.world.run(.milliseconds(500))
        bridge.inner.disconnect()
        bridge.world.run(.milliseconds(100))
        let before = bridge.callee.report.received
        bridge.world.run(.seconds(1))
        #expect(bridge.callee.report.received >= before + 49)
        #expect(bridge.callee.digits.history == "5")
        bridge.world.end()
    }

    @Test(
        "a clock that jumps, or goes on after a stall in a burst, never takes the other leg's back",
        arguments: [80_000, -80_000, 0])
    func clocks(jump: Int) throws {
        let legs = try Legs(seed: 56)
        legs.talk(25)
        if jump == 0 {
            // 300 ms of packets wait somewhere, and come at once.
            legs.world.run(.milliseconds(300))
            for _ in 0..<15 { legs.caller.send(Self.sound, to: legs.target) }
        } else {
            legs.caller.sender.advance(by: UInt32(bitPattern: Int32(jump)))
        }
        legs.talk(25)
        legs.inner.disconnect()
        _ = legs.outer.play(PlaybackRequest([.silence(.seconds(1))]))
        legs.world.run(.seconds(1))
        let audio = legs.callee.packets.filter { $0.payloadType == 0 }
        expectOrder(audio)
        // Nothing but the stall itself is left out.
        let span = try #require(audio.last).timestamp &- audio[0].timestamp
        #expect(span < UInt32(audio.count + 20) * 160, "\(span / 160) of \(audio.count)")
        legs.end()
    }
}
