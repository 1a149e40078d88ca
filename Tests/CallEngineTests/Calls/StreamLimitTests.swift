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
        func dribble() { stream.send(Array("I".utf8)) }
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

    /// Octets that never become a message keep no stream open.
    @Test func whoDribblesIsClosed() throws {
        let world = VirtualWorld(seed: 34)
        _ = try world.engine(at: "192.0.2.1")
        let peer = Peer(world, from: "198.51.100.1")
        for _ in 0..<4 {
            world.loop.run(for: .seconds(7))
            #expect(!peer.isClosed)
            peer.dribble()
        }
        world.loop.run(for: .seconds(4))
        #expect(peer.isClosed)
        #expect(world.finish() == [])
    }

    /// Who takes all places and says nothing keeps nobody out: the oldest go, of many places some at once.
    @Test(arguments: [(4, 1), (64, 3)]) func silentOnesMakeRoomAtOnce(places: Int, made: Int) throws {
        let world = VirtualWorld(seed: 35)
        _ = try world.engine(at: "192.0.2.1", settings: { $0.streams.limit = places })
        let single = Peer(world, from: "198.51.100.1")
        let silent = (1..<places).map { _ in Peer(world, from: "198.51.100.2") }
        world.loop.run(for: .seconds(1))
        let other = Peer(world, from: "198.51.100.3")
        world.loop.run(for: .seconds(1))
        other.ping()
        world.loop.run(for: .seconds(1))
        let closed = silent.map(\.isClosed)
        #expect(!other.isClosed && !single.isClosed)
        #expect(closed == closed.indices.map { $0 < made })
        for peer in silent + [single, other] { peer.stream.close() }
        #expect(world.finish() == [])
    }

    /// Who takes many places gives one of them: the one that rests longest, once nobody waits on it any more.
    @Test func manyOfOneAddressMakeRoomForAnother() throws {
        let world = VirtualWorld(seed: 33)
        let server = try world.engine(at: "192.0.2.1", settings: { $0.streams.limit = 4 })
        let single = Peer(world, from: "198.51.100.1")
        world.loop.run(for: .seconds(1))
        let many = (0..<3).map { _ in Peer(world, from: "198.51.100.2") }
        world.loop.run(for: .seconds(20))
        for peer in many + [single] { peer.ping() }
        world.loop.run(for: .seconds(1))
        many[0].ping()
        world.loop.run(for: .seconds(20))
        // They rest for 20 seconds only.
        let early = Peer(world, from: "198.51.100.3")
        world.loop.run(for: .seconds(11))
        #expect(early.isClosed)
        let late = Peer(world, from: "198.51.100.3")
        world.loop.run(for: .seconds(1))
        #expect(!late.isClosed && !single.isClosed)
        #expect(many.map(\.isClosed) == [false, true, false])
        #expect(server.signalingCounters.streamsRefused == 1)
        for peer in many + [single, late] { peer.stream.close() }
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
