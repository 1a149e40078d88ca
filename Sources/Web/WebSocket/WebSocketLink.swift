// The wire side of a WebSocket, on the web thread: reassembly, limits, sending, closing. RFC 6455, sections 5 and 7.
import Basics
import CWebSockets
import Reactor

/// Carries a WebSocket's events to its loop.
/// `@unchecked Sendable`: `receiver` is touched on the loop only (a client's is set there before the web thread knows the socket).
final class SocketEvents: @unchecked Sendable {
    private let loop: EventLoop
    private let socket: WebSocket
    var receiver: ((WebSocketEvent) -> Void)?

    init(loop: EventLoop, socket: WebSocket) {
        self.loop = loop
        self.socket = socket
    }

    /// From the web thread. `bytes` count as undelivered until the loop has handled the event. `closed` drops what is queued.
    func deliver(_ event: WebSocketEvent, bytes: Int = 0) {
        if case .closed = event { socket.drop() }
        loop.execute {
            self.receiver?(event)
            if case .closed = event { self.receiver = nil }
            if bytes > 0 { self.socket.delivered(bytes) }
        }
    }
}

final class WebSocketLink: WireRole {
    unowned let thread: WebThread
    /// Nil while a client looks for its next address.
    var wsi: OpaquePointer?
    let socket: WebSocket
    let events: SocketEvents
    /// Of a client.
    let attempt: WebSocketAttempt?
    /// Runs when the connection is gone (a server's books).
    var onEnd: () -> Void = {}

    private(set) var isOpen = false
    private var ending: WebSocketEnd?
    private var isOver = false
    private var assembled: [UInt8] = []
    /// The message that is being sent in fragments, and how much of it is out.
    private var current: (message: WebSocket.Message, sent: Int)?
    private var closeTimerRuns = false

    init(thread: WebThread, wsi: OpaquePointer?, socket: WebSocket, events: SocketEvents, attempt: WebSocketAttempt? = nil) {
        self.thread = thread
        self.wsi = wsi
        self.socket = socket
        self.events = events
        self.attempt = attempt
    }

    var mayCloseForShutdown: Bool { !isOpen }

    func handle(_ reason: lws_callback_reasons, _ data: UnsafeMutableRawPointer?, _ length: Int) -> Int32 {
        switch reason {
        case LWS_CALLBACK_RECEIVE, LWS_CALLBACK_CLIENT_RECEIVE:
            return receive(UnsafeRawBufferPointer(start: data, count: length))
        case LWS_CALLBACK_SERVER_WRITEABLE, LWS_CALLBACK_CLIENT_WRITEABLE: return write()
        case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE: peerCloses(UnsafeRawBufferPointer(start: data, count: length))
        case LWS_CALLBACK_TIMER:
            // One that was set for the HTTP part, and cancelled too late.
            guard !isOpen || closeTimerRuns else { return 0 }
            thread.counters.withLock { $0.timeouts += 1 }
            if !isOpen { ending = ending ?? .failed(.timeout) }
            return -1
        case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER: return attempt?.appendHeaders(data, length) ?? 0
        case LWS_CALLBACK_CLIENT_FILTER_PRE_ESTABLISH: attempt?.noteSubprotocol(wsi)
        case LWS_CALLBACK_CLIENT_ESTABLISHED:
            lws_set_timer_usecs(wsi, -1)
            opened(subprotocol: attempt?.agreed)
            attend()
        case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
            let words = data.map { String(cString: $0.assumingMemoryBound(to: CChar.self)) } ?? ""
            ending = ending ?? .failed(WebSocketAttempt.failure(words, status: Int(lws_http_client_http_response(wsi))))
        default: break
        }
        return 0
    }

    func opened(subprotocol: String?) {
        isOpen = true
        thread.counters.withLock { $0.webSocketsOpened += 1 }
        events.deliver(.opened(subprotocol: subprotocol))
    }

    func ended() {
        wsi = nil
        if let attempt, !isOpen, ending == nil || ending == .failed(.refused), attempt.hasNextAddress, !thread.isStopping {
            // libwebsockets is in the middle of taking the old connection down.
            ending = nil
            attempt.wantsNextAddress = true
            thread.post(.attend(socket.id))
            return
        }
        finish()
    }

    /// The end, once: `closed` goes to the loop.
    func finish() {
        guard !isOver else { return }
        isOver = true
        thread.links[socket.id] = nil
        events.deliver(.closed(ending ?? (isOpen || attempt == nil ? .lost : .failed(.refused))))
        onEnd()
    }

    func fail(_ failure: WebSocketFailure) {
        ending = .failed(failure)
        finish()
    }

    // MARK: Attending to what other threads want

