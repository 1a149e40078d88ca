// The algorithm set MILENAGE (3GPP TS 35.206) as far as a phone needs it for AKA: the answer to a network's challenge, and the check that
// the network knows the key.

import COpenSSL

struct Milenage {
    /// 16 octets.
    private let key: [UInt8]
    private let derived: [UInt8]

    /// - Parameter operator: OP, the operator's own constant, 16 octets.
    init(key: [UInt8], operator constant: [UInt8]) {
        precondition(key.count == 16 && constant.count == 16, "keys of MILENAGE have 16 octets")
        self.key = key
        derived = Self.xor(Self.encrypt(constant, key), constant)
    }

    /// f2 and f5 for a challenge of 16 octets: RES, 8 octets, and the key that hides the sequence number, 6 octets.
    func answer(to challenge: [UInt8]) -> (response: [UInt8], anonymity: [UInt8]) {
        var input = Self.xor(temporary(challenge), derived)
        input[15] ^= 1
        let output = Self.xor(Self.encrypt(input, key), derived)
        return (Array(output[8...]), Array(output[..<6]))
    }

    /// f1: what the network proves itself by, 8 octets. `sequence` has 6 octets, `field` (AMF) 2.
    func authentication(of challenge: [UInt8], sequence: [UInt8], field: [UInt8]) -> [UInt8] {
        let both = Self.xor(sequence + field + sequence + field, derived)
        // Turned by 64 bits.
        let output = Self.encrypt(Self.xor(temporary(challenge), Array(both[8...] + both[..<8])), key)
        return Array(Self.xor(output, derived)[..<8])
    }

    private func temporary(_ challenge: [UInt8]) -> [UInt8] { Self.encrypt(Self.xor(challenge, derived), key) }

    private static func xor(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] { zip(left, right).map { $0 ^ $1 } }

    /// One block of AES-128.
    private static func encrypt(_ block: [UInt8], _ key: [UInt8]) -> [UInt8] {
        guard let context = EVP_CIPHER_CTX_new() else { preconditionFailure("OpenSSL makes a context") }
        defer { EVP_CIPHER_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: 32)
        var count: Int32 = 0
        let isDone =
            EVP_EncryptInit_ex(context, EVP_aes_128_ecb(), nil, key, nil) == 1
            && EVP_CIPHER_CTX_set_padding(context, 0) == 1 && EVP_EncryptUpdate(context, &output, &count, block, 16) == 1
        precondition(isDone && count == 16, "OpenSSL has AES")
        return Array(output[..<16])
    }
}
