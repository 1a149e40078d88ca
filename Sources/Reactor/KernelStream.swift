import Basics
import CLinux

/// A TCP connection of the kernel.
final class KernelStream: StreamConnection, TurnEnd {
    private let epoll: EpollLoop
    private var watcher: Watcher?
    private let options: StreamOptions
    private var output: [UInt8] = []
    private var outputHead = 0
    /// What a turn writes goes out together at its end, which is still to come.
    private var isGathering = false
    /// More than that goes out at once.
    private static let gatheredLimit = 65_536
    private var isConnecting = false
    private var isFinishing = false
    private var peerEnded = false
    /// The kernel does not tell of input: the loop looks by itself.
    private var isInputGathering = false
    private var watched = EPOLL_EVENTS(0)
    private var timer: LoopTimer?

    private init(loop: EpollLoop, local: SocketAddress, peer: SocketAddress, options: StreamOptions) {
        epoll = loop
        self.options = options
        super.init(loop: loop, localAddress: local, peerAddress: peer)
        loop.openSockets += 1
    }

    // Without this line the compiler warns about the trap that it makes here itself.
    override init(loop: EventLoop, localAddress: SocketAddress, peerAddress: SocketAddress) {
        fatalError("a stream of the kernel is connected or accepted")
    }

    // MARK: Opening

    static func connect(
        on loop: EpollLoop, to address: SocketAddress, from local: SocketAddress?, timeout: Duration, options: StreamOptions
    ) -> KernelStream {
        let unknown = SocketAddress(ip: address.ip.isV6 ? .any6 : .any4, port: 0)
        let stream = KernelStream(loop: loop, local: local ?? unknown, peer: address, options: options)
        stream.isConnecting = true
        do throws(SystemError) {
            try stream.start(from: local)
            stream.timer = loop.schedule(after: timeout) { stream.finish(with: .timedOut) }
        } catch {
            // What fails at once is told in the next turn, when the caller has set its handlers.
            stream.timer = loop.schedule(at: loop.now) { stream.finish(with: .failed(error)) }
        }
        return stream
    }

    private func start(from local: SocketAddress?) throws(SystemError) {
        let descriptor = try KernelSocket.make(stream: true, for: peerAddress.ip)
        var address = KernelAddress(peerAddress, forV6: peerAddress.ip.isV6)
        try KernelSocket.closing(descriptor) { () throws(SystemError) in
            try Self.apply(options, to: descriptor)
            if let local { try KernelSocket.bind(descriptor, to: local) }
            switch SystemCall.attempt({ address.withPointer { CLinux.connect(descriptor, $0, $1.pointee) } }) {
            case .done, .failed(EINPROGRESS): break
            case .notNow: throw SystemError(EAGAIN, "connect \(peerAddress)")
            case .failed(let number): throw SystemError(number, "connect \(peerAddress)")
            }
            let watcher = StreamWatcher(descriptor: descriptor)
            watcher.stream = self
            try epoll.watch(watcher, for: EPOLLOUT)
            // The system has chosen the port by now.
            if let local = try? KernelSocket.localAddress(descriptor) { localAddress = local }
            watched = EPOLLOUT
            self.watcher = watcher
        }
    }

    static func accepted(
        on loop: EpollLoop, descriptor: Int32, local: SocketAddress, peer: SocketAddress, options: StreamOptions
    ) throws(SystemError) -> KernelStream {
        let stream = KernelStream(loop: loop, local: local, peer: peer, options: options)
        do throws(SystemError) {
            try KernelSocket.closing(descriptor) { () throws(SystemError) in
                try apply(options, to: descriptor)
                let watcher = StreamWatcher(descriptor: descriptor)
                watcher.stream = stream
                try loop.watch(watcher, for: EPOLLIN)
                stream.watched = EPOLLIN
                stream.watcher = watcher
            }
        } catch {
            stream.finish(with: .failed(error))
            throw error
        }
        stream.isOpen = true
        return stream
    }

