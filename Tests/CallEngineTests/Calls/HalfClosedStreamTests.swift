// A peer that sends its requests over TCP and closes its side at once, as `printf … | ncat` does: it waits for the answers.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct HalfClosedStreamTests {
    private final class Peer {
        let stream: StreamConnection
        private var framer = StreamFramer()
        private(set) var statuses: [Int] = []
        private(set) var end: Instant?

        init(_ world: VirtualWorld, _ methods: [String]) {
            let loop = world.loop
            stream = loop.openStream(to: SocketAddress("192.0.2.1:5060")!, from: SocketAddress("192.0.2.9:0")!)
            stream.onReceive = { [unowned self] bytes in
                framer.append(bytes)
                while case .message(let message)? = framer.next() { statuses.append(message.status) }
            }
            stream.onClose = { [unowned self] _ in end = loop.now }
            for (index, method) in methods.enumerated() {
                let rows = [
                    "\(method) sip:bot@192.0.2.1 SIP/2.0", "Via: SIP/2.0/TCP 192.0.2.9;branch=z9hG4bKhalf\(index)",
                    "Max-Forwards: 70",
                    "From: <sip:a@192.0.2.9>;tag=a", "To: <sip:bot@192.0.2.1>", "Call-ID: half\(index)", "CSeq: 1 \(method)",
                    "Contact: <sip:a@192.0.2.9;transport=tcp>", "Content-Length: 0"
                ]
                stream.send(Array((rows.joined(separator: "\r\n") + "\r\n\r\n").utf8))
            }
            stream.finish()
        }
    }

    @Test("what is answered at once is heard, and the stream ends with the last answer") func atOnce() throws {
        let world = VirtualWorld(seed: 41)
        _ = try world.engine(at: "192.0.2.1")
        let peer = Peer(world, ["OPTIONS", "OPTIONS", "PUBLISH"])
        world.loop.run(for: .seconds(1))
        #expect(peer.statuses == [200, 200, 405] && peer.end != nil)
        #expect(world.finish() == [])
    }

    @Test("a call that is refused later is refused by the same stream") func later() throws {
        let world = VirtualWorld(seed: 42)
        _ = try world.engine(at: "192.0.2.1") { call in
            try? call.ring()
            call.loop.schedule(after: .seconds(20)) { try? call.reject(status: 486, reason: nil, headers: []) }
        }
        let peer = Peer(world, ["INVITE"])
        world.loop.run(for: .seconds(10))
        #expect(peer.statuses.last == 180 && peer.end == nil)
        world.loop.run(for: .seconds(11))
        #expect(peer.statuses.last == 486 && peer.end != nil)
        #expect(world.finish() == [])
    }

    @Test("one that rests for 32 seconds is closed, whatever is still waited for") func leftAlone() throws {
        let world = VirtualWorld(seed: 43)
        _ = try world.engine(at: "192.0.2.1") { call in
            try? call.ring()
            call.loop.schedule(after: .seconds(50)) { try? call.reject(status: 486, reason: nil, headers: []) }
        }
        let peer = Peer(world, ["INVITE"])
        let start = world.loop.now
        world.loop.run(for: .seconds(60))
        let end = try #require(peer.end)
        #expect(end - start >= .seconds(32) && end - start <= .seconds(43))
        #expect(world.finish() == [])
    }

    @Test("nothing was asked: it ends at once") func nothing() throws {
        let world = VirtualWorld(seed: 44)
        _ = try world.engine(at: "192.0.2.1")
        let peer = Peer(world, [])
        world.loop.run(for: .milliseconds(200))
        #expect(peer.end != nil)
        #expect(world.finish() == [])
    }
}
