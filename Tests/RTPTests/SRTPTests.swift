// What SRTPSender protects and SRTPReceiver takes: order, loss, wrap-around, replay, and everything that was changed on the way.

import Basics
import RTP
import Testing

@Suite struct SRTPTests {
    @Test("every suite, both protocols, any header", arguments: SRTPSuite.allCases) func thereAndBack(suite: SRTPSuite) throws {
        let sender = SRTPSender(suite, master: masterKey(suite))
        let receiver = SRTPReceiver(suite, master: masterKey(suite))
        for (number, (contributors, extended)) in [(0, false), (2, false), (0, true), (3, true)].enumerated() {
            let packet = rtpPacket(UInt16(number), contributors: contributors, extended: extended)
            let protected = try #require(sender.protect(packet))
            #expect(protected.count == packet.count + suite.tagLength)
            #expect(protected[..<12] == packet[..<12])
            // Nothing of the payload is left readable.
            let same = zip(protected.suffix(from: packet.count - 160), packet.suffix(160)).filter { $0 == $1 }.count
            #expect(same < 16)
            #expect(try receiver.unprotect(protected) == packet)
            let report = rtcpPacket()
            let protectedReport = try #require(sender.protectControl(report))
            #expect(protectedReport.count == report.count + 4 + suite.controlTagLength)
            #expect(try receiver.unprotectControl(protectedReport) == report)
        }
        // No payload at all.
        let empty = Array(rtpPacket(9)[..<12])
        #expect(try receiver.unprotect(try #require(sender.protect(empty))) == empty)
    }

    @Test("in its own place", arguments: SRTPSuite.allCases) func inPlace(suite: SRTPSuite) throws {
        let sender = SRTPSender(suite, master: masterKey(suite))
        let receiver = SRTPReceiver(suite, master: masterKey(suite))
        let packet = rtpPacket(1)
        var buffer = try #require(sender.protect(packet))
        let count = try buffer.withUnsafeMutableBytes { try receiver.unprotect(UnsafeRawBufferPointer($0), to: $0) }
        #expect(Array(buffer[..<count]) == packet)
        var report = try #require(sender.protectControl(rtcpPacket()))
        let length = try report.withUnsafeMutableBytes { try receiver.unprotectControl(UnsafeRawBufferPointer($0), to: $0) }
        #expect(Array(report[..<length]) == rtcpPacket())
    }

    @Test(
        "without encryption the payload is readable and its tag still counts",
        arguments: [SRTPSuite.aes128HMAC80, .aes128HMAC32, .aes256HMAC80])
    func readable(suite: SRTPSuite) throws {
        let sender = SRTPSender(suite, master: masterKey(suite), isEncrypted: false)
        let receiver = SRTPReceiver(suite, master: masterKey(suite), isEncrypted: false)
        let packet = rtpPacket(1)
        let protected = try #require(sender.protect(packet))
        #expect(protected.count == packet.count + suite.tagLength && Array(protected[..<packet.count]) == packet)
        #expect(try receiver.unprotect(protected) == packet)
        var changed = try #require(sender.protect(rtpPacket(2)))
        changed[packet.count - 1] ^= 1
        #expect(throws: SRTPError.unauthentic) { try receiver.unprotect(changed) }
        // RTCP is encrypted as ever.
        let report = try #require(sender.protectControl(rtcpPacket()))
        #expect(try receiver.unprotectControl(report) == rtcpPacket())
    }

