// RTCP ends at each leg of a bridge: each side gets reports of its own leg alone, from that leg's
// source, about its own stream; what one side loses, or tells, is not told to the other. tshark reads the reports.

import Audio
import Basics
import CallEngine
import Foundation
import RTP
import Reactor
import TestKit
import Testing

@Suite(.enabled(if: PeerProgram.path(of: "tshark") != nil, "tshark is not installed")) struct BridgeReportTests {
    /// A phone with RTP and RTCP, and the leg that talks with it.
    private final class Side {
        let peer: RawPeer
        let control: DatagramSocket
        let leg: MediaSession
        let target: SocketAddress
        /// Packets of RTCP that came.
        private(set) var reports: [(octets: [UInt8], from: SocketAddress, at: Instant)] = []
        private(set) var sent = 0

        init(_ world: MediaWorld, port: UInt16, ssrc: UInt32, codec: String, formats: String) throws {
            peer = try RawPeer(world.loop, port: port)
            peer.sender = RTPSender(ssrc: ssrc, sequence: 7, timestamp: 9000)
            (leg, target) = try world.answering(peer.description(formats: formats), codecs: [codec])
            control = try world.loop.bindDatagram(to: SocketAddress(ip: MediaWorld.peerIP, port: port + 1))
            control.onReceive = { [unowned self] bytes, source in
                reports.append((Array(bytes), source, world.loop.now))
            }
        }

        /// A packet of audio, or the loss of one.
        func speak(_ octets: [UInt8], type: UInt8, isLost: Bool) {
            if isLost {
                _ = peer.sender.audio(payloadType: type, octets: octets.count)
                peer.sender.advance(by: 160)
            } else {
                peer.send(octets, type: type, to: target)
                sent += 1
            }
        }

        /// Tells the leg that half of its stream was lost.
        func complain() {
            guard let ssrc = peer.packets.last?.ssrc else { return }
            let block = ReportBlock(
                ssrc: ssrc, fractionLost: 128, cumulativeLost: 4711, highestSequence: 1, jitter: 800, lastSenderReport: 0,
                delaySinceSenderReport: 0)
            var bytes = [UInt8](repeating: 0, count: 256)
            let count = bytes.withUnsafeMutableBytes { buffer in
                var writer = RTCPWriter(buffer)
                writer.receiverReport(ssrc: peer.sender.ssrc, about: block)
                return writer.count
            }
            let to = SocketAddress(ip: target.ip, port: target.port + 1)
            bytes[..<count].withUnsafeBytes { _ = control.sendNow($0, to: to) }
        }

        func close() {
            peer.close()
            control.close()
        }
    }

    /// What tshark sees in the reports of one leg.
    private struct Told {
        var senders: Set<UInt32> = []
        var about: Set<UInt32> = []
        var lost: [Int] = []
        var fraction: [Int] = []
        var packetCounts: [Int] = []
        var names: Set<String> = []
    }

    private static func read(_ side: Side) throws -> Told {
        let folder = try TemporaryFolder()
        var capture = PacketCapture()
        var octets = PacketCapture.fileHeader
        let here = SocketAddress(ip: MediaWorld.peerIP, port: side.control.localAddress.port)
        for report in side.reports {
            octets += capture.records(
                report.octets[...], from: report.from, to: here, over: .datagram, time: report.at.nanoseconds / 1000)
        }
        try folder.write(octets, to: "reports.pcap")
        let fields = [
            "rtcp.senderssrc", "rtcp.ssrc.identifier", "rtcp.ssrc.cum_nr", "rtcp.ssrc.fraction", "rtcp.sender.packetcount",
            "rtcp.sdes.text", "_ws.malformed", "_ws.expert.message"
        ]
        let tshark = try PeerProgram(
            path: #require(PeerProgram.path(of: "tshark")),
            ["-n", "-r", "reports.pcap", "-d", "udp.port==\(here.port),rtcp", "-Y", "rtcp", "-T", "fields", "-E", "separator=|"]
                + fields.flatMap { ["-e", $0] }, in: folder)
        #expect(tshark.wait(.seconds(30)) == 0, "\(tshark.output)")
        let lines = tshark.output.split(separator: "\n").filter { $0.contains("|") }
        #expect(lines.count == side.reports.count)
        var told = Told()
        for line in lines {
            let columns = line.split(separator: "|", omittingEmptySubsequences: false).map {
                $0.split(separator: ",").map(String.init)
            }
            let numbers = columns.map {
                $0.compactMap { Int($0.hasPrefix("0x") ? String($0.dropFirst(2)) : $0, radix: $0.hasPrefix("0x") ? 16 : 10) }
            }
            told.senders.formUnion(numbers[0].map { UInt32($0) })
            told.about.formUnion(numbers[1].map { UInt32($0) })
            told.lost += numbers[2]
            told.fraction += numbers[3]
            told.packetCounts += numbers[4]
            told.names.formUnion(columns[5])
            #expect(columns[6].isEmpty, "\(line)")
        }
        return told
    }

    @Test("each side gets reports of its own leg alone", arguments: [("pcmu", 0), ("pcma", 8), ("g722", 9)] as [(String, UInt8)])
    func reports(codec: String, type: UInt8) throws {
        let world = MediaWorld(seed: 41)
        let caller = try Side(world, port: 4000, ssrc: 0xCA11E4, codec: "pcmu", formats: "0 101")
        let callee = try Side(world, port: 5000, ssrc: 0xCA11EE, codec: codec, formats: "\(type) 101")
        caller.leg.connect(to: callee.leg)
        for number in 0..<1500 {
            caller.speak([UInt8](repeating: 0x22, count: 160), type: 0, isLost: number % 10 == 3)
            callee.speak([UInt8](repeating: 0x22, count: 160), type: type, isLost: false)
            if number % 200 == 150 { callee.complain() }
            world.run(.milliseconds(20))
        }
        let own = [caller, callee].map { Set($0.peer.packets.map(\.ssrc)) }
        #expect(own[0].count == 1 && own[1].count == 1 && own[0] != own[1])
        // What the caller lost is no gap in what goes on to the callee.
        for side in [caller, callee] {
            let numbers = side.peer.packets.map(\.sequence)
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
        }
        let told = [try Self.read(caller), try Self.read(callee)]
        for (index, side) in [caller, callee].enumerated() {
            #expect(side.reports.count >= 4 && told[index].packetCounts.count >= 4)
            #expect(told[index].senders == own[index], "from the source of its own leg")
            // About the side's own stream; the source itself is named by SDES.
            #expect(told[index].about.subtracting(own[index]) == [side.peer.sender.ssrc], "\(told[index].about)")
            #expect(told[index].names.count == 1)
            #expect(told[index].packetCounts.last.map { $0 > 1000 && $0 <= side.peer.packets.count } == true)
        }
        #expect(told[0].names.isDisjoint(with: told[1].names), "each leg has a name of its own")
        #expect(told[0].lost.max().map { $0 > 100 && $0 <= 150 } == true, "\(told[0].lost)")
        #expect(told[0].fraction.max().map { (20...32).contains($0) } == true, "a tenth is 25 of 256: \(told[0].fraction)")
        #expect(told[1].lost.allSatisfy { $0 == 0 } && told[1].fraction.allSatisfy { $0 == 0 }, "\(told[1])")
        // And what the callee says of its leg stays there.
        #expect(callee.leg.report.remote?.lost == 4711)
        #expect(caller.leg.report.remote == nil)
        for side in [caller, callee] { side.close() }
        world.end()
    }
}
