// Finding the servers of a SIP domain (RFC 3263 sections 4.1 and 4.2): which questions to ask the DNS, and what their answers make.
// Pure: it asks nobody itself.
//
//   an address                       that one
//   a port                           its addresses, by the wanted transport or UDP
//   a transport and no port          SRV of that transport, else its addresses
//   neither                          NAPTR, else SRV of each transport we have, else its addresses by UDP

package import Basics

/// Where a request is to go, before anything was looked up.
package struct ServerTarget: Sendable, Hashable {
    /// A name or an address; an IPv6 one with or without brackets.
    package var host: String
    package var port: UInt16?
    /// nil: what the domain prefers.
    package var transport: Transport?

    package init(host: String, port: UInt16? = nil, transport: Transport? = nil) {
        self.host = host
        self.port = port
        self.transport = transport
    }
}

package struct ServerSearch: Sendable {
    /// The next question; nil when `result` is there.
    package private(set) var next: NameQuery?
    package private(set) var result: ServerSet?

    private enum Step: Sendable { case naptr, srv, addresses }

    private let target: ServerTarget
    private let supported: [Transport]
    private var step = Step.addresses
    /// Services whose SRV records are asked for, the preferred first.
    private var services: [(name: String, transport: Transport)] = []
    private var isGuessed = false
    private var asked = 0
    /// Servers whose addresses are asked for.
    private var servers: [(rank: Int, record: SRVRecord, transport: Transport)] = []
    private var found = ServerSet()
    /// More servers than this are not looked at.
    private static let mostServers = 16

    /// - Parameter supported: what we can send by, the preferred first.
    package init(_ target: ServerTarget, supported: [Transport] = [.udp, .tcp]) {
        self.target = target
        self.supported = supported
        let fallback = target.transport ?? supported.first ?? .udp
        if let ip = IPAddress(target.host) {
            found.add(
                rank: 0, SRVRecord(priority: 0, weight: 0, port: target.port ?? fallback.usualPort, target: ""), [ip], fallback)
            finish()
            return
        }
        if let port = target.port {
            servers = [(0, SRVRecord(priority: 0, weight: 0, port: port, target: target.host), fallback)]
            askAddresses()
        } else if let transport = target.transport {
            services = [(Self.service(of: transport, target.host), transport)]
            askServices()
        } else {
            step = .naptr
            next = .naptr(target.host)
        }
    }

    /// Takes the answer to `next`.
    package mutating func answer(_ records: NameRecords) {
        switch step {
        case .naptr: take(records.naptr)
        case .srv: take(records.srv)
        case .addresses: take(records.addresses)
        }
    }

    private static func service(of transport: Transport, _ host: String) -> String {
        switch transport {
        case .tls: "_sips._tcp.\(host)"
        case .tcp: "_sip._tcp.\(host)"
        case .ws: "_sip._ws.\(host)"
        case .wss: "_sips._ws.\(host)"
        case .udp, .other: "_sip._udp.\(host)"
        }
    }

    private static func transport(of service: String) -> Transport? {
        switch service.uppercased() {
        case "SIP+D2U": .udp
        case "SIP+D2T": .tcp
        case "SIPS+D2T": .tls
        case "SIP+D2W": .ws
        case "SIPS+D2W": .wss
        default: nil
        }
    }

    /// The domain's services that we can use, in its order.
    private mutating func take(_ records: [NAPTRRecord]) {
        services =
            records
            .filter { $0.flags.lowercased() == "s" && !$0.replacement.isEmpty && $0.replacement != "." }
            .sorted { ($0.order, $0.preference) < ($1.order, $1.preference) }
            .compactMap { record in
                Self.transport(of: record.service).flatMap { supported.contains($0) ? (record.replacement, $0) : nil }
            }
        if services.isEmpty {
            // Without NAPTR a transport is chosen by which SRV records there are.
            isGuessed = true
            services = supported.map { (Self.service(of: $0, target.host), $0) }
        }
        askServices()
    }

    private mutating func askServices() {
        step = .srv
        asked = 0
        next = .srv(services[0].name)
    }

    private mutating func take(_ records: [SRVRecord]) {
        let transport = services[asked].transport
        for record in records where record.target != "." && !record.target.isEmpty && servers.count < Self.mostServers {
            servers.append((asked, record, transport))
        }
        // "." alone: the domain says that it has no such service (RFC 2782).
        let isDenied = records.contains { $0.target == "." } && servers.isEmpty && services.count == 1
        asked += 1
        if asked < services.count {
            next = .srv(services[asked].name)
            return
        }
        if servers.isEmpty, !isDenied {
            let transport = isGuessed ? supported.first ?? .udp : services[0].transport
            servers = [(0, SRVRecord(priority: 0, weight: 0, port: transport.usualPort, target: target.host), transport)]
        }
        askAddresses()
    }

    private mutating func askAddresses() {
        step = .addresses
        asked = 0
        guard !servers.isEmpty else { return finish() }
        next = .addresses(servers[0].record.target)
    }

    private mutating func take(_ addresses: [IPAddress]) {
        // Servers that share a name are asked for once.
        let name = servers[asked].record.target
        while asked < servers.count, servers[asked].record.target == name {
            found.add(rank: servers[asked].rank, servers[asked].record, addresses, servers[asked].transport)
            asked += 1
        }
        if asked < servers.count { next = .addresses(servers[asked].record.target) } else { finish() }
    }

    private mutating func finish() {
        next = nil
        result = found
    }
}
