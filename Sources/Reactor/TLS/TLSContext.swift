import COpenSSL
import Glibc

/// Certificates and keys, read once and shared by all connections that begin with them. To change them make another one: connections
/// that stand keep theirs.
///
/// `@unchecked Sendable`: OpenSSL's contexts may be used by several threads once they are set up; the sessions are behind a lock.
package final class TLSContext: @unchecked Sendable {
    package let settings: TLSSettings
    /// When this end's certificate expires, in seconds since 1970; nil without one.
    package let expiry: Double?
    let client: OpaquePointer
    /// nil without a certificate.
    let server: OpaquePointer?
    /// What servers gave for a quicker handshake next time, by name and address.
    private let sessions = Locked<[String: Session]>([:])
    /// The certificates of the system's authorities are still to be read: that takes longer than all else, and most programs that call need
    /// none of them.
    private let lacksAuthorities: Locked<Bool>
    private static let sessionCapacity = 1000

    /// Reads the files: on a thread that may block.
    package init(_ settings: TLSSettings) throws(TLSSetupError) {
        self.settings = settings
        let client = try Self.make(settings, asServer: false)
        self.client = client
        lacksAuthorities = Locked(settings.authorities == .system && settings.verifiesServers)
        guard settings.certificate != nil else {
            server = nil
            expiry = nil
            return
        }
        do throws(TLSSetupError) {
            server = try Self.make(settings, asServer: true)
        } catch {
            SSL_CTX_free(client)
            throw error
        }
        expiry = SSL_CTX_get0_certificate(client).flatMap { TLSCertificate.expiry(of: $0) }
    }

    deinit {
        SSL_CTX_free(client)
        SSL_CTX_free(server)
    }

    /// Whether connections can be accepted.
    package var canServe: Bool { server != nil }

    /// Whether this end shows the same certificate with `other`.
    package func hasSameCertificate(as other: TLSContext) -> Bool {
        guard let own = SSL_CTX_get0_certificate(client), let others = SSL_CTX_get0_certificate(other.client) else {
            return settings.certificate == nil && other.settings.certificate == nil
        }
        return X509_cmp(own, others) == 0
    }

    /// Reads the certificates of the system's authorities now, and not when the first connection needs them: on a thread that may block.
    package func readAuthorities() {
        lacksAuthorities.withLock { lacks in
            if lacks { SSL_CTX_set_default_verify_paths(client) }
            lacks = false
        }
    }

    /// A connection that this end begins.
    func newClient() -> OpaquePointer? {
        readAuthorities()
        return SSL_new(client)
    }

    // MARK: Setting up

    private static func make(_ settings: TLSSettings, asServer: Bool) throws(TLSSetupError) -> OpaquePointer {
        guard let context = SSL_CTX_new(asServer ? TLS_server_method() : TLS_client_method()) else {
            preconditionFailure("OpenSSL makes a context")
        }
        do throws(TLSSetupError) {
            set(settings, on: context)
            try loadCertificate(settings, into: context)
            try setVerification(settings, on: context, asServer: asServer)
        } catch {
            SSL_CTX_free(context)
            throw error
        }
        return context
    }

    private static func set(_ settings: TLSSettings, on context: OpaquePointer) {
        let minimum = settings.minimum == .tls13 ? TLS1_3_VERSION : TLS1_2_VERSION
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(minimum), nil)
        // An idle connection gives its buffers back: 34 KiB each.
        SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(SSL_MODE_RELEASE_BUFFERS), nil)
        // SSL_OP_NO_RENEGOTIATION; its macro is not visible from here.
        SSL_CTX_set_options(context, UInt64(1) << 30)
        // Nobody is there to type a passphrase.
        SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
    }

    private static func loadCertificate(_ settings: TLSSettings, into context: OpaquePointer) throws(TLSSetupError) {
        guard let certificate = settings.certificate else { return }
        try checkReadable(certificate)
        ERR_clear_error()
        guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
            let errors = OpenSSLError.all()
            if errors.isEmpty || errors.contains(where: OpenSSLError.isNoPEM) { throw .noCertificate(path: certificate) }
            throw .unusable(path: certificate, reason: OpenSSLError.words(errors[0]))
        }
        let key = settings.key ?? certificate
        try checkReadable(key)
        ERR_clear_error()
        guard SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 else {
            let errors = OpenSSLError.all()
            if errors.contains(where: OpenSSLError.isMismatch) { throw .mismatch(certificate: certificate, key: key) }
            if errors.contains(where: OpenSSLError.isPassphrase) { throw .encryptedKey(path: key) }
            if errors.isEmpty || errors.contains(where: OpenSSLError.isNoPEM) { throw .noKey(path: key) }
            throw .unusable(path: key, reason: OpenSSLError.words(errors[0]))
        }
    }

    private static func setVerification(
        _ settings: TLSSettings, on context: OpaquePointer, asServer: Bool
    ) throws(TLSSetupError) {
        switch settings.authorities {
        case .system: if asServer, settings.requiresClientCertificate { SSL_CTX_set_default_verify_paths(context) }
        case .file(let path):
            try checkReadable(path)
            guard SSL_CTX_load_verify_locations(context, path, nil) == 1 else { throw .noAuthorities(path: path) }
        }
        if asServer {
            let identity: StaticString = "ringwright"
            SSL_CTX_set_session_id_context(context, identity.utf8Start, UInt32(identity.utf8CodeUnitCount))
            guard settings.requiresClientCertificate else { return }
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
            // A SIP server's certificate serves it as client too; public authorities no longer say so in it.
            SSL_CTX_set_purpose(context, X509_PURPOSE_ANY)
        } else {
            if settings.verifiesServers { SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil) }
            SSL_CTX_ctrl(
                context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL), nil)
            SSL_CTX_sess_set_new_cb(context) { connection, session in
                guard let connection, let session, let data = SSL_get_ex_data(connection, 0) else { return 0 }
                Unmanaged<TLSStream>.fromOpaque(data).takeUnretainedValue().keep(session)
                return 1
            }
        }
    }

    private static func checkReadable(_ path: String) throws(TLSSetupError) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw .unreadable(path: path, reason: String(cString: strerror(errno))) }
        close(file)
    }

    // MARK: Sessions

    /// Owns one of OpenSSL's references.
    private final class Session: @unchecked Sendable {
        let pointer: OpaquePointer

        init(_ pointer: OpaquePointer) {
            self.pointer = pointer
        }

        deinit { SSL_SESSION_free(pointer) }
    }

    /// Takes over the reference to `session`.
    func keep(_ session: OpaquePointer, for peer: String) {
        let kept = Session(session)
        sessions.withLock { sessions in
            if sessions.count >= Self.sessionCapacity { sessions.removeAll() }
            sessions[peer] = kept
        }
    }

    /// Offers `peer` what it gave last time.
    func resume(_ connection: OpaquePointer, with peer: String) {
        guard let session = sessions.withLock({ $0[peer] }) else { return }
        SSL_set_session(connection, session.pointer)
    }

    /// The next handshake with `peer` is a whole one.
    func forget(_ peer: String) { sessions.withLock { $0[peer] = nil } }
}

