// WebSockets that we open: the request, the name look-up, the connection on the web thread. RFC 6455, section 4.1.
package import Basics
import CWebSockets
import Glibc
package import Reactor

/// What a WebSocket client asks for.
package struct WebSocketRequest: Sendable {
    /// `ws://host[:port]/path?query` or `wss://…`.
    package var url: String
    /// Where the server is; nil: the URL's host is looked up.
    package var address: IPAddress?
    package var headers: HTTPFields
    /// Offered in this order.
    package var subprotocols: [String]
    package var trust: TLSTrust
    /// From the call to the open WebSocket, all addresses of the name together.
    package var connectTimeout: Duration
    package var limits: WebSocketLimits

    package init(
        _ url: String, headers: HTTPFields = [:], subprotocols: [String] = [], trust: TLSTrust = .system,
        connectTimeout: Duration = .seconds(10), limits: WebSocketLimits = WebSocketLimits()
    ) {
        self.url = url
        self.headers = headers
        self.subprotocols = subprotocols
        self.trust = trust
        self.connectTimeout = connectTimeout
        self.limits = limits
    }
}

/// Whose certificates a client believes.
package enum TLSTrust: Sendable, Hashable {
    /// The system's authorities.
    case system
    /// The authorities in this PEM file, no others.
    case file(String)
    /// Nobody is checked: for tests on loopback.
    case insecure
}

extension WebThread {
    private static let lookupsAtOnce = 16

    /// Opens a WebSocket. Its events, and its end when it does not open, go to `receiver` on `loop`. On that loop only.
    package func connect(
        _ request: WebSocketRequest, on loop: EventLoop, receiver: @escaping (WebSocketEvent) -> Void
    ) -> WebSocket {
        let socket = WebSocket(id: nextID(), limits: request.limits, thread: self)
        let events = SocketEvents(loop: loop, socket: socket)
        events.receiver = receiver
        guard let target = WebSocketTarget(request.url) else {
            WebSocketAttempt.fail(.badURL, events)
            return socket
        }
        let attempt = WebSocketAttempt(request, target, socket, events)
        if let address = request.address ?? IPAddress(target.host) {
            attempt.addresses = ["\(address)"]
            start(attempt)
            return socket
        }
        let isFree = mailbox.withLock { mailbox in
            guard mailbox.lookups < Self.lookupsAtOnce else { return false }
            mailbox.lookups += 1
            return true
        }
        guard isFree else {
            attempt.fail(.unavailable)
            return socket
        }
        // libwebsockets would look the name up on the web thread and hold up everybody else.
        SystemThread(name: "web-lookup") {
            attempt.addresses = NameLookup.addresses(of: target.host)
            self.mailbox.withLock { $0.lookups -= 1 }
            if attempt.addresses.isEmpty { attempt.fail(.name) } else { self.start(attempt) }
        }.detach()
        return socket
    }

    private func start(_ attempt: WebSocketAttempt) {
        let isOver = mailbox.withLock { $0.isOver || $0.isStopping }
        if isOver { attempt.fail(.unavailable) } else { post(.connect(attempt)) }
    }

    /// On the web thread.
    func connect(_ attempt: WebSocketAttempt) {
        let link = WebSocketLink(thread: self, wsi: nil, socket: attempt.socket, events: attempt.events, attempt: attempt)
        links[attempt.socket.id] = link
        if isStopping { return link.fail(.unavailable) }
        if attempt.socket.state.withLock({ $0.isClosing }) { return link.fail(.cancelled) }
        connectNext(link, attempt)
    }

    /// Tries the next address of the name.
    func connectNext(_ link: WebSocketLink, _ attempt: WebSocketAttempt) {
        let left = attempt.deadline - monotonicMicroseconds()
        guard left > 0 else { return link.fail(.timeout) }
        guard let address = attempt.takeAddress() else { return link.fail(.refused) }
        guard let vhost = clientVhost(attempt.request.trust) else { return link.fail(.tls) }
        let target = attempt.target
        var info = lws_client_connect_info()
        info.context = context
        info.vhost = vhost
        info.port = Int32(target.port)
        info.ssl_connection =
            !target.isTLS ? 0 : attempt.request.trust == .insecure ? rw_lws_client_tls_unverified : rw_lws_client_tls
        info.ietf_version_or_minus_one = -1
        info.opaque_user_data = UnsafeMutableRawPointer(bitPattern: UInt(attempt.socket.id))
        info.retry_and_idle_policy = UnsafePointer(keptPolicy(seconds: Int(attempt.request.limits.pingAfter.seconds)))
        let offered = attempt.request.subprotocols.joined(separator: ", ")
        let wsi = address.withCString { address in
            target.path.withCString { path in
                target.authority.withCString { host in
                    offered.withCString { offered in
                        "ringwright-client".withCString { local in
                            "http/1.1".withCString { alpn in
                                info.address = address
                                info.path = path
                                info.host = host
                                info.protocol = attempt.request.subprotocols.isEmpty ? nil : offered
                                info.local_protocol_name = local
                                info.alpn = alpn
                                return lws_client_connect_via_info(&info)
                            }
                        }
                    }
                }
            }
        }
        guard let wsi else {
            // Its callbacks have said why, when it came so far.
            if links[attempt.socket.id] === link, link.wsi == nil, !attempt.wantsNextAddress { link.finish() }
            return
        }
        link.wsi = wsi
        connections[wsi] = link
        lws_set_timer_usecs(wsi, left)
    }