    @Test("the sequence number wraps, with loss and disorder", arguments: SRTPSuite.allCases)
    func wraps(suite: SRTPSuite) throws {
        let sender = SRTPSender(suite, master: masterKey(suite))
        let receiver = SRTPReceiver(suite, master: masterKey(suite))
        // Two wraps; of each ten packets two are lost and two change places.
        var kept: [UInt8]?
        for number in 0..<140_000 {
            // Only those near the wraps matter; the others advance in steps that are less than half of the range.
            let sequence = UInt16(truncatingIfNeeded: number)
            guard number % 65_536 < 40 || number % 65_536 > 65_500 || number % 20_000 == 0 else { continue }
            let packet = rtpPacket(sequence)
            let protected = try #require(sender.protect(packet))
            switch number % 10 {
            case 3, 4: continue
            case 6: kept = protected
            case 7:
                #expect(try receiver.unprotect(protected) == packet)
                if let late = kept { #expect(try receiver.unprotect(late) == rtpPacket(sequence &- 1)) }
                kept = nil
            default: #expect(try receiver.unprotect(protected) == packet, "\(number)")
            }
        }
    }

    @Test(
        "keys that change after a wrap: the counter goes on, and a device that begins anew is understood as well",
        arguments: [SRTPSuite.aes128HMAC80, .aes128GCM, .aes256HMAC32], [true, false])
    func newKeys(suite: SRTPSuite, goesOn: Bool) throws {
        var sender = SRTPSender(suite, master: masterKey(suite))
        var receiver = SRTPReceiver(suite, master: masterKey(suite))
        func pass(_ numbers: some Sequence<Int>) throws {
            for number in numbers {
                let packet = rtpPacket(UInt16(truncatingIfNeeded: number))
                #expect(try receiver.unprotect(try #require(sender.protect(packet))) == packet, "\(number)")
            }
        }
        try pass([65_000, 65_534, 65_536])
        // The first new keys are never heard, and the second ones not at once.
        for seed in [2, 3] as [UInt8] {
            sender = SRTPSender(suite, master: masterKey(suite, seed: seed), after: goesOn ? sender : nil)
            receiver = SRTPReceiver(suite, master: masterKey(suite, seed: seed), after: receiver)
        }
        _ = sender.protect(rtpPacket(UInt16(truncatingIfNeeded: 80_000)))
        let first = try #require(sender.protect(rtpPacket(UInt16(truncatingIfNeeded: 90_000))))
        #expect(try receiver.unprotect(first) == rtpPacket(UInt16(truncatingIfNeeded: 90_000)))
        #expect(throws: SRTPError.replayed) { try receiver.unprotect(first) }
        try pass([110_000, 131_071, 131_073, 160_000, 190_000, 196_610])
        #expect(throws: SRTPError.unauthentic) {
            try receiver.unprotect(rtpPacket(5) + [UInt8](repeating: 1, count: suite.tagLength))
        }
    }

