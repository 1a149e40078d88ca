// SIP over connections that carry whole messages: WebSockets (RFC 7118). Who has the connections (the Web module, by the composition)
// hands them in; here they have numbers, so that answers and requests of a dialog go by the one that the peer came by, whatever its Via
// and Contact say. It knows nothing of transactions.

import Basics
import Reactor
import SIP

/// A connection for whole messages. Belongs to the front's loop.
package protocol MessageChannel: AnyObject {
    /// False when the message was not taken. A channel that is over takes it: its end is told next, with the reason.
    func send(_ message: [UInt8]) -> Bool
    func close()
}

/// What the owner of a channel tells about it, on the front's loop.
package final class ChannelEvents {
    fileprivate var onMessage: (([UInt8]) -> Void)?
    fileprivate var onEnd: ((String) -> Void)?

    /// One message has come.
    package func received(_ message: [UInt8]) { onMessage?(message) }

    /// It is over, or never stood; the reason in words. Once.
    package func ended(_ reason: String) {
        let tell = onEnd
        onMessage = nil
        onEnd = nil
        tell?(reason)
    }
}

/// Whom a channel is opened to.
package struct ChannelTarget: Hashable, Sendable {
    package var isSecure: Bool
    /// The host as it was called; with TLS its certificate has to be for it.
    package var host: String
    package var port: UInt16
    /// Begins with a slash.
    package var path: String

    package init(isSecure: Bool, host: String, port: UInt16, path: String) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.path = path
    }
}

/// Opens channels; they take messages at once.
package typealias ChannelOpener = @Sendable (ChannelTarget, ChannelEvents) -> any MessageChannel

/// The channels of a front. Belongs to the front's loop.
final class SIPChannels {
    private struct Entry {
        var channel: any MessageChannel
        var hop: Hop
    }

    private struct Peer: Hashable {
        var transport: Transport
        var address: SocketAddress
        var host: UInt32

        init(_ hop: Hop) {
            (transport, address, host) = (hop.transport, hop.address, hop.host)
        }
    }

    private let hostNames: HostNames
    private var entries: [UInt32: Entry] = [:]
    /// Those that were opened here.
    private var byPeer: [Peer: UInt32] = [:]
    private var made: UInt32 = 0
    static let capacity = 4096

    var counters = SignalingCounters()
    var opener: ChannelOpener?
    var onMessage: (([UInt8], Hop) -> Void)?
    var onEnd: ((Hop, String) -> Void)?

    init(hostNames: HostNames) {
        self.hostNames = hostNames
    }

    /// Takes a channel that a peer has opened.
    func accept(_ channel: any MessageChannel, over transport: Transport, from peer: IPAddress) -> ChannelEvents {
        let events = ChannelEvents()
        guard entries.count < Self.capacity else {
            counters.streamsRefused += 1
            channel.close()
            return events
        }
        counters.streamsAccepted += 1
        made &+= 1
        add(channel, events, Hop(transport: transport, address: SocketAddress(ip: peer, port: 0), connection: made))
        return events
    }

    private func add(_ channel: any MessageChannel, _ events: ChannelEvents, _ hop: Hop) {
        entries[hop.connection] = Entry(channel: channel, hop: hop)
        events.onMessage = { [weak self] in self?.received($0, hop) }
        events.onEnd = { [weak self] in self?.ended(hop, $0) }
    }

    private func received(_ message: [UInt8], _ hop: Hop) {
        // Keep-alives (RFC 5626 section 3.5.1), which some clients send over WebSockets too.
        if message.count <= 4 {
            if message == [13, 10, 13, 10] { _ = entries[hop.connection]?.channel.send([13, 10]) }
            return
        }
        counters.received += 1
        onMessage?(message, hop)
    }

    private func ended(_ hop: Hop, _ reason: String) {
        entries[hop.connection] = nil
        let peer = Peer(hop)
        if byPeer[peer] == hop.connection { byPeer[peer] = nil }
        onEnd?(hop, reason)
    }

    /// Sends by the hop's connection; without one, by one that was opened to the same host, or by a new one.
    func send(_ message: [UInt8], to hop: Hop) -> Bool {
        if let entry = entries[hop.connection], entry.hop.transport == hop.transport { return entry.channel.send(message) }
        let peer = Peer(hop)
        if let known = byPeer[peer].flatMap({ entries[$0] }) { return known.channel.send(message) }
        return open(hop, peer)?.send(message) ?? false
    }

    private func open(_ hop: Hop, _ peer: Peer) -> (any MessageChannel)? {
        guard let opener, entries.count < Self.capacity, let name = hostNames.name(hop.host) else { return nil }
        let slash = name.firstIndex(of: "/") ?? name.endIndex
        let target = ChannelTarget(
            isSecure: hop.transport == .wss, host: String(name[..<slash]), port: hop.address.port,
            path: slash == name.endIndex ? "/" : String(name[slash...]))
        let events = ChannelEvents()
        let channel = opener(target, events)
        counters.streamsOpened += 1
        made &+= 1
        var named = hop
        named.connection = made
        byPeer[peer] = made
        add(channel, events, named)
        return channel
    }

    func closeAll() {
        onMessage = nil
        onEnd = nil
        for entry in entries.values { entry.channel.close() }
        entries.removeAll()
        byPeer.removeAll()
        opener = nil
    }
}
