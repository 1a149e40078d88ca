// How sessions share the rows of a loop's media clock: each row that holds a session is a wake-up each 20 ms.

import Basics
import CallEngine
import Reactor
import Testing

@Suite struct MediaClockTests {
    @Test(
        "sessions share a row until it is full, then all rows alike",
        arguments: [(1, 1), (128, 1), (129, 2), (512, 4), (600, 4)])
    func rows(sessions: Int, rows: UInt64) throws {
        let world = MediaWorld(ports: 20000...21399)
        let peer = try RawPeer(world.loop)
        for _ in 0..<sessions {
            _ = try world.answering(peer.description())
            // At any part of a packet time.
            world.run(.microseconds(700))
        }
        world.run(.milliseconds(40))
        let before = world.left.counters
        world.run(.seconds(1))
        let after = world.left.counters
        #expect(after.clock.slices - before.clock.slices == 50 * rows)
        #expect(after.packetsSent - before.packetsSent == UInt64(50 * sessions))
        #expect(after.clock.lateSlices == 0 && after.clock.skippedTicks == 0)
        peer.close()
        world.end()
    }

    @Test("the first packet comes within a packet time of what is to be played, wherever its row stands", arguments: 0..<20)
    func firstPacket(milliseconds: Int) throws {
        let world = MediaWorld()
        let other = try RawPeer(world.loop, port: 9000)
        _ = try world.answering(other.description())
        world.run(.milliseconds(100 + milliseconds))
        let peer = try RawPeer(world.loop)
        let (session, _) = try world.answering(peer.description())
        let playback = session.play(PlaybackRequest([.silence(.seconds(1))]))
        world.run(.milliseconds(20))
        #expect(peer.packets.count == 1)
        playback.stop()
        peer.close()
        other.close()
        world.end()
    }
}
