// The sockets of SIP. They live on one loop; what they receive is parsed once and handed to the loop that its Call-ID belongs to.
// It answers nothing but what cannot become a message (a broken stream), and knows nothing of transactions.

package import Basics
package import Reactor
package import SIP

/// Where SIP comes in and goes out. Belongs to its loop; other loops send through `SignalingSender`. What each message touches is
/// `@exclusivity(unchecked)`, as in `SIPEndpoint`.
package final class SignalingFront {
    package let loop: EventLoop
    private let listeners: [EngineSettings.Listener]
    private let segmentation: DatagramSegmentation
    private let external: IPAddress?
    @exclusivity(unchecked) private var sockets: [DatagramSocket] = []
    private var streamListeners: [StreamListener] = []
    private let streams: SIPStreams
    private let secure: SecureStreams
    private let channels: SIPChannels
    /// For all loops.
    package let addresses = StreamAddresses()
    @exclusivity(unchecked) private var counted = SignalingCounters()
    /// Each whole message with its way and the local address that it came to, parsed and indexed but not yet checked.
    @exclusivity(unchecked) package var onMessage: ((Message, Hop) -> Void)?
    /// Sending to this peer failed, or its stream ended: transactions that wait for it learn it, with the reason in words.
    @exclusivity(unchecked) package var onFailure: ((Hop, String) -> Void)?
    /// What an operator wants to know about streams.
    package var onNotice: ((SignalingNotice) -> Void)? {
        get { secure.onNotice }
        set { secure.onNotice = newValue }
    }
    package let hostNames: HostNames
    /// Where this end is reached; complete once `start` was called.
    @exclusivity(unchecked) package private(set) var addressing: LocalAddressing

    /// ECONNREFUSED: an ICMP error says that nobody listens there.
    private static let connectionRefused: Int32 = 111

    /// - Parameter tls: for streams of TLS; a listener of them needs a certificate.
    /// - Parameter segmentation: see `EngineSettings.segmentation`.
    package init(
        loop: EventLoop, listeners: [EngineSettings.Listener], streams limits: EngineSettings.Streams,
        segmentation: DatagramSegmentation, external: IPAddress?, tls: TLSContext?, hostNames: HostNames
    ) {
        self.loop = loop
        self.segmentation = segmentation
        self.listeners = listeners
        self.external = external
        self.hostNames = hostNames
        streams = SIPStreams(loop: loop, limits: limits, addresses: addresses, hostNames: hostNames)
        secure = SecureStreams(loop: loop, context: tls, hostNames: hostNames)
        channels = SIPChannels(hostNames: hostNames)
        addressing = LocalAddressing(listeners: [], external: external, streams: addresses)
    }

    package var counters: SignalingCounters {
        var sum = counted
        sum.segmented = sockets.reduce(0) { $0 + $1.counters.segmented }
        sum.received += streams.counters.received + channels.counters.received
        sum.malformed += streams.counters.malformed
        sum.streamsOpened = streams.counters.streamsOpened + channels.counters.streamsOpened
        sum.streamsAccepted = streams.counters.streamsAccepted + channels.counters.streamsAccepted
        sum.streamsRefused =
            streams.counters.streamsRefused + secure.counters.streamsRefused + channels.counters.streamsRefused
        sum.handshakes = secure.counters.handshakes
        sum.handshakesResumed = secure.counters.handshakesResumed
        sum.handshakesFailed = secure.counters.handshakesFailed
        return sum
    }

    /// What is listened on, with the ports that the system chose.
    package var boundListeners: [EngineSettings.Listener] { addressing.listeners }

    /// Opens everything; on an error nothing is left open.
    package func start() throws(SystemError) {
        do throws(SystemError) {
            var bound: [EngineSettings.Listener] = []
            for listener in listeners { bound.append(.init(listener.transport, try open(listener))) }
            addressing = LocalAddressing(listeners: bound, external: external, streams: addresses)
        } catch {
            close()
            throw error
        }
        // All of them let go of it in `close`. A weak reference would make every count of references to it slower.
        streams.onMessage = { [self] message, hop in onMessage?(message, hop) }
        streams.onBroken = { [self] error, head, hop in refuse(error, head, hop) }
        streams.onEnd = { [self] hop, end in ended(hop, end) }
        streams.opener = { [self] hop in openStream(to: hop) }
        channels.onMessage = { [self] octets, hop in received(octets, from: hop) }
        channels.onEnd = { [self] hop, reason in
            if hop.host != 0 { onNotice?(.failed(reason)) }
            onFailure?(hop, reason)
        }
    }

    /// Takes a WebSocket that a peer has opened; what happens on it is told by what comes back.
    package func accept(
        _ channel: any MessageChannel, over transport: EngineSettings.Listener.Transport, from peer: IPAddress
    ) -> ChannelEvents {
        channels.accept(channel, over: transport.onTheWire, from: peer)
    }

    /// Opens WebSockets to servers from now on.
    package func use(_ opener: @escaping ChannelOpener) { channels.opener = opener }

    /// Peers of these networks may have requests to them sent by TCP connections that they have opened (RFC 5923).
    package func trust(_ networks: [IPNetwork]) { streams.trusted = networks }

    /// Other certificates and rules of TLS for connections from now on.
    package func use(_ tls: TLSContext) { secure.context = tls }

    package func close() {
        for socket in sockets { socket.close() }
        for listener in streamListeners { listener.close() }
        sockets = []
        streamListeners = []
        secure.closeAll()
        channels.closeAll()
        streams.closeAll()
    }

    private func open(_ listener: EngineSettings.Listener) throws(SystemError) -> SocketAddress {
        switch listener.transport {
        case .udp:
            var options = DatagramOptions()
            options.reading = .paced
            options.receiveBuffer = 4 << 20
            options.sendBuffer = 4 << 20
            options.reportsErrors = true
            options.sendQueueLimit = 8192
            options.segmentation = segmentation
            options.v6Only = hasOwnIPv4(listener)
            let socket = try loop.bindDatagram(to: listener.address, options: options)
            let index = sockets.count
            sockets.append(socket)
            socket.onReceive = { [self] bytes, source in
                received(bytes, from: source, socket: index)
            }
            socket.onError = { [self] error, peer in
                counted.sendFailures += 1
                if error.number == Self.connectionRefused { counted.refusedDatagrams += 1 }
                if let peer { onFailure?(Hop(transport: .udp, address: peer, connection: UInt32(index + 1)), "") }
            }
            return socket.localAddress
        case .tcp:
            var options = StreamOptions()
            options.v6Only = hasOwnIPv4(listener)
            let opened = try loop.listen(on: listener.address, options: options) { [self] stream in
                streams.accept(stream, over: .tcp)
            }
            streamListeners.append(opened)
            return opened.localAddress
        case .tls:
            precondition(secure.context?.canServe == true, "a listener of TLS has a certificate")
            var options = SecureStreams.listenOptions
            options.v6Only = hasOwnIPv4(listener)
            let opened = try loop.listen(on: listener.address, options: options) { [self] stream in
                secure.accept(stream) { self.streams.accept($0, over: .tls) }
            }
            streamListeners.append(opened)
            return opened.localAddress
        case .ws, .wss: return listener.address
        }
    }

    /// IPv4 has a listener of its own on the same port; otherwise one of IPv6 takes both.
    private func hasOwnIPv4(_ listener: EngineSettings.Listener) -> Bool {
        listener.address.port != 0
            && listeners.contains {
                $0.transport == listener.transport && $0.address.port == listener.address.port && !$0.address.ip.isV6
            }
    }

    private func openStream(to hop: Hop) -> StreamConnection? {
        switch hop.transport {
        case .tcp: loop.openStream(to: hop.address)
        case .tls: secure.open(to: hop)
        case .udp, .ws, .wss, .other: nil
        }
    }

    private func ended(_ hop: Hop, _ end: StreamEnd) {
        let reason = end.words(about: hop.address)
        if hop.host != 0, case .insecure = end { onNotice?(.failed(reason)) }
        onFailure?(hop, reason)
    }

    // MARK: In

    private func received(_ bytes: UnsafeRawBufferPointer, from source: SocketAddress, socket: Int) {
        // Keep-alives of a few octets (RFC 5626 section 3.5, and what many phones send: NUL, CRLF) and STUN are no messages.
        guard bytes.count > 8, bytes[0] > 0x20 || bytes[0] == 13 || bytes[0] == 10 else {
            counted.garbage += 1
            return
        }
        counted.received += 1
        received([UInt8](bytes), from: Hop(transport: .udp, address: source, connection: UInt32(socket + 1)))
    }

    private func received(_ octets: [UInt8], from hop: Hop) {
        do throws(ParseError) {
            onMessage?(try Message(parsing: octets), hop)
        } catch {
            counted.garbage += 1
        }
    }

    /// A stream that cannot be followed is answered once, when its last head was a request's.
    private func refuse(_ error: ParseError, _ head: [UInt8], _ hop: Hop) {
        guard let message = try? Message(parsing: head), message.isRequest, message.method != .ack else { return }
        send(message.response(error.status, source: hop.address), to: hop)
    }

    // MARK: Out

    package func send(_ octets: [UInt8], to hop: Hop) {
        octets.withUnsafeBytes { send($0, to: hop) }
    }

    /// Sends one message; a failure is reported by `onFailure`, in a later turn.
    package func send(_ bytes: UnsafeRawBufferPointer, to hop: Hop) {
        counted.sent += 1
        switch hop.transport {
        case .udp: if let index = addressing.socket(for: hop, on: loop) { return sockets[index].send(bytes, to: hop.address) }
        case .ws, .wss: if channels.send([UInt8](bytes), to: hop) { return }
        case .tcp, .tls, .other: if streams.send(bytes, to: hop) { return }
        }
        counted.sendFailures += 1
        loop.schedule(at: loop.now) { [self] in onFailure?(hop, "") }
    }

    /// A stream of a kind that is not listened for is opened now: its own address is where the peer reaches this end.
    package func localAddress(to hop: Hop) -> SocketAddress {
        if hop.transport == .tcp || hop.transport == .tls, !addressing.listens(over: hop.transport) { streams.connect(to: hop) }
        return addressing.address(to: hop, on: loop)
    }

    /// Sends the datagrams that wait for the end of the turn, now.
    package func flush() {
        for socket in sockets { socket.flush() }
    }

    /// What other loops need to send datagrams by themselves.
    package var datagramHandles: [DatagramHandle] { sockets.map(\.handle) }
}
