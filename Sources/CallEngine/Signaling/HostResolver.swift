// Host names to addresses (A, AAAA) by the system's resolver, on a worker. RFC 3263 (NAPTR, SRV) is not done here yet.

package import Basics
import CLinux
import Glibc
package import Reactor

/// Finds addresses for a loop, and remembers them for half a minute. Belongs to the loop.
package final class HostResolver {
    private let loop: EventLoop
    private let workers: WorkerPool
    private var known: [String: (ip: IPAddress, until: Instant)] = [:]
    static let lifetime = Duration.seconds(30)

    package init(loop: EventLoop, workers: WorkerPool) {
        self.loop = loop
        self.workers = workers
    }

    /// Calls `found` with the address, at once when it is one already or is remembered; nil: there is none.
    package func resolve(_ host: String, _ found: @escaping (IPAddress?) -> Void) {
        if let ip = IPAddress(host) { return found(ip) }
        if let entry = known[host], entry.until > loop.now { return found(entry.ip) }
        loop.spawn { [self] in
            let ip = try? await workers.run(on: loop) { Self.lookUp(host) }
            if let ip = ip ?? nil {
                if known.count > 1000 { known.removeAll() }
                known[host] = (ip, loop.now + Self.lifetime)
                found(ip)
            } else {
                found(nil)
            }
        }
    }

    /// Blocks. IPv4 is preferred, as long as the listeners of most installations are.
    private static func lookUp(_ host: String) -> IPAddress? {
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
