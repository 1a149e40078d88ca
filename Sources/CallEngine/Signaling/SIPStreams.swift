// SIP over streams (RFC 3261 section 18): the connections that were accepted or opened, one framer each. A connection is used again
// for whatever goes to its peer (RFC 5923: for TLS only under the host name that the peer has proved). It knows nothing of transactions.

import Basics
import Reactor
import SIP

/// The streams of a front. Belongs to the front's loop.
final class SIPStreams {
    /// Who is at the other end.
    private struct Peer: Hashable {
        var transport: Transport
        var address: SocketAddress
        var host: UInt32
    }

    /// A stream, from its first octet to its end.
    private final class Entry {
        let number: UInt32
        let stream: StreamConnection
        let peer: Peer
        let isOurs: Bool
        var framer = StreamFramer()
        var lastUse: Instant
        let since: Instant
        var keepAlive = StreamKeepAlive()
        /// A whole message has come.
        var hasSpoken = false
        /// Its first request has been looked at for an alias; what came of it.
        var wasAsked = false
        var alias: SocketAddress?
        /// The peer sends no more, and waits for answers.
        var isHalf = false
        /// Requests that came and final answers that went.
        var asked = 0
        var answered = 0

        init(number: UInt32, stream: StreamConnection, peer: Peer, isOurs: Bool, at now: Instant) {
            self.number = number
            self.stream = stream
            self.peer = peer
            self.isOurs = isOurs
            lastUse = now
            since = now
        }

        /// It was accepted and has brought no whole message.
        var isSilent: Bool { !isOurs && !hasSpoken }

        var hop: Hop { Hop(transport: peer.transport, address: peer.address, connection: number, host: peer.host) }
    }

    private let loop: EventLoop
    private var entries: [UInt32: Entry] = [:]
    /// The newest stream to each peer.
    private var byPeer: [Peer: UInt32] = [:]
    private var aliases = StreamAliases()
    /// Whose word counts over TCP.
    var trusted: [IPNetwork] = []
    private let hostNames: HostNames
    private var made: UInt32 = 0
    private var sweeping: LoopTimer?
    private let limits: EngineSettings.Streams
    /// Those that were accepted and brought no whole message are not kept for longer than this.
    static let silenceLimit = Duration.seconds(30)
    /// Of that many places one more is made free when room is made of silent ones.
    private static let roomShare = 32
    /// Nobody waits any more for an answer on one that rests so long (64 T1, RFC 3261 section 17): it may be closed for another.
    static let restLimit = Duration.seconds(32)

    var counters = SignalingCounters()
    var onMessage: ((Message, Hop) -> Void)?
    /// The head of a message at which a stream had to be given up, for an answer before it is closed.
    var onBroken: ((ParseError, [UInt8], Hop) -> Void)?
    /// A stream ended that had not been asked to: whoever waits for an answer on it learns it.
    var onEnd: ((Hop, StreamEnd) -> Void)?
    /// Opens a stream to a peer; nil when there is none of that kind.
    var opener: ((Hop) -> StreamConnection?)?

    /// What their peers know of this end.
    private let addresses: StreamAddresses

    init(loop: EventLoop, limits: EngineSettings.Streams, addresses: StreamAddresses, hostNames: HostNames) {
        self.loop = loop
        self.hostNames = hostNames
        self.limits = limits
        self.addresses = addresses
    }

    var count: Int { entries.count }

    func accept(_ stream: StreamConnection, over transport: Transport) {
        guard makeRoom() else {
            counters.streamsRefused += 1
            return stream.abort()
        }
        counters.streamsAccepted += 1
        adopt(stream, Peer(transport: transport, address: stream.peerAddress, host: 0), isOurs: false)
    }

    /// Sends by the hop's connection, by another one to the same peer, or by a new one. False when it could not even be queued.
    func send(_ bytes: UnsafeRawBufferPointer, to hop: Hop) -> Bool {
        let answer = StreamAnswer(bytes)
        guard let entry = entry(for: hop, isAnswer: answer != nil) else { return false }
        entry.lastUse = loop.now
        let isQueued = entry.stream.send(bytes)
        if answer == .final { entry.answered += 1 }
        finishIfAnswered(entry)
        return isQueued
    }

    /// Opens a stream to a peer when there is none.
    func connect(to hop: Hop) { _ = entry(for: hop, isAnswer: false) }

