// What a listener of the web thread serves, and its limits.
package import Basics

/// The files of a server's certificate.
package struct WebServerTLS: Sendable {
    /// PEM, the chain, the server's own first.
    package var certificate: String
    /// PEM, without a passphrase.
    package var key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// The limits of a listener. A client that exceeds one gets the status named, or is disconnected.
package struct WebLimits: Sendable {
    /// Bytes of one request's head, 1024 to 65,000. Beyond: the connection is closed.
    package var headerBytes = 8192
    /// Bytes of one request's body. Beyond: 413.
    package var bodyBytes = 1 << 20
    /// Open connections, WebSockets among them. Beyond: 503, or closed when the listener has TLS.
    package var connections = 1024
    /// Requests whose handlers run. Beyond: 503.
    package var requestsInFlight = 256
    /// From the connection's begin to the first request's head, TLS handshake included. Beyond: closed.
    package var headerTime: Duration = .seconds(10)
    /// From a request's head to the end of its body. Beyond: 408.
    package var bodyTime: Duration = .seconds(30)
    /// How long a handler may take. Beyond: its task is cancelled, 503.
    package var handlerTime: Duration = .seconds(60)
    /// How long a client may take to read an answer. Beyond: closed.
    package var sendTime: Duration = .seconds(60)
    /// From an answer to the next request's head on the same connection. Beyond: closed.
    package var idleTime: Duration = .seconds(60)

    package init() {}
}

/// A place where the web thread listens, with what it serves there.
package struct WebListener: Sendable {
    /// Port 0 lets the system choose; `WebThread.addresses` tells which.
    package var address: SocketAddress
    package var tls: WebServerTLS?
    package var routes: [HTTPRoute]
    package var webSockets: [WebSocketRoute]
    /// Names of uncommon request fields (`x-signature`) that handlers want to see.
    package var extraHeaders: [String]
    package var limits: WebLimits

    package init(
        _ address: SocketAddress, tls: WebServerTLS? = nil, routes: [HTTPRoute] = [],
        webSockets: [WebSocketRoute] = [], extraHeaders: [String] = [], limits: WebLimits = WebLimits()
    ) {
        self.address = address
        self.tls = tls
        self.routes = routes
        self.webSockets = webSockets
        self.extraHeaders = extraHeaders
        self.limits = limits
    }
}

/// Why the web thread did not start.
package enum WebStartError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The address can't be listened on; the system's words.
    case cannotListen(SocketAddress, reason: String)
    /// A file of `WebServerTLS` can't be read; the system's words.
    case unreadable(path: String, reason: String)
    /// Certificate and key were read but don't make a pair, or are not PEM.
    case badCertificate(path: String)
    case outOfResources

    package var description: String {
        switch self {
        case .cannotListen(let address, let reason): "\(address): \(reason)"
        case .unreadable(let path, let reason): "\(path): \(reason)"
        case .badCertificate(let path): "\(path): no certificate that goes with its key"
        case .outOfResources: "the web thread could not be made: out of memory or descriptors"
        }
    }
}

/// What the web thread counted since its start.
package struct WebCounters: Sendable, Hashable {
    package var connectionsAccepted: UInt64 = 0
    /// Turned away at `WebLimits.connections`, or for want of descriptors.
    package var connectionsRefused: UInt64 = 0
    /// Open now, on all listeners.
    package var connectionsOpen = 0
    package var requests: UInt64 = 0
    /// Answered by the server itself with 4xx or 503.
    package var requestsRefused: UInt64 = 0
    /// Closed because a client was too slow.
    package var timeouts: UInt64 = 0
    package var webSocketsOpened: UInt64 = 0
    /// Messages not taken by `WebSocket.send`, for a full queue.
    package var webSocketSendsRefused: UInt64 = 0

    package init() {}
}
