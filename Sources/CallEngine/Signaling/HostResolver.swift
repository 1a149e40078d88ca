// Host names to addresses (A, AAAA) by the system's resolver, on a worker. RFC 3263 (NAPTR, SRV) is not done here yet.

package import Basics
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
            let ip = try? await workers.run(on: loop) { NameLookup.address(of: host) }
            if let ip = ip ?? nil {
                if known.count > 1000 { known.removeAll() }
                known[host] = (ip, loop.now + Self.lifetime)
                found(ip)
            } else {
                found(nil)
            }
        }
    }
}
