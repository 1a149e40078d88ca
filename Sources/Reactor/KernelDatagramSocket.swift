import Basics
import CLinux

/// A datagram socket of the kernel.
final class KernelDatagramSocket: DatagramSocket {
    fileprivate let epoll: EpollLoop
    private let buffers: LoopBuffers
    private let kernelSender: KernelDatagramSender
    private let descriptor: Int32
    private let stampsArrival: Bool
    /// Looks that read everything, before one datagram is believed to be all there is.
    @exclusivity(unchecked) private var fullLooks = busyLooks
    @exclusivity(unchecked) private var lastLook = Instant.zero
    @exclusivity(unchecked) private var formerLook = Instant.zero
    /// The kernel is asked where datagrams come from. A connected socket gets only those of its peer, once it has been read to the end.
    @exclusivity(unchecked) private var isNamed = true
    @exclusivity(unchecked) private var peer: SocketAddress?
    private static let busyLooks = 3
    private static let mostInLook = 1024
    private let shared: SharedDescriptor
    private let watcher: DatagramWatcher
    private let options: DatagramOptions
    private let isV6: Bool
    private var isWatched = false
    /// The port was chosen by the system, which takes it back when the socket is disconnected.
    private let hasChosenPort: Bool

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
        if options.segmentation != .off {
            // Where the system does not know it, everything comes by itself.
            try? SystemCall.setOption(descriptor, SegmentOption.level, SegmentOption.joined, 1, "UDP_GRO")
        }
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
        buffers = loop.buffers
        self.descriptor = descriptor
        stampsArrival = options.stampsArrival
        self.hasChosenPort = hasChosenPort
        shared = SharedDescriptor(descriptor)
        watcher = DatagramWatcher(descriptor: descriptor)
        self.options = options
        self.isV6 = isV6
        let sender = KernelDatagramSender(loop: loop, shared: shared, isV6: isV6, options: options)
        sender.owned = descriptor
        kernelSender = sender
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

    /// A datagram by recvmsg(2) costs less than by a recvmmsg(2) that looks for a second one. More than one may be there when one of
    /// the last looks found none or several, and when the first one has been there at the last look already.
    override func look(after count: Int) -> Datagram? {
        let now = epoll.now
        if count == 0 {
            formerLook = lastLook
            lastLook = now
        } else if count == 1, fullLooks == 0, stampsArrival, arrival.nanoseconds > formerLook.nanoseconds {
            return nil
        }
        guard !isClosed, count < Self.mostInLook else { return nil }
        own.receiveCalls &+= 1
        let isNamed = isNamed
        var stamp: Int64 = 0
        let outcome = SystemCall.attempt {
            rw_receive(
                descriptor, buffers.looked.baseAddress, UInt(buffers.looked.count), isNamed ? buffers.source : nil, &stamp)
        }
        switch outcome {
        case .done(let length):
            own.received &+= 1
            own.receivedBytes &+= UInt64(length)
            arrival = now
            if stamp != 0 {
                arrival = Instant(nanoseconds: min(now.nanoseconds, stamp &- buffers.wallClockLead(at: now)))
            }
            return Datagram(
                bytes: UnsafeRawBufferPointer(start: buffers.looked.baseAddress, count: length),
                source: isNamed ? KernelAddress.read(buffers.source) : nil, arrival: arrival)
        case .notNow:
            if count != 1 { fullLooks = Self.busyLooks } else if fullLooks > 0 { fullLooks -= 1 }
            // What came before it was connected has been read.
            self.isNamed = peer == nil
        case .failed(let number):
            fullLooks = Self.busyLooks
            receiveFailed(number)
        }
        return nil
    }

    /// Reads up to 64 datagrams.
    private func readBatch() -> Int {
        let batch = buffers.takeReceiveBatch()
        defer { buffers.giveBack(batch) }
        own.receiveCalls &+= 1
        switch batch.read(descriptor) {
        case .done(let count):
            guard count > 0 else { return 0 }
            let now = epoll.now
            arrival = now
            let ahead = stampsArrival ? buffers.wallClockLead(at: now) : 0
            for index in 0..<count {
                let notes = batch.notes(index)
                if let stamp = notes.stamp { arrival = Instant(nanoseconds: min(now.nanoseconds, stamp &- ahead)) }
                // The socket may be closed by what it hears; the slots are made ready all the same.
                let (bytes, peer) = batch.datagram(index)
                heard(bytes, peer, in: notes.segment)
            }
            if !isClosed { onBatchEnd?() }
            return count
        case .notNow: return 0
        case .failed(let number):
            receiveFailed(number)
            return 0
        }
    }

