package import Basics

/// How streams are opened and accepted.
package struct StreamOptions: Sendable {
    /// Sends small writes at once (TCP_NODELAY).
    package var noDelay = true
    /// Probes an idle peer after this time, three times at a third of it, in whole seconds (SO_KEEPALIVE); nil: never.
    package var keepAlive: Duration?
    /// Octets that `send` holds while the peer takes none; more are refused.
    package var outputLimit = 1 << 20
    /// Lets several listeners share an address.
    package var reusePort = false
    /// An IPv6 listener takes IPv6 only, so that IPv4 can have a listener of its own on the same port.
    package var v6Only = false
    /// Connections that wait to be accepted.
    package var backlog = 256

    package init() {}
}

/// Why a stream is over.
package enum StreamEnd: Hashable, Sendable {
    /// `close()` or `abort()` was called here.
    case closed
    /// The peer ended it in order.
    case ended
    /// It could not be connected in time.
    case timedOut
    /// The system's reason: refused, reset, no route.
    case failed(SystemError)
    /// TLS did not come about, or broke.
    case insecure(TLSFailure)

    /// A sentence for a person.
    package func words(about peer: SocketAddress) -> String {
        switch self {
        case .closed: "connect \(peer): given up"
        case .ended: "connect \(peer): ended by the peer"
        case .timedOut: "connect \(peer): no answer in time"
        case .failed(let error): "\(error)"
        case .insecure(let failure): "TLS with \(peer): \(failure)"
        }
    }
}

/// What a stream counted.
package struct StreamCounters: Equatable, Sendable {
    package internal(set) var receivedBytes: UInt64 = 0
    package internal(set) var sentBytes: UInt64 = 0
    /// Times that the peer took no more for now, so that output waited here.
    package internal(set) var waits: UInt64 = 0
    /// Sends refused because the output queue was full.
    package internal(set) var refused: UInt64 = 0

    package init() {}
}

/// A stream of bytes in both directions, made by `EventLoop.openStream` or a `StreamListener`. It belongs to its loop.
///
/// It is a base class: TCP of the kernel, the in-memory network, and what wraps another stream (TLS) have the same face.
package class StreamConnection {
    package let loop: EventLoop
    /// This end's address; unspecified until the connection stands.
    package internal(set) var localAddress: SocketAddress
    package let peerAddress: SocketAddress
    /// Connecting is over and it has not ended.
    package internal(set) var isOpen = false
    package private(set) var isClosed = false
    package internal(set) var counters = StreamCounters()

    /// Connected: called once, for a stream that was opened here.
    package var onOpen: (() -> Void)?
    /// Bytes have come; they are lent for the call.
    package var onReceive: ((UnsafeRawBufferPointer) -> Void)?
    /// The peer sends no more, but may still receive. Without this handler the stream is closed then.
    package var onPeerEnd: (() -> Void)?
    /// All output that waited has been handed over.
    package var onDrained: (() -> Void)?
    /// It is over. Called once, whatever the reason; nothing is called afterwards.
    package var onClose: ((StreamEnd) -> Void)?

    package init(loop: EventLoop, localAddress: SocketAddress, peerAddress: SocketAddress) {
        self.loop = loop
        self.localAddress = localAddress
        self.peerAddress = peerAddress
    }

    /// Octets of output that wait here.
    package var queuedBytes: Int { 0 }

    /// False stops reading, so that the peer has to wait.
    package final var isReading = true {
        didSet { if isReading != oldValue, !isClosed { readingChanged() } }
    }

    /// For kinds of streams: `isReading` was changed.
    package func readingChanged() { fatalError("a kind of stream reads") }

    /// Sends all of `bytes`, after what waits already. False, and nothing is sent, when the output queue would pass its limit or the
    /// stream takes no more output. While connecting it is queued.
    @discardableResult
    package func send(_ bytes: UnsafeRawBufferPointer) -> Bool { fatalError("a kind of stream sends") }

    @discardableResult
    package final func send(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { send($0) } }

    /// Ends this direction once the output is out; the other goes on until the peer ends it.
    package func finish() { fatalError("a kind of stream ends") }

    /// Ends both directions. Output that waits is still tried once. `onClose` is called before this returns.
    package func close() { fatalError("a kind of stream ends") }

    /// Ends both directions at once and tells the peer by a reset.
    package func abort() { fatalError("a kind of stream ends") }

    /// For kinds of streams: marks the end and tells it, once.
    package final func ended(_ reason: StreamEnd) {
        guard !isClosed else { return }
        isClosed = true
        isOpen = false
        let tell = onClose
        onOpen = nil
        onReceive = nil
        onPeerEnd = nil
        onDrained = nil
        onClose = nil
        tell?(reason)
    }
}

/// Accepts streams. It belongs to its loop.
package class StreamListener {
    package let loop: EventLoop
    /// With the port that the system chose.
    package let localAddress: SocketAddress
    package internal(set) var accepted: UInt64 = 0
    /// Connections that the system could not hand over (no descriptors, no memory).
    package internal(set) var failures: UInt64 = 0
    package internal(set) var isClosed = false

    init(loop: EventLoop, localAddress: SocketAddress) {
        self.loop = loop
        self.localAddress = localAddress
        loop.openSockets += 1
    }

    /// Ends listening; accepted streams live on. Once or more.
    package func close() { fatalError("a kind of listener closes") }
}

/// A stream could not be connected.
package struct StreamNotOpened: Error, Hashable, Sendable, CustomStringConvertible {
    package let peer: SocketAddress
    /// `closed`: the task was cancelled.
    package let reason: StreamEnd

    package var description: String { reason.words(about: peer) }
}

extension EventLoop {
    /// Opens a stream and waits until it stands. Its handlers are free to be set when this returns.
    package final func connect(
        to address: SocketAddress, from local: SocketAddress? = nil, timeout: Duration = .seconds(10),
        options: StreamOptions = StreamOptions()
    ) async throws(StreamNotOpened) -> StreamConnection {
        let outcome = Waiter<StreamEnd?>()
        let stream = openStream(to: address, from: local, timeout: timeout, options: options)
        stream.onOpen = {
            // Nothing may be lost before the caller has set its handlers.
            stream.isReading = false
            outcome.resume(returning: nil)
        }
        stream.onClose = { outcome.resume(returning: $0) }
        let end: StreamEnd?
        do {
            end = try await outcome.wait()
        } catch {
            stream.abort()
            throw StreamNotOpened(peer: address, reason: .closed)
        }
        stream.onOpen = nil
        if let end { throw StreamNotOpened(peer: address, reason: end) }
        stream.onClose = nil
        if stream.isClosed { throw StreamNotOpened(peer: address, reason: .ended) }
        execute(resumeReading(of: stream))
        return stream
    }

    /// Reading goes on in the next turn: the caller has had its chance to set handlers.
    private func resumeReading(of stream: StreamConnection) -> @Sendable () -> Void {
        let confined = Confined(stream)
        return { if !confined.value.isClosed { confined.value.isReading = true } }
    }
}
