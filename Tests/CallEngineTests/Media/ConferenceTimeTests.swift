// Conferences and time: how soon what is said is heard, and what becomes of members and loops that are late.

import Audio
import Basics
import CallEngine
import Reactor
import Testing

@Suite struct ConferenceTimeTests {
    /// Packets that come late all at once, and the network that is as before.
    @Test func aLateMemberIsHeardAgain() throws {
        let meeting = try Meeting("pcmu", "pcmu")
        meeting.world.network.impairment.delay = .milliseconds(400)
        meeting.world.run(.milliseconds(400))
        meeting.world.network.impairment.delay = .milliseconds(10)
        meeting.world.run(.seconds(8))
        #expect(try meeting.heard() == [[1], [0]])
        meeting.world.end()
    }

    /// A loop that was late makes five blocks good and leaves the rest out.
    @Test func aLateLoopCostsAGapAndNoDelay() throws {
        let meeting = try Meeting("pcmu", "pcmu")
        let encoded = meeting.world.right.counters.conferenceEncodings
        meeting.world.loop.standStill(for: .milliseconds(310))
        meeting.world.run(.milliseconds(1))
        #expect(meeting.world.right.counters.conferenceEncodings - encoded == 10)
        #expect((10...11).contains(meeting.world.right.counters.conferenceSkips))
        meeting.world.run(.seconds(8))
        #expect(try meeting.heard() == [[1], [0]])
        meeting.world.end()
    }

    /// From a packet that comes in to the packet that goes out with it: the jitter buffer, the room's block and two ticks.
    @Test func whatIsSaidIsHeardSoon() throws {
        let world = MediaWorld(seed: 5)
        let directory = ConferenceDirectory([LoopBound(ConferenceRooms(services: world.left), on: world.loop)])
        let peers = try [4000, 4002].map { try RawPeer(world.loop, port: $0) }
        let lines = try peers.map { try world.answering($0.description(formats: "0")) }
        for line in lines {
            var request = ConferenceRequest(room: "r")
            request.joinTone = false
            _ = try line.session.join(request, of: directory)
        }
        let quiet = [UInt8](repeating: 0xFF, count: 160)
        for _ in 0..<50 {
            for (peer, line) in zip(peers, lines) { peer.send(quiet, to: line.target) }
            world.run(.milliseconds(20))
        }
        peers[1].forget()
        let began = world.loop.now
        for turn in 0..<25 {
            peers[0].send(turn < 10 ? [UInt8](repeating: 0x20, count: 160) : quiet, to: lines[0].target)
            peers[1].send(quiet, to: lines[1].target)
            world.run(.milliseconds(20))
        }
        let first = try #require(peers[1].packets.first { !$0.isSilence })
        #expect(first.at - began <= .milliseconds(60), "\(first.at - began)")
        #expect((9...11).contains(peers[1].packets.count { !$0.isSilence }), "whole, and no more than that")
        for peer in peers { peer.close() }
        world.end()
    }

    @Test func onlyWhatIsNeverNeededIsLeftOut() {
        var surplus = ConferenceSurplus(slack: 160)
        #expect((0..<250).map { surplus.excess($0 == 100 ? 0 : 320) }.allSatisfy { $0 == 0 }, "it was needed once")
        #expect((0..<250).map { surplus.excess($0 == 100 ? 320 : 480) } == Array(repeating: 0, count: 249) + [160])
        #expect((0..<250).map { _ in surplus.excess(160) }.allSatisfy { $0 == 0 }, "the slack stays")
    }
}
