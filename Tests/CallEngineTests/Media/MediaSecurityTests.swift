// What strangers can do to a stream from another address: nothing that is heard, and they get nothing.

import Basics
import CallEngine
import RTP
import Reactor
import Testing

@Suite struct MediaSecurityTests {
    private static let sound = [UInt8](repeating: 0x12, count: 160)
    private static let strange = [UInt8](repeating: 0x55, count: 160)
    private static let attackerIP = IPAddress("10.0.0.66")!

    /// A second of both: the far side's packets each 20 ms, and a row of five of the attacker's behind each.
    private func attack(_ world: MediaWorld, _ peer: RawPeer, _ attacker: RawPeer, _ target: SocketAddress, packets: Int = 50) {
        for _ in 0..<packets {
            peer.send(Self.sound, to: target)
            for _ in 0..<5 {
                world.run(.milliseconds(2))
                attacker.send(Self.strange, to: target)
            }
            world.run(.milliseconds(10))
        }
    }

    @Test("a source that is known stays, from the first second on, and after a refresh") func known() throws {
        let world = MediaWorld(seed: 41)
        let peer = try RawPeer(world.loop)
        let attacker = try RawPeer(world.loop, ip: Self.attackerIP, port: 4000)
        let (session, target) = try world.answering(peer.description())
        for _ in 0..<3 {
            peer.send(Self.sound, to: target)
            world.run(.milliseconds(20))
        }
        attack(world, peer, attacker, target)
        _ = try session.answer(peer.description(version: 2))
        attack(world, peer, attacker, target)
        #expect(attacker.packets.isEmpty, "it was redirected")
        #expect(session.report.received == 103 && session.report.lost == 0)
        // Those of the first tick of an agreement are judged; then the socket is connected, and takes no others.
        #expect((1...20).contains(world.left.counters.droppedForeign))
        peer.close()
        attacker.close()
        world.end()
    }

    @Test("a phone behind NAT is found by its packets, keeps getting ours over a refresh, and no one takes its place")
    func behindNAT() throws {
        let world = MediaWorld(seed: 42)
        let signaled = try RawPeer(world.loop)
        let phone = try RawPeer(world.loop, ip: IPAddress("10.0.0.77")!, port: 7000)
        let attacker = try RawPeer(world.loop, ip: Self.attackerIP, port: 4000)
        let (session, target) = try world.answering(signaled.description())
        for _ in 0..<5 {
            phone.send(Self.sound, to: target)
            world.run(.milliseconds(20))
        }
        signaled.forget()
        attack(world, phone, attacker, target)
        _ = try session.answer(signaled.description(version: 2))
        let before = phone.packets.count
        attack(world, phone, attacker, target)
        #expect(attacker.packets.isEmpty && signaled.packets.isEmpty)
        #expect(phone.packets.count >= before + 49, "no gap")
        // It comes from another port after the next refresh: found again.
        let moved = try RawPeer(world.loop, ip: IPAddress("10.0.0.77")!, port: 7100)
        _ = try session.answer(signaled.description(version: 3))
        for _ in 0..<50 {
            moved.send(Self.sound, to: target)
            world.run(.milliseconds(20))
        }
        #expect(moved.packets.count > 40)
        for peer in [signaled, phone, attacker, moved] { peer.close() }
        world.end()
    }

    @Test("a phone behind NAT that is silent for longer than the window is found when it speaks; strangers are not")
    func silentAtFirst() throws {
        let world = MediaWorld(seed: 45)
        let signaled = try RawPeer(world.loop)
        let phone = try RawPeer(world.loop, ip: IPAddress("10.0.0.77")!, port: 7000)
        let attacker = try RawPeer(world.loop, ip: Self.attackerIP, port: 4000)
        let session = try world.session(world.left) { $0.signalingIP = IPAddress("10.0.0.77")! }
        let target = rtpAddress(try session.answer(signaled.description()), ip: MediaWorld.leftIP)
        session.start()
        world.run(.seconds(20))
        for _ in 0..<20 {
            attacker.send(Self.strange, to: target)
            world.run(.milliseconds(20))
        }
        #expect(session.report.received == 0 && attacker.packets.isEmpty)
        for _ in 0..<10 {
            phone.send(Self.sound, to: target)
            world.run(.milliseconds(20))
        }
        signaled.forget()
        attack(world, phone, attacker, target)
        #expect(phone.packets.count > 50 && signaled.packets.isEmpty && attacker.packets.isEmpty)
        #expect(session.report.received >= 58 && session.report.lost == 0)
        for peer in [signaled, phone, attacker] { peer.close() }
        world.end()
    }

