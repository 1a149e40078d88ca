// Session keys out of a master key (RFC 3711 section 4.3): AES in counter mode as the pseudo-random function, for the suites of RFC 6188
// and RFC 7714 too. The key derivation rate is always zero: keys are derived once.
//
//    x = label << 48 XOR master salt (112 bits; a salt of 96 bits is followed by zeros)
//    key = AES-CM(master key, x << 16), as many octets as are needed

package import Basics
import COpenSSL

/// Keys of one direction, for RTP or for RTCP.
package struct SRTPKeys: Equatable, Sendable {
    package enum Use: UInt8, Sendable {
        case rtp = 0
        case rtcp = 3
    }

    package let cipher: [UInt8]
    /// HMAC's; empty for a cipher that authenticates itself.
    package let authentication: [UInt8]
    package let salt: [UInt8]

    /// Session keys that are known already, as in the RFCs' examples.
    package init(cipher: [UInt8], authentication: [UInt8] = [], salt: [UInt8]) {
        self.cipher = cipher
        self.authentication = authentication
        self.salt = salt
    }

    /// `master`: key and salt, `suite.masterLength` octets.
    package init(_ suite: SRTPSuite, master: [UInt8], for use: Use) {
        precondition(master.count == suite.masterLength, "a master key and salt of the suite's lengths")
        let derivation = SRTPKeyDerivation(key: master[..<suite.keyLength], salt: master[suite.keyLength...])
        cipher = derivation.derive(label: use.rawValue, count: suite.keyLength)
        authentication = suite.isAEAD ? [] : derivation.derive(label: use.rawValue + 1, count: SRTPKeyDerivation.hashLength)
        salt = derivation.derive(label: use.rawValue + 2, count: suite.saltLength)
    }
}

private struct SRTPKeyDerivation {
    /// Octets of HMAC-SHA1's key and digest.
    static let hashLength = 20
    private let key: ArraySlice<UInt8>
    private let salt: ArraySlice<UInt8>

    init(key: ArraySlice<UInt8>, salt: ArraySlice<UInt8>) {
        self.key = key
        self.salt = salt
    }

    func derive(label: UInt8, count: Int) -> [UInt8] {
        var counter = Array(salt) + [UInt8](repeating: 0, count: 16 - salt.count)
        counter[7] ^= label
        let zeros = [UInt8](repeating: 0, count: count)
        var output = zeros
        let context = SRTPCipher.makeContext(Array(key), isAEAD: false, encrypts: true)
        defer { EVP_CIPHER_CTX_free(context) }
        var length: Int32 = 0
        let isDone =
            EVP_CipherInit_ex(context, nil, nil, nil, counter, 1) == 1
            && EVP_CipherUpdate(context, &output, &length, zeros, Int32(count)) == 1
        precondition(isDone && length == count, "AES is not available in this build of OpenSSL")
        return output
    }
}
