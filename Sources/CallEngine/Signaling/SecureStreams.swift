// The streams of a front that are made by TLS: handshakes at a time are bounded, over all peers and for each one, and failures are told.
// SIPStreams has them like any other stream.

import Basics
import Reactor
import SIP

/// Makes streams of TLS. Belongs to the front's loop.
final class SecureStreams {
    private let loop: EventLoop
    private let hostNames: HostNames
    /// For connections from now on.
    var context: TLSContext?
    var counters = SignalingCounters()
    var onNotice: ((SignalingNotice) -> Void)?
    /// Handshakes of peers that came in, under way.
    private var underWay: [ObjectIdentifier: TLSStream] = [:]
    private var bySource: [IPAddress: Int] = [:]
    /// Notices about peers that came in, in the second that began then.
    private var told: (since: Instant, count: Int) = (.zero, 0)

    static let handshakeCapacity = 512
    static let handshakesPerSource = 256
    static let noticesPerSecond = 5
    static let listenOptions = TLSStream.lowerOptions(StreamOptions())

    init(loop: EventLoop, context: TLSContext?, hostNames: HostNames) {
        self.loop = loop
        self.context = context
        self.hostNames = hostNames
    }

    /// Begins the handshake of a stream that came in; `ready` gets it when that is over.
    func accept(_ stream: StreamConnection, ready: @escaping (TLSStream) -> Void) {
        let source = stream.peerAddress.ip
        guard let context, context.canServe, underWay.count < Self.handshakeCapacity,
            bySource[source, default: 0] < Self.handshakesPerSource
        else {
            counters.streamsRefused += 1
            let why = context?.canServe == true ? "too many handshakes at a time" : "there is no certificate"
            tell("TLS with \(stream.peerAddress): \(why)")
            return stream.abort()
        }
        let secure = TLSStream.accept(stream, context: context)
        underWay[ObjectIdentifier(secure)] = secure
        bySource[source, default: 0] += 1
        secure.onOpen = { [weak self, unowned secure] in
            self?.settled(secure)
            self?.count(secure)
            ready(secure)
        }
        secure.onClose = { [weak self, unowned secure] end in
            guard let self else { return }
            settled(secure)
            counters.handshakesFailed += 1
            tell(end.words(about: secure.peerAddress))
        }
    }

    private func settled(_ stream: TLSStream) {
        underWay[ObjectIdentifier(stream)] = nil
        let source = stream.peerAddress.ip
        let left = bySource[source, default: 1] - 1
        bySource[source] = left == 0 ? nil : left
    }

    private func count(_ stream: TLSStream) {
        counters.handshakes += 1
        if stream.isResumed { counters.handshakesResumed += 1 }
    }

    /// A flood of them is no flood of lines.
    private func tell(_ text: String) {
        if loop.now - told.since >= .seconds(1) { told = (loop.now, 0) }
        told.count += 1
        if told.count <= Self.noticesPerSecond { onNotice?(.refused(text)) }
    }

    /// Opens a stream to a hop whose peer has to prove the host name of the hop, or its address when it has none.
    func open(to hop: Hop) -> TLSStream? {
        guard let context else { return nil }
        let name = hop.host == 0 ? hop.address.ip.description : hostNames.name(hop.host)
        guard let name else { return nil }
        let stream = TLSStream.open(on: loop, to: hop.address, name: name, context: context)
        stream.onOpen = { [weak self, unowned stream] in self?.count(stream) }
        return stream
    }

    func closeAll() {
        onNotice = nil
        for stream in Array(underWay.values) { stream.close() }
    }
}
