// When the port of RTCP is read: on arrival until the far side's first report has told what was not heard, then before each report of
// ours, and on arrival again once somebody floods it.

import Basics
import CallEngine
import RTP
import Reactor
import Testing

@Suite struct MediaReportsTests {
    private static let sound = [UInt8](repeating: 0x12, count: 160)

    /// A stream of the far side, and a session whose port of RTCP waits for its own report: one report of the far side has come.
    private struct Settled {
        let world: MediaWorld
        let peer: RawPeer
        let control: SocketAddress

        init(seed: UInt64) throws {
            world = MediaWorld(seed: seed)
            peer = try RawPeer(world.loop)
            let (_, target) = try world.answering(peer.description())
            control = SocketAddress(ip: target.ip, port: target.port + 1)
            for _ in 0..<10 {
                peer.send(MediaReportsTests.sound, to: target)
                world.run(.milliseconds(20))
            }
            report()
            world.run(.milliseconds(1))
        }

        /// How many reports the session has read.
        var read: UInt64 { world.left.counters.reportsReceived }

        /// The far side tells how much it has sent.
        func report() {
            var packet = [UInt8](repeating: 0, count: RTCPWriter.sufficientSize)
            let count = packet.withUnsafeMutableBytes { buffer in
                var writer = RTCPWriter(buffer)
                writer.senderReport(
                    ssrc: peer.sender.ssrc,
                    SenderInfo(
                        time: NTPTime(unixNanoseconds: world.loop.now.nanoseconds), timestamp: peer.sender.timestamp,
                        packetCount: peer.sender.packetCount, octetCount: peer.sender.octetCount), about: nil)
                return writer.count
            }
            packet[..<count].withUnsafeBytes { _ = peer.socket.sendNow($0, to: control) }
        }

        func end() {
            peer.close()
            world.end()
        }
    }

    @Test("the first report is read when it comes, the next ones before ours: they wake nobody") func reading() throws {
        let call = try Settled(seed: 61)
        #expect(call.read == 1)
        call.report()
        call.world.run(.milliseconds(500))
        #expect(call.read == 1, "it was read on arrival")
        call.world.run(.seconds(8))
        #expect(call.read == 2)
        call.report()
        call.world.run(.milliseconds(1))
        #expect(call.read == 2)
        call.end()
    }

    @Test("nothing of a flood is left to fill the socket, where it would keep the far side's reports out") func flooded() throws {
        let call = try Settled(seed: 62)
        for _ in 0..<200 { call.report() }
        call.world.run(.seconds(8))
        #expect(call.read == 201)
        call.report()
        call.world.run(.milliseconds(1))
        #expect(call.read == 202, "it is not read on arrival")
        call.end()
    }
}
