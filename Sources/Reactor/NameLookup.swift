package import Basics
import CLinux
import Glibc

/// Host names by the system's resolver. It blocks: for workers, never for loops.
package enum NameLookup {
    /// The first IPv4 address of a host, else its first IPv6 address; nil: it has none. IPv4 goes first because most listeners have it.
    package static func address(of host: String) -> IPAddress? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &list) == 0, let first = list else { return nil }
        defer { freeaddrinfo(first) }
        var v6: IPAddress?
        var next: UnsafeMutablePointer<addrinfo>? = first
        while let entry = next {
            if entry.pointee.ai_family == AF_INET {
                return entry.pointee.ai_addr.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    .v4(UInt32(bigEndian: $0.pointee.sin_addr.s_addr))
                }
            }
            if entry.pointee.ai_family == AF_INET6, v6 == nil {
                v6 = entry.pointee.ai_addr.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                    withUnsafeBytes(of: address.pointee.sin6_addr) {
                        .v6(
                            UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                            UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
                    }
                }
            }
            next = entry.pointee.ai_next
        }
        return v6
    }
}
