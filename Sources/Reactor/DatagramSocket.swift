package import Basics

/// How a datagram socket is opened.
package struct DatagramOptions: Sendable {
    /// When a socket is read.
    package enum Reading: Sendable {
        /// As soon as something is there.
        case onArrival
        /// As soon as something is there while the loop has little to do. A busy loop lets it gather, for about a millisecond
        /// (`EpollLoop`'s pace), and reads all at once: for signaling.
        case paced
        /// Only by `drain()`: for a call that but counts what arrives, and looks once a tick.
        case onDrain
    }

    package var reading = Reading.onArrival
    /// Octets the kernel may hold for the socket (SO_RCVBUF, SO_SNDBUF); nil leaves the system's choice, the system's maximum bounds it.
    package var receiveBuffer: Int?
    package var sendBuffer: Int?
    /// Lets several sockets share the address; the kernel spreads what arrives over them.
    package var reusePort = false
    /// Asks for the network's error reports also on a socket that is not connected (IP_RECVERR): a peer that is not there is told to
    /// `onError` with its address. For signaling; media has no use for it.
    package var reportsErrors = false
    /// An IPv6 socket that takes no IPv4.
    package var v6Only = false
    /// The DSCP of what is sent, 0 to 63 (RFC 2474): 46 for voice, 24 or 40 for signaling.
    package var dscp: UInt8?
    /// Tells by `arrival` when each datagram reached the host (SO_TIMESTAMPNS), not when it was read: for jitter of sockets that are read
    /// once a tick.
    package var stampsArrival = false
    /// Hands datagrams of one length that `send` queued for one peer, one behind the other, to the kernel as one, which it cuts (UDP_SEGMENT,
    /// Linux 4.18): they take the way through the system once. Where the system refuses, they go one by one. Unless it is off the socket takes
    /// uncut what comes so (UDP_GRO, Linux 5.0); it is not for sockets that are read by `look`.
    package var segmentation = DatagramSegmentation.off
    /// Datagrams that `send` holds while the kernel takes none; more are dropped and counted.
    package var sendQueueLimit = 1024

    package init() {}
}

/// What a datagram socket, or a sender, counted.
package struct DatagramCounters: Equatable, Sendable {
    package internal(set) var received: UInt64 = 0
    package internal(set) var receivedBytes: UInt64 = 0
    /// System calls that received or sent.
    package internal(set) var receiveCalls: UInt64 = 0
    package internal(set) var sendCalls: UInt64 = 0
    package internal(set) var sent: UInt64 = 0
    package internal(set) var sentBytes: UInt64 = 0
    /// Of those sent: that went with others as one datagram, which the kernel cut (`DatagramOptions.segmentation`).
    package internal(set) var segmented: UInt64 = 0
    /// Datagrams that came with others as one (`DatagramOptions.segmentation`).
    package internal(set) var joined: UInt64 = 0
    /// Times that the kernel took no more for now (EAGAIN).
    package internal(set) var blocked: UInt64 = 0
    /// Dropped: the queue was full, or `sendNow` met a socket that takes no more.
    package internal(set) var droppedFull: UInt64 = 0
    /// Dropped: the system has no room in its interface's queue (ENOBUFS).
    package internal(set) var droppedNoBuffers: UInt64 = 0
    /// Dropped: the system refused the datagram (too big, no route, not permitted).
    package internal(set) var droppedRefused: UInt64 = 0
    /// Reports of the network that a peer, or its port, is not there.
    package internal(set) var unreachable: UInt64 = 0

    package init() {}
}

/// What a look at a socket found.
package struct Datagram {
    /// Lent until the next look at any socket of the loop.
    package let bytes: UnsafeRawBufferPointer
    /// nil: the peer that the socket is connected to.
    package let source: SocketAddress?
    /// When it came; see `DatagramSocket.arrival`.
    package let arrival: Instant

    init(bytes: UnsafeRawBufferPointer, source: SocketAddress?, arrival: Instant) {
        self.bytes = bytes
        self.source = source
        self.arrival = arrival
    }
}

