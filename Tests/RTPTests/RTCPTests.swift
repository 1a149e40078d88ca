import Basics
import RTP
import Testing

@Suite struct RTCPTests {
    private static let block = ReportBlock(
        ssrc: 0x1122_3344, fractionLost: 25, cumulativeLost: -3, highestSequence: 0x1_0005, jitter: 77,
        lastSenderReport: 0xABCD_0123,
        delaySinceSenderReport: 0x8000)
    private static let info = SenderInfo(
        time: NTPTime(seconds: 0xE000_0001, fraction: 0x8000_0000), timestamp: 1600, packetCount: 10, octetCount: 1600)

    private func build(_ write: (inout RTCPWriter) -> Void) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: RTCPWriter.sufficientSize)
        let count = bytes.withUnsafeMutableBytes { buffer in
            var writer = RTCPWriter(buffer)
            write(&writer)
            return writer.count
        }
        return Array(bytes.prefix(count))
    }

    @Test func layoutOfAReceiverReport() {
        let bytes = build { $0.receiverReport(ssrc: 0x0102_0304, about: Self.block) }
        let expected: [UInt8] = [
            0x81, 201, 0, 7, 1, 2, 3, 4, 0x11, 0x22, 0x33, 0x44, 25, 0xFF, 0xFF, 0xFD, 0, 1, 0, 5, 0, 0, 0, 77, 0xAB, 0xCD, 1,
            0x23, 0, 0, 0x80, 0
        ]
        #expect(bytes == expected)
    }

    @Test(arguments: [0, 1, 2, 3, 4, 5, 200, 255, 300]) func compoundPacketsComeBack(nameLength: Int) {
        let name = [UInt8](repeating: UInt8(ascii: "n"), count: nameLength)
        let bytes = build { writer in
            writer.senderReport(ssrc: 7, Self.info, about: Self.block)
            name.withUnsafeBytes { writer.sourceDescription(ssrc: 7, canonicalName: $0) }
            writer.goodbye(ssrc: 7)
        }
        #expect(bytes.count % 4 == 0)
        bytes.withUnsafeBytes { buffer in
            guard var reader = RTCPReader(buffer) else {
                Issue.record("refused")
                return
            }
            let report = reader.next()
            #expect(report?.kind == .senderReport && report?.ssrc == 7 && report?.count == 1)
            #expect(report?.senderInfo == Self.info)
            #expect(report?.report(about: 0x1122_3344) == Self.block && report?.report(about: 7) == nil)
            let description = reader.next()
            #expect(description?.kind == .sourceDescription)
            #expect(description?.canonicalName(of: 7).map { Array($0) } == Array(name.prefix(255)))
            #expect(description?.canonicalName(of: 8) == nil)
            let goodbye = reader.next()
            #expect(goodbye?.saysGoodbye(to: 7) == true && goodbye?.saysGoodbye(to: 8) == false)
            #expect(reader.next() == nil)
        }
    }

    @Test func extendedReportsComeBack() {
        let metrics = VoIPMetrics(
            ssrc: 0x1122_3344, lossRate: 3, discardRate: 1, burstDensity: 110, gapDensity: 1, burstDuration: 140,
            gapDuration: 6040,
            roundTrip: 80, endSystemDelay: 60, rating: 93, listeningScore: 4.4, conversationalScore: 4.1)
        var unknown = metrics
        (unknown.rating, unknown.listeningScore, unknown.conversationalScore) = (nil, nil, nil)
        let bytes = build { writer in
            writer.receiverReport(ssrc: 7, about: Self.block)
            writer.extendedReport(ssrc: 7, metrics)
            writer.extendedReport(ssrc: 7, unknown)
        }
        #expect(bytes.count == 32 + 2 * 44)
        #expect(bytes[32..<44].elementsEqual([0x80, 207, 0, 10, 0, 0, 0, 7, 7, 0, 0, 8]))
        bytes.withUnsafeBytes { buffer in
            var reader = RTCPReader(buffer)
            _ = reader?.next()
            let first = reader?.next()
            #expect(first?.kind == .extendedReport && first?.voipMetrics(about: 0x1122_3344) == metrics)
            #expect(first?.voipMetrics(about: 7) == nil && first?.report(about: 7) == nil && first?.ssrc == nil)
            #expect(reader?.next()?.voipMetrics(about: 0x1122_3344) == unknown)
        }
    }

    /// A block before it, one of a wrong length, one that goes beyond the end.
    @Test func blocksOfExtendedReportsAreSteppedOver() {
        func find(_ blocks: [UInt8]) -> Bool {
            let bytes = [0x80, 207, 0, UInt8((blocks.count + 4) / 4), 0, 0, 0, 7] + blocks
            return bytes.withUnsafeBytes { buffer in
                var reader = RTCPReader(buffer)
                return reader?.next()?.voipMetrics(about: 1) != nil
            }
        }
        let block: [UInt8] = [7, 0, 0, 8, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 28)
        #expect(find([4, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0] + block))
        #expect(!find([7, 0, 0, 1, 0, 0, 0, 1]))
        #expect(!find([7, 0, 0, 9] + block.dropFirst(4)))
        #expect(!find([]) && !find([7, 0, 0, 8]))
    }

    @Test func otherPacketsAreSteppedOver() {
        // APP, XR and an SR that is too short for its count of blocks.
        let bytes: [UInt8] = [
            0x80, 204, 0, 1, 0, 0, 0, 0, 0x80, 207, 0, 0, 0x82, 201, 0, 1, 0, 0, 0, 9, 0xA1, 203, 0, 2, 0, 0, 0, 5, 0, 0, 0, 4
        ]
        bytes.withUnsafeBytes { buffer in
            var kinds: [RTCPPacket.Kind] = []
            var reader = RTCPReader(buffer)!
            while let packet = reader.next() {
                kinds.append(packet.kind)
                if packet.kind == .goodbye { #expect(packet.saysGoodbye(to: 5)) }
            }
            #expect(kinds == [.other, .other, .other, .goodbye])
        }
    }

    @Test(
        arguments: [
            [], [0x80, 201, 0], [0x80, 201, 0, 2, 0, 0, 0, 1], [0x40, 201, 0, 1, 0, 0, 0, 1], [0x80, 100, 0, 1, 0, 0, 0, 1],
            [0x80, 201, 0, 1, 0, 0, 0, 1, 0], [0xA0, 201, 0, 1, 0, 0, 0, 4, 0x80, 203, 0, 0], [0xA0, 201, 0, 1, 0, 0, 0, 0],
            [0xA0, 201, 0, 1, 0, 0, 0, 8], [0xA0, 201, 0, 1, 0, 0, 0, 3]
        ] as [[UInt8]]) func refusesBrokenChains(bytes: [UInt8])
    {
        #expect(bytes.withUnsafeBytes { RTCPReader($0) == nil })
    }

    @Test func roundTripOfASenderReport() throws {
        // They got our SR 15 ms after it left, answered 2 s later, and that took 25 ms.
        let start: Int64 = 1_700_000_000_123_000_000
        var there = ReceiveStatistics(clockRate: 8000)
        _ = there.receive(ssrc: 1, sequence: 1, timestamp: 0, at: .zero)
        there.receive(senderReport: NTPTime(unixNanoseconds: start).middle, from: 1, at: .zero + .seconds(10))
        let made = there.makeReport(at: .zero + .seconds(12))
        let report = try #require(made)
        let roundTrip = try #require(report.roundTrip(at: NTPTime(unixNanoseconds: start + 2_040_000_000)))
        #expect(abs(roundTrip.milliseconds - 40) < 0.05)
        #expect(report.roundTrip(at: NTPTime(unixNanoseconds: start + 1_900_000_000)) == nil, "a clock that went back")
        #expect(NTPTime(unixNanoseconds: 0) == NTPTime(seconds: 2_208_988_800, fraction: 0))
    }

    @Test func intervals() {
        #expect(abs(RTCPInterval.next(isFirst: false, chance: 0).seconds - 2.052) < 0.001)
        #expect(abs(RTCPInterval.next(isFirst: false, chance: .max).seconds - 6.156) < 0.001)
        #expect(abs(RTCPInterval.next(isFirst: true, chance: 1 << 31).seconds - 2.052) < 0.001)
    }
}
