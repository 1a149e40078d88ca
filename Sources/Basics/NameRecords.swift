// Questions to the DNS and their answers, as values.

/// NAPTR (RFC 3403): a service of a domain, and the name whose SRV records tell its servers.
package struct NAPTRRecord: Sendable, Equatable {
    package var order: UInt16
    package var preference: UInt16
    package var flags: String
    /// `SIP+D2U`, `SIP+D2T`, `SIPS+D2T`, …
    package var service: String
    package var replacement: String

    package init(order: UInt16, preference: UInt16, flags: String, service: String, replacement: String) {
        self.order = order
        self.preference = preference
        self.flags = flags
        self.service = service
        self.replacement = replacement
    }
}

/// SRV (RFC 2782): a server of a service.
package struct SRVRecord: Sendable, Equatable {
    package var priority: UInt16
    package var weight: UInt16
    package var port: UInt16
    /// `.`: the service is decidedly not there.
    package var target: String

    package init(priority: UInt16, weight: UInt16, port: UInt16, target: String) {
        self.priority = priority
        self.weight = weight
        self.port = port
        self.target = target
    }
}

/// A question to the DNS.
package enum NameQuery: Sendable, Hashable {
    case naptr(String)
    case srv(String)
    /// A and AAAA, the names of the hosts file included.
    case addresses(String)

    package var name: String {
        switch self {
        case .naptr(let name), .srv(let name), .addresses(let name): name
        }
    }
}

/// Its answer; empty when there is none.
package struct NameRecords: Sendable, Equatable {
    package var naptr: [NAPTRRecord] = []
    package var srv: [SRVRecord] = []
    package var addresses: [IPAddress] = []
    /// Seconds that it may be kept.
    package var lifetime = 60

    package init(
        naptr: [NAPTRRecord] = [], srv: [SRVRecord] = [], addresses: [IPAddress] = [], lifetime: Int = 60
    ) {
        self.naptr = naptr
        self.srv = srv
        self.addresses = addresses
        self.lifetime = lifetime
    }
}