    private static func apply(_ options: StreamOptions, to descriptor: Int32) throws(SystemError) {
        let tcp = Int32(IPPROTO_TCP)
        if options.noDelay { try SystemCall.setOption(descriptor, tcp, TCP_NODELAY, 1, "TCP_NODELAY") }
        if let idle = options.keepAlive {
            let seconds = Int32(clamping: max(1, idle.components.seconds))
            try SystemCall.setOption(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE")
            try SystemCall.setOption(descriptor, tcp, TCP_KEEPIDLE, seconds, "TCP_KEEPIDLE")
            try SystemCall.setOption(descriptor, tcp, TCP_KEEPINTVL, max(1, seconds / 3), "TCP_KEEPINTVL")
            try SystemCall.setOption(descriptor, tcp, TCP_KEEPCNT, 3, "TCP_KEEPCNT")
        }
    }

    private func connected(_ descriptor: Int32) {
        var number: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &length)
        guard number == 0 else { return finish(with: .failed(SystemError(number, "connect \(peerAddress)"))) }
        timer?.cancel()
        timer = nil
        isConnecting = false
        isOpen = true
        if let local = try? KernelSocket.localAddress(descriptor) { localAddress = local }
        watchWhatIsNeeded()
        let tell = onOpen
        onOpen = nil
        tell?()
        if !isClosed { pump() }
    }

    // MARK: Events

