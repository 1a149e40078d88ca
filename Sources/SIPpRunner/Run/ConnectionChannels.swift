// Connections, whatever they are made of: one for all calls, or one for each; as the called end, whatever connections come.

import Basics
import Reactor

/// One connection of a run.
class Link {
    let peer: SocketAddress
    /// This end has opened it.
    let isOutgoing: Bool

    init(peer: SocketAddress, isOutgoing: Bool) {
        self.peer = peer
        self.isOutgoing = isOutgoing
    }

    func send(_ octets: UnsafeRawBufferPointer) -> SendOutcome { fatalError("a kind of connection sends") }
    /// Ends it when what waits is out.
    func finish() { fatalError("a kind of connection ends") }
    /// Ends it at once.
    func close() { fatalError("a kind of connection ends") }
}

class ConnectionChannels: Channels {
    private var shared: Link?
    private var links: [ObjectIdentifier: Link] = [:]
    private var reconnects = 0
    private var isClosed = false
    private static let standardPort = 5060

    override var openCount: Int { links.count }

    /// Whether calls share one connection that this end opens.
    private var sharesConnection: Bool { !options.transport.isPerCall && addresses.remote != nil }

    // MARK: For kinds of connections

    /// Opens a connection; what is sent before it stands waits.
    func open(to remote: SocketAddress) -> Link { fatalError("a kind of connection opens") }

    /// One that a peer has opened.
    func accepted(_ link: Link) { links[ObjectIdentifier(link)] = link }

    /// Whether a connection is still the run's.
    func holds(_ link: Link) -> Bool { links[ObjectIdentifier(link)] != nil }

    /// Calls `bind` with the port that is wanted; without one, with SIP's, then for any.
    func bindPort(_ bind: (SocketAddress) throws(RunFailure) -> Void) throws(RunFailure) {
        let wanted = options.localPort.map { [$0] } ?? [Self.standardPort, 0]
        for (index, port) in wanted.enumerated() {
            do throws(RunFailure) {
                return try bind(SocketAddress(ip: addresses.bound, port: UInt16(clamping: port)))
            } catch {
                if index == wanted.count - 1 { throw error }
            }
        }
    }

    /// The connection that calls share is opened with the run.
    func openShared() {
        if sharesConnection, let remote = addresses.remote { shared = connect(to: remote) }
    }

    /// A connection is over, or never stood.
    func ended(_ link: Link, _ reason: String) {
        guard links.removeValue(forKey: ObjectIdentifier(link)) != nil, !isClosed else { return }
        let wasShared = link === shared
        if wasShared { shared = nil }
        if !wasShared || options.closesOnReconnect { user.lost(link, reason) }
        guard wasShared, let remote = addresses.remote else { return }
        reconnects += 1
        guard reconnects <= options.maxReconnect else {
            return user.fatal("\(reason); \(options.maxReconnect) new connections did not help")
        }
        user.warn("\(reason); connecting again")
        loop.schedule(after: .microseconds(Int64(options.reconnectSleep * 1000))) { [weak self] in
            guard let self, !isClosed, shared == nil else { return }
            shared = connect(to: remote)
        }
    }

    private func connect(to remote: SocketAddress) -> Link {
        let link = open(to: addresses.sending ?? remote)
        links[ObjectIdentifier(link)] = link
        return link
    }

    // MARK: Calls

    override func prepare(_ call: ScenarioCall, source: IPAddress?) -> Bool {
        guard options.transport.isPerCall, let remote = addresses.remote else { return true }
        call.link = connect(to: remote)
        return true
    }

    override func release(_ call: ScenarioCall) {
        guard let link = call.link as? Link else { return }
        call.link = nil
        // The far end's connections are the far end's to close.
        if link.isOutgoing, link !== shared, options.transport.isPerCall { link.finish() }
    }

    override func setDestination(_ address: SocketAddress, of call: ScenarioCall) -> Bool {
        guard options.transport.isPerCall else { return false }
        release(call)
        call.destination = address
        call.link = connect(to: address)
        return true
    }

    override func closeConnection(of call: ScenarioCall) {
        guard let link = call.link as? Link ?? shared else { return }
        call.link = nil
        links[ObjectIdentifier(link)] = nil
        if link === shared { shared = nil }
        link.close()
    }

    override func send(_ octets: UnsafeRawBufferPointer, of call: ScenarioCall) -> SendOutcome {
        var link = call.link as? Link ?? shared
        if link == nil, let remote = call.destination ?? addresses.remote {
            let fresh = connect(to: remote)
            if options.transport.isPerCall { call.link = fresh } else { shared = fresh }
            link = fresh
        }
        return link?.send(octets) ?? .failed
    }

    override func close(then: @escaping () -> Void) {
        isClosed = true
        let open = Array(links.values)
        links = [:]
        for link in open { link.close() }
        then()
    }
}