/// The error queue of OpenSSL.
enum OpenSSLError {
    /// Empties the queue, oldest first.
    static func all() -> [UInt] {
        var result: [UInt] = []
        while true {
            let next = ERR_get_error()
            if next == 0 { return result }
            result.append(next)
        }
    }

    private static func library(_ error: UInt) -> Int { Int(error >> 23) & 0xFF }
    static func reason(_ error: UInt) -> Int { Int(error) & 0x7F_FFFF }

    static func isNoPEM(_ error: UInt) -> Bool {
        (library(error) == ERR_LIB_PEM && reason(error) == PEM_R_NO_START_LINE)
            || library(error) == ERR_LIB_OSSL_DECODER
    }

    static func isMismatch(_ error: UInt) -> Bool {
        library(error) == ERR_LIB_X509
            && (reason(error) == X509_R_KEY_VALUES_MISMATCH || reason(error) == X509_R_KEY_TYPE_MISMATCH)
    }

    static func isPassphrase(_ error: UInt) -> Bool {
        library(error) == ERR_LIB_PEM && [PEM_R_BAD_PASSWORD_READ, PEM_R_BAD_DECRYPT].contains(Int32(reason(error)))
    }

    static func words(_ error: UInt) -> String {
        ERR_reason_error_string(error).map { String(cString: $0) } ?? "TLS failed (\(error))"
    }
}
