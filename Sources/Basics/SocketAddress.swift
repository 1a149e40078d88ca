import CLinux

/// An IPv4 or IPv6 address.
package enum IPAddress: Hashable, Sendable {
    /// Host order.
    case v4(UInt32)
    /// The first and the second eight octets, host order.
    case v6(UInt64, UInt64)

    package static let loopback4 = IPAddress.v4(0x7F00_0001)
    package static let any4 = IPAddress.v4(0)
    package static let any6 = IPAddress.v6(0, 0)

    /// Reads `192.0.2.1`, `2001:db8::1` or `[2001:db8::1]`; nil for anything else, so for host names.
    package init?(_ text: some StringProtocol) {
        if let four = text.utf8.withContiguousStorageIfAvailable({ IPAddress(dotted: $0) }) ?? nil {
            self = four
            return
        }
        var bare = Substring(text)
        if bare.hasPrefix("["), bare.hasSuffix("]") { bare = bare.dropFirst().dropLast() }
        guard bare.utf8.count <= 45, !bare.utf8.contains(0) else { return nil }
        var four = in_addr()
        if inet_pton(AF_INET, String(bare), &four) == 1 {
            self = .v4(UInt32(bigEndian: four.s_addr))
            return
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, String(bare), &six) == 1 else { return nil }
        self = withUnsafeBytes(of: six) {
            .v6(
                UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }

    /// Reads `192.0.2.1` from octets, without a detour over text; nil for anything else, also when an octet has a leading zero.
    package init?(dotted octets: UnsafeBufferPointer<UInt8>) {
        guard octets.count <= 15 else { return nil }
        var value: UInt32 = 0
        var part: UInt32 = 0
        var digits = 0
        var dots = 0
        for octet in octets {
            if octet == UInt8(ascii: "."), digits > 0, dots < 3 {
                value = value << 8 | part
                (part, digits, dots) = (0, 0, dots + 1)
                continue
            }
            let digit = UInt32(octet &- UInt8(ascii: "0"))
            guard digit <= 9, digits == 0 || part > 0, digits < 3 else { return nil }
            part = part * 10 + digit
            digits += 1
            guard part <= 255 else { return nil }
        }
        guard dots == 3, digits > 0 else { return nil }
        self = .v4(value << 8 | part)
    }

    package var isV6: Bool {
        if case .v6 = self { true } else { false }
    }

    /// An address that is reached inside of a site or host only: private (RFC 1918, RFC 4193), shared (RFC 6598), link-local, loopback.
    package var isPrivate: Bool {
        switch self {
        case .v4(let value):
            value >> 24 == 10 || value >> 20 == 0xAC1 || value >> 16 == 0xC0A8 || value >> 22 == 0x191 || value >> 16 == 0xA9FE
                || value >> 24 == 127
        case .v6(let high, let low): high >> 57 == 0x7E || high >> 54 == 0x3FA || (high == 0 && low == 1)
        }
    }

    /// 0.0.0.0 or ::
    package var isUnspecified: Bool { self == .any4 || self == .any6 }
}

extension IPAddress: CustomStringConvertible {
    /// `192.0.2.1` or `2001:db8::1`, without brackets.
    package var description: String {
        switch self {
        case .v4(let value):
            return "\(value >> 24).\(value >> 16 & 255).\(value >> 8 & 255).\(value & 255)"
        case .v6(let high, let low):
            var six = in6_addr()
            withUnsafeMutableBytes(of: &six) {
                $0.storeBytes(of: high.bigEndian, as: UInt64.self)
                $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 46) {
                inet_ntop(AF_INET6, &six, $0.baseAddress!, 46)
                return String(cString: $0.baseAddress!)
            }
        }
    }
}

/// An IP address with a port.
package struct SocketAddress: Hashable, Sendable {
    package var ip: IPAddress
    package var port: UInt16

    package init(ip: IPAddress, port: UInt16) {
        self.ip = ip
        self.port = port
    }

    /// Reads `192.0.2.1:5060` or `[2001:db8::1]:5060`.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
        let host = text[..<colon]
        guard let ip = IPAddress(host), ip.isV6 == host.hasPrefix("[") else { return nil }
        self.init(ip: ip, port: port)
    }
}

extension SocketAddress: CustomStringConvertible {
    /// `192.0.2.1:5060` or `[2001:db8::1]:5060`.
    package var description: String { ip.isV6 ? "[\(ip)]:\(port)" : "\(ip):\(port)" }
}
