import Basics
import CLinux

/// A datagram socket of the in-memory network.
final class VirtualDatagramSocket: DatagramSocket {
    private let network: VirtualNetwork
    private let options: DatagramOptions
    private var inbox: [(bytes: [UInt8], peer: SocketAddress, at: Instant)] = []
    private var inboxBytes = 0
    private var isReadScheduled = false
    private var peer: SocketAddress?
    /// The datagram of the last look.
    private var looked = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    static func bind(
        on loop: VirtualLoop, to address: SocketAddress, options: DatagramOptions
    ) throws(SystemError) -> VirtualDatagramSocket {
        try loop.network.bind(address) { VirtualDatagramSocket(loop: loop, localAddress: $0, options: options) }
    }

    private init(loop: VirtualLoop, localAddress: SocketAddress, options: DatagramOptions) {
        network = loop.network
        self.options = options
        let sender = VirtualDatagramSender(loop: loop)
        super.init(loop: loop, localAddress: localAddress, reading: options.reading, sender: sender)
        sender.socket = self
    }

    deinit { looked.deallocate() }

    func transmit(_ bytes: [UInt8], to destination: SocketAddress) {
        network.transmit(bytes, from: self, to: destination)
    }

    /// False when the buffer is full.
    func arrived(_ bytes: [UInt8], from source: SocketAddress) -> Bool {
        if let peer, peer != source { return true }
        guard inboxBytes + bytes.count <= options.receiveBuffer ?? 212_992 else { return false }
        inbox.append((bytes, source, loop.now))
        inboxBytes += bytes.count
        scheduleRead()
        return true
    }

    func unreachable(_ destination: SocketAddress) {
        guard !isClosed, options.reportsErrors || peer == destination else { return }
        own.unreachable += 1
        onError?(SystemError(ECONNREFUSED, "send \(destination)"), destination)
    }

    override func readingChanged() { scheduleRead() }

    private func scheduleRead() {
        guard reading != .onDrain, !isReadScheduled, !inbox.isEmpty else { return }
        isReadScheduled = true
        loop.schedule(at: loop.now) { [self] in
            isReadScheduled = false
            if reading != .onDrain { _ = readBatch(64) }
            scheduleRead()
        }
    }

    override func drain(limit: Int = 1024) -> Int {
        var total = 0
        while total < limit, !isClosed, !inbox.isEmpty { total += readBatch(min(64, limit - total)) }
        return total
    }

    override func look(after count: Int) -> Datagram? {
        guard !isClosed, !inbox.isEmpty else { return nil }
        let (bytes, source, at) = inbox.removeFirst()
        own.receiveCalls += 1
        taken(bytes.count, at)
        if looked.count < bytes.count {
            looked.deallocate()
            looked = .allocate(byteCount: bytes.count, alignment: 16)
        }
        looked.copyBytes(from: bytes)
        return Datagram(
            bytes: UnsafeRawBufferPointer(rebasing: looked[..<bytes.count]), source: source == peer ? nil : source,
            arrival: arrival)
    }

    private func taken(_ length: Int, _ at: Instant) {
        arrival = options.stampsArrival ? at : loop.now
        inboxBytes -= length
        own.received += 1
        own.receivedBytes += UInt64(length)
    }

    private func readBatch(_ limit: Int) -> Int {
        guard !isClosed, !inbox.isEmpty else { return 0 }
        let batch = Array(inbox.prefix(limit))
        inbox.removeFirst(batch.count)
        own.receiveCalls += 1
        for (bytes, source, at) in batch {
            taken(bytes.count, at)
            if !isClosed { bytes.withUnsafeBytes { onReceive?($0, source) } }
        }
        if !isClosed { onBatchEnd?() }
        return batch.count
    }

    override func connect(to peer: SocketAddress) throws(SystemError) { self.peer = peer }

    override func disconnect() { peer = nil }

    override var connectedAddress: SocketAddress? {
        guard let peer, !isClosed else { return nil }
        guard localAddress.ip.isUnspecified else { return localAddress }
        return SocketAddress(ip: network.localAddress(toReach: peer.ip), port: localAddress.port)
    }

    override func sendNow(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let peer else { return false }
        return sender.sendNow(bytes, to: peer)
    }

    override var handle: DatagramHandle { VirtualDatagramHandle(self) }

    override func close() {
        guard !isClosed else { return }
        sender.flush()
        isClosed = true
        loop.openSockets -= 1
        network.release(self)
        inbox = []
        onReceive = nil
        onBatchEnd = nil
        onError = nil
    }
}

private final class VirtualDatagramHandle: DatagramHandle, @unchecked Sendable {
    // `@unchecked Sendable`: a virtual loop has one thread.
    private weak var socket: VirtualDatagramSocket?

    init(_ socket: VirtualDatagramSocket) {
        self.socket = socket
        super.init(localAddress: socket.localAddress)
    }

    override func sender(on loop: EventLoop) -> DatagramSender {
        let sender = VirtualDatagramSender(loop: loop)
        sender.socket = socket
        return sender
    }
}

private final class VirtualDatagramSender: DatagramSender, TurnEnd {
    weak var socket: VirtualDatagramSocket?
    private var queue: [(bytes: [UInt8], peer: SocketAddress)] = []

    override func send(_ bytes: UnsafeRawBufferPointer, to peer: SocketAddress) {
        if queue.isEmpty { loop.atTurnEnd(self) }
        queue.append((Array(bytes), peer))
        if queue.count == 64 { flush() }
    }

    func turnEnds() { flush() }

    override func flush() {
        guard !queue.isEmpty else { return }
        let batch = queue
        queue.removeAll(keepingCapacity: true)
        guard let socket, !socket.isClosed else { return }
        counters.sendCalls += 1
        for (bytes, peer) in batch { count(bytes, peer, socket) }
    }

    override func sendNow(_ bytes: UnsafeRawBufferPointer, to peer: SocketAddress) -> Bool {
        guard let socket, !socket.isClosed else { return false }
        counters.sendCalls += 1
        return count(Array(bytes), peer, socket)
    }

    @discardableResult
    private func count(_ bytes: [UInt8], _ peer: SocketAddress, _ socket: VirtualDatagramSocket) -> Bool {
        guard bytes.count <= 65_507 else {
            counters.droppedRefused += 1
            onError?(SystemError(EMSGSIZE, "send \(peer)"), peer)
            return false
        }
        counters.sent += 1
        counters.sentBytes += UInt64(bytes.count)
        socket.transmit(bytes, to: peer)
        return true
    }
}