    fileprivate func ready(_ events: UInt32) {
        // A handler may drop the last reference to the stream.
        withExtendedLifetime(self) {
            guard let descriptor = watcher?.descriptor else { return }
            if isConnecting { return connected(descriptor) }
            if events & EPOLLOUT.rawValue != 0 { pump() }
            if events & (EPOLLIN.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0, !isClosed { read(descriptor) }
        }
    }

    /// The kernel has told of input; in a busy loop what comes next gathers.
    private func read(_ descriptor: Int32) {
        guard receive(descriptor) > 0, !isInputGathering, isReading, let watcher, epoll.letsGather(watcher) else { return }
        isInputGathering = true
        watchWhatIsNeeded()
    }

    fileprivate func readGathered() -> (count: Int, hasMore: Bool)? {
        withExtendedLifetime(self) {
            // What an earlier one of this look heard may have stopped the reading of this one, and so may its own input.
            guard isInputGathering, let descriptor = watcher?.descriptor else { return nil }
            let count = receive(descriptor)
            return isInputGathering ? (count, count == LoopBuffers.streamBufferSize) : nil
        }
    }

    fileprivate func gatheringEnds() {
        isInputGathering = false
        watchWhatIsNeeded()
    }

    /// Reads once; returns how much came.
    private func receive(_ descriptor: Int32) -> Int {
        let buffer = epoll.buffers.takeStreamBuffer()
        defer { epoll.buffers.giveBack(buffer) }
        switch SystemCall.attempt({ recv(descriptor, buffer.baseAddress, buffer.count, 0) }) {
        case .done(0): endOfInput()
        case .done(let count):
            counters.receivedBytes += UInt64(count)
            onReceive?(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            return count
        case .notNow: break
        case .failed(let number): finish(with: .failed(SystemError(number, "receive from \(peerAddress)")))
        }
        return 0
    }

    private func endOfInput() {
        guard !peerEnded else { return finish(with: .ended) }
        peerEnded = true
        isInputGathering = false
        guard let onPeerEnd, !(isFinishing && output.isEmpty) else { return finish(with: .ended) }
        watchWhatIsNeeded()
        onPeerEnd()
    }

    private func watchWhatIsNeeded() {
        guard let watcher else { return }
        var events: UInt32 = 0
        if isConnecting || (!output.isEmpty && !isGathering) { events |= EPOLLOUT.rawValue }
        if isReading, !peerEnded, !isConnecting, !isInputGathering { events |= EPOLLIN.rawValue }
        guard events != watched.rawValue else { return }
        watched = EPOLL_EVENTS(events)
        epoll.change(watcher, to: watched)
    }

    override func readingChanged() {
        loop.preconditionOnLoop()
        if !isReading, isInputGathering, let watcher {
            epoll.endGathering(watcher)
            isInputGathering = false
        }
        watchWhatIsNeeded()
    }

    // MARK: Output

    override var queuedBytes: Int { output.count - outputHead }

    override func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        loop.preconditionOnLoop()
        guard !isClosed, !isFinishing else { return false }
        if isGathering, output.count + bytes.count > Self.gatheredLimit { writeGathered() }
        guard queuedBytes + bytes.count <= options.outputLimit else {
            counters.refused += 1
            return false
        }
        if output.isEmpty, !isConnecting, !bytes.isEmpty {
            isGathering = true
            loop.atTurnEnd(self)
        }
        output.append(contentsOf: bytes)
        return true
    }

    private func writeGathered() {
        guard isGathering, let descriptor = watcher?.descriptor, !output.isEmpty else { return }
        isGathering = false
        switch output.withUnsafeBytes({ Self.write(descriptor, $0) }) {
        case .done(let count):
            counters.sentBytes += UInt64(count)
            if count == output.count {
                output.removeAll(keepingCapacity: output.capacity <= Self.gatheredLimit)
                if isFinishing { shutdownOutput() }
                return
            }
            outputHead = count
        case .notNow: break
        case .failed: break  // Told by the loop when it reads: nothing ends inside a call of the owner.
        }
        counters.waits += 1
        watchWhatIsNeeded()
    }

    private static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> SystemCall.Outcome {
        SystemCall.attempt { CLinux.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
    }

    func turnEnds() { writeGathered() }

    /// One write a turn.
    private func pump() {
        isGathering = false
        guard let descriptor = watcher?.descriptor, !output.isEmpty else { return }
        let outcome = output.withUnsafeBytes { Self.write(descriptor, UnsafeRawBufferPointer(rebasing: $0[outputHead...])) }
        switch outcome {
        case .done(let count):
            counters.sentBytes += UInt64(count)
            outputHead += count
        case .notNow: break
        case .failed(let number): return finish(with: .failed(SystemError(number, "send to \(peerAddress)")))
        }
        if outputHead == output.count {
            output.removeAll(keepingCapacity: output.capacity <= 65_536)
            outputHead = 0
            watchWhatIsNeeded()
            if isFinishing { shutdownOutput() }
            if !isClosed { onDrained?() }
        } else {
            if outputHead > 65_536 {
                output.removeFirst(outputHead)
                outputHead = 0
            }
            watchWhatIsNeeded()
        }
    }

    // MARK: Ends

    override func finish() {
        loop.preconditionOnLoop()
        guard !isClosed, !isFinishing else { return }
        isFinishing = true
        if output.isEmpty, !isConnecting { shutdownOutput() }
    }

    private func shutdownOutput() {
        guard let descriptor = watcher?.descriptor else { return }
        _ = SystemCall.attempt { shutdown(descriptor, Int32(SHUT_WR)) }
        if peerEnded { finish(with: .ended) }
    }

    override func close() {
        loop.preconditionOnLoop()
        guard !isClosed else { return }
        if let descriptor = watcher?.descriptor, !isConnecting, !output.isEmpty {
            _ = output.withUnsafeBytes { Self.write(descriptor, UnsafeRawBufferPointer(rebasing: $0[outputHead...])) }
        }
        finish(with: .closed)
    }

    override func abort() {
        loop.preconditionOnLoop()
        guard !isClosed else { return }
        if let descriptor = watcher?.descriptor {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        }
        finish(with: .closed)
    }

    fileprivate func finish(with reason: StreamEnd) {
        guard !isClosed else { return }
        timer?.cancel()
        timer = nil
        if let watcher {
            epoll.unwatch(watcher)
            SystemCall.close(watcher.descriptor)
        }
        watcher = nil
        output = []
        outputHead = 0
        loop.openSockets -= 1
        ended(reason)
    }

    fileprivate func loopEnds() {
        onClose = nil
        finish(with: .closed)
    }
}

/// The loop holds the watcher, which holds the stream: an open stream lives without any other owner.
private final class StreamWatcher: Watcher {
    var stream: KernelStream?

    override func ready(_ events: UInt32) { stream?.ready(events) }
    override func readGathered() -> (count: Int, hasMore: Bool)? { stream?.readGathered() }
    override func gatheringEnds() { stream?.gatheringEnds() }
    override func loopEnds() { stream?.loopEnds() }
}
