// The words of WebSockets, the same on server and client: events, ends, limits, routes. RFC 6455.
package import Reactor

/// What happens on a WebSocket, delivered on its loop in order: `opened` at most once and first, `closed` exactly once and last.
package enum WebSocketEvent: Sendable, Hashable {
    /// `subprotocol` is the one agreed on, nil without.
    case opened(subprotocol: String?)
    case text(String)
    case binary([UInt8])
    case closed(WebSocketEnd)
}

/// How a WebSocket ended. A client's that never opened ends with `failed`.
package enum WebSocketEnd: Sendable, Hashable {
    /// The peer began the closing. 1005 stands for "no code given".
    case byPeer(code: UInt16, reason: String)
    /// `close` was called here, or a limit was hit: 1009 a message too big, 1007 bad UTF-8, 1001 shutdown.
    case byUs(code: UInt16, reason: String)
    /// The connection broke, or the peer fell silent.
    case lost
    case failed(WebSocketFailure)
}

/// Why a client's WebSocket did not open.
package enum WebSocketFailure: Sendable, Hashable {
    case badURL
    /// No address for the name.
    case name
    case refused
    case timeout
    /// Certificate or TLS handshake.
    case tls
    /// The answer was no upgrade (its status when known), or named another subprotocol.
    case handshake(status: Int?)
    /// Closed before it was open.
    case cancelled
    /// The web thread is stopped, or has too many look-ups under way.
    case unavailable
}

extension WebSocketEnd: CustomStringConvertible {
    /// Words for a person, without the peer.
    package var description: String {
        switch self {
        case .byPeer(let code, let reason): "closed by the peer (\(code)\(reason.isEmpty ? "" : " \(reason)"))"
        case .byUs: "closed"
        case .lost: "the connection is lost"
        case .failed(let failure): "\(failure)"
        }
    }
}

extension WebSocketFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .badURL: "this is no address"
        case .name: "the name was not found"
        case .refused: "the connection was refused"
        case .timeout: "no answer in time"
        case .tls: "the certificate is refused, or TLS failed"
        case .handshake(let status): "no such WebSocket is there\(status.map { " (\($0))" } ?? "")"
        case .cancelled, .unavailable: "given up"
        }
    }
}

/// The limits of one WebSocket.
package struct WebSocketLimits: Sendable {
    /// Bytes of one received message. Beyond: closed with 1009.
    package var messageBytes = 1 << 20
    /// Bytes that wait to be sent. Beyond: `whenFull`.
    package var sendQueueBytes = 1 << 20
    /// Messages that wait to be sent. Beyond: `whenFull`.
    package var sendQueueMessages = 1024
    /// Bytes received that the loop has not taken yet. Beyond: the connection is not read until it has.
    package var receiveQueueBytes = 1 << 20
    package var whenFull = FullQueue.refuse
    /// A ping goes out after this silence of the peer (whole seconds); after twice as much the connection counts as lost.
    package var pingAfter: Duration = .seconds(30)
    /// How long the peer may take to answer a close frame, and a blocked connection to take the rest.
    package var closeTime: Duration = .seconds(5)

    package enum FullQueue: Sendable {
        /// `send` returns false; nothing else happens.
        case refuse
        /// `send` returns false and the connection is dropped: for peers that must not miss anything.
        case disconnect
    }

    package init() {}
}

/// Where a listener takes WebSockets.
package struct WebSocketRoute: Sendable {
    let path: PathPattern
    let subprotocols: [String]
    let loop: EventLoop
    let limits: WebSocketLimits
    let accept: LoopBound<(WebSocket, HTTPRequest) -> (WebSocketEvent) -> Void>

    /// - Parameters:
    ///   - subprotocols: what is spoken here: a client must offer one of them; empty: a client that offers none.
    ///   - accept: runs on `loop` when a socket opens, before its first event; returns who gets its events there.
    package init(
        _ path: String, subprotocols: [String] = [], on loop: EventLoop, limits: WebSocketLimits = WebSocketLimits(),
        accept: @escaping (WebSocket, HTTPRequest) -> (WebSocketEvent) -> Void
    ) {
        self.path = PathPattern(path)
        self.subprotocols = subprotocols
        self.loop = loop
        self.limits = limits
        self.accept = LoopBound(accept, on: loop)
    }
}
