import Basics
import CLinux

/// A datagram socket of the kernel.
final class KernelDatagramSocket: DatagramSocket {
    private let epoll: EpollLoop
    private let shared: SharedDescriptor
    private let watcher: DatagramWatcher
    private let options: DatagramOptions
    private let isV6: Bool
    private var isWatched = false

    static func bind(
        on loop: EpollLoop, to address: SocketAddress, options: DatagramOptions
    ) throws(SystemError) -> KernelDatagramSocket {
        let descriptor = try KernelSocket.make(stream: false, for: address.ip, v6Only: options.v6Only)
        let local = try KernelSocket.closing(descriptor) { () throws(SystemError) -> SocketAddress in
            try apply(options, to: descriptor, isV6: address.ip.isV6)
            try KernelSocket.bind(descriptor, to: address)
            return try KernelSocket.localAddress(descriptor)
        }
        let socket = KernelDatagramSocket(
            loop: loop, descriptor: descriptor, isV6: address.ip.isV6, localAddress: local, options: options)
        do throws(SystemError) {
            try socket.register()
        } catch {
            socket.close()
            throw error
        }
        return socket
    }

    private static func apply(_ options: DatagramOptions, to descriptor: Int32, isV6: Bool) throws(SystemError) {
        if let size = options.receiveBuffer {
            try SystemCall.setOption(descriptor, SOL_SOCKET, SO_RCVBUF, Int32(clamping: size), "SO_RCVBUF")
        }
        if let size = options.sendBuffer {
            try SystemCall.setOption(descriptor, SOL_SOCKET, SO_SNDBUF, Int32(clamping: size), "SO_SNDBUF")
        }
        if options.stampsArrival { try SystemCall.setOption(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, 1, "SO_TIMESTAMPNS") }
        if options.reusePort { try SystemCall.setOption(descriptor, SOL_SOCKET, SO_REUSEPORT, 1, "SO_REUSEPORT") }
        let ipv4 = Int32(IPPROTO_IP)
        let ipv6 = Int32(IPPROTO_IPV6)
        if options.reportsErrors {
            try SystemCall.setOption(descriptor, ipv4, IP_RECVERR, 1, "IP_RECVERR")
            if isV6 { try SystemCall.setOption(descriptor, ipv6, IPV6_RECVERR, 1, "IPV6_RECVERR") }
        }
        if let dscp = options.dscp {
            precondition(dscp < 64, "a DSCP has six bits")
            try SystemCall.setOption(descriptor, ipv4, IP_TOS, Int32(dscp) << 2, "IP_TOS")
            if isV6 { try SystemCall.setOption(descriptor, ipv6, IPV6_TCLASS, Int32(dscp) << 2, "IPV6_TCLASS") }
        }
    }

    private init(
        loop: EpollLoop, descriptor: Int32, isV6: Bool, localAddress: SocketAddress, options: DatagramOptions
    ) {
        epoll = loop
        shared = SharedDescriptor(descriptor)
        watcher = DatagramWatcher(descriptor: descriptor)
        self.options = options
        self.isV6 = isV6
        let sender = KernelDatagramSender(loop: loop, shared: shared, isV6: isV6, limit: options.sendQueueLimit)
        super.init(loop: loop, localAddress: localAddress, reading: options.reading, sender: sender)
    }

    private func register() throws(SystemError) {
        guard reading == .onArrival, !isWatched else { return }
        try epoll.watch(watcher, for: EPOLLIN)
        watcher.socket = self
        isWatched = true
    }

    private func unregister() {
        guard isWatched else { return }
        epoll.unwatch(watcher)
        watcher.socket = nil
        isWatched = false
    }

    override func readingChanged() {
        loop.preconditionOnLoop()
        unregister()
        do throws(SystemError) {
            try register()
        } catch {
            onError?(error, nil)
        }
    }

    /// One batch a turn: what is left brings the loop back.
    fileprivate func ready(_ events: UInt32) {
        if events & EPOLLERR.rawValue != 0 { readErrors() }
        _ = readBatch()
    }

