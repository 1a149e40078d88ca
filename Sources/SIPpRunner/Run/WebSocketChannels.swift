// WebSocket (w1, wn) and secure WebSocket (wl1, wln): one message is one SIP message. RFC 7118. Who has a remote host is the client of
// its WebSockets and listens nowhere; who has none is the server.

import Basics
import Reactor
import Web

final class WebSocketChannels: ConnectionChannels {
    private var web: WebThread?
    private static let subprotocol = "sip"

    override var localPort: Int { Int(web?.addresses.first?.port ?? addresses.local.port) }

    deinit { web?.stop(grace: .zero) }

    override func open() throws(RunFailure) {
        if addresses.remote == nil {
            try bindPort { address throws(RunFailure) in web = try thread([listener(on: address)]) }
        } else {
            web = try thread([])
        }
        openShared()
    }

    private func thread(_ listeners: [WebListener]) throws(RunFailure) -> WebThread {
        do throws(WebStartError) {
            return try WebThread(listeners: listeners)
        } catch {
            guard case .cannotListen = error else { throw .fatal("\(error)") }
            throw .bind("\(error)")
        }
    }

    private func listener(on address: SocketAddress) -> WebListener {
        let route = WebSocketRoute(options.webSocketPath, subprotocols: [Self.subprotocol], on: loop, limits: limits) {
            [weak self] socket, request in
            guard let self, let peer = IPAddress(request.peer) else {
                socket.close(code: 1001)
                return { _ in }
            }
            let link = WebSocketLink(socket, peer: SocketAddress(ip: peer, port: 0), isOutgoing: false)
            accepted(link)
            return receiver(of: link)
        }
        let tls = options.transport.isSecure ? WebServerTLS(certificate: options.tlsCertificate, key: options.tlsKey) : nil
        var listener = WebListener(address, tls: tls, webSockets: [route])
        listener.limits.connections = options.maxSockets
        return listener
    }

    override func open(to remote: SocketAddress) -> Link {
        guard let web else { preconditionFailure("channels are open before calls begin") }
        let host = addresses.remoteHost.contains(":") ? "[\(addresses.remoteHost)]" : addresses.remoteHost
        let scheme = options.transport.isSecure ? "wss" : "ws"
        var request = WebSocketRequest(
            "\(scheme)://\(host):\(remote.port)\(options.webSocketPath)", subprotocols: [Self.subprotocol],
            trust: options.tlsAuthorities.map { .file($0) } ?? .insecure, limits: limits)
        request.address = remote.ip
        let events = LinkEvents()
        let link = WebSocketLink(
            web.connect(request, on: loop) { events.receiver?($0) }, peer: remote, isOutgoing: true)
        events.receiver = receiver(of: link)
        return link
    }

    /// The events of a WebSocket come in later turns; by then its link is known.
    private final class LinkEvents {
        var receiver: ((WebSocketEvent) -> Void)?
    }

    private func receiver(of link: WebSocketLink) -> (WebSocketEvent) -> Void {
        { [weak self] event in
            guard let self, holds(link) else { return }
            switch event {
            case .opened: break
            case .text(let text): received(Array(text.utf8), link)
            case .binary(let octets): received(octets, link)
            case .closed(let end): ended(link, "WebSocket with \(link.peer): \(end)")
            }
        }
    }

    private func received(_ octets: [UInt8], _ link: WebSocketLink) {
        // A client keeps its way open by a double CRLF (RFC 7118 section 6, RFC 5626 section 3.5.1).
        if octets == [13, 10, 13, 10] { link.socket.send(message: [13, 10]) }
        octets.withUnsafeBytes { user.received($0, from: link.peer, on: link, at: loop.now) }
    }

    private var limits: WebSocketLimits {
        var limits = WebSocketLimits()
        limits.messageBytes = 65_536
        limits.sendQueueBytes = 4 << 20
        limits.sendQueueMessages = 65_536
        return limits
    }

    /// The last messages go out first.
    override func close(then: @escaping () -> Void) {
        let whenOver = LoopBound(then, on: loop)
        super.close { [self] in
            guard let web else { return then() }
            web.stop(grace: .seconds(1)) { whenOver.run { $0() } }
        }
    }
}

private final class WebSocketLink: Link {
    let socket: WebSocket

    init(_ socket: WebSocket, peer: SocketAddress, isOutgoing: Bool) {
        self.socket = socket
        super.init(peer: peer, isOutgoing: isOutgoing)
    }

    override func send(_ octets: UnsafeRawBufferPointer) -> SendOutcome {
        if socket.send(message: Array(octets)) { return .sent }
        return socket.isClosing ? .failed : .congested
    }

    override func finish() { socket.close() }
    override func close() { socket.close() }
}
