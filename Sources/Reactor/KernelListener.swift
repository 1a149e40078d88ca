import Basics
import CLinux

/// A TCP listener of the kernel.
final class KernelListener: StreamListener {
    private let epoll: EpollLoop
    private let watcher: ListenWatcher
    private let options: StreamOptions
    private var onAccept: ((StreamConnection) -> Void)?
    private var pause: LoopTimer?

    static func listen(
        on loop: EpollLoop, address: SocketAddress, options: StreamOptions, onAccept: @escaping (StreamConnection) -> Void
    ) throws(SystemError) -> KernelListener {
        let descriptor = try KernelSocket.make(stream: true, for: address.ip, v6Only: options.v6Only)
        return try KernelSocket.closing(descriptor) { () throws(SystemError) -> KernelListener in
            try SystemCall.setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1, "SO_REUSEADDR")
            if options.reusePort { try SystemCall.setOption(descriptor, SOL_SOCKET, SO_REUSEPORT, 1, "SO_REUSEPORT") }
            try KernelSocket.bind(descriptor, to: address)
            try SystemCall.check("listen \(address)") { CLinux.listen(descriptor, Int32(clamping: options.backlog)) }
            let watcher = ListenWatcher(descriptor: descriptor)
            let local = try KernelSocket.localAddress(descriptor)
            try loop.watch(watcher, for: EPOLLIN)
            return KernelListener(loop: loop, local: local, watcher: watcher, options: options, onAccept: onAccept)
        }
    }

    private init(
        loop: EpollLoop, local: SocketAddress, watcher: ListenWatcher, options: StreamOptions,
        onAccept: @escaping (StreamConnection) -> Void
    ) {
        epoll = loop
        self.watcher = watcher
        self.options = options
        self.onAccept = onAccept
        super.init(loop: loop, localAddress: local)
        watcher.listener = self
    }

    /// A few each turn.
    fileprivate func ready() {
        for _ in 0..<16 {
            guard !isClosed else { return }
            var address = KernelAddress()
            let outcome = SystemCall.attempt { address.withPointer { rw_accept(watcher.descriptor, $0, $1) } }
            switch outcome {
            case .done(let descriptor): accept(Int32(descriptor), from: address.address)
            case .notNow: return
            case .failed(let number):
                failures += 1
                // Without descriptors or memory it would fail again at once: look again in a while.
                if number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM { return rest() }
            }
        }
    }

    private func accept(_ descriptor: Int32, from peer: SocketAddress) {
        let local = (try? KernelSocket.localAddress(descriptor)) ?? localAddress
        guard
            let stream = try? KernelStream.accepted(
                on: epoll, descriptor: descriptor, local: local, peer: peer, options: options)
        else {
            failures += 1
            return
        }
        accepted += 1
        onAccept?(stream)
    }

    private func rest() {
        epoll.change(watcher, to: EPOLL_EVENTS(0))
        pause = epoll.schedule(after: .milliseconds(100)) { self.epoll.change(self.watcher, to: EPOLLIN) }
    }

    override func close() {
        loop.preconditionOnLoop()
        guard !isClosed else { return }
        isClosed = true
        pause?.cancel()
        epoll.unwatch(watcher)
        SystemCall.close(watcher.descriptor)
        watcher.listener = nil
        onAccept = nil
        loop.openSockets -= 1
    }
}

private final class ListenWatcher: Watcher {
    var listener: KernelListener?

    override func ready(_ events: UInt32) { listener?.ready() }
    override func loopEnds() { listener?.close() }
}
