// The servers of a domain, and the order in which they are tried (RFC 2782: by priority, within one by chance with the weights). Servers
// that failed lately are tried last: the penalty box.

package import Basics

package struct ServerSet: Sendable, Equatable {
    struct Server: Sendable, Equatable {
        /// The domain's preference among transports; the lower first.
        var rank: Int
        var priority: UInt16
        var weight: UInt16
        var port: UInt16
        var transport: Transport
        var addresses: [IPAddress]
    }

    private(set) var servers: [Server] = []

    package init() {}

    mutating func add(rank: Int, _ record: SRVRecord, _ addresses: [IPAddress], _ transport: Transport) {
        guard !addresses.isEmpty else { return }
        servers.append(
            Server(
                rank: rank, priority: record.priority, weight: record.weight, port: record.port, transport: transport,
                addresses: addresses))
    }

    package var isEmpty: Bool { servers.isEmpty }

    /// Every hop, the one to try first at the front; each once.
    package func hops(using random: inout some RandomNumberGenerator) -> [Hop] {
        var result: [Hop] = []
        var left = servers.sorted { ($0.rank, $0.priority) < ($1.rank, $1.priority) }
        while let first = left.first {
            let group = left.prefix { $0.rank == first.rank && $0.priority == first.priority }
            left.removeFirst(group.count)
            for server in Self.shuffled(Array(group), using: &random) {
                for ip in server.addresses {
                    let hop = Hop(transport: server.transport, address: SocketAddress(ip: ip, port: server.port))
                    if !result.contains(hop) { result.append(hop) }
                }
            }
        }
        return result
    }

    /// RFC 2782: again and again one by chance, those with weight 0 having a very small one.
    private static func shuffled(_ group: [Server], using random: inout some RandomNumberGenerator) -> [Server] {
        guard group.count > 1 else { return group }
        var left = group.sorted { $0.weight < $1.weight }
        var result: [Server] = []
        while left.count > 1 {
            let sum = left.reduce(0) { $0 + Int($1.weight) }
            let number = Int.random(in: 0...sum, using: &random)
            var running = 0
            let place = left.firstIndex { server in
                running += Int(server.weight)
                return running >= number
            }
            result.append(left.remove(at: place ?? 0))
        }
        return result + left
    }
}

/// Servers that failed lately: they are tried last for a while, longer each time they fail again.
package struct PenaltyBox: Sendable {
    private struct Penalty: Sendable {
        var until: Instant
        var length: Duration
    }

    private var penalties: [Hop: Penalty] = [:]
    /// The first penalty, and the longest.
    package static let first = Duration.seconds(30)
    package static let longest = Duration.seconds(600)
    /// Servers that are remembered; then it starts anew.
    private static let capacity = 1000

    package init() {}

    package var isEmpty: Bool { penalties.isEmpty }

    private static func key(_ hop: Hop) -> Hop { Hop(transport: hop.transport, address: hop.address) }

    /// It did not answer, could not be reached, or answered 503 (with that Retry-After).
    package mutating func failed(_ hop: Hop, at now: Instant, retryAfter: Int? = nil) {
        if penalties.count >= Self.capacity { penalties.removeAll() }
        let before = penalties[Self.key(hop)]
        var length = before.map { min($0.length * 2, Self.longest) } ?? Self.first
        // One failure is seen by many calls: it counts once.
        if let before, before.until > now { length = before.length }
        if let retryAfter, retryAfter > 0 { length = max(length, .seconds(min(retryAfter, 3600))) }
        penalties[Self.key(hop)] = Penalty(until: max(now + length, before?.until ?? now), length: min(length, Self.longest))
    }

    /// It answered.
    package mutating func worked(_ hop: Hop) {
        if !penalties.isEmpty { penalties[Self.key(hop)] = nil }
    }

    package func isPunished(_ hop: Hop, at now: Instant) -> Bool { penalties[Self.key(hop)].map { $0.until > now } ?? false }

    /// The hops in their order, the punished ones behind the others.
    package func ordered(_ hops: [Hop], at now: Instant) -> [Hop] {
        guard !penalties.isEmpty else { return hops }
        return hops.filter { !isPunished($0, at: now) } + hops.filter { isPunished($0, at: now) }
    }
}
