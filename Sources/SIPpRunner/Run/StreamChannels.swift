// TCP and TLS: one connection for all calls (t1, l1) or one for each (tn, ln); as the called end, whatever connections come.

import Basics
import Reactor
import SIP

final class StreamChannels: Channels {
    /// A connection with what has come of its next message.
    private final class Link {
        let stream: StreamConnection
        var framer = StreamFramer()
        let isOutgoing: Bool

        init(_ stream: StreamConnection, isOutgoing: Bool) {
            self.stream = stream
            self.isOutgoing = isOutgoing
        }
    }

    private var listener: StreamListener?
    private var shared: Link?
    private var links: [ObjectIdentifier: Link] = [:]
    private var reconnects = 0
    private var security: TLSContext?
    private var isClosed = false
    private static let standardPort = 5060

    override var localPort: Int { Int(listener?.localAddress.port ?? addresses.local.port) }
    override var openCount: Int { links.count }

    /// Whether calls share one connection that this end opens.
    private var sharesConnection: Bool { !options.transport.isPerCall && addresses.remote != nil }

    override func open() throws(RunFailure) {
        if options.transport.isSecure { security = try context() }
        let wanted = options.localPort.map { [$0] } ?? [Self.standardPort, 0]
        var problem: SystemError?
        for port in wanted where listener == nil {
            do throws(SystemError) {
                listener = try loop.listen(on: SocketAddress(ip: addresses.bound, port: UInt16(clamping: port))) {
                    [unowned self] stream in
                    accept(stream)
                }
            } catch {
                problem = error
            }
        }
        guard listener != nil else { throw .bind(problem.map { "\($0)" } ?? "no socket") }
        if sharesConnection, let remote = addresses.remote { shared = connect(to: remote) }
    }

    private func context() throws(RunFailure) -> TLSContext {
        var settings = TLSSettings()
        settings.certificate = options.tlsCertificate
        settings.key = options.tlsKey
        settings.verifiesServers = options.tlsAuthorities != nil
        if let file = options.tlsAuthorities { settings.authorities = .file(file) }
        do throws(TLSSetupError) {
            return try TLSContext(settings)
        } catch {
            throw .fatal("\(error)")
        }
    }

    // MARK: Connections

    private func accept(_ stream: StreamConnection) {
        guard let security else { return hold(stream, isOutgoing: false) }
        hold(TLSStream.accept(stream, context: security), isOutgoing: false)
    }

    @discardableResult
    private func connect(to remote: SocketAddress) -> Link {
        let remote = addresses.sending ?? remote
        let stream =
            security.map { TLSStream.open(on: loop, to: remote, name: addresses.remoteHost, context: $0) }
            ?? loop.openStream(to: remote)
        hold(stream, isOutgoing: true)
        return links[ObjectIdentifier(stream)] ?? Link(stream, isOutgoing: true)
    }

    private func hold(_ stream: StreamConnection, isOutgoing: Bool) {
        let link = Link(stream, isOutgoing: isOutgoing)
        let key = ObjectIdentifier(stream)
        links[key] = link
        stream.onReceive = { [unowned self, unowned link] octets in read(octets, link) }
        stream.onClose = { [unowned self] end in
            links[key] = nil
            closed(link, end)
        }
    }

    private func read(_ octets: UnsafeRawBufferPointer, _ link: Link) {
        link.framer.append(octets)
        while let event = link.framer.next() {
            switch event {
            case .message(let message):
                message.withUnsafeBytes { user.received($0, from: link.stream.peerAddress, on: link, at: loop.now) }
            case .ping: link.stream.send([13, 10])
            case .pong: break
            case .broken(let error, _):
                user.warn("\(link.stream.peerAddress): the stream cannot be read any further: \(error.fault)")
                return link.stream.close()
            }
        }
    }

    private func closed(_ link: Link, _ end: StreamEnd) {
        guard !isClosed else { return }
        let reason = end.words(about: link.stream.peerAddress)
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
        if link.isOutgoing, link !== shared, options.transport.isPerCall { link.stream.finish() }
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
        links[ObjectIdentifier(link.stream)] = nil
        if link === shared { shared = nil }
        link.stream.onClose = nil
        link.stream.close()
    }

    override func send(_ octets: UnsafeRawBufferPointer, of call: ScenarioCall) -> SendOutcome {
        var link = call.link as? Link ?? shared
        if link == nil, let remote = call.destination ?? addresses.remote {
            let fresh = connect(to: remote)
            if options.transport.isPerCall { call.link = fresh } else { shared = fresh }
            link = fresh
        }
        guard let link, !link.stream.isClosed else { return .failed }
        return link.stream.send(octets) ? .sent : .congested
    }

    override func close() {
        isClosed = true
        listener?.close()
        for link in links.values { link.stream.close() }
        links = [:]
    }
}
