// Reads captures (the classic format of libpcap, in both byte orders, with microseconds or nanoseconds): the payloads of their UDP
// datagrams with the time of each. Frames of Ethernet (with VLAN tags), Linux "cooked" (both versions), loopback and plain IP.

import Basics
import Foundation

/// The datagrams of a capture.
struct CaptureFile {
    struct Packet {
        /// Since the first one.
        var time: Duration
        var payload: [UInt8]
    }

    private(set) var packets: [Packet] = []

    /// Why a file is none.
    struct Problem: Error {
        var message: String
    }

    init(path: String) throws(Problem) {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Problem(message: "\(path) cannot be read: is it there?")
        }
        try self.init(Array(data), path: path)
    }

    init(_ octets: [UInt8], path: String) throws(Problem) {
        guard octets.count >= 24 else { throw Problem(message: "\(path) is no capture: it is too short") }
        let magic = octets[..<4]
        let isBig: Bool
        let unit: Int64
        switch Array(magic) {
        case [0xA1, 0xB2, 0xC3, 0xD4]: (isBig, unit) = (true, 1000)
        case [0xD4, 0xC3, 0xB2, 0xA1]: (isBig, unit) = (false, 1000)
        case [0xA1, 0xB2, 0x3C, 0x4D]: (isBig, unit) = (true, 1)
        case [0x4D, 0x3C, 0xB2, 0xA1]: (isBig, unit) = (false, 1)
        case [0x0A, 0x0D, 0x0D, 0x0A]:
            throw Problem(message: "\(path) is a pcapng file; editcap -F pcap IN OUT makes the format that is read here")
        default: throw Problem(message: "\(path) is no capture of libpcap")
        }
        func number(_ at: Int) -> Int {
            let four = (0..<4).map { Int(octets[at + $0]) }
            return isBig
                ? four[0] << 24 | four[1] << 16 | four[2] << 8 | four[3] : four[3] << 24 | four[2] << 16 | four[1] << 8 | four[0]
        }
        let kind = number(20) & 0xFFFF
        var first: Int64?
        var at = 24
        while at + 16 <= octets.count {
            let time = Int64(number(at)) * 1_000_000_000 + Int64(number(at + 4)) * unit
            let length = number(at + 8)
            at += 16
            guard length >= 0, at + length <= octets.count else { break }
            if let payload = Self.datagram(octets[at..<at + length], kind) {
                let begin = first ?? time
                first = begin
                packets.append(Packet(time: .nanoseconds(max(0, time - begin)), payload: Array(payload)))
            }
            at += length
        }
        guard !packets.isEmpty else { throw Problem(message: "\(path) has no UDP datagram in it") }
    }

    /// The payload of the UDP datagram in a frame.
    private static func datagram(_ frame: ArraySlice<UInt8>, _ kind: Int) -> ArraySlice<UInt8>? {
        let start: Int
        switch kind {
        case 1:
            // Ethernet: addresses, tags of VLANs, type.
            var place = 12
            while frame.count > place + 4, [[0x81, 0x00], [0x88, 0xA8]].contains(Array(frame.dropFirst(place).prefix(2))) {
                place += 4
            }
            start = place + 2
        case 113: start = 16
        case 276: start = 20
        case 0: start = 4
        case 101, 12, 14, 228, 229: start = 0
        default: return nil
        }
        let packet = frame.dropFirst(start)
        guard let version = packet.first.map({ $0 >> 4 }) else { return nil }
        let header: Int
        switch version {
        case 4:
            guard packet.count >= 20, packet[packet.startIndex + 9] == 17 else { return nil }
            header = Int(packet[packet.startIndex] & 15) * 4
        case 6:
            guard packet.count >= 40, packet[packet.startIndex + 6] == 17 else { return nil }
            header = 40
        default: return nil
        }
        let datagram = packet.dropFirst(header)
        guard datagram.count >= 8 else { return nil }
        let length = Int(datagram[datagram.startIndex + 4]) << 8 | Int(datagram[datagram.startIndex + 5])
        guard length >= 8, length <= datagram.count else { return nil }
        return datagram.dropFirst(8).prefix(length - 8)
    }
}