/// A datagram socket of a loop: the kernel's on an `EpollLoop`, one of the in-memory network on a `VirtualLoop`.
/// It belongs to its loop; what other loops send through it goes by `handle`.
package class DatagramSocket {
    // What each look and each packet touches comes first, so that it lies together.
    @exclusivity(unchecked) package internal(set) var isClosed = false
    /// During `onReceive`: when the datagram came, on the loop's clock. Without `stampsArrival` it is when it was read.
    @exclusivity(unchecked) package internal(set) var arrival = Instant.zero
    /// What the socket counted itself; the rest is its sender's.
    @exclusivity(unchecked) var own = DatagramCounters()
    let sender: DatagramSender
    package let loop: EventLoop
    /// The address it is bound to, with the port that the system chose.
    package let localAddress: SocketAddress
    /// Called for each datagram, inside the read of a batch of up to 64. The bytes are lent for the call.
    @exclusivity(unchecked) package var onReceive: ((UnsafeRawBufferPointer, SocketAddress) -> Void)?
    /// Called after the last datagram of a batch.
    package var onBatchEnd: (() -> Void)?
    /// Called when a datagram could not be sent or its peer is not there; nothing ends by that. The address is the peer's when it is
    /// known (see `DatagramOptions.reportsErrors`).
    package var onError: ((SystemError, SocketAddress?) -> Void)? {
        get { sender.onError }
        set { sender.onError = newValue }
    }
    /// When it is read. Changes at once.
    package var reading: DatagramOptions.Reading {
        didSet { if reading != oldValue, !isClosed { readingChanged() } }
    }

    init(loop: EventLoop, localAddress: SocketAddress, reading: DatagramOptions.Reading, sender: DatagramSender) {
        self.loop = loop
        self.localAddress = localAddress
        self.reading = reading
        self.sender = sender
        loop.openSockets += 1
    }

    /// What this socket received and sent, without what other loops sent by `handle`.
    package final var counters: DatagramCounters {
        var both = sender.counters
        both.received = own.received
        both.receivedBytes = own.receivedBytes
        both.receiveCalls = own.receiveCalls
        both.joined = own.joined
        both.sendCalls += own.sendCalls
        both.sent += own.sent
        both.sentBytes += own.sentBytes
        both.unreachable += own.unreachable
        return both
    }

    /// Queues a datagram; the queue goes out in one system call at the end of the turn, or as soon as 64 wait.
    @inline(__always)
    package final func send(_ bytes: UnsafeRawBufferPointer, to peer: SocketAddress) { sender.send(bytes, to: peer) }

    /// Sends at once, in a system call of its own, past what `send` has queued. False when it was dropped.
    @discardableResult
    package final func sendNow(_ bytes: UnsafeRawBufferPointer, to peer: SocketAddress) -> Bool {
        sender.sendNow(bytes, to: peer)
    }

    /// `sendNow` to a connected socket's peer.
    @discardableResult
    package func sendNow(_ bytes: UnsafeRawBufferPointer) -> Bool { fatalError("a kind of socket sends") }

    /// Sends what is queued, now.
    package final func flush() { sender.flush() }

    /// Reads all that has arrived and calls `onReceive` for each; returns how many there were. At most `limit`.
    @discardableResult
    package func drain(limit: Int = 1024) -> Int { fatalError("a kind of socket reads") }

    /// A look at a socket that is read regularly and gets about one datagram between two looks. A call gives one datagram, past
    /// `onReceive`; `count` is how many this look has had. It ends with nil: nothing is left, or nothing more is to be expected. What
    /// a look leaves behind is read by the next one, so nothing ever piles up.
    package func look(after count: Int) -> Datagram? { fatalError("a kind of socket reads") }

    /// Fixes the peer: datagrams of others are not received, sending needs no look-up of the route, and the network's reports arrive.
    /// An unspecified local address becomes the one that the peer is reached from: `connectedAddress`.
    package func connect(to peer: SocketAddress) throws(SystemError) { fatalError("a kind of socket connects") }

    /// Lets everybody send to it again. Without `connect`: nothing.
    package func disconnect() { fatalError("a kind of socket connects") }

    /// Where a connected socket takes datagrams; nil when it is not connected.
    package var connectedAddress: SocketAddress? { fatalError("a kind of socket connects") }

    /// The door for other loops' threads.
    package var handle: DatagramHandle { fatalError("a kind of socket has its handle") }

    /// Ends it. What is queued is sent first, as far as the system takes it. Nothing is called afterwards. Once or more.
    package func close() { fatalError("a kind of socket closes") }

    func readingChanged() {}
}

/// A reference to a datagram socket that may go to other threads: a loop makes its own `DatagramSender` of it. The socket may be closed
/// meanwhile: what is sent afterwards is dropped.
package class DatagramHandle: @unchecked Sendable {
    // `@unchecked Sendable`: it holds constants, and a descriptor that is guarded against use after its end.
    package let localAddress: SocketAddress

    init(localAddress: SocketAddress) {
        self.localAddress = localAddress
    }

    /// A sender with a batch of its own, which belongs to `loop`. On `loop` only.
    package func sender(on loop: EventLoop) -> DatagramSender { fatalError("a kind of handle has its sender") }
}

/// Sends datagrams through a socket, from a loop that need not be the socket's.
package class DatagramSender {
    package let loop: EventLoop
    @exclusivity(unchecked) package internal(set) var counters = DatagramCounters()
    package var onError: ((SystemError, SocketAddress?) -> Void)?

    init(loop: EventLoop) {
        self.loop = loop
    }

    /// As `DatagramSocket.send`.
    package func send(_ bytes: UnsafeRawBufferPointer, to peer: SocketAddress) { fatalError("a kind of sender sends") }

    /// As `DatagramSocket.sendNow`.
    @discardableResult
    package func sendNow(_ bytes: UnsafeRawBufferPointer, to peer: SocketAddress) -> Bool { fatalError("a kind of sender sends") }

    /// Sends what is queued, now.
    package func flush() { fatalError("a kind of sender sends") }
}
