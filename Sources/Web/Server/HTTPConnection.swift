// A connection of the server: request after request, one at a time, until it closes or becomes a WebSocket. RFC 9112.
import Basics
import CWebSockets
import Glibc
import Reactor

/// It belongs to the web thread. The request's handler runs on the route's loop; its answer comes back as a command.
///
///     idle --head--> receiving --body complete--> waiting --answer--> answering --sent--> idle
///          \--no body---------------------------------^  refused at any place ^
final class HTTPConnection: WireRole {
    private enum Phase {
        /// Waits for a head, or receives one.
        case idle
        case receiving(HTTPRequest, HTTPRoute, expected: Int)
        case waiting(HandlerRun)
        /// Its answer, a refusal, is on its way through the thread's commands.
        case refused(UInt64)
        case answering
    }

    private unowned let thread: WebThread
    private let wsi: OpaquePointer
    private let listener: ListenerSocket
    private var phase = Phase.idle
    private var isHead = false
    private var response = HTTPResponse()
    private var sent = 0
    private var closeAfter = false
    /// Microseconds of the monotonic clock.
    private var answerDeadline: Int64 = 0
    private static let watchInterval: Int64 = 250_000
    private var upgrade: (WebSocketRoute, HTTPRequest)?

    init(thread: WebThread, wsi: OpaquePointer, listener: ListenerSocket) {
        self.thread = thread
        self.wsi = wsi
        self.listener = listener
    }

    private var limits: WebLimits { listener.listener.limits }

    var mayCloseForShutdown: Bool {
        switch phase {
        case .idle: true
        case .receiving, .waiting, .refused, .answering: false
        }
    }

    func handle(_ reason: lws_callback_reasons, _ data: UnsafeMutableRawPointer?, _ length: Int) -> Int32 {
        switch reason {
        case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
            // HTTP/2 by upgrade is not offered.
            return data.map { String(cString: $0.assumingMemoryBound(to: CChar.self)).lowercased() == "websocket" ? 0 : -1 } ?? 0
        case LWS_CALLBACK_HTTP: return begin()
        case LWS_CALLBACK_HTTP_BODY: receive(UnsafeRawBufferPointer(start: data, count: length))
        case LWS_CALLBACK_HTTP_BODY_COMPLETION:
            if case .receiving(let request, let route, _) = phase { dispatch(request, route) }
        case LWS_CALLBACK_HTTP_WRITEABLE: return write()
        case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: return filterUpgrade()
        case LWS_CALLBACK_ESTABLISHED: return becomeWebSocket()
        case LWS_CALLBACK_TIMER: return timeIsUp()
        default: break
        }
        return 0
    }

    func ended() {
        listener.open -= 1
        thread.counters.withLock { $0.connectionsOpen -= 1 }
        endRun()
    }

    // MARK: Receiving

