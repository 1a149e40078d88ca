import Basics
import RTP
import Testing

/// The fields of a packet, or nil when it is refused.
private func fields(_ bytes: [UInt8]) -> (RTPHeader, payload: [UInt8], extensionBytes: [UInt8]?, contributors: [UInt32])? {
    bytes.withUnsafeBytes { buffer in
        RTPPacket(buffer).map { packet in
            (
                RTPHeader(
                    marker: packet.marker, payloadType: packet.payloadType, sequence: packet.sequence,
                    timestamp: packet.timestamp,
                    ssrc: packet.ssrc),
                Array(packet.payload), packet.headerExtension.map { Array($0.bytes) },
                (0..<packet.contributorCount).map { packet.contributor($0) }
            )
        }
    }
}

@Suite struct PacketTests {
    private static let plain: [UInt8] = [0x80, 0x80, 0x12, 0x34, 0, 0, 1, 0, 0xDE, 0xAD, 0xBE, 0xEF, 7, 8, 9, 2]

    @Test func readsTheHeader() throws {
        let packet = try #require(fields(Self.plain))
        #expect(packet.0 == RTPHeader(marker: true, payloadType: 0, sequence: 0x1234, timestamp: 256, ssrc: 0xDEAD_BEEF))
        #expect(packet.payload == [7, 8, 9, 2] && packet.extensionBytes == nil && packet.contributors.isEmpty)
    }

    @Test func readsContributorsExtensionAndPadding() throws {
        var bytes = Self.plain
        bytes[0] = 0xB2
        bytes.replaceSubrange(12..., with: [0, 0, 0, 1, 0, 0, 0, 2, 0xBE, 0xDE, 0, 1, 0x10, 0xFF, 0, 0, 7, 8, 9, 0, 2])
        let packet = try #require(fields(bytes))
        #expect(packet.payload == [7, 8, 9] && packet.extensionBytes == [0x10, 0xFF, 0, 0] && packet.contributors == [1, 2])
    }

    @Test(
        arguments: [
            [], [0x80], Array(plain.prefix(11)), [0x40] + plain.dropFirst(), [0xC0] + plain.dropFirst(),
            [0x82] + plain.dropFirst(),
            [0x90] + plain.dropFirst(), [0x90] + plain[1..<12] + [0, 0, 0, 1], [0x90] + plain[1..<12] + [0, 0],
            [0xA0] + plain[1..<15] + [0], [0xA0] + plain[1..<15] + [5], [0xA0] + plain[1..<12]
        ] as [[UInt8]]) func refusesWhatIsCutShort(bytes: [UInt8])
    {
        #expect(fields(bytes) == nil)
    }

    @Test func headersComeBack() throws {
        var random = SeededRandom(seed: 1)
        for _ in 0..<500 {
            let header = RTPHeader(
                marker: .random(using: &random), payloadType: .random(in: 0...127, using: &random),
                sequence: .random(in: 0...UInt16.max, using: &random), timestamp: .random(in: 0...UInt32.max, using: &random),
                ssrc: .random(in: 0...UInt32.max, using: &random))
            var bytes = [UInt8](repeating: 0xFF, count: 20)
            bytes.withUnsafeMutableBytes { header.write(to: $0) }
            let packet = try #require(fields(bytes))
            #expect(packet.0 == header && packet.payload == [UInt8](repeating: 0xFF, count: 8))
        }
    }

    /// Whatever is read lies inside the datagram, and RTCP too: random bytes with a plausible start.
    @Test(arguments: 1...5) func randomBytesNeverReadBeyondTheEnd(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        var read = 0
        for _ in 0..<5000 {
            var bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            if !bytes.isEmpty { bytes[0] = 0x80 | bytes[0] & 0x3F }
            if bytes.count > 3, random.happens(0.5) {
                bytes[1] = .random(in: 200...204, using: &random)
                bytes[2] = 0
                bytes[3] = UInt8(bytes.count / 4 - 1)
                bytes = Array(bytes.prefix(bytes.count / 4 * 4))
            }
            if let packet = fields(bytes) { read += packet.payload.count + packet.contributors.count }
            bytes.withUnsafeBytes { buffer in
                guard var reader = RTCPReader(buffer) else { return }
                while let packet = reader.next() {
                    for index in 0..<packet.count where packet.ssrc != nil { read += Int(packet.report(index).fractionLost) }
                    read += (packet.canonicalName(of: 1)?.count ?? 0) + (packet.saysGoodbye(to: 1) ? 1 : 0)
                }
            }
        }
        #expect(read > 0)
    }

    @Test(
        arguments: [
            ([0, 1], PacketKind.stun), ([3, 0], .stun), ([4, 0], .unknown), ([16, 0], .zrtp), ([20, 254], .dtls),
            ([63, 0], .dtls),
            ([64, 0], .turnChannel), ([80, 0], .unknown), ([127, 0], .unknown), ([0x80, 0], .rtp), ([0x80, 0x80 | 101], .rtp),
            ([0xBF, 191], .rtp),
            ([0x80, 192], .rtcp), ([0x81, 200], .rtcp), ([0x80, 223], .rtcp), ([0x80, 224], .rtp), ([192, 0], .unknown),
            ([0x80], .unknown), ([], .unknown)
        ] as [([UInt8], PacketKind)]) func kinds(bytes: [UInt8], kind: PacketKind)
    {
        #expect(bytes.withUnsafeBytes { PacketKind($0) } == kind)
    }

    @Test func payloadSets() {
        let set: PayloadSet = [0, 8, 63, 64, 101, 127]
        #expect((UInt8(0)...255).filter { set.contains($0) } == [0, 8, 63, 64, 101, 127])
    }

    @Test func theSenderGoesOnThroughSilence() {
        var sender = RTPSender(ssrc: 9, sequence: 65_534, timestamp: .max - 159)
        var headers: [RTPHeader] = []
        for tick in 0..<6 {
            if tick != 3 { headers.append(sender.audio(payloadType: 0, octets: 160)) }
            sender.advance(by: 160)
        }
        #expect(headers.map(\.sequence) == [65_534, 65_535, 0, 1, 2])
        #expect(headers.map(\.timestamp) == [.max - 159, 0, 160, 480, 640])
        #expect(headers.map(\.marker) == [true, false, false, true, false])
        #expect(sender.packetCount == 5 && sender.octetCount == 800)
        #expect(sender.elapsed == 960)
        // 120 ms by one clock are 120 ms by another.
        sender.changeClock(from: 8000, to: 48_000)
        #expect(sender.elapsed == 5760 && sender.timestamp == 800)
        sender.advance(by: 960)
        #expect(sender.elapsed == 6720)
    }
}
