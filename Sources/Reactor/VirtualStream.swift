import Basics
import CLinux

/// One end of a stream of the in-memory network: reliable and in order, with a window, so that a reader that pauses stops the writer.
final class VirtualStream: StreamConnection {
    /// What travels from one end to the other.
    private enum Segment {
        case open
        case refused
        case data([UInt8])
        case end
        case reset
    }

    private static let window = 65_536
    private static let segment = 16_384

    private let network: VirtualNetwork
    private let options: StreamOptions
    /// The other end; both let go of each other when both are closed.
    private var other: VirtualStream?
    private var output: [UInt8] = []
    /// Sent, but not read by the other end yet.
    private var inFlight = 0
    private var inbox: [[UInt8]] = []
    private var isFinishing = false
    private var endSent = false
    private var peerSentEnd = false
    private var peerEndTold = false
    private var lastArrival = Instant.zero
    private var timer: LoopTimer?

    init(loop: VirtualLoop, local: SocketAddress, peer: SocketAddress, options: StreamOptions) {
        network = loop.network
        self.options = options
        super.init(loop: loop, localAddress: local, peerAddress: peer)
        loop.openSockets += 1
        network.add(self)
    }

    // Without this line the compiler warns about the trap that it makes here itself.
    override init(loop: EventLoop, localAddress: SocketAddress, peerAddress: SocketAddress) {
        fatalError("a stream of the network is connected or accepted")
    }

    // MARK: Opening

    static func connect(
        on loop: VirtualLoop, to address: SocketAddress, from local: SocketAddress?, timeout: Duration, options: StreamOptions
    ) -> VirtualStream {
        let wanted = local ?? SocketAddress(ip: loop.network.localAddress(toReach: address.ip), port: 0)
        do throws(SystemError) {
            let bound = try loop.network.bindAddress(wanted) { loop.network.isStreamAddressTaken($0) }
            let stream = VirtualStream(loop: loop, local: bound, peer: address, options: options)
            stream.timer = loop.schedule(after: timeout) { stream.finish(with: .timedOut) }
            stream.knock()
            return stream
        } catch {
            let stream = VirtualStream(loop: loop, local: wanted, peer: address, options: options)
            stream.timer = loop.schedule(at: loop.now) { stream.finish(with: .failed(error)) }
            return stream
        }
    }

    /// Asks the listener; a host that is cut off does not hear it, so it waits until `heal` or the timeout.
    private func knock() {
        _ = network.carry(from: localAddress, to: peerAddress, after: .zero) { [self] in
            guard !isClosed else { return }
            guard let listener = network.listener(at: peerAddress), let loop = loop as? VirtualLoop else {
                _ = network.carry(from: peerAddress, to: localAddress, after: .zero) { self.arrived(.refused) }
                return
            }
            let answer = VirtualStream(loop: loop, local: peerAddress, peer: localAddress, options: listener.options)
            answer.other = self
            other = answer
            answer.isOpen = true
            answer.carry(.open)
            listener.accept(answer)
        }
    }

    // MARK: What travels

    private func carry(_ segment: Segment) {
        guard let other else { return }
        lastArrival = network.carry(from: localAddress, to: peerAddress, after: lastArrival) { other.arrived(segment) }
    }

    private func arrived(_ segment: Segment) {
        guard !isClosed else {
            // Bytes for an end that is closed are answered by a reset, as TCP does.
            if case .data = segment { carry(.reset) }
            return
        }
        switch segment {
        case .open:
            timer?.cancel()
            timer = nil
            isOpen = true
            let tell = onOpen
            onOpen = nil
            tell?()
            pump()
        case .refused: finish(with: .failed(SystemError(ECONNREFUSED, "connect \(peerAddress)")))
        case .data(let bytes):
            inbox.append(bytes)
            read()
        case .end:
            peerSentEnd = true
            read()
        case .reset: finish(with: .failed(SystemError(ECONNRESET, "receive from \(peerAddress)")))
        }
    }

    private func read() {
        var freed = 0
        while isReading, !isClosed, !inbox.isEmpty {
            let bytes = inbox.removeFirst()
            freed += bytes.count
            counters.receivedBytes += UInt64(bytes.count)
            bytes.withUnsafeBytes { onReceive?($0) }
        }
        if freed > 0, let other {
            other.inFlight -= freed
            loop.schedule(at: loop.now) { other.pump() }
        }
        if inbox.isEmpty, isReading, peerSentEnd, !peerEndTold, !isClosed { endOfInput() }
    }

    private func endOfInput() {
        peerEndTold = true
        guard let onPeerEnd, !endSent else { return finish(with: .ended) }
        onPeerEnd()
    }

    override func readingChanged() { read() }

    // MARK: Output

    override var queuedBytes: Int { output.count }

    override func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !isClosed, !isFinishing else { return false }
        guard output.count + bytes.count <= options.outputLimit else {
            counters.refused += 1
            return false
        }
        let wasEmpty = output.isEmpty
        output.append(contentsOf: bytes)
        pump()
        if wasEmpty, !output.isEmpty, isOpen { counters.waits += 1 }
        return true
    }

    private func pump() {
        guard isOpen else { return }
        let waited = !output.isEmpty
        while !output.isEmpty, inFlight < Self.window {
            sendSegment(min(output.count, Self.segment, Self.window - inFlight))
        }
        guard output.isEmpty else { return }
        if isFinishing { sendEnd() }
        if waited, !isClosed {
            loop.schedule(at: loop.now) { if !self.isClosed, self.output.isEmpty { self.onDrained?() } }
        }
    }

    private func sendSegment(_ count: Int) {
        counters.sentBytes += UInt64(count)
        inFlight += count
        carry(.data(Array(output.prefix(count))))
        output.removeFirst(count)
    }

    private func sendEnd() {
        guard !endSent else { return }
        endSent = true
        carry(.end)
        if peerEndTold { finish(with: .ended) }
    }

    // MARK: Ends

    override func finish() {
        guard !isClosed, !isFinishing else { return }
        isFinishing = true
        pump()
    }

    override func close() {
        guard !isClosed else { return }
        if isOpen {
            if !output.isEmpty { sendSegment(min(output.count, max(0, Self.window - inFlight))) }
            if !endSent { carry(.end) }
        }
        finish(with: .closed)
    }

    override func abort() {
        guard !isClosed else { return }
        carry(.reset)
        finish(with: .closed)
    }

    private func finish(with reason: StreamEnd) {
        guard !isClosed else { return }
        timer?.cancel()
        timer = nil
        output = []
        inbox = []
        loop.openSockets -= 1
        network.remove(self)
        ended(reason)
        if let other, other.isClosed {
            other.other = nil
            self.other = nil
        }
    }
}

/// A listener of the in-memory network.
final class VirtualListener: StreamListener {
    private let network: VirtualNetwork
    let options: StreamOptions
    private var onAccept: ((StreamConnection) -> Void)?

    init(loop: VirtualLoop, local: SocketAddress, options: StreamOptions, onAccept: @escaping (StreamConnection) -> Void) {
        network = loop.network
        self.options = options
        self.onAccept = onAccept
        super.init(loop: loop, localAddress: local)
    }

    func accept(_ stream: VirtualStream) {
        accepted += 1
        onAccept?(stream)
    }

    override func close() {
        guard !isClosed else { return }
        isClosed = true
        onAccept = nil
        loop.openSockets -= 1
        network.release(self)
    }
}