    private func begin() -> Int32 {
        // A client that does not wait for the answer is cut off after it (`hasBytesAhead`); this is a guard for our own state.
        guard case .idle = phase else { return -1 }
        thread.counters.withLock { $0.requests += 1 }
        let head = RequestHead(wsi: wsi)
        closeAfter = thread.isStopping || head.value(WSI_TOKEN_CONNECTION)?.lowercased() == "close"
        isHead = false
        guard let method = head.method else { return refuse(501, "The method is not known.", close: true) }
        isHead = method == .head
        // A body without a length is not taken (RFC 9110, section 15.5.12), and never two ways of telling it (RFC 9112, section 6.1).
        if head.value(WSI_TOKEN_HTTP_TRANSFER_ENCODING) != nil {
            return refuse(411, "A body needs a Content-Length.", close: true)
        }
        var expected = 0
        if let text = head.value(WSI_TOKEN_HTTP_CONTENT_LENGTH) {
            guard text.utf8.count <= 18, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text) else {
                return refuse(400, "Content-Length is no number.", close: true)
            }
            expected = number
        } else if [.post, .put, .patch].contains(method) {
            return refuse(411, "A body needs a Content-Length.", close: true)
        }
        let path = head.path
        let route: HTTPRoute
        let parameters: [String: String]
        switch listener.router.find(method, path) {
        case .route(let found, let values): (route, parameters) = (found, values)
        case .notFound: return refuse(404, "There is nothing at this path.", close: expected > 0)
        case .notAllowed(let allowed):
            return refuse(405, "The method is not for this path.", close: expected > 0, headers: ["allow": allowed])
        }
        guard expected <= limits.bodyBytes else { return refuse(413, "The body is too large.", close: true) }
        guard listener.inFlight < limits.requestsInFlight else {
            return refuse(503, "Too many requests.", close: expected > 0, headers: ["retry-after": "1"])
        }
        let request = HTTPRequest(
            method: method, path: path, query: head.query, parameters: parameters,
            headers: head.fields(extra: listener.listener.extraHeaders), peer: head.peer, isTLS: lws_is_ssl(wsi) != 0)
        if expected == 0 {
            dispatch(request, route)
        } else {
            phase = .receiving(request, route, expected: expected)
            setTimer(limits.bodyTime)
        }
        return 0
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        guard case .receiving(var request, let route, let expected) = phase else { return }
        // So that the body is appended in place.
        phase = .idle
        request.body.append(contentsOf: bytes)
        if request.body.count >= expected {
            dispatch(request, route)
        } else {
            phase = .receiving(request, route, expected: expected)
        }
    }

    private func dispatch(_ request: HTTPRequest, _ route: HTTPRoute) {
        let run = HandlerRun(id: thread.nextID(), route: route)
        phase = .waiting(run)
        thread.requests[run.id] = self
        listener.inFlight += 1
        // What a client sends ahead stays in the kernel until this request is answered; libwebsockets would spin on it. So the end
        // of the connection is looked for now and then instead of being read.
        lws_rx_flow_control(wsi, 0)
        answerDeadline = monotonicMicroseconds() + limits.handlerTime.nanoseconds / 1000
        watch()
        let thread = thread
        run.start(request) { [id = run.id] response in thread.post(.answer(request: id, response)) }
    }

    // MARK: Answering

    /// From the loop, or our own refusal; between callbacks.
    func answer(_ response: HTTPResponse) {
        switch phase {
        case .waiting, .refused: break
        case .idle, .receiving, .answering: return
        }
        if readOn(send: response) != 0 { thread.close(wsi) }
    }

    private func readOn(send response: HTTPResponse) -> Int32 {
        endRun()
        closeAfter = resumeReading() || closeAfter
        return send(response)
    }

    /// Reads from the connection again. True when libwebsockets holds bytes that came behind the request: it would serve the next
    /// request from them, but reads the head of one with a body as that body, for ever (4.1.6, `lws_http_action`). RFC 9112,
    /// section 9.3.2, lets a server close the connection instead; the client sends again what was not answered.
    /// When another connection has such bytes at this moment, one that could go on is closed too, which does no harm.
    private func resumeReading() -> Bool {
        lws_rx_flow_control(wsi, 1)
        return lws_service_adjust_timeout(thread.context, 1, 0) == 0
    }

    private func refuse(_ status: Int, _ text: String, close: Bool, headers: HTTPFields = [:]) -> Int32 {
        thread.counters.withLock { $0.requestsRefused += 1 }
        var response = HTTPResponse.problem(status, text)
        response.headers.all += headers.all
        closeAfter = closeAfter || close
        if closeAfter { return send(response) }
        // What came behind the request is known when libwebsockets is done with it.
        let id = thread.nextID()
        phase = .refused(id)
        thread.requests[id] = self
        lws_rx_flow_control(wsi, 0)
        thread.post(.answer(request: id, response))
        return 0
    }

    private func send(_ response: HTTPResponse) -> Int32 {
        self.response = response
        sent = 0
        phase = .answering
        closeAfter = closeAfter || thread.isStopping
        setTimer(limits.sendTime)
        let start = thread.scratch + rw_lws_pre
        guard let head = writeHead(start) else { return -1 }
        return write(after: head)
    }

    /// Writes a piece of the body, the first behind the head: small answers go out with one call. What the kernel does not take at
    /// once, libwebsockets keeps, and asks for more when that is gone.
    private func write(after head: Int = 0) -> Int32 {
        guard case .answering = phase else { return 0 }
        let start = thread.scratch + rw_lws_pre
        let total = isHead ? 0 : response.body.count
        let count = min(WebThread.scratchSize - head, total - sent)
        response.body.withUnsafeBytes { bytes in
            guard count > 0 else { return }
            UnsafeMutableRawPointer(start + head).copyMemory(from: bytes.baseAddress! + sent, byteCount: count)
        }
        sent += count
        let isLast = sent == total
        let length = head + count
        guard rw_lws_write(wsi, start, length, isLast ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) >= length else { return -1 }
        if isLast { return finish() }
        lws_callback_on_writable(wsi)
        return 0
    }

    /// Puts the head at `start`; its length, or nil when it is too long.
    private func writeHead(_ start: UnsafeMutablePointer<UInt8>) -> Int? {
        let end = start + WebThread.scratchSize - 16
        var place: UnsafeMutablePointer<UInt8>? = start
        guard lws_add_http_header_status(wsi, UInt32(response.status), &place, end) == 0 else { return nil }
        func add(_ name: String, _ value: String) -> Bool {
            let name = HTTPResponse.wireSafe(name).lowercased() + ":"
            let value = HTTPResponse.wireSafe(value)
            return lws_add_http_header_by_name(wsi, name, value, Int32(value.utf8.count), &place, end) == 0
        }
        for field in response.headers.all
        where !["content-length", "connection", "transfer-encoding"].contains(field.name.lowercased()) {
            guard add(field.name, field.value) else { return nil }
        }
        // 204 and 304 have no body and no length (RFC 9110, section 8.6).
        if response.status == 204 || response.status == 304 {
            response.body = []
        } else {
            guard add("content-length", "\(response.body.count)") else { return nil }
        }
        if closeAfter { guard add("connection", "close") else { return nil } }
        guard lws_finalize_http_header(wsi, &place, end) == 0, let place else { return nil }
        return place - start
    }

    private func finish() -> Int32 {
        phase = .idle
        response = HTTPResponse()
        guard !closeAfter, !thread.isStopping else { return -1 }
        setTimer(limits.idleTime)
        return lws_http_transaction_completed(wsi) == 0 ? 0 : -1
    }

    // MARK: Time

    private func watch() {
        lws_set_timer_usecs(wsi, min(max(1, answerDeadline - monotonicMicroseconds()), Self.watchInterval))
    }

    /// The peer has closed its side: nobody waits for the answer any more.
    private var isPeerGone: Bool {
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        let descriptor = lws_get_socket_fd(wsi)
        guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0 else { return true }
        return info.tcpi_state != UInt8(TCP_ESTABLISHED)
    }

    private func setTimer(_ duration: Duration) {
        lws_set_timer_usecs(wsi, max(1, duration.nanoseconds / 1000))
    }

    private func timeIsUp() -> Int32 {
        if case .waiting = phase, monotonicMicroseconds() < answerDeadline {
            guard !isPeerGone else { return -1 }
            watch()
            return 0
        }
        thread.counters.withLock { $0.timeouts += 1 }
        switch phase {
        case .idle, .refused, .answering: return -1
        case .receiving: return refuse(408, "The body came too slowly.", close: true)
        case .waiting:
            thread.counters.withLock { $0.requestsRefused += 1 }
            return readOn(send: .problem(503, "The answer took too long."))
        }
    }

    private func endRun() {
        switch phase {
        case .waiting(let run):
            listener.inFlight -= 1
            thread.requests[run.id] = nil
            run.cancel()
        case .refused(let id): thread.requests[id] = nil
        case .idle, .receiving, .answering: return
        }
        phase = .idle
    }

    // MARK: Becoming a WebSocket

    private func filterUpgrade() -> Int32 {
        let head = RequestHead(wsi: wsi)
        let path = head.path
        let offered =
            head.value(WSI_TOKEN_PROTOCOL)?.split(separator: ",").map { $0.drop(while: \.isWhitespace).trimmedEnd } ?? []
        let chosen = lws_get_protocol(wsi).map { String(cString: $0.pointee.name) } ?? ""
        guard !thread.isStopping,
            let (route, parameters) = listener.listener.webSockets.lazy.compactMap({ route in
                route.path.match(path).map { (route, $0) }
            }).first
        else { return refuseUpgrade(404) }
        let fits = route.subprotocols.isEmpty ? offered.isEmpty : route.subprotocols.contains(chosen) && offered.contains(chosen)
        guard fits else { return refuseUpgrade(400) }
        upgrade = (
            route,
            HTTPRequest(
                method: .get, path: path, query: head.query, parameters: parameters,
                headers: head.fields(extra: listener.listener.extraHeaders), peer: head.peer, isTLS: lws_is_ssl(wsi) != 0)
        )
        return 0
    }

    private func refuseUpgrade(_ status: UInt32) -> Int32 {
        thread.counters.withLock { $0.requestsRefused += 1 }
        lws_return_http_status(wsi, status, nil)
        return -1
    }

    private func becomeWebSocket() -> Int32 {
        guard let (route, request) = upgrade else { return -1 }
        upgrade = nil
        lws_set_timer_usecs(wsi, -1)
        let socket = WebSocket(id: thread.nextID(), limits: route.limits, thread: thread)
        let events = SocketEvents(loop: route.loop, socket: socket)
        route.accept.execute { accept in events.receiver = accept(socket, request) }
        let link = WebSocketLink(thread: thread, wsi: wsi, socket: socket, events: events)
        let (listener, thread) = (listener, thread)
        link.onEnd = {
            listener.open -= 1
            thread.counters.withLock { $0.connectionsOpen -= 1 }
        }
        thread.connections[wsi] = link
        thread.links[socket.id] = link
        link.opened(
            subprotocol: route.subprotocols.isEmpty ? nil : lws_get_protocol(wsi).map { String(cString: $0.pointee.name) })
        return 0
    }
}

extension Substring {
    fileprivate var trimmedEnd: String {
        var text = self
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
