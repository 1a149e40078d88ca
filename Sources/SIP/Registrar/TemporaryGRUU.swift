// Names of devices that tell nothing of their user (temporary GRUUs, RFC 5627 sections 3.1.2 and 5.1): each answer to a REGISTER has a new one, and
// all of them hold until the device is gone or begins anew. Nothing is kept for a name: it is the device's epoch, encrypted.
//
//   tgruu.  NONCE (16 hexadecimal digits)  EPOCH xor the beginning of SHA-256(key, NONCE) (16)
//
// An epoch is a random number, in whose lowest bits the bucket of its user is (BindingTable): who makes a name up meets none. Another
// epoch makes all names of the one before worthless.

package struct TemporaryGRUUs: Sendable {
    /// 64 hexadecimal digits; kept over a restart with the bindings.
    package var key: [UInt8]
    /// The number of the next nonce or epoch; its beginning is random, so that no restart repeats one.
    private var next: UInt64
    private let secret: [UInt8]
    private static let prefix = Array("tgruu.".utf8)

    /// - Parameter secret: random octets, nobody else's, of this process.
    init(secret: [UInt8]) {
        self.secret = secret
        key = DigestAlgorithm.sha256.hash(secret + Array("key".utf8))
        next = Self.number(DigestAlgorithm.sha256.hash(secret + Array("first".utf8))[..<16]) ?? 0
    }

    /// Of a device that registers for the first time, or begins anew; never 0.
    mutating func newEpoch(bucket: Int) -> UInt64 {
        let count = UInt64(BindingTable.bucketCount)
        return (random() | count) / count * count + UInt64(bucket)
    }

    /// A new name for the device: the user part of a URI.
    mutating func name(of epoch: UInt64) -> [UInt8] {
        let nonce = hexadecimal(random())
        return Self.prefix + nonce + hexadecimal(epoch ^ mask(nonce[...]))
    }

    /// What a name was made of; nil for one that was not made here.
    func epoch(of name: String) -> UInt64? {
        let octets = Array(name.utf8)
        guard Self.isName(name) else { return nil }
        let nonce = octets[Self.prefix.count..<Self.prefix.count + 16]
        return Self.number(octets[(Self.prefix.count + 16)...]).map { $0 ^ mask(nonce) }
    }

    /// Whether a user part looks like one.
    package static func isName(_ user: String) -> Bool {
        user.utf8.count == prefix.count + 32 && user.utf8.starts(with: prefix)
    }

    private func mask(_ nonce: ArraySlice<UInt8>) -> UInt64 {
        Self.number(DigestAlgorithm.sha256.hash(key + nonce)[..<16]) ?? 0
    }

    private mutating func random() -> UInt64 {
        next &+= 1
        return Self.number(DigestAlgorithm.sha256.hash(secret + hexadecimal(next))[..<16]) ?? 0
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? { UInt64(SIP.text(digits), radix: 16) }
}
