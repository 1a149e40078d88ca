// The hashes of digest authentication (RFC 3261 section 22, RFC 7616, RFC 8760), by OpenSSL.

import COpenSSL

/// Hash algorithms of digest, the stronger later.
package enum DigestAlgorithm: Int, Sendable, Comparable {
    case md5, sha256, sha512t256

    package static func < (left: DigestAlgorithm, right: DigestAlgorithm) -> Bool { left.rawValue < right.rawValue }

    /// The name in headers.
    package var name: StaticString {
        switch self {
        case .md5: "MD5"
        case .sha256: "SHA-256"
        case .sha512t256: "SHA-512-256"
        }
    }

    /// The hash of octets in lower-case hexadecimal digits.
    package func hash(_ octets: [UInt8]) -> [UInt8] {
        let kind =
            switch self {
            case .md5: EVP_md5()
            case .sha256: EVP_sha256()
            case .sha512t256: EVP_sha512_256()
            }
        var digest = [UInt8](repeating: 0, count: 64)
        var length: UInt32 = 0
        let isDone = EVP_Digest(octets, octets.count, &digest, &length, kind, nil)
        precondition(isDone == 1, "the hash is not available in this build of OpenSSL")
        var result: [UInt8] = []
        result.reserveCapacity(Int(length) * 2)
        for octet in digest.prefix(Int(length)) {
            for digit in [octet >> 4, octet & 15] { result.append(digit < 10 ? 48 + digit : 87 + digit) }
        }
        return result
    }
}
