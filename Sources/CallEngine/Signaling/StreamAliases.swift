// Streams that a peer has opened and wants used for requests to it as well (RFC 5923 section 8): its Via says `alias`, and requests to that
// address and port of its go by them. Who may say so (section 9): over TLS, who has shown a certificate; then it stands for the names in
// that alone. TCP proves nothing: there only peers that the configuration trusts by their address may.

import Basics
import Reactor
import SIP

/// The aliases of a front's streams, by their numbers.
struct StreamAliases {
    private struct Place: Hashable {
        var transport: Transport
        var address: SocketAddress
    }

    private var numbers: [Place: UInt32] = [:]

    /// The stream for a peer at this address.
    func number(for hop: Hop) -> UInt32? {
        numbers.isEmpty ? nil : numbers[Place(transport: hop.transport, address: hop.address)]
    }

    mutating func add(_ number: UInt32, over transport: Transport, to address: SocketAddress) {
        numbers[Place(transport: transport, address: address)] = number
    }

    /// The stream has ended. False when another one has its alias.
    mutating func remove(_ number: UInt32, over transport: Transport, to address: SocketAddress) -> Bool {
        let place = Place(transport: transport, address: address)
        guard numbers[place] == number else { return false }
        numbers[place] = nil
        return true
    }

    /// Where the sender of a request that came by a stream listens, if it asks for an alias: at the address it came from, with the port of
    /// sent-by. An address in sent-by that is another one is not its own to give away.
    static func address(asked request: Message, of stream: StreamConnection, over transport: Transport) -> SocketAddress? {
        guard let via = try? request.topVia(), via.parameters.has("alias"), via.transport == transport else { return nil }
        let ip = stream.peerAddress.ip
        if let named = IPAddress(via.host), named != ip { return nil }
        return SocketAddress(ip: ip, port: via.port ?? transport.usualPort)
    }

    /// Whether the other end of a stream may have an alias at all.
    static func isAllowed(_ stream: StreamConnection, trusted: [IPNetwork]) -> Bool {
        if let stream = stream as? TLSStream { return !stream.peerIdentities.isEmpty }
        return trusted.contains { $0.contains(stream.peerAddress.ip) }
    }

    /// Whether a stream leads to who is called `name`, as far as that has to be proved.
    static func isFor(_ name: String, _ stream: StreamConnection) -> Bool {
        (stream as? TLSStream)?.hasProved(name) ?? true
    }
}