    func closeAll() {
        sweeping?.cancel()
        sweeping = nil
        onMessage = nil
        onBroken = nil
        onEnd = nil
        opener = nil
        for entry in entries.values { entry.stream.close() }
        entries.removeAll()
        byPeer.removeAll()
    }

    private func entry(for hop: Hop, isAnswer: Bool) -> Entry? {
        // An answer to a request of ours would not come by one that is half closed.
        if let named = entries[hop.connection], named.peer.transport == hop.transport, isAnswer || !named.isHalf { return named }
        let peer = Peer(transport: hop.transport, address: hop.address, host: hop.host)
        return byPeer[peer].flatMap { entries[$0] } ?? aliased(hop) ?? open(peer, hop)
    }

    /// The stream by which a peer wants to be reached that would have to prove its name on a new one.
    private func aliased(_ hop: Hop) -> Entry? {
        guard let entry = aliases.number(for: hop).flatMap({ entries[$0] }), entry.stream.isOpen else { return nil }
        guard hop.transport == .tls else { return entry }
        let name = hop.host == 0 ? hop.address.ip.description : hostNames.name(hop.host)
        return name.map { StreamAliases.isFor($0, entry.stream) } == true ? entry : nil
    }

    /// The first request of a peer: its stream may be one for requests to it as well (RFC 5923).
    private func lookForAlias(in message: Message, _ entry: Entry) {
        guard message.isRequest else { return }
        entry.wasAsked = true
        guard StreamAliases.isAllowed(entry.stream, trusted: trusted),
            let address = StreamAliases.address(asked: message, of: entry.stream, over: entry.peer.transport)
        else { return }
        entry.alias = address
        aliases.add(entry.number, over: entry.peer.transport, to: address)
    }

    private func open(_ peer: Peer, _ hop: Hop) -> Entry? {
        guard makeRoom() else {
            counters.streamsRefused += 1
            return nil
        }
        guard let stream = opener?(hop) else { return nil }
        counters.streamsOpened += 1
        return adopt(stream, peer, isOurs: true)
    }

    @discardableResult
    private func adopt(_ stream: StreamConnection, _ peer: Peer, isOurs: Bool) -> Entry {
        made &+= 1
        let entry = Entry(number: made, stream: stream, peer: peer, isOurs: isOurs, at: loop.now)
        entries[made] = entry
        byPeer[peer] = made
        addresses.add(entry.hop, own: stream.localAddress, isAccepted: !isOurs)
        // The stream lets go of both when it ends, which it does by `closeAll` at the latest.
        stream.onReceive = { [self] in received($0, entry) }
        stream.onPeerEnd = { [self] in halfClosed(entry) }
        stream.onClose = { [self] in closed(entry, $0) }
        sweep()
        return entry
    }

    private func received(_ bytes: UnsafeRawBufferPointer, _ entry: Entry) {
        entry.lastUse = loop.now
        entry.framer.append(bytes)
        while let event = entry.framer.next() {
            switch event {
            case .message(let message):
                counters.received += 1
                entry.hasSpoken = true
                if message.isRequest, message.method != .ack { entry.asked += 1 }
                if !entry.isOurs, !entry.wasAsked { lookForAlias(in: message, entry) }
                onMessage?(message, entry.hop)
            case .ping:
                entry.hasSpoken = true
                entry.stream.send([13, 10])
            case .pong: entry.keepAlive.answered()
            case .broken(let error, let head):
                counters.malformed += 1
                onBroken?(error, head, entry.hop)
                // What was answered still goes out; the rest of the stream can't be understood.
                entry.stream.finish()
                entry.stream.close()
            }
            if entry.stream.isClosed { return }
        }
    }

    /// The peer has said all (a shutdown of its side) and may still wait for answers: it gets them, for as long as anybody waits for one.
    private func halfClosed(_ entry: Entry) {
        forget(entry, .ended)
        entry.isHalf = true
        finishIfAnswered(entry)
        sweep()
    }

    private func finishIfAnswered(_ entry: Entry) {
        if entry.isHalf, entry.answered >= entry.asked { entry.stream.finish() }
    }

    private func closed(_ entry: Entry, _ end: StreamEnd) {
        entries[entry.number] = nil
        addresses.remove(entry.hop)
        if !entry.isHalf { forget(entry, end) }
    }

