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
    /// The port was chosen by the system, which takes it back when the socket is disconnected.
    private let hasChosenPort: Bool
    private var peer: SocketAddress?
    /// Looks that read everything, before one datagram is believed to be all there is.
    @exclusivity(unchecked) private var fullLooks = busyLooks
    private static let busyLooks = 16
    @exclusivity(unchecked) private var lastLook = Instant.zero

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
            loop: loop, descriptor: descriptor, isV6: address.ip.isV6, localAddress: local, hasChosenPort: address.port == 0,
            options: options)
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
        loop: EpollLoop, descriptor: Int32, isV6: Bool, localAddress: SocketAddress, hasChosenPort: Bool, options: DatagramOptions
    ) {
        epoll = loop
        self.hasChosenPort = hasChosenPort
        shared = SharedDescriptor(descriptor)
        watcher = DatagramWatcher(descriptor: descriptor)
        self.options = options
        self.isV6 = isV6
        let sender = KernelDatagramSender(loop: loop, shared: shared, isV6: isV6, limit: options.sendQueueLimit)
        sender.owned = descriptor
        super.init(loop: loop, localAddress: localAddress, reading: options.reading, sender: sender)
    }

    private func register() throws(SystemError) {
        guard reading != .onDrain, !isWatched else { return }
        try epoll.watch(watcher, for: EPOLLIN, isPaced: reading == .paced)
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

    fileprivate func readGathered() -> (count: Int, hasMore: Bool) {
        let count = readBatch()
        return (count, count == ReceiveBatch.count)
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

    /// One datagram costs less by recvmsg(2) than by a recvmmsg(2) that looks for a second one. More than one may be there when one of
    /// the last looks found none or several, and when the one that was read has been there at the last look already.
    override func look() {
        let lastLook = lastLook
        let now = epoll.now
        self.lastLook = now
        guard fullLooks == 0, options.stampsArrival else {
            let count = drain()
            fullLooks = count == 1 ? fullLooks - 1 : Self.busyLooks
            return
        }
        let count = readBatch(isSingle: true)
        guard !isClosed, count == 1 else {
            fullLooks = Self.busyLooks
            return
        }
        if arrival.nanoseconds <= lastLook.nanoseconds, drain() > 0 { fullLooks = Self.busyLooks }
    }

    /// Reads up to 64 datagrams, or one.
    private func readBatch(isSingle: Bool = false) -> Int {
        let buffers = epoll.buffers
        let batch = buffers.takeReceiveBatch()
        defer { buffers.giveBack(batch) }
        receiving.receiveCalls &+= 1
        switch isSingle ? batch.readOne(watcher.descriptor) : batch.read(watcher.descriptor) {
        case .done(let count):
            guard count > 0 else { return 0 }
            let now = epoll.now
            arrival = now
            let ahead = options.stampsArrival ? buffers.wallClockLead(at: now) : 0
            for index in 0..<count {
                if options.stampsArrival, let stamp = batch.stamp(index) {
                    arrival = Instant(nanoseconds: min(now.nanoseconds, stamp &- ahead))
                }
                let (bytes, peer) = batch.datagram(index)
                receiving.received &+= 1
                receiving.receivedBytes &+= UInt64(bytes.count)
                // The socket may be closed by what it hears; the slots are made ready all the same.
                if !isClosed { onReceive?(bytes, peer) }
            }
            if !isClosed { onBatchEnd?() }
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
        self.peer = peer
        (sender as? KernelDatagramSender)?.peer = peer
    }

    override func disconnect() {
        loop.preconditionOnLoop()
        guard peer != nil, !isClosed else { return }
        peer = nil
        (sender as? KernelDatagramSender)?.peer = nil
        var nobody = sockaddr(sa_family: sa_family_t(AF_UNSPEC), sa_data: KernelAddress.noData)
        let outcome = SystemCall.attempt {
            CLinux.connect(watcher.descriptor, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
        }
        if case .failed(let number) = outcome { preconditionFailure("a datagram socket lets its peer go (errno \(number))") }
        // Fails only when another program took the port in between.
        if hasChosenPort { try? KernelSocket.bind(watcher.descriptor, to: localAddress) }
    }

    override var connectedAddress: SocketAddress? {
        guard peer != nil, !isClosed else { return nil }
        return try? KernelSocket.localAddress(watcher.descriptor)
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
        (sender as? KernelDatagramSender)?.owned = -1
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
    override func readGathered() -> (count: Int, hasMore: Bool) { socket?.readGathered() ?? (0, false) }
    override func loopEnds() { socket?.close() }
}
