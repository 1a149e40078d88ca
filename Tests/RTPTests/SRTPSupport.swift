// What the tests of SRTP share.

import Basics
import RTP

/// Octets out of hexadecimal digits; blanks are skipped.
func octets(_ hex: String) -> [UInt8] {
    let digits = hex.filter { !$0.isWhitespace }.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

func hex(_ octets: [UInt8]) -> String {
    octets.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
}

/// Packets as arrays, each in a buffer of its own.
extension SRTPSender {
    func protect(_ packet: [UInt8]) -> [UInt8]? { padded(packet) { protect($0, count: packet.count) } }
    func protectControl(_ packet: [UInt8]) -> [UInt8]? { padded(packet) { protectControl($0, count: packet.count) } }

    private func padded(_ packet: [UInt8], _ body: (UnsafeMutableRawBufferPointer) -> Int?) -> [UInt8]? {
        var buffer = packet + [UInt8](repeating: 0xEE, count: SRTPSuite.mostTrailer)
        return buffer.withUnsafeMutableBytes { body($0) }.map { Array(buffer[..<$0]) }
    }
}

extension SRTPReceiver {
    func unprotect(_ packet: [UInt8]) throws -> [UInt8] { try opened(packet, isControl: false) }
    func unprotectControl(_ packet: [UInt8]) throws -> [UInt8] { try opened(packet, isControl: true) }

    private func opened(_ packet: [UInt8], isControl: Bool) throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: packet.count)
        let count = try buffer.withUnsafeMutableBytes { output in
            try packet.withUnsafeBytes { isControl ? try unprotectControl($0, to: output) : try unprotect($0, to: output) }
        }
        return Array(buffer[..<count])
    }
}

/// A packet with some payload that tells its number.
func rtpPacket(_ sequence: UInt16, ssrc: UInt32 = 0xCAFE_BABE, contributors: Int = 0, extended: Bool = false) -> [UInt8] {
    var packet = [UInt8](repeating: 0, count: 12)
    packet.withUnsafeMutableBytes {
        RTPHeader(marker: false, payloadType: 8, sequence: sequence, timestamp: UInt32(sequence) * 160, ssrc: ssrc).write(to: $0)
    }
    packet[0] |= UInt8(contributors) | (extended ? 0x10 : 0)
    for contributor in 0..<contributors { packet += [0, 0, 0, UInt8(contributor)] }
    if extended { packet += octets("bede0002 1122334455667788") }
    return packet + (0..<160).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ Int(sequence)) }
}

/// An RR without blocks and an SDES.
func rtcpPacket(ssrc: UInt32 = 0xCAFE_BABE) -> [UInt8] {
    let source = (0..<4).map { UInt8(truncatingIfNeeded: ssrc >> UInt32(24 - 8 * $0)) }
    return [0x80, 201, 0, 1] + source + [0x81, 202, 0, 3] + source + octets("0104 61626364 0000")
}

/// A master key and salt of the suite's length, the same for the same seed.
func masterKey(_ suite: SRTPSuite, seed: UInt8 = 1) -> [UInt8] {
    (0..<suite.masterLength).map { UInt8(truncatingIfNeeded: $0 &* 13) &+ seed }
}
