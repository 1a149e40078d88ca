// SIP over WebSocket (RFC 7118): joins the Web module, which has the connections, with the engine, which has the messages. One WebSocket
// message is one SIP message. Pings and dead peers are the Web module's.

import Basics
import CallEngine
import Reactor
import Web

enum SIPWebSockets {
    static let subprotocol = "sip"

    /// A listener of the configuration for the web thread; `front` is asked when somebody connects. On the front's loop.
    static func listener(
        _ listener: EngineSettings.Listener, tls: TLSSettings, on loop: EventLoop,
        front: @escaping @Sendable () -> SignalingFront?
    ) -> WebListener {
        let transport = listener.transport
        let route = WebSocketRoute(listener.path, subprotocols: [subprotocol], on: loop, limits: limits) { socket, request in
            guard let front = front(), let peer = IPAddress(request.peer) else {
                socket.close(code: 1013)
                return { _ in }
            }
            return receiver(front.accept(Channel(socket), over: transport, from: peer), peer: "\(peer)")
        }
        let certificate = tls.certificate.map { WebServerTLS(certificate: $0, key: tls.key ?? $0) }
        return WebListener(listener.address, tls: transport == .wss ? certificate : nil, webSockets: [route])
    }

    /// Opens WebSockets to servers by `web`.
    static func opener(_ web: WebThread, on loop: EventLoop, tls: TLSSettings) -> ChannelOpener {
        let trust: TLSTrust =
            switch tls.authorities {
            case _ where !tls.verifiesServers: .insecure
            case .system: .system
            case .file(let path): .file(path)
            }
        return { target, events in
            let url = "\(target.isSecure ? "wss" : "ws")://\(target.host):\(target.port)\(target.path)"
            let request = WebSocketRequest(url, subprotocols: [subprotocol], trust: trust, limits: limits)
            return Channel(web.connect(request, on: loop, receiver: receiver(events, peer: url)))
        }
    }

    private static var limits: WebSocketLimits {
        var limits = WebSocketLimits()
        limits.messageBytes = 65_536
        return limits
    }

    private static func receiver(_ events: ChannelEvents, peer: String) -> (WebSocketEvent) -> Void {
        { event in
            switch event {
            case .opened: break
            case .text(let text): events.received(Array(text.utf8))
            case .binary(let octets): events.received(octets)
            case .closed(let end): events.ended("WebSocket with \(peer): \(end)")
            }
        }
    }

    private final class Channel: MessageChannel {
        private let socket: WebSocket

        init(_ socket: WebSocket) {
            self.socket = socket
        }

        /// What is over already says why by its end, which is on its way.
        func send(_ message: [UInt8]) -> Bool { socket.send(message: message) || socket.isClosing }

        func close() { socket.close(code: 1001) }
    }
}
