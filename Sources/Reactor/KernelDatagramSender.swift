// Sending through a socket of the kernel: by its own loop, or by another one through a handle.

import Basics
import CLinux

final class KernelDatagramHandle: DatagramHandle, @unchecked Sendable {
    // `@unchecked Sendable`: constants, and a descriptor that is guarded against use after its end.
    private let shared: SharedDescriptor
    private let isV6: Bool
    private let options: DatagramOptions

    init(localAddress: SocketAddress, shared: SharedDescriptor, isV6: Bool, options: DatagramOptions) {
        self.shared = shared
        self.isV6 = isV6
        self.options = options
        super.init(localAddress: localAddress)
    }

    override func sender(on loop: EventLoop) -> DatagramSender {
        guard let epoll = loop as? EpollLoop else { preconditionFailure("the kernel's sockets belong to an EpollLoop") }
        loop.preconditionOnLoop()
        return KernelDatagramSender(loop: epoll, shared: shared, isV6: isV6, options: options)
    }
}

/// Sends in batches, from any loop.
final class KernelDatagramSender: DatagramSender, TurnEnd {
    private let epoll: EpollLoop
    private let shared: SharedDescriptor
    private let isV6: Bool
    private let limit: Int
    private let segmentation: DatagramSegmentation
    /// Until then everything goes one by one: the system refused what it should have cut.
    @exclusivity(unchecked) private var unsegmentedUntil = Instant.zero
    @exclusivity(unchecked) private var queue: SendQueue?
    @exclusivity(unchecked) private var isBlocked = false
    /// A connected socket's peer.
    @exclusivity(unchecked) var peer: SocketAddress?
    /// The open descriptor, for the socket's own sender: only its loop closes it, so nothing guards it there. Else -1.
    @exclusivity(unchecked) var owned: Int32 = -1

    /// How long a socket that takes no more is left alone: its queue empties at the speed of the interface.
    private static let pause = Duration.milliseconds(1)
    /// How long a system that refused to cut is not asked again: the path to one peer may be narrower.
    private static let unsegmentedTime = Duration.seconds(10)
    /// What refuses to cut: no such option (before Linux 4.18), a path that takes no segment of that length, an interface that cannot sum up.
    private static let refusals: [Int32] = [EINVAL, EMSGSIZE, EIO, EOPNOTSUPP]

    init(loop: EpollLoop, shared: SharedDescriptor, isV6: Bool, options: DatagramOptions) {
        epoll = loop
        self.shared = shared
        self.isV6 = isV6
        limit = options.sendQueueLimit
        segmentation = options.segmentation
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

    private var mayCut: Bool {
        switch segmentation {
        case .off: false
        case .on: epoll.now >= unsegmentedUntil
        case .auto: epoll.now >= unsegmentedUntil && !epoll.buffers.captures.isCapturing(at: epoll.now)
        }
    }

    private func flush(_ queue: SendQueue, _ descriptor: Int32) {
        var repeated = false
        while queue.count > 0 {
            counters.sendCalls += 1
            let headers = epoll.buffers.headers
            switch queue.sendSome(descriptor, headers, segmented: queue.count > 1 && mayCut) {
            case .done(let count):
                for index in queue.head..<queue.head + count { counters.sentBytes += UInt64(queue.entries[index].length) }
                counters.sent += UInt64(count)
                counters.segmented += UInt64(headers.segmented)
                queue.head += count
                repeated = false
            case .notNow:
                counters.blocked += 1
                return
            case .failed(let number) where headers.runs[0] > 1 && Self.refusals.contains(number):
                unsegmentedUntil = epoll.now + Self.unsegmentedTime
            case .failed(let number):
                // The error may be the network's report about an earlier datagram: this one gets a second chance.
                let mustDrop = failed(number, queue.entries[queue.head].address.address, isRepeat: repeated)
                repeated = !mustDrop
                if mustDrop { queue.head += 1 }
            }
        }
    }

    override func sendNow(_ bytes: UnsafeRawBufferPointer, to peer: SocketAddress) -> Bool {
        var address = KernelAddress(peer, forV6: isV6)
        let length = self.peer == peer ? 0 : address.length
        return address.withPointer { pointer, _ in
            let target = length == 0 ? nil : UnsafePointer(pointer)
            if owned >= 0 { return sendNow(bytes, to: peer, target, length, owned) }
            return shared.use { sendNow(bytes, to: peer, target, length, $0) } ?? false
        }
    }

    /// Goes on when the socket's own attempt to send to its connected peer gave `first`.
    func sendNow(_ bytes: UnsafeRawBufferPointer, after first: SystemCall.Outcome) -> Bool {
        guard owned >= 0, let peer else { return false }
        return sendNow(bytes, to: peer, nil, 0, owned, after: first)
    }

    /// `address` is nil for a connected socket's peer.
    @inline(__always)
    private func sendNow(
        _ bytes: UnsafeRawBufferPointer, to peer: SocketAddress, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t,
        _ descriptor: Int32, after first: SystemCall.Outcome? = nil
    ) -> Bool {
        func attempt() -> SystemCall.Outcome {
            counters.sendCalls &+= 1
            return SystemCall.attempt { rw_send(descriptor, bytes.baseAddress, UInt(bytes.count), address, length) }
        }
        var outcome = first ?? attempt()
        var repeated = false
        while true {
            switch outcome {
            case .done(let count):
                counters.sent &+= 1
                counters.sentBytes &+= UInt64(count)
                return true
            case .notNow:
                counters.blocked += 1
                counters.droppedFull += 1
                return false
            case .failed(let number):
                guard !failed(number, peer, isRepeat: repeated) else { return false }
                repeated = true
                outcome = attempt()
            }
        }
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
