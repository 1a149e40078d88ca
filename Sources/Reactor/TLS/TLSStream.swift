package import Basics
import CLinux
import COpenSSL

/// TLS over another stream. OpenSSL works on memory: what comes is put into it, what it wants to say is taken out, so nothing here ever
/// waits. What is sent in one turn of the loop leaves in one record.
package final class TLSStream: StreamConnection {
    private let lower: StreamConnection
    private let context: TLSContext
    private let connection: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer
    private let outputLimit: Int
    /// As client: whom the certificate has to name; empty for a server.
    private let name: String
    private var isHandshaking = true
    private var isFinishing = false
    private var isAnnounced = false
    private var plain: [UInt8] = []
    private var timer: LoopTimer?
    private var reason: StreamEnd?

    /// A handshake that takes longer is given up.
    package static let handshakeLimit = Duration.seconds(10)
    private static let recordSize = 16_384

    private init(
        over lower: StreamConnection, _ context: TLSContext, _ connection: OpaquePointer, name: String, outputLimit: Int
    ) {
        self.lower = lower
        self.context = context
        self.connection = connection
        self.name = name
        self.outputLimit = outputLimit
        guard let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem()) else {
            preconditionFailure("OpenSSL makes buffers")
        }
        self.input = input
        self.output = output
        super.init(loop: lower.loop, localAddress: lower.localAddress, peerAddress: lower.peerAddress)
        // An empty buffer means "later", not the end.
        BIO_ctrl(input, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, nil)
        SSL_set_bio(connection, input, output)
        SSL_set_ex_data(connection, 0, Unmanaged.passUnretained(self).toOpaque())
        lower.onReceive = { [self] in received($0) }
        lower.onPeerEnd = { [self] in peerEnded() }
        lower.onDrained = { [self] in if plain.isEmpty { onDrained?() } }
        lower.onClose = { [self] in lowerEnded($0) }
    }

    // Without this line the compiler warns about the trap that it makes here itself.
    override init(loop: EventLoop, localAddress: SocketAddress, peerAddress: SocketAddress) {
        fatalError("TLS stands on another stream")
    }

    deinit {
        // Or OpenSSL would take the session for broken.
        SSL_set_shutdown(connection, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
        SSL_free(connection)
    }

    // MARK: Opening

    /// Starts a connection to `address` whose certificate has to be for `name`: a host or an address. As with `EventLoop.openStream`
    /// it comes back at once and takes what is to be sent; nothing leaves before the peer has proved its name.
    package static func open(
        on loop: EventLoop, to address: SocketAddress, name: String, context: TLSContext, from local: SocketAddress? = nil,
        timeout: Duration = .seconds(10), options: StreamOptions = StreamOptions()
    ) -> TLSStream {
        let lower = loop.openStream(to: address, from: local, timeout: timeout, options: lowerOptions(options))
        guard let connection = context.newClient() else { preconditionFailure("OpenSSL makes a connection") }
        let stream = TLSStream(over: lower, context, connection, name: name, outputLimit: options.outputLimit)
        SSL_set_connect_state(connection)
        if IPAddress(name) == nil {
            _ = name.withCString {
                SSL_ctrl(
                    connection, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name),
                    UnsafeMutableRawPointer(mutating: $0))
            }
        }
        context.resume(connection, with: stream.sessionKey)
        lower.onOpen = { [unowned stream] in stream.begin() }
        return stream
    }

    /// Takes an accepted stream; its `onOpen` tells that the handshake is over. The context must have a certificate.
    package static func accept(_ lower: StreamConnection, context: TLSContext, outputLimit: Int = 1 << 20) -> TLSStream {
        guard let server = context.server, let connection = SSL_new(server) else {
            preconditionFailure("a server of TLS has a certificate")
        }
        let stream = TLSStream(over: lower, context, connection, name: "", outputLimit: outputLimit)
        SSL_set_accept_state(connection)
        stream.begin()
        return stream
    }

    /// Room for what records add to their content.
    package static func lowerOptions(_ options: StreamOptions) -> StreamOptions {
        var lower = options
        lower.outputLimit += options.outputLimit / 8 + 65_536
        return lower
    }

    private var sessionKey: String { "\(name) \(peerAddress)" }
    func keep(_ session: OpaquePointer) { context.keep(session, for: sessionKey) }

    private func begin() {
        localAddress = lower.localAddress
        timer = loop.schedule(after: Self.handshakeLimit) { [unowned self] in end(.insecure(.timedOut)) }
        handshake()
    }

    private func handshake() {
        ERR_clear_error()
        let result = SSL_do_handshake(connection)
        guard result == 1 else {
            let error = SSL_get_error(connection, result)
            if error == SSL_ERROR_WANT_READ { return passOn() }
            return fail()
        }
        passOn()
        if !name.isEmpty, context.settings.verifiesServers, let failure = nameFailure() {
            context.forget(sessionKey)
            return end(.insecure(failure))
        }
        guard !isClosed else { return }
        timer?.cancel()
        timer = nil
        isHandshaking = false
        isOpen = true
        let tell = onOpen
        onOpen = nil
        tell?()
        guard !isClosed else { return }
        if !plain.isEmpty { flush() } else if isFinishing { sayGoodbye() }
    }

    private func nameFailure() -> TLSFailure? {
        guard let certificate = SSL_get0_peer_certificate(connection) else { return .certificate("there is none") }
        // A resumed session has not looked at the date again.
        if X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0 { return .certificate("certificate has expired") }
        let found = TLSCertificate.identities(of: certificate)
        return TLSCertificate.isFor(name, found) ? nil : .name(expected: name, found: found)
    }

    // MARK: What was agreed on

    /// The handshake was a short one, by what an earlier one left.
    package var isResumed: Bool { SSL_session_reused(connection) == 1 }
    /// `TLSv1.3`.
    package var version: String { String(cString: SSL_get_version(connection)) }
    /// Whether the peer has shown a certificate for `name`: a domain or an address.
    package func hasProved(_ name: String) -> Bool { TLSCertificate.isFor(name, peerIdentities) }
    /// The domains and addresses that the peer's certificate names; empty when it showed none that is believed.
    package var peerIdentities: [String] {
        guard SSL_get_verify_result(connection) == Int(X509_V_OK), let certificate = SSL_get0_peer_certificate(connection) else {
            return []
        }
        return TLSCertificate.identities(of: certificate)
    }

    // MARK: In

    private func received(_ bytes: UnsafeRawBufferPointer) {
        BIO_write(input, bytes.baseAddress, Int32(bytes.count))
        if isHandshaking { handshake() }
        if !isHandshaking, !isClosed { read() }
    }

    private func read() {
        withUnsafeTemporaryAllocation(byteCount: Self.recordSize, alignment: 16) { buffer in
            while isReading, !isClosed {
                ERR_clear_error()
                let count = SSL_read(connection, buffer.baseAddress, Int32(buffer.count))
                if count > 0 {
                    counters.receivedBytes += UInt64(count)
                    onReceive?(UnsafeRawBufferPointer(rebasing: buffer[..<Int(count)]))
                    continue
                }
                switch SSL_get_error(connection, count) {
                case SSL_ERROR_WANT_READ: passOn()
                case SSL_ERROR_ZERO_RETURN: peerEnded()
                default: fail()
                }
                return
            }
        }
    }

    /// The peer says no more: in order, or by leaving.
    private func peerEnded() {
        guard !isClosed, reason == nil else { return }
        if isHandshaking { return end(.insecure(.interrupted)) }
        guard let onPeerEnd, !isFinishing else { return end(.ended) }
        self.onPeerEnd = nil
        onPeerEnd()
    }

    override package func readingChanged() {
        lower.isReading = isReading
        guard isReading, !isHandshaking else { return }
        loop.schedule(at: loop.now) { [self] in if !isClosed { read() } }
    }

    // MARK: Out

    override package var queuedBytes: Int { plain.count + lower.queuedBytes }

    override package func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
        loop.preconditionOnLoop()
        guard !isClosed, !isFinishing, reason == nil else { return false }
        guard queuedBytes + bytes.count <= outputLimit else {
            counters.refused += 1
            return false
        }
        plain.append(contentsOf: bytes)
        if !isHandshaking, !isAnnounced {
            isAnnounced = true
            loop.atTurnEnd(self)
        }
        return true
    }

    private func flush() {
        guard !isHandshaking, !isClosed, !plain.isEmpty else { return }
        ERR_clear_error()
        let count = plain.withUnsafeBytes { SSL_write(connection, $0.baseAddress, Int32($0.count)) }
        guard count == plain.count else { return fail() }
        counters.sentBytes += UInt64(count)
        plain.removeAll(keepingCapacity: plain.capacity <= Self.recordSize)
        passOn()
        if isFinishing { sayGoodbye() }
    }

    /// Gives what OpenSSL has written to the stream below.
    private func passOn() {
        var start: UnsafeMutableRawPointer?
        let count = BIO_ctrl(output, BIO_CTRL_INFO, 0, &start)
        guard count > 0, let start else { return }
        lower.send(UnsafeRawBufferPointer(start: start, count: count))
        BIO_ctrl(output, BIO_CTRL_RESET, 0, nil)
    }

    private func sayGoodbye() {
        ERR_clear_error()
        SSL_shutdown(connection)
        passOn()
        lower.finish()
    }

    // MARK: Ends

    override package func finish() {
        guard !isClosed, !isFinishing else { return }
        isFinishing = true
        if plain.isEmpty, !isHandshaking { sayGoodbye() }
    }

    override package func close() { end(.closed) }

    override package func abort() {
        guard !isClosed else { return }
        reason = reason ?? .closed
        lower.abort()
    }

    /// OpenSSL has an error; it may have written an alert.
    private func fail() {
        let failure = TLSFailure(connection, isHandshaking: isHandshaking)
        passOn()
        if isHandshaking, !name.isEmpty { context.forget(sessionKey) }
        end(.insecure(failure))
    }

    private func end(_ why: StreamEnd) {
        loop.preconditionOnLoop()
        guard !isClosed, reason == nil else { return }
        flush()
        guard reason == nil else { return }
        reason = why
        if !isHandshaking, !isFinishing {
            if case .insecure = why {
            } else {
                ERR_clear_error()
                SSL_shutdown(connection)
                passOn()
            }
        }
        lower.close()
    }

    private func lowerEnded(_ why: StreamEnd) {
        timer?.cancel()
        timer = nil
        plain = []
        let interrupted = isHandshaking && why == .ended
        ended(reason ?? (interrupted ? .insecure(.interrupted) : why))
    }
}

extension TLSStream: TurnEnd {
    func turnEnds() {
        isAnnounced = false
        flush()
    }
}

extension TLSFailure {
    /// What OpenSSL's queue and its look at the certificate say.
    fileprivate init(_ connection: OpaquePointer, isHandshaking: Bool) {
        let verdict = SSL_get_verify_result(connection)
        let error = ERR_peek_last_error()
        let code = OpenSSLError.reason(error)
        if isHandshaking, verdict != Int(X509_V_OK) {
            self = .certificate(String(cString: X509_verify_cert_error_string(verdict)))
        } else if code > Int(SSL_AD_REASON_OFFSET), code < Int(SSL_AD_REASON_OFFSET) + 256 {
            let words = OpenSSLError.words(error)
            self = .alert(words.firstRange(of: "alert ").map { String(words[$0.upperBound...]) } ?? words)
        } else {
            self = .unspoken(error == 0 ? "TLS failed" : OpenSSLError.words(error))
        }
    }
}
