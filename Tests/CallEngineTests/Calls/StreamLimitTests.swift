// How many TCP connections SIP holds, and how long it holds those on which nothing passes.

import Basics
import CallEngine
import Reactor
import TestKit
import Testing

@Suite struct StreamLimitTests {
    private final class Peer {
        let stream: StreamConnection
        var isClosed = false

        init(_ world: VirtualWorld, from ip: String) {
            stream = world.loop.openStream(
                to: SocketAddress("192.0.2.1:5060")!, from: SocketAddress(ip: IPAddress(ip)!, port: 0))
            stream.onClose = { [unowned self] _ in isClosed = true }
        }

        func ping() { stream.send(Array("\r\n\r\n".utf8)) }
    }

    @Test func oneBeyondTheLimitIsRefused() throws {
        let world = VirtualWorld(seed: 31)
        let server = try world.engine(at: "192.0.2.1", settings: { $0.streams.limit = 2 })
        let peers = (1...3).map { Peer(world, from: "198.51.100.\($0)") }
        world.loop.run(for: .seconds(1))
        #expect(peers.map(\.isClosed) == [false, false, true])
        #expect(server.signalingCounters.streamsRefused == 1)
        // The place of one that is gone is free again.
        peers[0].stream.close()
        world.loop.run(for: .seconds(1))
        let late = Peer(world, from: "198.51.100.4")
        world.loop.run(for: .seconds(1))
        #expect(!late.isClosed)
        for peer in peers + [late] { peer.stream.close() }
        #expect(world.finish() == [])
    }

    @Test func anIdleOneIsClosedABusyOneStays() throws {
        let world = VirtualWorld(seed: 32)
        _ = try world.engine(at: "192.0.2.1", settings: { $0.streams.idle = .seconds(30) })
        let (idle, busy) = (Peer(world, from: "198.51.100.1"), Peer(world, from: "198.51.100.2"))
        world.loop.run(for: .seconds(1))
        for _ in 0..<4 {
            #expect(!idle.isClosed)
            busy.ping()
            world.loop.run(for: .seconds(7))
        }
        world.loop.run(for: .seconds(3))
        #expect(idle.isClosed && !busy.isClosed)
        world.loop.run(for: .seconds(30))
        #expect(busy.isClosed)
        #expect(world.finish() == [])
    }
}
