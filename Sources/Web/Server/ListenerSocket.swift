// Binding and accepting: the socket of a listener. We accept ourselves, so that the limit of connections and the words of a failed
// bind are ours.
import Basics
import CWebSockets
import Glibc
import Reactor

enum ListeningSocket {
    /// A bound and listening TCP socket, with the address that it got.
    static func open(_ address: SocketAddress) throws(WebStartError) -> (Int32, SocketAddress) {
        func failed() -> WebStartError { .cannotListen(address, reason: String(cString: strerror(errno))) }
        let family = address.ip.isV6 ? AF_INET6 : AF_INET
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, 0)
        guard descriptor >= 0 else { throw failed() }
        var one: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, size)
        if address.ip.isV6 { setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &one, size) }
        var storage = sockaddr_storage()
        var length = fill(&storage, address)
        let bound = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                guard bind(descriptor, name, length) == 0, listen(descriptor, 512) == 0 else { return false }
                length = socklen_t(MemoryLayout<sockaddr_storage>.size)
                return getsockname(descriptor, name, &length) == 0
            }
        }
        guard bound else {
            let error = failed()
            Glibc.close(descriptor)
            throw error
        }
        return (descriptor, SocketAddress(ip: address.ip, port: port(of: storage)))
    }

    private static func fill(_ storage: inout sockaddr_storage, _ address: SocketAddress) -> socklen_t {
        withUnsafeMutablePointer(to: &storage) { pointer in
            switch address.ip {
            case .v4(let value):
                return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    $0.pointee.sin_family = sa_family_t(AF_INET)
                    $0.pointee.sin_port = address.port.bigEndian
                    $0.pointee.sin_addr.s_addr = value.bigEndian
                    return socklen_t(MemoryLayout<sockaddr_in>.size)
                }
            case .v6(let high, let low):
                return pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    $0.pointee.sin6_family = sa_family_t(AF_INET6)
                    $0.pointee.sin6_port = address.port.bigEndian
                    withUnsafeMutableBytes(of: &$0.pointee.sin6_addr) { bytes in
                        bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
                        bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
                    }
                    return socklen_t(MemoryLayout<sockaddr_in6>.size)
                }
            }
        }
    }

    /// The port is at the same place in both families.
    private static func port(of storage: sockaddr_storage) -> UInt16 {
        withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) }
    }
}

/// A listener at work. It belongs to the web thread.
final class ListenerSocket {
    unowned let thread: WebThread
    let wsi: OpaquePointer
    let vhost: OpaquePointer
    let descriptor: Int32
    let listener: WebListener
    let router: HTTPRouter
    /// Open connections and running handlers, against the limits.
    var open = 0
    var inFlight = 0

    init(thread: WebThread, wsi: OpaquePointer, vhost: OpaquePointer, descriptor: Int32, listener: WebListener) {
        self.thread = thread
        self.wsi = wsi
        self.vhost = vhost
        self.descriptor = descriptor
        self.listener = listener
        router = HTTPRouter(routes: listener.routes)
    }

    func accept() {
        for _ in 0..<64 {
            let accepted = Glibc.accept(descriptor, nil, nil)
            guard accepted >= 0 else {
                // Out of descriptors or memory: the socket stays readable, so look away for a moment instead of spinning.
                if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) {
                    thread.counters.withLock { $0.connectionsRefused += 1 }
                    lws_rx_flow_control(wsi, 0)
                    lws_set_timer_usecs(wsi, 100_000)
                }
                if errno == ECONNABORTED || errno == EINTR { continue }
                return
            }
            _ = fcntl(accepted, F_SETFL, O_NONBLOCK)
            _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
            guard open < listener.limits.connections, !thread.isStopping else {
                refuse(accepted)
                continue
            }
            var one: Int32 = 1
            setsockopt(accepted, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
            // Closes the descriptor when it fails.
            guard let wsi = rw_lws_adopt_connection(vhost, accepted) else {
                thread.counters.withLock { $0.connectionsRefused += 1 }
                continue
            }
            open += 1
            thread.counters.withLock {
                $0.connectionsAccepted += 1
                $0.connectionsOpen += 1
            }
            thread.connections[wsi] = HTTPConnection(thread: thread, wsi: wsi, listener: self)
            lws_set_timer_usecs(wsi, listener.limits.headerTime.nanoseconds / 1000)
        }
    }

    func resume() { lws_rx_flow_control(wsi, 1) }

    private func refuse(_ accepted: Int32) {
        thread.counters.withLock { $0.connectionsRefused += 1 }
        if listener.tls == nil {
            // Fits into any send buffer. What the client has sent already is taken first, or its kernel would drop the answer.
            var sink = [UInt8](repeating: 0, count: 4096)
            _ = recv(accepted, &sink, sink.count, Int32(MSG_DONTWAIT))
            let answer = "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\nretry-after: 1\r\n\r\n"
            _ = answer.withCString { send(accepted, $0, strlen($0), Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) }
            shutdown(accepted, Int32(SHUT_WR))
        }
        Glibc.close(accepted)
    }
}