    private func clientVhost(_ trust: TLSTrust) -> OpaquePointer? {
        let key =
            switch trust {
            case .system, .insecure: ""
            case .file(let path): path
            }
        if let known = clientVhosts[key] { return known }
        if !key.isEmpty, access(key, R_OK) != 0 { return nil }
        let table = ProtocolTable(["ringwright-client"])
        keep(table)
        let vhost = makeVhost(port: rw_lws_no_listen, table: table, pings: nil) { info, make in
            guard !key.isEmpty else { return make(&info) }
            info.options |= rw_lws_option_no_system_ca
            return key.withCString {
                info.client_ssl_ca_filepath = $0
                return make(&info)
            }
        }
        clientVhosts[key] = vhost
        return vhost
    }
}

/// A client's connection on its way.
/// `@unchecked Sendable`: it is handed from the caller to the look-up's thread to the web thread; one at a time holds it.
final class WebSocketAttempt: @unchecked Sendable {
    let request: WebSocketRequest
    let target: WebSocketTarget
    let socket: WebSocket
    let events: SocketEvents
    /// Microseconds of the monotonic clock.
    let deadline: Int64
    var addresses: [String] = []
    var wantsNextAddress = false
    private(set) var agreed: String?

    init(_ request: WebSocketRequest, _ target: WebSocketTarget, _ socket: WebSocket, _ events: SocketEvents) {
        self.request = request
        self.target = target
        self.socket = socket
        self.events = events
        deadline = monotonicMicroseconds() + request.connectTimeout.nanoseconds / 1000
    }

    var hasNextAddress: Bool { !addresses.isEmpty && monotonicMicroseconds() < deadline }
    func takeAddress() -> String? { addresses.isEmpty ? nil : addresses.removeFirst() }

    /// Before there is a link.
    func fail(_ failure: WebSocketFailure) {
        socket.state.withLock { $0.isClosing = true }
        Self.fail(failure, events)
    }

    static func fail(_ failure: WebSocketFailure, _ events: SocketEvents) { events.deliver(.closed(.failed(failure))) }

    func noteSubprotocol(_ wsi: OpaquePointer?) {
        agreed = wsi.flatMap { RequestHead(wsi: $0).value(WSI_TOKEN_PROTOCOL) }
    }

    /// `data` points at libwebsockets' write pointer, `room` bytes are left.
    func appendHeaders(_ data: UnsafeMutableRawPointer?, _ room: Int) -> Int32 {
        guard let place = data?.assumingMemoryBound(to: UnsafeMutablePointer<UInt8>?.self), var next = place.pointee else {
            return -1
        }
        var text: [UInt8] = []
        for field in request.headers.all {
            text += Array("\(HTTPResponse.wireSafe(field.name)): \(HTTPResponse.wireSafe(field.value))\r\n".utf8)
        }
        guard text.count < room else { return -1 }
        for byte in text {
            next.pointee = byte
            next += 1
        }
        place.pointee = next
        return 0
    }

    /// What libwebsockets' words for a failed connection mean.
    static func failure(_ words: String, status: Int) -> WebSocketFailure {
        let words = words.lowercased()
        if words.contains("timed out") || words.contains("timeout") { return .timeout }
        if words.hasPrefix("hs:") || status != 0 { return .handshake(status: status == 0 ? nil : status) }
        if words.contains("ssl") || words.contains("tls") || words.contains("cert") || words.contains("hostname") { return .tls }
        return .refused
    }
}

/// The parts of a WebSocket's URL. RFC 6455, section 3.
struct WebSocketTarget: Sendable, Equatable {
    var isTLS: Bool
    /// As in the URL, IPv6 in brackets.
    var host: String
    var port: UInt16
    /// With the query.
    var path: String

    /// The host with the port when it is not the scheme's.
    var authority: String { port == (isTLS ? 443 : 80) ? host : "\(host):\(port)" }

    /// Nil for other schemes, user names, fragments, control characters and blanks.
    init?(_ url: String) {
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !url.contains("#") else { return nil }
        let lower = url.lowercased()
        let rest: Substring
        if lower.hasPrefix("ws://") {
            (isTLS, rest) = (false, url.dropFirst(5))
        } else if lower.hasPrefix("wss://") {
            (isTLS, rest) = (true, url.dropFirst(6))
        } else {
            return nil
        }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        let authority = rest[..<end]
        path = rest[end...].hasPrefix("/") ? String(rest[end...]) : "/" + rest[end...]
        port = isTLS ? 443 : 80
        var name = authority
        if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
            guard let number = UInt16(authority[authority.index(after: colon)...]), number > 0 else { return nil }
            port = number
            name = authority[..<colon]
        }
        let isV6 = name.hasPrefix("[") && name.hasSuffix("]")
        guard !name.isEmpty, !name.contains("@"), isV6 || !name.contains(where: { ":[]".contains($0) }) else { return nil }
        if isV6, IPAddress(name) == nil { return nil }
        host = String(name)
    }
}

enum NameLookup {
    /// The numeric addresses of a name, in the system's order; blocks.
    static func addresses(of name: String) -> [String] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var found: [String] = []
        var item = list
        while let current = item, found.count < 8 {
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { text in
                let status = getnameinfo(
                    current.pointee.ai_addr, current.pointee.ai_addrlen, text.baseAddress!, socklen_t(NI_MAXHOST), nil, 0,
                    NI_NUMERICHOST)
                if status == 0 { found.append(String(cString: text.baseAddress!)) }
            }
            item = current.pointee.ai_next
        }
        return found
    }
}
