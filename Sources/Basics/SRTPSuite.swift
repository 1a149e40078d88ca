// The cipher suites of SRTP that are spoken, under the names that descriptions give them (RFC 4568 section 6.2, RFC 6188, RFC 7714).
// Descriptions agree on one, packets are protected by it.

/// A cipher with its authentication, and how long its parts are.
package enum SRTPSuite: String, Sendable, CaseIterable {
    /// RFC 3711: AES in counter mode, HMAC-SHA1 cut to 80 bits.
    case aes128HMAC80 = "AES_CM_128_HMAC_SHA1_80"
    /// The same with 32 bits for RTP; RTCP keeps 80.
    case aes128HMAC32 = "AES_CM_128_HMAC_SHA1_32"
    /// RFC 6188.
    case aes256HMAC80 = "AES_256_CM_HMAC_SHA1_80"
    case aes256HMAC32 = "AES_256_CM_HMAC_SHA1_32"
    /// RFC 7714: AES in Galois/counter mode, with a tag of 16 octets.
    case aes128GCM = "AEAD_AES_128_GCM"
    case aes256GCM = "AEAD_AES_256_GCM"

    /// Whether the cipher authenticates as well.
    package var isAEAD: Bool { self == .aes128GCM || self == .aes256GCM }

    /// Octets of the master key and of the session keys.
    package var keyLength: Int {
        switch self {
        case .aes128HMAC80, .aes128HMAC32, .aes128GCM: 16
        case .aes256HMAC80, .aes256HMAC32, .aes256GCM: 32
        }
    }

    /// Octets of the master salt and of the session salts.
    package var saltLength: Int { isAEAD ? 12 : 14 }
    /// Octets of master key and salt, one after the other, as descriptions carry them.
    package var masterLength: Int { keyLength + saltLength }

    /// Octets that authenticate an RTP packet.
    package var tagLength: Int {
        switch self {
        case .aes128HMAC80, .aes256HMAC80: 10
        case .aes128HMAC32, .aes256HMAC32: 4
        case .aes128GCM, .aes256GCM: 16
        }
    }

    /// Octets that authenticate an RTCP packet.
    package var controlTagLength: Int { isAEAD ? 16 : 10 }
}
