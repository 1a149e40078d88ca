// SIP over streams (RFC 3261 section 18): the connections that were accepted or opened, one framer each. A connection is used again
// for whatever goes to its peer. It knows nothing of transactions.

import Basics
import Reactor
import SIP

/// The streams of a front. Belongs to the front's loop.
final class SIPStreams {
    /// A stream, from its first octet to its end.
    private final class Entry {
        let number: UInt32
        let stream: StreamConnection
        var framer = StreamFramer()
        var lastUse: Instant

        init(number: UInt32, stream: StreamConnection, at now: Instant) {
            self.number = number
            self.stream = stream
            lastUse = now
        }
    }

    private let loop: EventLoop
    private var entries: [UInt32: Entry] = [:]
    /// The newest stream to each peer.
    private var byPeer: [SocketAddress: UInt32] = [:]
    private var made: UInt32 = 0
    private var sweeping: LoopTimer?
    private let limits: EngineSettings.Streams

    var counters = SignalingCounters()
    var onMessage: (([UInt8], Hop, SocketAddress) -> Void)?
    /// The head of a message at which a stream had to be given up, for an answer before it is closed.
    var onBroken: ((ParseError, [UInt8], Hop) -> Void)?
    /// A stream ended that had not been asked to: whoever waits for an answer on it learns it.
    var onEnd: ((Hop, StreamEnd) -> Void)?

    init(loop: EventLoop, limits: EngineSettings.Streams) {
        self.loop = loop
        self.limits = limits
    }

    var count: Int { entries.count }

    func accept(_ stream: StreamConnection) {
        guard entries.count < limits.limit else {
            counters.streamsRefused += 1
            return stream.abort()
        }
        counters.streamsAccepted += 1
        adopt(stream)
    }

    /// Sends by the hop's connection, by another one to the same peer, or by a new one. False when it could not even be queued.
    func send(_ bytes: UnsafeRawBufferPointer, to hop: Hop) -> Bool {
        let entry = entries[hop.connection] ?? byPeer[hop.address].flatMap { entries[$0] } ?? open(hop.address)
        guard let entry else { return false }
        entry.lastUse = loop.now
        return entry.stream.send(bytes)
    }

    /// The address of this end of the stream to `peer`, when one stands.
    func localAddress(to peer: SocketAddress) -> SocketAddress? {
        byPeer[peer].flatMap { entries[$0] }.flatMap { $0.stream.isOpen ? $0.stream.localAddress : nil }
    }

    func closeAll() {
        sweeping?.cancel()
        sweeping = nil
        onEnd = nil
        for entry in entries.values { entry.stream.close() }
        entries.removeAll()
        byPeer.removeAll()
    }

    private func open(_ peer: SocketAddress) -> Entry? {
        guard entries.count < limits.limit else {
            counters.streamsRefused += 1
            return nil
        }
        counters.streamsOpened += 1
        return adopt(loop.openStream(to: peer, timeout: .seconds(10)))
    }

    @discardableResult
    private func adopt(_ stream: StreamConnection) -> Entry {
        made &+= 1
        let entry = Entry(number: made, stream: stream, at: loop.now)
        entries[made] = entry
        byPeer[stream.peerAddress] = made
        stream.onReceive = { [weak self, weak entry] bytes in
            guard let self, let entry else { return }
            received(bytes, entry)
        }
        stream.onClose = { [weak self, weak entry] end in
            guard let self, let entry else { return }
            closed(entry, end)
        }
        sweep()
        return entry
    }

    private func hop(of entry: Entry) -> Hop {
        Hop(transport: .tcp, address: entry.stream.peerAddress, connection: entry.number)
    }

    private func received(_ bytes: UnsafeRawBufferPointer, _ entry: Entry) {
        entry.lastUse = loop.now
        entry.framer.append(bytes)
        while let event = entry.framer.next() {
            switch event {
            case .message(let octets):
                counters.received += 1
                onMessage?(octets, hop(of: entry), entry.stream.localAddress)
            case .ping: entry.stream.send([13, 10])
            case .pong: break
            case .broken(let error, let head):
                counters.malformed += 1
                onBroken?(error, head, hop(of: entry))
                // What was answered still goes out; the rest of the stream can't be understood.
                entry.stream.finish()
                entry.stream.close()
            }
            if entry.stream.isClosed { return }
        }
    }

    private func closed(_ entry: Entry, _ end: StreamEnd) {
        entries[entry.number] = nil
        if byPeer[entry.stream.peerAddress] == entry.number { byPeer[entry.stream.peerAddress] = nil }
        onEnd?(hop(of: entry), end)
    }

    /// Closes idle streams. The next look is when the one that rests longest may be due, and not sooner than in a second.
    private func sweep() {
        guard sweeping == nil, let oldest = entries.values.map(\.lastUse).min() else { return }
        sweeping = loop.schedule(at: max(oldest + limits.idle, loop.now + .seconds(1))) { [weak self] in
            guard let self else { return }
            sweeping = nil
            let limit = loop.now - limits.idle
            for entry in entries.values where entry.lastUse <= limit { entry.stream.close() }
            sweep()
        }
    }
}