    /// - Parameter segment: the length of the datagrams that came as one; the last may fall short.
    @inline(__always)
    private func heard(_ bytes: UnsafeRawBufferPointer, _ peer: SocketAddress, in segment: Int?) {
        guard let segment, segment > 0, segment < bytes.count else { return heard(bytes, peer) }
        for start in stride(from: 0, to: bytes.count, by: segment) {
            own.joined &+= 1
            heard(UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + segment, bytes.count)]), peer)
        }
    }

    @inline(__always)
    private func heard(_ bytes: UnsafeRawBufferPointer, _ peer: SocketAddress) {
        own.received &+= 1
        own.receivedBytes &+= UInt64(bytes.count)
        if !isClosed { onReceive?(bytes, peer) }
    }

    /// A report of the network about something sent before.
    private func receiveFailed(_ number: Int32) {
        if options.reportsErrors { readErrors() } else { unreachable(number, nil) }
    }

    override func sendNow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard peer != nil, !isClosed else { return false }
        own.sendCalls &+= 1
        let outcome = SystemCall.attempt { rw_send(descriptor, bytes.baseAddress, UInt(bytes.count), nil, 0) }
        guard case .done(let count) = outcome else { return kernelSender.sendNow(bytes, after: outcome) }
        own.sent &+= 1
        own.sentBytes &+= UInt64(count)
        return true
    }

    private func readErrors() {
        guard options.reportsErrors else { return }
        var address = KernelAddress()
        var number: Int32 = 0
        for _ in 0..<64 where !isClosed {
            address.length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            let found = address.withPointer { rw_recv_error(descriptor, $0, $1, &number) }
            guard found == 1 else { break }
            unreachable(number, address.address)
        }
    }

    private func unreachable(_ number: Int32, _ peer: SocketAddress?) {
        own.unreachable += 1
        onError?(SystemError(number, "send \(peer?.description ?? "from \(localAddress)")"), peer)
    }

    override func connect(to peer: SocketAddress) throws(SystemError) {
        loop.preconditionOnLoop()
        var address = KernelAddress(peer, forV6: isV6)
        try SystemCall.check("connect \(peer)") {
            address.withPointer { CLinux.connect(descriptor, $0, $1.pointee) }
        }
        self.peer = peer
        isNamed = true
        fullLooks = Self.busyLooks
        kernelSender.peer = peer
    }

    override func disconnect() {
        loop.preconditionOnLoop()
        guard peer != nil, !isClosed else { return }
        peer = nil
        isNamed = true
        kernelSender.peer = nil
        var nobody = sockaddr(sa_family: sa_family_t(AF_UNSPEC), sa_data: KernelAddress.noData)
        let outcome = SystemCall.attempt {
            CLinux.connect(descriptor, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
        }
        if case .failed(let number) = outcome { preconditionFailure("a datagram socket lets its peer go (errno \(number))") }
        // Fails only when another program took the port in between.
        if hasChosenPort { try? KernelSocket.bind(descriptor, to: localAddress) }
    }

    override var connectedAddress: SocketAddress? {
        guard peer != nil, !isClosed else { return nil }
        return try? KernelSocket.localAddress(descriptor)
    }

    override var handle: DatagramHandle {
        KernelDatagramHandle(localAddress: localAddress, shared: shared, isV6: isV6, options: options)
    }

    override func close() {
        loop.preconditionOnLoop()
        guard !isClosed else { return }
        sender.flush()
        isClosed = true
        loop.openSockets -= 1
        unregister()
        kernelSender.owned = -1
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
    override func readGathered() -> (count: Int, hasMore: Bool)? { socket?.readGathered() }
    override func gatheringEnds() { socket?.epoll.watchAgain(self) }
    override func loopEnds() { socket?.close() }
}
