// What a datagram on a media port is, by its first octets (RFC 7983 section 7; RFC 5761 section 4 for RTP against RTCP).

/// The protocols that share a media port.
package enum PacketKind: Hashable, Sendable {
    case rtp
    case rtcp
    /// RFC 8489; first octet 0 to 3.
    case stun
    /// First octet 16 to 19.
    case zrtp
    /// First octet 20 to 63.
    case dtls
    /// First octet 64 to 79.
    case turnChannel
    /// Anything else, and datagrams that are too short to tell.
    case unknown

    @inline(__always)
    package init(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 2 else {
            self = .unknown
            return
        }
        switch bytes[0] {
        case 0...3: self = .stun
        case 16...19: self = .zrtp
        case 20...63: self = .dtls
        case 64...79: self = .turnChannel
        case 128...191: self = 192...223 ~= bytes[1] ? .rtcp : .rtp
        default: self = .unknown
        }
    }
}

/// A set of payload types, for tests on the packet path.
package struct PayloadSet: Equatable, Sendable, ExpressibleByArrayLiteral {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    package init() {}

    package init(arrayLiteral elements: UInt8...) {
        for element in elements { insert(element) }
    }

    /// 0 to 127.
    package mutating func insert(_ payload: UInt8) {
        precondition(payload < 128)
        if payload < 64 { low |= 1 << payload } else { high |= 1 << (payload - 64) }
    }

    @inline(__always)
    package func contains(_ payload: UInt8) -> Bool {
        payload < 64 ? low >> payload & 1 != 0 : payload < 128 && high >> (payload - 64) & 1 != 0
    }
}