    @Test("a replayed packet is not taken, nor one that is too old", arguments: [SRTPSuite.aes128HMAC80, .aes256GCM])
    func replay(suite: SRTPSuite) throws {
        let sender = SRTPSender(suite, master: masterKey(suite))
        let receiver = SRTPReceiver(suite, master: masterKey(suite))
        let packets = try (0..<200).map { try #require(sender.protect(rtpPacket(UInt16($0)))) }
        for packet in packets where packet[3] != 150 && packet[3] != 100 { _ = try receiver.unprotect(packet) }
        for packet in packets[101..<150] { #expect(throws: SRTPError.replayed) { try receiver.unprotect(packet) } }
        #expect(try receiver.unprotect(packets[150]) == rtpPacket(150))
        #expect(throws: SRTPError.replayed) { try receiver.unprotect(packets[150]) }
        // 99 behind the highest: nobody knows whether it came.
        #expect(throws: SRTPError.replayed) { try receiver.unprotect(packets[100]) }
        let reports = try (0..<3).map { _ in try #require(sender.protectControl(rtcpPacket())) }
        #expect(try receiver.unprotectControl(reports[2]) == rtcpPacket())
        #expect(try receiver.unprotectControl(reports[0]) == rtcpPacket())
        for place in [0, 2] { #expect(throws: SRTPError.replayed) { try receiver.unprotectControl(reports[place]) } }
        #expect(try receiver.unprotectControl(reports[1]) == rtcpPacket())
    }

    @Test("a single changed bit anywhere, a wrong key, a cut", arguments: SRTPSuite.allCases) func changed(suite: SRTPSuite)
        throws
    {
        let sender = SRTPSender(suite, master: masterKey(suite))
        let receiver = SRTPReceiver(suite, master: masterKey(suite))
        let packet = rtpPacket(7)
        let protected = try #require(sender.protect(packet))
        let report = try #require(sender.protectControl(rtcpPacket()))
        for place in protected.indices {
            var changed = protected
            changed[place] ^= 1 << (UInt8(truncatingIfNeeded: place) & 7)
            #expect(throws: SRTPError.self, "octet \(place)") { try receiver.unprotect(changed) }
        }
        for place in report.indices {
            var changed = report
            changed[place] ^= 1 << (UInt8(truncatingIfNeeded: place) & 7)
            #expect(throws: SRTPError.self, "octet \(place)") { try receiver.unprotectControl(changed) }
        }
        for count in 0..<protected.count {
            #expect(throws: SRTPError.self) { try receiver.unprotect(Array(protected[..<count])) }
        }
        for count in 0..<report.count {
            #expect(throws: SRTPError.self) { try receiver.unprotectControl(Array(report[..<count])) }
        }
        let stranger = SRTPReceiver(suite, master: masterKey(suite, seed: 2))
        #expect(throws: SRTPError.unauthentic) { try stranger.unprotect(protected) }
        #expect(throws: SRTPError.unauthentic) { try stranger.unprotectControl(report) }
        // None of it has touched what is known: the true ones are still taken.
        #expect(try receiver.unprotect(protected) == packet)
        #expect(try receiver.unprotectControl(report) == rtcpPacket())
        #expect(throws: SRTPError.unauthentic) {
            try receiver.unprotect(rtpPacket(8) + [UInt8](repeating: 0, count: suite.tagLength))
        }
    }

    @Test("a master key identifier has to be there, and the right one", arguments: SRTPSuite.allCases)
    func identifier(suite: SRTPSuite) throws {
        let sender = SRTPSender(suite, master: masterKey(suite))
        let receiver = SRTPReceiver(suite, master: masterKey(suite), identifier: [0, 7])
        let packet = rtpPacket(1)
        let protected = try #require(sender.protect(packet))
        let report = try #require(sender.protectControl(rtcpPacket()))
        #expect(throws: SRTPError.self) { try receiver.unprotect(protected) }
        #expect(throws: SRTPError.self) { try receiver.unprotectControl(report) }
        // Behind the tag of GCM, before the one of HMAC (RFC 7714 section 5.1, RFC 3711 section 3.1).
        func insert(_ identifier: [UInt8], _ packet: [UInt8], _ tag: Int) -> [UInt8] {
            var packet = packet
            packet.insert(contentsOf: identifier, at: suite.isAEAD ? packet.count : packet.count - tag)
            return packet
        }
        #expect(throws: SRTPError.unauthentic) { try receiver.unprotect(insert([0, 8], protected, suite.tagLength)) }
        #expect(try receiver.unprotect(insert([0, 7], protected, suite.tagLength)) == packet)
        #expect(try receiver.unprotectControl(insert([0, 7], report, suite.controlTagLength)) == rtcpPacket())
    }

    @Test("each source counts for itself, and there is an end of them") func sources() throws {
        let receiver = SRTPReceiver(.aes128HMAC80, master: masterKey(.aes128HMAC80))
        for source in 0..<UInt32(SRTPReceiver.mostSources) {
            let sender = SRTPSender(.aes128HMAC80, master: masterKey(.aes128HMAC80))
            let packet = rtpPacket(UInt16(60_000 - source), ssrc: source)
            #expect(try receiver.unprotect(try #require(sender.protect(packet))) == packet)
        }
        let sender = SRTPSender(.aes128HMAC80, master: masterKey(.aes128HMAC80))
        let further = try #require(sender.protect(rtpPacket(1, ssrc: 1_000_000)))
        #expect(throws: SRTPError.tooManySources) { try receiver.unprotect(further) }
    }

    @Test("RTCP that is not encrypted is not taken") func plainControl() throws {
        let keys = SRTPKeys(.aes128HMAC80, master: masterKey(.aes128HMAC80), for: .rtcp)
        let receiver = SRTPReceiver(.aes128HMAC80, media: keys, control: keys)
        let clear = rtcpPacket() + octets("00000001") + [UInt8](repeating: 0, count: 10)
        #expect(throws: SRTPError.malformed) { try receiver.unprotectControl(clear) }
    }

    @Test("what is no RTP is not protected") func noPacket() {
        let sender = SRTPSender(.aes128HMAC80, master: masterKey(.aes128HMAC80))
        #expect(sender.protect([UInt8](repeating: 0x80, count: 11)) == nil)
        #expect(sender.protect([0x00] + [UInt8](repeating: 0, count: 20)) == nil)
        #expect(sender.protectControl([0x80, 201, 0, 1]) == nil)
    }

    @Test("the window: below zero, the end of the counter, far jumps") func window() {
        var window = SRTPWindow()
        #expect(window.index(of: 65_535) == 65_535)
        window.note(3)
        #expect(window.index(of: 65_535) == nil)
        #expect(window.index(of: 30_000) == 30_000)
        window.note(40_000)
        #expect(window.index(of: 0) == 65_536)
        #expect(!window.isNew(3) && window.isNew(39_999) && window.isNew(65_536))
        var last = SRTPWindow()
        last.note(0xFFFF_FFFF_FFFF)
        #expect(last.index(of: 0) == nil && last.index(of: 0xFFFE) == 0xFFFF_FFFF_FFFE)
    }
}
