// The capture format that Wireshark, tshark, tcpdump and sngrep read (pcap, version 2.4, microseconds), with link type RAW: each record
// begins with an IPv4 or IPv6 header. Headers are made here from what is known: addresses, ports, lengths; checksums are right.
//
//   0           4     6     8           12          16          20          24
//   ├ a1b2c3d4 ─┼ 2 ──┼ 4 ──┼ zone 0 ───┼ figures 0 ┼ longest ──┼ link 101 ─┤   file
//   ├ seconds ──┼ microseconds ─────────┼ captured ─┼ on wire ──┤             record

package import Basics

/// Makes the octets of one capture, record by record.
package struct PacketCapture {
    package enum Carrier {
        case datagram
        /// A piece of a stream, whose numbers are counted here: of what else the stream carried nothing is known.
        case stream
    }

    /// What passed in one direction between two addresses.
    private struct Way: Hashable {
        let from: SocketAddress
        let to: SocketAddress
    }

    package static let fileHeader: [UInt8] = {
        var octets: [UInt8] = []
        octets.append(big: 0xA1B2_C3D4 as UInt32)
        octets.append(big: 2 as UInt16)
        octets.append(big: 4 as UInt16)
        octets.append(big: 0 as UInt32)
        octets.append(big: 0 as UInt32)
        octets.append(big: 65_535 as UInt32)
        octets.append(big: 101 as UInt32)
        return octets
    }()

    /// The longest payload of a record: an IPv4 packet has 65,535 octets, 20 of them its header, 20 that of TCP.
    package static let mostPayload = 65_495

    private var sent: [Way: UInt32] = [:]
    private var identification: UInt16 = 0

    package init() {}

    /// The record of one datagram, or those of one message of a stream.
    /// - Parameter time: microseconds since 1970.
    package mutating func records(
        _ payload: ArraySlice<UInt8>, from: SocketAddress, to: SocketAddress, over carrier: Carrier, time: Int64
    ) -> [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(payload.count + 76)
        switch carrier {
        case .datagram:
            let kept = payload.prefix(Self.mostPayload)
            addRecord(17, udp(kept, from, to), from.ip, to.ip, time, to: &octets)
        case .stream:
            var rest = payload
            while !rest.isEmpty {
                let piece = rest.prefix(Self.mostPayload)
                rest = rest.dropFirst(piece.count)
                addRecord(6, tcp(piece, from, to, isLast: rest.isEmpty), from.ip, to.ip, time, to: &octets)
            }
        }
        return octets
    }

    private func udp(_ payload: ArraySlice<UInt8>, _ from: SocketAddress, _ to: SocketAddress) -> [UInt8] {
        var octets: [UInt8] = []
        octets.reserveCapacity(payload.count + 8)
        octets.append(big: from.port)
        octets.append(big: to.port)
        octets.append(big: UInt16(payload.count + 8))
        octets.append(big: 0 as UInt16)
        octets += payload
        // Zero would mean that there is none (RFC 768).
        let sum = Self.checksum(of: octets, 17, from.ip, to.ip)
        octets.put(big: sum == 0 ? 0xFFFF : sum, at: 6)
        return octets
    }

    private mutating func tcp(
        _ payload: ArraySlice<UInt8>, _ from: SocketAddress, _ to: SocketAddress, isLast: Bool
    ) -> [UInt8] {
        let way = Way(from: from, to: to)
        let number = sent[way] ?? 1
        sent[way] = number &+ UInt32(payload.count)
        var octets: [UInt8] = []
        octets.reserveCapacity(payload.count + 20)
        octets.append(big: from.port)
        octets.append(big: to.port)
        octets.append(big: number)
        octets.append(big: sent[Way(from: to, to: from)] ?? 1)
        // Five words of header; ACK, and PSH where a message ends.
        octets.append(big: UInt16(0x5010 | (isLast ? 0x08 : 0)))
        octets.append(big: 65_535 as UInt16)
        octets.append(big: 0 as UInt32)
        octets += payload
        octets.put(big: Self.checksum(of: octets, 6, from.ip, to.ip), at: 16)
        return octets
    }

    private mutating func addRecord(
        _ kind: UInt8, _ body: [UInt8], _ from: IPAddress, _ to: IPAddress, _ time: Int64, to octets: inout [UInt8]
    ) {
        let (from, to) = Self.ofOneFamily(from, to)
        let length = body.count + (to.isV6 ? 40 : 20)
        octets.append(big: UInt32(truncatingIfNeeded: time / 1_000_000))
        octets.append(big: UInt32(truncatingIfNeeded: time % 1_000_000))
        octets.append(big: UInt32(length))
        octets.append(big: UInt32(length))
        if to.isV6 {
            octets.append(big: 0x6000_0000 as UInt32)
            octets.append(big: UInt16(body.count))
            octets += [kind, 64]
            octets += from.octets + to.octets
        } else {
            let start = octets.count
            identification &+= 1
            octets.append(big: 0x4500 as UInt16)
            octets.append(big: UInt16(length))
            octets.append(big: identification)
            // Do not fragment; 64 hops.
            octets.append(big: 0x4000 as UInt16)
            octets += [64, kind, 0, 0]
            octets += from.octets + to.octets
            octets.put(big: Self.folded(Self.sum(octets[start...])), at: start + 10)
        }
        octets += body
    }

    /// A socket of both families may not know its own address: then it is the unspecified one.
    private static func ofOneFamily(_ from: IPAddress, _ to: IPAddress) -> (IPAddress, IPAddress) {
        if from.isV6 == to.isV6 { return (from, to) }
        return from.isUnspecified ? (to.isV6 ? .any6 : .any4, to) : (from, from.isV6 ? .any6 : .any4)
    }

    /// Of UDP and TCP, with the pseudo header (RFC 768, RFC 9293 section 3.1, RFC 8200 section 8.1).
    private static func checksum(of body: [UInt8], _ kind: UInt8, _ from: IPAddress, _ to: IPAddress) -> UInt16 {
        let (from, to) = ofOneFamily(from, to)
        return folded(sum(from.octets[...]) + sum(to.octets[...]) + UInt64(kind) + UInt64(body.count) + sum(body[...]))
    }

    /// Of 16-bit words, an odd octet at the end counting as the upper half of one.
    private static func sum(_ octets: ArraySlice<UInt8>) -> UInt64 {
        var sum: UInt64 = 0
        var index = octets.startIndex
        while index + 1 < octets.endIndex {
            sum += UInt64(octets[index]) << 8 | UInt64(octets[index + 1])
            index += 2
        }
        if index < octets.endIndex { sum += UInt64(octets[index]) << 8 }
        return sum
    }

    private static func folded(_ sum: UInt64) -> UInt16 {
        var sum = sum
        while sum >> 16 != 0 { sum = sum & 0xFFFF + sum >> 16 }
        return ~UInt16(sum)
    }
}

extension IPAddress {
    /// In network order: four or sixteen.
    fileprivate var octets: [UInt8] {
        var octets: [UInt8] = []
        switch self {
        case .v4(let value): octets.append(big: value)
        case .v6(let high, let low):
            octets.append(big: high)
            octets.append(big: low)
        }
        return octets
    }
}

extension [UInt8] {
    fileprivate mutating func append<Number: FixedWidthInteger>(big number: Number) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    fileprivate mutating func put(big number: UInt16, at index: Int) {
        self[index] = UInt8(number >> 8)
        self[index + 1] = UInt8(truncatingIfNeeded: number)
    }
}