    /// Nothing more is to be had by it.
    private func forget(_ entry: Entry, _ end: StreamEnd) {
        if byPeer[entry.peer] == entry.number { byPeer[entry.peer] = nil }
        onEnd?(entry.hop, end)
        // Requests that went by the alias wait for answers from there.
        guard let alias = entry.alias, aliases.remove(entry.number, over: entry.peer.transport, to: alias) else { return }
        onEnd?(Hop(transport: entry.peer.transport, address: alias, connection: entry.number), end)
    }

    // MARK: Keeping and closing

    /// Whether one more has room. Where all places are taken, an address that has more than one stream which brought nothing gives the oldest
    /// of the most of these; else the address with the most streams the one that rests longest: nobody keeps others out by many.
    private func makeRoom() -> Bool {
        guard entries.count >= limits.limit else { return true }
        let silent = most(of: entries.values.filter(\.isSilent))
        if silent.count > 1 {
            // Several at once: looking for them takes all entries, and who floods would have that done for each.
            let most = min(silent.count - 1, 1 + limits.limit / Self.roomShare)
            for entry in silent.sorted(by: { $0.number < $1.number }).prefix(most) { entry.stream.close() }
        } else if let oldest = most(of: entries.values).min(by: { ($0.lastUse, $0.number) < ($1.lastUse, $1.number) }),
            loop.now - oldest.lastUse >= Self.restLimit
        {
            oldest.stream.close()
        }
        return entries.count < limits.limit
    }

    /// Those of the address that has the most.
    private func most(of entries: some Sequence<Entry>) -> [Entry] {
        Dictionary(grouping: entries) { $0.peer.address.ip }.values.max { $0.count < $1.count } ?? []
    }

    /// When a stream is closed unless it is used before; one that is silent is closed then whatever octets come.
    private func end(of entry: Entry) -> Instant {
        if entry.isHalf { return entry.lastUse + Self.restLimit }
        let idle = entry.lastUse + limits.idle
        return entry.isSilent ? min(idle, entry.since + Self.silenceLimit) : idle
    }

    /// Closes idle streams and pings others. The next look is when the one that rests longest is due, but not sooner than in a second
    /// and, for the pings, not later than in ten.
    private func sweep() {
        guard sweeping == nil, let due = entries.values.map(end).min() else { return }
        sweeping = loop.schedule(at: max(min(due, loop.now + .seconds(10)), loop.now + .seconds(1))) { [self] in
            sweeping = nil
            for entry in Array(entries.values) { look(at: entry) }
            sweep()
        }
    }

    private func look(at entry: Entry) {
        let silence = loop.now - entry.lastUse
        if loop.now >= end(of: entry) { return entry.stream.close() }
        guard entry.isOurs, !entry.isHalf, entry.stream.isOpen else { return }
        switch entry.keepAlive.next(afterSilence: silence, at: loop.now) {
        case .nothing: break
        case .ping: entry.stream.send([13, 10, 13, 10])
        case .givenUp: entry.stream.close()
        }
    }
}

/// Whether a message is an answer, by its first octets ("SIP/2.0 200").
private enum StreamAnswer {
    case provisional
    case final

    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 12, bytes[0..<4].elementsEqual("SIP/".utf8) else { return nil }
        self = bytes[8] == UInt8(ascii: "1") ? .provisional : .final
    }
}

/// The client's part of keeping a stream alive (RFC 5626 sections 3.5.1 and 4.4.1): a double CRLF after a silence. A peer that has answered
/// one before is expected to answer; one that never did knows nothing of it.
struct StreamKeepAlive {
    enum Step: Equatable {
        case nothing
        case ping
        case givenUp
    }

    /// RFC 5626 has 95 to 120 seconds; many NATs forget sooner.
    static let silence = Duration.seconds(60)
    static let patience = Duration.seconds(10)
    private var isExpected = false
    private var asked: Instant?

    mutating func answered() { if asked != nil { isExpected = true } }

    mutating func next(afterSilence silence: Duration, at now: Instant) -> Step {
        guard silence >= Self.silence else {
            asked = nil
            return .nothing
        }
        if let asked, now - asked < Self.silence {
            return isExpected && now - asked >= Self.patience ? .givenUp : .nothing
        }
        asked = now
        return .ping
    }
}
