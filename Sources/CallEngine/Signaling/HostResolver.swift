// The servers of a target (RFC 3263: NAPTR, SRV, A, AAAA) for a loop: asked by workers, remembered as long as the DNS allows, and put in order
// for each request, those that failed lately behind the others.

package import Basics
package import Reactor
package import SIP

/// Finds servers for a loop. Belongs to the loop.
package final class HostResolver {
    private struct Known {
        var servers: ServerSet
        var until: Instant
    }

    private let loop: EventLoop
    private let workers: WorkerPool
    private let names: NameLookup
    private let supported: [Transport]
    private let health: ServerHealth
    private var known: [ServerTarget: Known] = [:]
    private var waiting: [ServerTarget: [(ServerSet) -> Void]] = [:]
    private var random: SeededRandom
    /// Targets that are remembered; then it starts anew.
    private static let capacity = 1000
    /// What was found is kept for so many seconds, whatever the DNS says.
    private static let lifetimes = 5...300
    /// After that a target that was not found is looked for again.
    private static let patience = Duration.seconds(5)

    /// - Parameters:
    ///   - workers: have threads that may wait for the DNS.
    ///   - supported: what can be sent by, the preferred first.
    package init(
        loop: EventLoop, workers: WorkerPool, names: NameLookup, supported: [Transport], health: ServerHealth, seed: UInt64
    ) {
        self.loop = loop
        self.workers = workers
        self.names = names
        self.supported = supported
        self.health = health
        random = SeededRandom(seed: seed)
    }

    /// Calls `found` with the hops to try, the best first: at once when the target is an address or is remembered. Empty: there is none.
    package func resolve(_ target: ServerTarget, _ found: @escaping ([Hop]) -> Void) {
        if let ip = IPAddress(target.host) {
            let transport = target.transport ?? supported.first ?? .udp
            return found([Hop(transport: transport, address: SocketAddress(ip: ip, port: target.port ?? transport.usualPort))])
        }
        let entry = known[target]
        if let entry, entry.until > loop.now { return found(order(entry.servers)) }
        waiting[target, default: []].append { [unowned self] servers in found(order(servers)) }
        // Who asks while somebody is asking waits with him.
        if waiting[target]!.count == 1 { look(for: target, lastKnown: entry?.servers) }
    }

    private func look(for target: ServerTarget, lastKnown: ServerSet?) {
        let (names, supported) = (names, supported)
        loop.spawn { [self] in
            let answer = try? await workers.run(on: loop) { Self.search(target, names, supported) }
            var (servers, lifetime) = answer ?? (nil, 0)
            // A DNS that does not answer takes nothing away: servers stay known until it says otherwise.
            if servers == nil { servers = lastKnown }
            let pause = servers?.isEmpty == false && lifetime > 0 ? Duration.seconds(lifetime) : Self.patience
            if known.count >= Self.capacity { known.removeAll() }
            known[target] = Known(servers: servers ?? ServerSet(), until: loop.now + pause)
            for tell in waiting.removeValue(forKey: target) ?? [] { tell(servers ?? ServerSet()) }
        }
    }

    /// Asks all that there is to ask. Blocks. nil: the DNS did not answer.
    package static func search(
        _ target: ServerTarget, _ names: NameLookup, _ supported: [Transport]
    ) -> (ServerSet?, lifetime: Int) {
        var search = ServerSearch(target, supported: supported)
        var lifetime = lifetimes.upperBound
        // Some name servers are silent about everything but addresses: that is no reason to find nothing, nor to wait for each question.
        var isSilent = false
        while let query = search.next {
            var isAddress = false
            if case .addresses = query { isAddress = true }
            guard isAddress || !isSilent, let records = names.records(query) else {
                if isAddress { return (nil, 0) }
                isSilent = true
                lifetime = min(lifetime, 30)
                search.answer(NameRecords())
                continue
            }
            lifetime = min(lifetime, records.lifetime)
            search.answer(records)
        }
        return (search.result, max(lifetime, lifetimes.lowerBound))
    }

    /// The hops that this host can reach.
    private func order(_ servers: ServerSet) -> [Hop] {
        let hops = servers.hops(using: &random).filter {
            !$0.address.ip.isV6 || loop.localAddress(toReach: $0.address.ip) != nil
        }
        return health.ordered(hops, at: loop.now)
    }
}

/// Which servers failed lately, for all loops.
package final class ServerHealth: Sendable {
    private let box = Locked(PenaltyBox())

    package init() {}

    package func failed(_ hop: Hop, at now: Instant, retryAfter: Int? = nil) {
        box.withLock { $0.failed(hop, at: now, retryAfter: retryAfter) }
    }

    package func worked(_ hop: Hop) { box.withLock { $0.worked(hop) } }

    package func ordered(_ hops: [Hop], at now: Instant) -> [Hop] {
        hops.count < 2 ? hops : box.withLock { $0.ordered(hops, at: now) }
    }
}