    @discardableResult
    override func drain(limit: Int = 1024) -> Int {
        loop.preconditionOnLoop()
        var total = 0
        while total < limit, !isClosed {
            let count = readBatch()
            total += count
            if count < ReceiveBatch.count { break }
        }
        return total
    }

    private func readBatch() -> Int {
        let batch = epoll.buffers.takeReceiveBatch()
        defer { epoll.buffers.giveBack(batch) }
        receiving.receiveCalls += 1
        switch batch.read(watcher.descriptor) {
        case .done(let count):
            let now = loop.now
            arrival = now
            // The kernel stamps by the wall clock: what was read lies as far back as it lies before the wall clock's now.
            let (wall, monotonic) = options.stampsArrival ? SystemCall.bothClocks() : (0, 0)
            for index in 0..<count {
                let (bytes, peer) = batch.datagram(index)
                if options.stampsArrival, let stamp = batch.stamp(index) {
                    arrival = min(now, Instant(nanoseconds: monotonic - max(0, wall - stamp)))
                }
                receiving.received += 1
                receiving.receivedBytes += UInt64(bytes.count)
                // The socket may be closed by what it hears; the slots are made ready all the same.
                if !isClosed { onReceive?(bytes, peer) }
            }
            if count > 0, !isClosed { onBatchEnd?() }
            return count
        case .notNow: return 0
        case .failed(let number):
            // A report of the network about something sent before.
            if options.reportsErrors { readErrors() } else { unreachable(number, nil) }
            return 0
        }
    }

    private func readErrors() {
        guard options.reportsErrors else { return }
        var address = KernelAddress()
        var number: Int32 = 0
        for _ in 0..<64 where !isClosed {
            address.length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            let found = address.withPointer { rw_recv_error(watcher.descriptor, $0, $1, &number) }
            guard found == 1 else { break }
            unreachable(number, address.address)
        }
    }

    private func unreachable(_ number: Int32, _ peer: SocketAddress?) {
        receiving.unreachable += 1
        onError?(SystemError(number, "send \(peer?.description ?? "from \(localAddress)")"), peer)
    }

    override func connect(to peer: SocketAddress) throws(SystemError) {
        loop.preconditionOnLoop()
        var address = KernelAddress(peer, forV6: isV6)
        try SystemCall.check("connect \(peer)") {
            address.withPointer { CLinux.connect(watcher.descriptor, $0, $1.pointee) }
        }
        (sender as? KernelDatagramSender)?.peer = peer
    }

    override var handle: DatagramHandle {
        KernelDatagramHandle(localAddress: localAddress, shared: shared, isV6: isV6, limit: options.sendQueueLimit)
    }

    override func close() {
        loop.preconditionOnLoop()
        guard !isClosed else { return }
        sender.flush()
        isClosed = true
        loop.openSockets -= 1
        unregister()
        shared.close()
        onReceive = nil
        onBatchEnd = nil
        onError = nil
    }
}

private final class DatagramWatcher: Watcher {
    /// While it is watched: the loop keeps an open socket alive.
    var socket: KernelDatagramSocket?

    override func ready(_ events: UInt32) { socket?.ready(events) }
    override func loopEnds() { socket?.close() }
}

private final class KernelDatagramHandle: DatagramHandle, @unchecked Sendable {
    // `@unchecked Sendable`: constants, and a descriptor that is guarded against use after its end.
    private let shared: SharedDescriptor
    private let isV6: Bool
    private let limit: Int

    init(localAddress: SocketAddress, shared: SharedDescriptor, isV6: Bool, limit: Int) {
        self.shared = shared
        self.isV6 = isV6
        self.limit = limit
        super.init(localAddress: localAddress)
    }

    override func sender(on loop: EventLoop) -> DatagramSender {
        guard let epoll = loop as? EpollLoop else { preconditionFailure("the kernel's sockets belong to an EpollLoop") }
        loop.preconditionOnLoop()
        return KernelDatagramSender(loop: epoll, shared: shared, isV6: isV6, limit: limit)
    }
}

/// Sends in batches, from any loop.
private final class KernelDatagramSender: DatagramSender, TurnEnd {
    private let epoll: EpollLoop
    private let shared: SharedDescriptor
    private let isV6: Bool
    private let limit: Int
    private var queue: SendQueue?
    private var isBlocked = false
    /// A connected socket's peer.
    var peer: SocketAddress?

