package import Basics
package import SIP

/// A SIP message as it passed: for ladders and captures. Over TLS and WebSockets it is what was in them.
package struct TracedMessage: Sendable {
    package enum Direction: Sendable {
        case sent
        case received
    }

    package var at: Instant
    package var direction: Direction
    package var transport: SIP.Transport
    /// Where the peer reaches this end.
    package var local: SocketAddress
    package var remote: SocketAddress
    package var bytes: [UInt8]

    package init(
        at: Instant, direction: Direction, transport: SIP.Transport = .udp, local: SocketAddress, remote: SocketAddress,
        bytes: [UInt8]
    ) {
        self.at = at
        self.direction = direction
        self.transport = transport
        self.local = local
        self.remote = remote
        self.bytes = bytes
    }
}
