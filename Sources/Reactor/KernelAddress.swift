import Basics
import CLinux

/// A `sockaddr` of either family as the kernel reads and writes it: 28 octets hold both.
struct KernelAddress {
    var storage = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)

    /// Room for an answer of the kernel.
    init() {}

    /// The rest of an address that names nobody.
    static let noData: (CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar) = (
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    )

    /// `forV6`: the socket is an IPv6 one, which reaches IPv4 through mapped addresses (RFC 4291 section 2.5.5.2).
    @inline(__always)
    init(_ address: SocketAddress, forV6: Bool) {
        switch address.ip {
        case .v4(let value) where !forV6:
            length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutableBytes(of: &storage) {
                let four = $0.baseAddress!.assumingMemoryBound(to: sockaddr_in.self)
                four.pointee.sin_family = sa_family_t(AF_INET)
                four.pointee.sin_port = address.port.bigEndian
                four.pointee.sin_addr.s_addr = value.bigEndian
            }
        case .v4(let value): setV6(0, 0xFFFF_0000_0000 | UInt64(value), address.port)
        case .v6(let high, let low): setV6(high, low, address.port)
        }
    }

    @inline(__always)
    private mutating func setV6(_ high: UInt64, _ low: UInt64, _ port: UInt16) {
        storage.sin6_family = sa_family_t(AF_INET6)
        storage.sin6_port = port.bigEndian
        withUnsafeMutableBytes(of: &storage.sin6_addr) {
            $0.storeBytes(of: high.bigEndian, as: UInt64.self)
            $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
    }

    /// Whether both are the same octets.
    @inline(__always)
    func isSame(as other: KernelAddress) -> Bool {
        withUnsafeBytes(of: storage) { left in
            withUnsafeBytes(of: other.storage) {
                length == other.length && memcmp(left.baseAddress!, $0.baseAddress!, Int(length)) == 0
            }
        }
    }

    /// The address; a mapped one comes out as IPv4.
    var address: SocketAddress {
        var copy = storage
        return withUnsafeBytes(of: &copy) { Self.read($0.baseAddress!) }
    }

    @inline(__always)
    static func read(_ pointer: UnsafeRawPointer) -> SocketAddress {
        let port = UInt16(bigEndian: pointer.load(fromByteOffset: 2, as: UInt16.self))
        guard pointer.load(as: sa_family_t.self) == sa_family_t(AF_INET6) else {
            return SocketAddress(ip: .v4(UInt32(bigEndian: pointer.load(fromByteOffset: 4, as: UInt32.self))), port: port)
        }
        let high = UInt64(bigEndian: pointer.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        let low = UInt64(bigEndian: pointer.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
        if high == 0, low >> 32 == 0xFFFF { return SocketAddress(ip: .v4(UInt32(truncatingIfNeeded: low)), port: port) }
        return SocketAddress(ip: .v6(high, low), port: port)
    }

    @inline(__always)
    mutating func withPointer<Result>(_ body: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Result)
        -> Result
    {
        withUnsafeMutableBytes(of: &storage) { bytes in
            withUnsafeMutablePointer(to: &length) { body(bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), $0) }
        }
    }
}

/// What sockets of both kinds need from the kernel.
enum KernelSocket {
    /// A new non-blocking socket of `ip`'s family. An IPv6 one is dual-stack unless `v6Only`.
    static func make(stream: Bool, for ip: IPAddress, v6Only: Bool = false) throws(SystemError) -> Int32 {
        let kind = (stream ? SOCK_STREAM : SOCK_DGRAM).rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let descriptor = try SystemCall.check("socket") { socket(ip.isV6 ? AF_INET6 : AF_INET, Int32(kind), 0) }
        if ip.isV6 {
            try closing(descriptor) { () throws(SystemError) in
                try SystemCall.setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, v6Only ? 1 : 0, "IPV6_V6ONLY")
            }
        }
        return descriptor
    }

    /// Closes `descriptor` when `body` throws.
    static func closing<Result>(_ descriptor: Int32, _ body: () throws(SystemError) -> Result) throws(SystemError) -> Result {
        do { return try body() } catch {
            SystemCall.close(descriptor)
            throw error
        }
    }

    static func bind(_ descriptor: Int32, to address: SocketAddress) throws(SystemError) {
        var kernel = KernelAddress(address, forV6: address.ip.isV6)
        try SystemCall.check("bind \(address)") { kernel.withPointer { CLinux.bind(descriptor, $0, $1.pointee) } }
    }

    static func localAddress(_ descriptor: Int32) throws(SystemError) -> SocketAddress {
        var kernel = KernelAddress()
        try SystemCall.check("getsockname") { kernel.withPointer { getsockname(descriptor, $0, $1) } }
        return kernel.address
    }

    /// Which of this machine's addresses a datagram to `ip` would leave from; nil when there is no route.
    static func localAddress(toReach ip: IPAddress) -> IPAddress? {
        guard let descriptor = try? make(stream: false, for: ip) else { return nil }
        defer { SystemCall.close(descriptor) }
        // Nothing is sent: connecting a datagram socket only asks for the route. The port is the discard service's.
        var kernel = KernelAddress(SocketAddress(ip: ip, port: 9), forV6: ip.isV6)
        guard case .done = SystemCall.attempt({ kernel.withPointer { connect(descriptor, $0, $1.pointee) } }) else { return nil }
        return (try? localAddress(descriptor))?.ip
    }
}