    /// How long a socket that takes no more is left alone: its queue empties at the speed of the interface.
    private static let pause = Duration.milliseconds(1)

    init(loop: EpollLoop, shared: SharedDescriptor, isV6: Bool, limit: Int) {
        epoll = loop
        self.shared = shared
        self.isV6 = isV6
        self.limit = limit
        super.init(loop: loop)
    }

    override func send(_ bytes: UnsafeRawBufferPointer, to peer: SocketAddress) {
        let queue = self.queue ?? begin()
        guard queue.count < limit else {
            counters.droppedFull += 1
            return
        }
        let isToPeer = self.peer == peer
        queue.append(bytes, to: isToPeer ? KernelAddress() : KernelAddress(peer, forV6: isV6), isToPeer: isToPeer)
        if queue.count >= SendHeaders.count, !isBlocked { flush() }
    }

    private func begin() -> SendQueue {
        let fresh = epoll.buffers.takeSendQueue()
        queue = fresh
        epoll.atTurnEnd(self)
        return fresh
    }

    func turnEnds() { if !isBlocked { flush() } }

    override func flush() {
        guard let queue else { return }
        let isOpen = shared.use { flush(queue, $0) } != nil
        if !isOpen { queue.head = queue.entries.count }
        if queue.count == 0 {
            self.queue = nil
            epoll.buffers.giveBack(queue)
        } else if !isBlocked {
            queue.compact()
            isBlocked = true
            epoll.schedule(after: Self.pause) {
                self.isBlocked = false
                self.flush()
            }
        }
    }

    private func flush(_ queue: SendQueue, _ descriptor: Int32) {
        var repeated = false
        while queue.count > 0 {
            counters.sendCalls += 1
            switch queue.sendSome(descriptor, epoll.buffers.headers) {
            case .done(let count):
                for index in queue.head..<queue.head + count { counters.sentBytes += UInt64(queue.entries[index].length) }
                counters.sent += UInt64(count)
                queue.head += count
                repeated = false
            case .notNow:
                counters.blocked += 1
                return
            case .failed(let number):
                // The error may be the network's report about an earlier datagram: this one gets a second chance.
                let mustDrop = failed(number, queue.entries[queue.head].address.address, isRepeat: repeated)
                repeated = !mustDrop
                if mustDrop { queue.head += 1 }
            }
        }
    }

    override func sendNow(_ bytes: UnsafeRawBufferPointer, to peer: SocketAddress) -> Bool {
        shared.use { descriptor in
            var address = KernelAddress(peer, forV6: isV6)
            let isToPeer = self.peer == peer
            var repeated = false
            while true {
                counters.sendCalls += 1
                let outcome = SystemCall.attempt {
                    address.withPointer {
                        sendto(
                            descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL),
                            isToPeer ? nil : $0, isToPeer ? 0 : $1.pointee)
                    }
                }
                switch outcome {
                case .done(let count):
                    counters.sent += 1
                    counters.sentBytes += UInt64(count)
                    return true
                case .notNow:
                    counters.blocked += 1
                    counters.droppedFull += 1
                    return false
                case .failed(let number):
                    if failed(number, peer, isRepeat: repeated) { return false }
                    repeated = true
                }
            }
        } ?? false
    }

    /// Counts a failure and tells whether the datagram is lost by it.
    private func failed(_ number: Int32, _ peer: SocketAddress, isRepeat: Bool) -> Bool {
        switch number {
        case ENOBUFS, ENOMEM:
            counters.droppedNoBuffers += 1
            return true
        case ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN, ENOPROTOOPT, EPROTO:
            if !isRepeat {
                counters.unreachable += 1
                // Without a fixed peer it is not known whom it is about; the error queue tells, when it was asked for.
                if let connected = self.peer { onError?(SystemError(number, "send \(connected)"), connected) }
                return false
            }
            fallthrough
        default:
            counters.droppedRefused += 1
            onError?(SystemError(number, "send \(peer)"), peer)
            return true
        }
    }
}