    @Test("probing the ports of calls gets nothing: not with one packet over and over, nor with any numbers, nor with STUN")
    func bleed() throws {
        let world = MediaWorld(seed: 43)
        let peer = try RawPeer(world.loop)
        let (session, target) = try world.answering(peer.description())
        let prober = try RawPeer(world.loop, ip: Self.attackerIP, port: 5000)
        var answers = 0
        prober.socket.onReceive = { _, _ in answers += 1 }
        var random = SeededRandom(seed: 9)
        // The far side has not said anything yet: the source is still open.
        for number in 0..<200 {
            let same = RTPHeader(marker: true, payloadType: 0, sequence: 0, timestamp: 0, ssrc: 0)
            prober.send(same, Self.strange, to: target)
            let any = RTPHeader(
                marker: false, payloadType: 8, sequence: UInt16.random(in: 1000...65_000, using: &random), timestamp: 0, ssrc: 7)
            prober.send(any, [], to: target)
            let stun: [UInt8] = [0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42] + (0..<12).map { UInt8(truncatingIfNeeded: $0 + number) }
            for port in [target.port, target.port + 1, target.port + 10] {
                stun.withUnsafeBytes { _ = prober.socket.sendNow($0, to: SocketAddress(ip: target.ip, port: port)) }
            }
            world.run(.milliseconds(10))
        }
        #expect(answers == 0)
        #expect(session.report.received == 0)
        // The last of each are still in the socket.
        #expect(
            (590...600).contains(world.left.counters.droppedForeign) && (195...200).contains(world.left.counters.droppedMalformed)
        )
        for _ in 0..<10 {
            peer.send(Self.sound, to: target)
            world.run(.milliseconds(20))
        }
        #expect(session.report.received == 10)
        peer.close()
        prober.close()
        world.end()
    }

    @Test("reports and farewells of strangers count for nothing") func forgedReports() throws {
        let world = MediaWorld(seed: 44)
        let peer = try RawPeer(world.loop)
        let (session, target) = try world.answering(peer.description())
        world.run(.milliseconds(100))
        let ssrc = try #require(peer.packets.first?.ssrc)
        let attacker = try RawPeer(world.loop, ip: Self.attackerIP, port: 4001)
        var forged = [UInt8](repeating: 0, count: RTCPWriter.sufficientSize)
        let count = forged.withUnsafeMutableBytes { buffer in
            var writer = RTCPWriter(buffer)
            writer.receiverReport(
                ssrc: 0xCAFE,
                about: ReportBlock(
                    ssrc: ssrc, fractionLost: 255, cumulativeLost: 5000, highestSequence: 1, jitter: 90_000, lastSenderReport: 0,
                    delaySinceSenderReport: 0))
            writer.goodbye(ssrc: 0xCAFE)
            return writer.count
        }
        for _ in 0..<20 {
            peer.send(Self.sound, to: target)
            for port in [target.port, target.port + 1] {
                forged[..<count].withUnsafeBytes { _ = attacker.socket.sendNow($0, to: SocketAddress(ip: target.ip, port: port)) }
            }
            world.run(.milliseconds(20))
        }
        #expect(session.report.remote == nil && session.report.received == 20)
        // To the port of RTP they come only until the source is fixed.
        #expect((20...25).contains(world.left.counters.droppedForeign) && world.left.counters.reportsReceived == 0)
        peer.close()
        attacker.close()
        world.end()
    }
}
