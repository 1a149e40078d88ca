// One binding of a registrar: where a user is reached, until when, and the way there (RFC 3261 section 10, RFC 3327, RFC 5626).

package import Basics

/// A contact of a user.
package struct Binding: Sendable, Equatable {
    /// The contact's URI.
    package var contact: [UInt8]
    package var expires: Instant
    /// Preference, 0 to 1000; the higher goes first.
    package var q: Int
    package var callID: [UInt8]
    package var cSeq: UInt32
    /// `urn:uuid:…` in its brackets, as the device wrote it; empty: none.
    package var instance: [UInt8] = []
    /// What the temporary GRUUs of its device are made of; 0: it has none.
    package var epoch: UInt64 = 0
    /// The flow's number; 0: no flow.
    package var regID = 0
    /// Values of Path, the nearest to us first, as one list; empty: the device is reached directly.
    package var path: [UInt8] = []
    /// Where the REGISTER came from: for a device behind NAT, and for one that cannot be connected to, the only way.
    package var source: Hop

    package init(contact: [UInt8], expires: Instant, q: Int = 1000, callID: [UInt8], cSeq: UInt32, source: Hop) {
        self.contact = contact
        self.expires = expires
        self.q = q
        self.callID = callID
        self.cSeq = cSeq
        self.source = source
    }

    /// The instance as a GRUU names it (RFC 5627 section 4.1); nil without one, or with one that may not stand there.
    package var gr: ArraySlice<UInt8>? {
        let name =
            instance.first == Octet.less && instance.last == Octet.greater ? instance.dropFirst().dropLast() : instance[...]
        let isPlain = name.allSatisfy { Octet.isLetter($0) || Octet.isDigit($0) || "-_.!~*'()[]/:&+$".utf8.contains($0) }
        return name.isEmpty || !isPlain ? nil : name
    }

    /// The values of Path as Route wants them.
    package var routes: [[UInt8]] { path.isEmpty ? [] : [path] }

    /// Where a request for this contact goes: the first of its path, the flow that it keeps, or the contact's own address.
    package var nextHop: Hop {
        if !path.isEmpty {
            guard let first = try? NameAddress(path, OctetRange(0, firstPathEnd)), let uri = try? first.uri(),
                let ip = uri.address
            else { return source }
            // The proxy that is the way's first is who sent it to us: by its connection.
            if ip == source.address.ip { return source }
            return Hop(transport: source.transport, address: SocketAddress(ip: ip, port: uri.portOrDefault))
        }
        if source.transport != .udp || regID > 0 { return source }
        // Behind NAT the contact names an address that leads nowhere from here; without, it says which port is listened on.
        guard let uri = try? URI(contact, OctetRange(0, contact.count)), uri.address == source.address.ip else { return source }
        var hop = source
        hop.address.port = uri.portOrDefault
        return hop
    }

    private var firstPathEnd: Int {
        path.withUnsafeBufferPointer { elementEnd($0.baseAddress!, OctetRange(0, path.count)) }
    }
}

/// What a request or the time changed.
package enum BindingChange: Sendable, Equatable {
    case added(user: String, contact: [UInt8], seconds: Int)
    case refreshed(user: String)
    case removed(user: String, contact: [UInt8])
    case expired(user: String, contact: [UInt8])
    /// A connection ended that was the only way to the device.
    case flowEnded(user: String, contact: [UInt8])
}
