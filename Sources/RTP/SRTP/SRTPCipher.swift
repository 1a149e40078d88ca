// What OpenSSL does for a packet: AES in counter mode with HMAC-SHA1 (RFC 3711 section 4), or AES-GCM (RFC 7714). Nothing is
// allocated once it is made. What is put where, and which index a packet has, is decided by SRTPSender and SRTPReceiver.

import Basics
import COpenSSL

/// The keyed state of one direction, for RTP or RTCP. Used from one thread.
final class SRTPCipher {
    private let context: OpaquePointer
    private let isAEAD: Bool
    /// The session salt as it stands in the counter: 14 octets and two zeros, or 12 octets.
    private let saltHigh: UInt64
    private let saltLow: UInt64
    private let hash: HMACSHA1?

    init(_ suite: SRTPSuite, _ keys: SRTPKeys, encrypts: Bool) {
        isAEAD = suite.isAEAD
        context = Self.makeContext(keys.cipher, isAEAD: isAEAD, encrypts: encrypts)
        var (high, low) = (UInt64(0), UInt64(0))
        for (place, octet) in (keys.salt + [UInt8](repeating: 0, count: 16 - keys.salt.count)).enumerated() {
            if place < 8 { high = high << 8 | UInt64(octet) } else { low = low << 8 | UInt64(octet) }
        }
        (saltHigh, saltLow) = (high, low)
        hash = keys.authentication.isEmpty ? nil : HMACSHA1(key: keys.authentication)
    }

    deinit { EVP_CIPHER_CTX_free(context) }

    static func makeContext(_ key: [UInt8], isAEAD: Bool, encrypts: Bool) -> OpaquePointer {
        let cipher =
            switch (isAEAD, key.count) {
            case (false, 16): EVP_aes_128_ctr()
            case (false, _): EVP_aes_256_ctr()
            case (true, 16): EVP_aes_128_gcm()
            case (true, _): EVP_aes_256_gcm()
            }
        guard let context = EVP_CIPHER_CTX_new(), EVP_CipherInit_ex(context, cipher, nil, key, nil, encrypts ? 1 : 0) == 1 else {
            preconditionFailure("AES is not available in this build of OpenSSL")
        }
        return context
    }

    // MARK: Counter mode and HMAC

    /// Encrypts or decrypts; `input` and `output` may be the same place.
    func crypt(
        _ input: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer, ssrc: UInt32, index: UInt64
    ) {
        begin(ssrc: ssrc, index: index)
        update(input, to: output)
    }

    /// The first octets of the authentication tag of two pieces.
    func tag(
        of first: UnsafeRawBufferPointer, _ second: UInt32?, to output: UnsafeMutableRawPointer, length: Int
    ) {
        guard let hash else { preconditionFailure("the suite has no hash") }
        var digest = hash.digest(of: first, second)
        withUnsafeBytes(of: &digest) { output.copyMemory(from: $0.baseAddress!, byteCount: length) }
    }

    /// Compares in a time that does not tell where the difference is.
    func isTag(_ tag: UnsafeRawBufferPointer, of first: UnsafeRawBufferPointer, _ second: UInt32?) -> Bool {
        guard let hash else { preconditionFailure("the suite has no hash") }
        var digest = hash.digest(of: first, second)
        return withUnsafeBytes(of: &digest) { CRYPTO_memcmp($0.baseAddress!, tag.baseAddress!, tag.count) == 0 }
    }

    // MARK: Galois/counter mode

    /// Encrypts `input`, and writes the tag over it and what is only authenticated.
    func seal(
        _ input: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer, authenticating header: UnsafeRawBufferPointer,
        _ word: UInt32?, ssrc: UInt32, index: UInt64, tag: UnsafeMutableRawPointer
    ) {
        begin(ssrc: ssrc, index: index)
        authenticate(header, word)
        update(input, to: output)
        var length: Int32 = 0
        let isDone =
            EVP_CipherFinal_ex(context, tag.assumingMemoryBound(to: UInt8.self), &length) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1
        precondition(isDone, "OpenSSL's AES-GCM failed")
    }