    func attend() {
        let (isClosing, isDropped, hasOutput, resume) = socket.state.withLock { state in
            state.isAnnounced = false
            let resume = state.isReadingPaused && state.undeliveredBytes <= socket.limits.receiveQueueBytes / 2
            if resume { state.isReadingPaused = false }
            return (state.isClosing, state.isDropped, !state.outgoing.isEmpty, resume)
        }
        if let attempt, attempt.wantsNextAddress {
            attempt.wantsNextAddress = false
            if isClosing { return fail(.cancelled) }
            return thread.connectNext(self, attempt)
        }
        guard let wsi else { return }
        guard isOpen else {
            if isClosing {
                ending = .failed(.cancelled)
                thread.close(wsi)
            }
            return
        }
        if resume { lws_rx_flow_control(wsi, 1) }
        if isDropped {
            ending = ending ?? .lost
            thread.close(wsi)
            return
        }
        if isClosing, !closeTimerRuns {
            closeTimerRuns = true
            lws_set_timer_usecs(wsi, max(1, socket.limits.closeTime.nanoseconds / 1000))
        }
        if hasOutput || isClosing { lws_callback_on_writable(wsi) }
    }

    // MARK: Receiving

    private func receive(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        guard ending == nil else { return 0 }
        if lws_is_first_fragment(wsi) != 0 { assembled.removeAll(keepingCapacity: true) }
        guard assembled.count + bytes.count + lws_remaining_packet_payload(wsi) <= socket.limits.messageBytes else {
            return close(1009, "message too big")
        }
        assembled.append(contentsOf: bytes)
        guard lws_is_final_fragment(wsi) != 0 else { return 0 }
        let event: WebSocketEvent
        if lws_frame_is_binary(wsi) != 0 {
            event = .binary(assembled)
        } else {
            guard let text = String(validating: assembled, as: UTF8.self) else { return close(1007, "not UTF-8") }
            event = .text(text)
        }
        // An empty message has its weight too, or a flood of them would not count.
        let weight = assembled.count + 64
        assembled = []
        let pause = socket.state.withLock { state in
            state.counters.messagesReceived += 1
            state.undeliveredBytes += weight
            guard state.undeliveredBytes > socket.limits.receiveQueueBytes, !state.isReadingPaused else { return false }
            state.isReadingPaused = true
            return true
        }
        if pause { lws_rx_flow_control(wsi, 0) }
        events.deliver(event, bytes: weight)
        return 0
    }

    private func peerCloses(_ payload: UnsafeRawBufferPointer) {
        guard ending == nil else { return }
        guard payload.count >= 2 else {
            ending = .byPeer(code: 1005, reason: "")
            return
        }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        ending = .byPeer(code: code, reason: String(decoding: payload.dropFirst(2), as: UTF8.self))
    }

    // MARK: Sending

    private func write() -> Int32 {
        guard isOpen, ending == nil else { return 0 }
        if current == nil {
            let (next, isClosing, code, reason) = socket.state.withLock { state in
                let next = state.outgoing.isEmpty ? nil : state.outgoing.removeFirst()
                return (next, state.isClosing, state.closeCode, state.closeReason)
            }
            guard let next else { return isClosing ? close(code, reason) : 0 }
            current = (next, 0)
        }
        guard let (message, sent) = current else { return 0 }
        let count = min(WebThread.scratchSize, message.bytes.count - sent)
        let start = thread.scratch + rw_lws_pre
        message.bytes.withUnsafeBytes { bytes in
            guard count > 0 else { return }
            UnsafeMutableRawPointer(start).copyMemory(from: bytes.baseAddress! + sent, byteCount: count)
        }
        let isLast = sent + count == message.bytes.count
        let kind = lws_write_ws_flags(
            Int32((message.isText ? LWS_WRITE_TEXT : LWS_WRITE_BINARY).rawValue), sent == 0 ? 1 : 0, isLast ? 1 : 0)
        guard rw_lws_write(wsi, start, count, lws_write_protocol(UInt32(kind))) >= count else {
            ending = .lost
            return -1
        }
        if isLast {
            current = nil
            let more = socket.state.withLock { state in
                state.outgoingBytes -= message.bytes.count
                state.counters.messagesSent += 1
                return !state.outgoing.isEmpty || state.isClosing
            }
            if more { lws_callback_on_writable(wsi) }
        } else {
            current?.sent = sent + count
            lws_callback_on_writable(wsi)
        }
        return 0
    }

    /// Sends a close frame; the connection ends when the peer answers it, or after a while.
    private func close(_ code: UInt16, _ reason: String) -> Int32 {
        ending = .byUs(code: code, reason: reason)
        socket.state.withLock { $0.isClosing = true }
        var bytes = Array(reason.utf8.prefix(123))
        lws_close_reason(wsi, lws_close_status(UInt32(code)), &bytes, bytes.count)
        return -1
    }
}
