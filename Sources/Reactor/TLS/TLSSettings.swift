// What TLS is told before it starts, and what can be wrong with that.

/// Certificates and rules for TLS, as server and as client.
package struct TLSSettings: Hashable, Sendable {
    /// Whose certificates are believed.
    package enum Authorities: Hashable, Sendable {
        /// The system's.
        case system
        /// Those in this PEM file and no others.
        case file(String)
    }

    /// The oldest version of the protocol that is spoken.
    package enum Version: String, Hashable, Sendable, CaseIterable {
        case tls12 = "1.2"
        case tls13 = "1.3"
    }

    /// A PEM file: the chain, this end's own certificate first. A server needs one; a client shows it when it is asked to.
    package var certificate: String?
    /// A PEM file without a passphrase.
    package var key: String?
    package var authorities = Authorities.system
    /// As client: servers have to prove their name. False is for tests.
    package var verifiesServers = true
    /// As server: clients have to show a certificate of one of the authorities.
    package var requiresClientCertificate = false
    package var minimum = Version.tls12

    package init() {}
}

/// Why TLS cannot be set up: always with the file that is at fault.
package enum TLSSetupError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The system's words.
    case unreadable(path: String, reason: String)
    case noCertificate(path: String)
    case noKey(path: String)
    case encryptedKey(path: String)
    case mismatch(certificate: String, key: String)
    case noAuthorities(path: String)
    /// The library's words.
    case unusable(path: String, reason: String)

    package var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(path): \(reason)"
        case .noCertificate(let path): "\(path): no certificate in PEM form is in this file"
        case .noKey(let path): "\(path): no private key in PEM form is in this file"
        case .encryptedKey(let path): "\(path): the key has a passphrase; write it without one (openssl pkey)"
        case .mismatch(let certificate, let key): "\(key): this is not the key of the certificate in \(certificate)"
        case .noAuthorities(let path): "\(path): no certificates of authorities are in this file"
        case .unusable(let path, let reason): "\(path): \(reason)"
        }
    }
}

/// Why TLS with a peer failed.
package enum TLSFailure: Hashable, Sendable, CustomStringConvertible {
    /// The peer's certificate is not believed; the library's words: expired, self-signed, …
    case certificate(String)
    /// The certificate is good, but for others.
    case name(expected: String, found: [String])
    /// The peer refused; the name of its alert.
    case alert(String)
    case timedOut
    /// The peer left in the middle of the handshake.
    case interrupted
    /// What came is no TLS, or not of a version or cipher that is spoken here.
    case unspoken(String)

    package var description: String {
        switch self {
        case .certificate(let reason): "the certificate is refused: \(reason)"
        case .name(let expected, let found):
            "the certificate is not for \(expected) but for \(found.isEmpty ? "nobody" : found.joined(separator: ", "))"
        case .alert(let name): "the peer refused: \(name)"
        case .timedOut: "the handshake took too long"
        case .interrupted: "the peer left during the handshake"
        case .unspoken(let reason): reason
        }
    }
}
