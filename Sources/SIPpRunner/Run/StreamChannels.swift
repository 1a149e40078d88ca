// TCP (t1, tn) and TLS (l1, ln): messages one after the other in a stream. RFC 3261 section 18.3.

import Basics
import Reactor
import SIP

final class StreamChannels: ConnectionChannels {
    private var listener: StreamListener?
    private var security: TLSContext?

    override var localPort: Int { Int(listener?.localAddress.port ?? addresses.local.port) }

    override func open() throws(RunFailure) {
        if options.transport.isSecure { security = try context() }
        try bindPort { address throws(RunFailure) in
            do throws(SystemError) {
                listener = try loop.listen(on: address) { [unowned self] stream in accept(stream) }
            } catch {
                throw .bind("\(error)")
            }
        }
        openShared()
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

    private func accept(_ stream: StreamConnection) {
        let stream = security.map { TLSStream.accept(stream, context: $0) } ?? stream
        accepted(link(stream, isOutgoing: false))
    }

    override func open(to remote: SocketAddress) -> Link {
        let stream =
            security.map { TLSStream.open(on: loop, to: remote, name: addresses.remoteHost, context: $0) }
            ?? loop.openStream(to: remote)
        return link(stream, isOutgoing: true)
    }

    private func link(_ stream: StreamConnection, isOutgoing: Bool) -> StreamLink {
        let link = StreamLink(stream, isOutgoing: isOutgoing)
        stream.onReceive = { [unowned self, unowned link] octets in read(octets, link) }
        stream.onClose = { [unowned self] end in ended(link, end.words(about: link.peer)) }
        return link
    }

    private func read(_ octets: UnsafeRawBufferPointer, _ link: StreamLink) {
        link.framer.append(octets)
        while let event = link.framer.next() {
            switch event {
            case .message(let message):
                message.octets.withUnsafeBytes { user.received($0, from: link.peer, on: link, at: loop.now) }
            case .ping: link.stream.send([13, 10])
            case .pong: break
            case .broken(let error, _):
                user.warn("\(link.peer): the stream cannot be read any further: \(error.fault)")
                return link.close()
            }
        }
    }

    override func close(then: @escaping () -> Void) {
        listener?.close()
        super.close(then: then)
    }
}

/// A stream with what has come of its next message.
private final class StreamLink: Link {
    let stream: StreamConnection
    var framer = StreamFramer()

    init(_ stream: StreamConnection, isOutgoing: Bool) {
        self.stream = stream
        super.init(peer: stream.peerAddress, isOutgoing: isOutgoing)
    }

    override func send(_ octets: UnsafeRawBufferPointer) -> SendOutcome {
        stream.isClosed ? .failed : stream.send(octets) ? .sent : .congested
    }

    override func finish() { stream.finish() }
    override func close() { stream.close() }
}
