// The own addresses of streams, for every loop. What this end says of itself over a stream has to lead back to it (RFC 3261 sections 12.1.1 and
// 18.2.2): of several addresses of this host the peer can use the one that it connected to, and perhaps no other.

import Basics
import Reactor
import SIP

/// Streams by their number (`Hop.connection`), and by their peer. The front adds and removes them; any thread reads.
package final class StreamAddresses: Sendable {
    private struct Entry {
        var own: SocketAddress
        var isAccepted: Bool
    }

    private struct State {
        var byNumber: [UInt32: Entry] = [:]
        /// Those that were opened here: the newest to each peer, whose hop names no connection.
        var byPeer: [Hop: UInt32] = [:]
    }

    private let state = Locked(State())

    package init() {}

    /// - Parameter own: its port is 0 while it has none; then nobody learns it.
    func add(_ hop: Hop, own: SocketAddress, isAccepted: Bool) {
        guard own.port != 0 else { return }
        state.withLock { state in
            state.byNumber[hop.connection] = Entry(own: own, isAccepted: isAccepted)
            if !isAccepted { state.byPeer[Self.peer(of: hop)] = hop.connection }
        }
    }

    func remove(_ hop: Hop) {
        state.withLock { state in
            state.byNumber[hop.connection] = nil
            let peer = Self.peer(of: hop)
            if state.byPeer[peer] == hop.connection { state.byPeer[peer] = nil }
        }
    }

    /// The own address of the stream that a peer has opened.
    func accepted(_ hop: Hop) -> SocketAddress? {
        guard hop.connection != 0 else { return nil }
        return state.withLock { state in state.byNumber[hop.connection].flatMap { $0.isAccepted ? $0.own : nil } }
    }

    /// The own address of the stream that leads to a hop, whoever has opened it.
    func any(to hop: Hop) -> SocketAddress? {
        state.withLock { state in
            state.byNumber[hop.connection]?.own ?? state.byPeer[Self.peer(of: hop)].flatMap { state.byNumber[$0]?.own }
        }
    }

    private static func peer(of hop: Hop) -> Hop {
        var peer = hop
        peer.connection = 0
        return peer
    }
}
