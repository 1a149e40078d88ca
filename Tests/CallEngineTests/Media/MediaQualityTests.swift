// How both sides hear each other: what RTCP and its VoIP metrics tell over a network with loss, and audio that passes one way only.

import Basics
import CallEngine
import RTP
import Reactor
import SDP
import Testing

@Suite struct MediaQualityTests {
    @Test("the far side's loss, jitter and score come back", arguments: [MediaSecurity.off, .required])
    func remote(security: MediaSecurity) throws {
        let world = MediaWorld(seed: 31)
        world.network.impairment.loss = 0.05
        let (one, other) = try world.pair { $0.security = security }
        world.run(.seconds(60))
        for (near, far) in [(one.report, other.report), (other.report, one.report)] {
            let remote = try #require(near.remote)
            // A report is some seconds old.
            #expect(remote.lost > 60 && remote.lost <= far.lost && far.lost - remote.lost < 60, "\(remote) \(far)")
            let score = try #require(remote.score)
            #expect((3.2...4.2).contains(score), "\(score)")
            #expect(near.oneWay == nil && near.maximumJitter >= near.jitter)
            let own = try #require(VoiceQuality.meanOpinionScore(of: far, codec: "PCMU/8000"))
            #expect(abs(own - score) < 0.3, "\(own) \(score)")
        }
        world.end()
    }

    @Test("the beginning of what the far side sends does not come", arguments: [0, 60, 500, 1200])
    func clippedStart(milliseconds: Int) throws {
        let world = MediaWorld(seed: 34)
        world.network.impairment.loss = milliseconds > 0 ? 1 : 0
        let (one, other) = try world.pair()
        #expect(one.report.clippedStart == nil)
        world.run(.milliseconds(milliseconds))
        world.network.impairment.loss = 0
        world.run(.seconds(10))
        for report in [one.report, other.report] {
            let clipped = try #require(report.clippedStart)
            #expect(abs(clipped.milliseconds - (milliseconds < 100 ? 0 : Double(milliseconds))) <= 60, "\(clipped)")
            #expect(milliseconds > 100 || clipped == .zero)
        }
        world.end()
    }

    @Test("what did not come is counted in the far side's packet time", arguments: [10, 40])
    func farPacketTime(milliseconds: Int) throws {
        let world = MediaWorld(seed: 35)
        let peer = try RawPeer(world.loop)
        let (session, target) = try world.answering(peer.description())
        let recording = try session.record(RecordingRequest(path: temporaryFile("far.wav")))
        let sound = [UInt8](repeating: 0x12, count: milliseconds * 8)
        func talk(_ packets: Int, isLost: Bool = false) {
            for _ in 0..<packets {
                let header = peer.sender.audio(payloadType: 0, octets: sound.count)
                if !isLost { peer.send(header, sound, to: target) }
                peer.sender.advance(by: UInt32(sound.count))
                world.run(.milliseconds(milliseconds))
            }
        }
        talk(20, isLost: true)
        talk(50)
        // A burst of four.
        talk(4, isLost: true)
        talk(50)
        world.run(.milliseconds(100))
        var report = [UInt8](repeating: 0, count: RTCPWriter.sufficientSize)
        let count = report.withUnsafeMutableBytes { buffer in
            var writer = RTCPWriter(buffer)
            writer.senderReport(
                ssrc: peer.sender.ssrc,
                SenderInfo(
                    time: NTPTime(unixNanoseconds: world.loop.now.nanoseconds), timestamp: peer.sender.timestamp,
                    packetCount: peer.sender.packetCount, octetCount: peer.sender.octetCount), about: nil)
            return writer.count
        }
        report[..<count].withUnsafeBytes {
            _ = peer.socket.sendNow($0, to: SocketAddress(ip: target.ip, port: target.port + 1))
        }
        var metrics: VoIPMetrics?
        let control = try world.loop.bindDatagram(
            to: SocketAddress(ip: MediaWorld.peerIP, port: peer.socket.localAddress.port + 1))
        control.onReceive = { bytes, _ in
            var reader = RTCPReader(bytes)
            while let packet = reader?.next() { metrics = packet.voipMetrics(about: peer.sender.ssrc) ?? metrics }
        }
        talk(8000 / milliseconds)
        #expect(session.report.clippedStart == .milliseconds(20 * milliseconds))
        #expect(metrics.map { Int($0.burstDuration) } == 4 * milliseconds)
        recording.stop()
        world.run(.milliseconds(100))
        #expect(recording.result?.lost == .milliseconds(4 * milliseconds))
        control.close()
        peer.close()
        world.end()
    }

    /// Of pauses that are told by comfort noise there are few packets.
    @Test("nothing comes from the far side", arguments: ["0 101", "0 13 101"]) func hearsNothing(formats: String) throws {
        let world = MediaWorld(seed: 32)
        let peer = try RawPeer(world.loop)
        let (session, target) = try world.answering(peer.description(formats: formats))
        world.run(.seconds(1))
        #expect(session.report.oneWay == nil, "too early to tell")
        world.run(.seconds(2))
        #expect(session.report.oneWay == .hearsNothing)
        peer.send([UInt8](repeating: 0x22, count: 160), to: target)
        world.run(.milliseconds(40))
        #expect(session.report.oneWay == nil)
        peer.close()
        world.end()
    }

    @Test("a side that is held hears nothing rightly") func held() throws {
        let world = MediaWorld(seed: 33)
        let peer = try RawPeer(world.loop)
        let session = try world.session(world.left)
        _ = try session.answer(peer.description(direction: "recvonly"))
        session.start()
        world.run(.seconds(5))
        #expect(session.report.sent > 200 && session.report.oneWay == nil)
        peer.close()
        world.end()
    }

    @Test("the far side's reports know of nothing") func isNotHeard() throws {
        let world = MediaWorld(seed: 34)
        let (one, other) = try world.pair()
        // Only what goes from the left to the right side's RTP port is lost.
        var everything = VirtualNetwork.Impairment()
        everything.loss = 1
        for port in stride(from: UInt16(20000), to: 20100, by: 2) {
            world.network.impair(
                from: SocketAddress(ip: MediaWorld.leftIP, port: 0), to: SocketAddress(ip: MediaWorld.rightIP, port: port),
                everything)
        }
        world.run(.seconds(4))
        #expect(one.report.oneWay == nil && other.report.oneWay == .hearsNothing)
        world.run(.seconds(20))
        #expect(one.report.oneWay == .isNotHeard && one.report.remote == nil)
        world.network.clearImpairments()
        world.run(.seconds(10))
        #expect(one.report.oneWay == nil && other.report.oneWay == nil && one.report.remote != nil)
        world.end()
    }
}
