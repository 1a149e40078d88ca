// The handle of a WebSocket: what its user holds. It may be used from any thread; the wire side is `WebSocketLink`.
import Reactor

/// An open (or opening) WebSocket, of a server or a client.
package final class WebSocket: Sendable {
    /// Unique within its web thread.
    package let id: UInt64
    let limits: WebSocketLimits
    private let thread: WebThread
    let state = Locked(State())

    struct Message {
        var isText: Bool
        var bytes: [UInt8]
    }

    struct State {
        var outgoing: [Message] = []
        var outgoingBytes = 0
        var undeliveredBytes = 0
        var isReadingPaused = false
        /// Close asked for here, or the connection is over: nothing is taken any more.
        var isClosing = false
        var closeCode: UInt16 = 1000
        var closeReason = ""
        var isDropped = false
        /// The web thread knows already that there is something to do.
        var isAnnounced = false
        var counters = WebSocketCounters()
    }

    init(id: UInt64, limits: WebSocketLimits, thread: WebThread) {
        self.id = id
        self.limits = limits
        self.thread = thread
    }

    package var counters: WebSocketCounters { state.withLock { $0.counters } }

    /// Whether it takes nothing any more: its end was told, or will be.
    package var isClosing: Bool { state.withLock { $0.isClosing } }

    /// Bytes that wait to be sent.
    package var waitingBytes: Int { state.withLock { $0.outgoingBytes } }

    /// Queues a text message; false when it was not taken (queue full, or the socket is closing). From any thread.
    @discardableResult
    package func send(text: String) -> Bool { send(Message(isText: true, bytes: Array(text.utf8))) }

    /// Queues a binary message; false when it was not taken. From any thread.
    @discardableResult
    package func send(binary: [UInt8]) -> Bool { send(Message(isText: false, bytes: binary)) }

    /// Queues a message of a protocol that takes either kind: as text, which browsers show, when it is UTF-8; else as binary. False when
    /// it was not taken. From any thread.
    @discardableResult
    package func send(message: [UInt8]) -> Bool {
        send(Message(isText: String(validating: message, as: UTF8.self) != nil, bytes: message))
    }

    /// Sends what waits, then closes with `code` (1000, 1001, 1003, 1007 to 1011, 3000 to 4999). From any thread; later calls do
    /// nothing. `reason` is cut to 123 bytes.
    package func close(code: UInt16 = 1000, reason: String = "") {
        let announce = state.withLock { state in
            guard !state.isClosing else { return false }
            state.isClosing = true
            state.closeCode = code
            state.closeReason = reason
            return state.announce()
        }
        if announce { thread.post(.attend(id)) }
    }

    /// It is over, or never stood: nothing is sent any more.
    func drop() {
        state.withLock { state in
            state.isClosing = true
            state.outgoing = []
            state.outgoingBytes = 0
        }
    }

    private func send(_ message: Message) -> Bool {
        let limits = limits
        let (taken, announce) = state.withLock { state -> (Bool, Bool) in
            guard !state.isClosing else { return (false, false) }
            let isFull =
                state.outgoing.count >= limits.sendQueueMessages
                || state.outgoingBytes + message.bytes.count > limits.sendQueueBytes
            if isFull {
                state.counters.sendsRefused += 1
                guard limits.whenFull == .disconnect else { return (false, false) }
                state.isClosing = true
                state.isDropped = true
                return (false, state.announce())
            }
            state.outgoing.append(message)
            state.outgoingBytes += message.bytes.count
            return (true, state.announce())
        }
        if announce { thread.post(.attend(id)) }
        if !taken { thread.counters.withLock { $0.webSocketSendsRefused += 1 } }
        return taken
    }

    /// The loop has taken a message of `count` bytes.
    func delivered(_ count: Int) {
        let resume = state.withLock { state in
            state.undeliveredBytes -= count
            guard state.isReadingPaused, state.undeliveredBytes <= limits.receiveQueueBytes / 2 else { return false }
            return state.announce()
        }
        if resume { thread.post(.attend(id)) }
    }
}

extension WebSocket.State {
    /// Whether the web thread has to be told.
    mutating func announce() -> Bool {
        guard !isAnnounced else { return false }
        isAnnounced = true
        return true
    }
}

/// What one WebSocket counted.
package struct WebSocketCounters: Sendable, Hashable {
    package var messagesSent: UInt64 = 0
    package var messagesReceived: UInt64 = 0
    /// Not taken by `send`, for a full queue.
    package var sendsRefused: UInt64 = 0
}
