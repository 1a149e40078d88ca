package import Basics
import CCares

/// Names by the DNS (c-ares). It blocks: for workers, never for loops.
package struct NameLookup: Sendable {
    /// nil: nobody answered; an answer that there is nothing is an empty one.
    package let records: @Sendable (NameQuery) -> NameRecords?

    /// Answers from elsewhere: for tests.
    package init(_ records: @escaping @Sendable (NameQuery) -> NameRecords?) {
        self.records = records
    }

    /// - Parameter servers: `192.0.2.53:53`, several with commas; nil: those of this machine.
    package static func dns(servers: String? = nil) -> NameLookup {
        NameLookup { query in
            // Nobody needs to be asked for these (RFC 6761 section 6.4).
            query.name.lowercased().hasSuffix(".invalid") ? NameRecords() : ask(query, servers)
        }
    }

    private static func ask(_ query: NameQuery, _ servers: String?) -> NameRecords? {
        let kind: Int32
        switch query {
        case .naptr: kind = 35
        case .srv: kind = 33
        case .addresses: kind = 1
        }
        var found = NameRecords()
        if kind == 1 { found.lifetime = 300 }
        let result = withUnsafeMutablePointer(to: &found) { found in
            rw_name_ask(
                servers, query.name, kind,
                { context, record in context!.assumingMemoryBound(to: NameRecords.self).pointee.add(record!.pointee) }, found)
        }
        guard result >= 0 else { return nil }
        // IPv4 first, because most listeners have it; each family in the order of the answer.
        found.addresses = found.addresses.filter { !$0.isV6 } + found.addresses.filter(\.isV6)
        found.lifetime = max(found.lifetime, 5)
        return found
    }
}

extension NameRecords {
    fileprivate mutating func add(_ record: rw_name_record) {
        func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
        switch record.kind {
        case 35:
            naptr.append(
                NAPTRRecord(
                    order: record.numbers.0, preference: record.numbers.1, flags: text(record.texts.0),
                    service: text(record.texts.1),
                    replacement: text(record.texts.2)))
        case 33:
            let target = text(record.texts.0)
            srv.append(
                SRVRecord(
                    priority: record.numbers.0, weight: record.numbers.1, port: record.numbers.2,
                    target: target.isEmpty ? "." : target))
        default:
            let ip = withUnsafeBytes(of: record.octets) { octets in
                record.kind == 1
                    ? IPAddress.v4(UInt32(bigEndian: octets.loadUnaligned(as: UInt32.self)))
                    : .v6(
                        UInt64(bigEndian: octets.loadUnaligned(as: UInt64.self)),
                        UInt64(bigEndian: octets.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
            }
            if !addresses.contains(ip) { addresses.append(ip) }
            lifetime = min(lifetime, Int(record.ttl))
        }
    }
}
