package import Basics

/// A SIP message as it passed a socket, for ladders and captures.
package struct TracedMessage: Sendable {
    package enum Direction: Sendable {
        case sent
        case received
    }

    package var at: Instant
    package var direction: Direction
    package var local: SocketAddress
    package var remote: SocketAddress
    package var bytes: [UInt8]

    package init(at: Instant, direction: Direction, local: SocketAddress, remote: SocketAddress, bytes: [UInt8]) {
        self.at = at
        self.direction = direction
        self.local = local
        self.remote = remote
        self.bytes = bytes
    }
}
