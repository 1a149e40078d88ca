package import Basics

/// A SIP message as it passed a socket, for ladders and captures; keys of media in it are covered.
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
        Self.coverKeys(in: &self.bytes)
    }

    /// Puts `x` over the keys of a=crypto lines (RFC 4568), so that nobody who reads a trace can decrypt the call. No length changes.
    static func coverKeys(in bytes: inout [UInt8]) {
        let mark = Array("inline:".utf8)
        var place = 0
        while place + mark.count <= bytes.count {
            guard bytes[place] | 0x20 == mark[0], zip(bytes[place...], mark).allSatisfy({ $0 | 0x20 == $1 | 0x20 }) else {
                place += 1
                continue
            }
            place += mark.count
            while place < bytes.count, isKeyOctet(bytes[place]) {
                bytes[place] = UInt8(ascii: "x")
                place += 1
            }
        }
    }

    /// Base64; other keys of the line, and what comes behind them, is not covered.
    private static func isKeyOctet(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }
}