    /// Decrypts; false, and rubbish in `output`, when the tag is not that of the packet.
    func open(
        _ input: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer, authenticating header: UnsafeRawBufferPointer,
        _ word: UInt32?, ssrc: UInt32, index: UInt64, tag: UnsafeRawBufferPointer
    ) -> Bool {
        begin(ssrc: ssrc, index: index)
        // It reads the tag only.
        let expected = UnsafeMutableRawPointer(mutating: tag.baseAddress)
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, expected) == 1 else { return false }
        authenticate(header, word)
        update(input, to: output)
        var (rest, length) = (InlineArray<16, UInt8>(repeating: 0), Int32(0))
        return withUnsafeMutableBytes(of: &rest) {
            EVP_CipherFinal_ex(context, $0.baseAddress!.assumingMemoryBound(to: UInt8.self), &length) == 1
        }
    }

    // MARK: Steps

    /// The counter or nonce: salt, source and index (RFC 3711 section 4.1.1, RFC 7714 section 8.1).
    private func begin(ssrc: UInt32, index: UInt64) {
        let high: UInt64
        let low: UInt64
        if isAEAD {
            high = saltHigh ^ (UInt64(ssrc) << 16 | index >> 32)
            low = saltLow ^ (index & 0xFFFF_FFFF) << 32
        } else {
            high = saltHigh ^ UInt64(ssrc)
            low = saltLow ^ index << 16
        }
        var vector = (high.bigEndian, low.bigEndian)
        let isDone = withUnsafeBytes(of: &vector) {
            EVP_CipherInit_ex(context, nil, nil, nil, $0.baseAddress!.assumingMemoryBound(to: UInt8.self), -1)
        }
        precondition(isDone == 1, "OpenSSL's AES failed")
    }

    private func authenticate(_ header: UnsafeRawBufferPointer, _ word: UInt32?) {
        var length: Int32 = 0
        var isDone = EVP_CipherUpdate(context, nil, &length, Self.octets(header), Int32(header.count)) == 1
        if let word {
            var octets = word.bigEndian
            withUnsafeBytes(of: &octets) {
                isDone = isDone && EVP_CipherUpdate(context, nil, &length, Self.octets($0), 4) == 1
            }
        }
        precondition(isDone, "OpenSSL's AES-GCM failed")
    }

    private func update(_ input: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer) {
        guard !input.isEmpty else { return }
        var length: Int32 = 0
        let isDone = EVP_CipherUpdate(
            context, output.assumingMemoryBound(to: UInt8.self), &length, Self.octets(input), Int32(input.count))
        precondition(isDone == 1 && Int(length) == input.count, "OpenSSL's AES failed")
    }

    private static func octets(_ bytes: UnsafeRawBufferPointer) -> UnsafePointer<UInt8>? {
        bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }
}

/// HMAC-SHA1 (RFC 2104) with the key's blocks hashed beforehand.
private struct HMACSHA1 {
    typealias Digest = InlineArray<20, UInt8>

    private var inner = SHA_CTX()
    private var outer = SHA_CTX()

    init(key: [UInt8]) {
        precondition(key.count <= 64)
        let block = key + [UInt8](repeating: 0, count: 64 - key.count)
        rw_sha1_begin(&inner)
        rw_sha1_add(&inner, block.map { $0 ^ 0x36 }, 64)
        rw_sha1_begin(&outer)
        rw_sha1_add(&outer, block.map { $0 ^ 0x5C }, 64)
    }

    /// Of octets and a word behind them.
    func digest(of first: UnsafeRawBufferPointer, _ second: UInt32?) -> Digest {
        var state = inner
        rw_sha1_add(&state, first.baseAddress, first.count)
        if let second {
            var octets = second.bigEndian
            rw_sha1_add(&state, &octets, 4)
        }
        var digest = Digest(repeating: 0)
        withUnsafeMutableBytes(of: &digest) { digest in
            let octets = digest.baseAddress!.assumingMemoryBound(to: UInt8.self)
            rw_sha1_end(&state, octets)
            state = outer
            rw_sha1_add(&state, octets, 20)
            rw_sha1_end(&state, octets)
        }
        return digest
    }
}
