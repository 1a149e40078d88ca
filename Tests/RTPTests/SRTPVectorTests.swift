// SRTP against the examples in its RFCs: key derivation and keystreams of RFC 3711 and RFC 6188, whole packets of RFC 7714.

import Basics
import RTP
import Testing

@Suite struct SRTPVectorTests {
    @Test("keys of RFC 3711 appendix B.3") func derivation() {
        let master = octets("E1F97A0D3E018BE0D64FA32C06DE4139 0EC675AD498AFEEBB6960B3AABE6")
        let keys = SRTPKeys(.aes128HMAC80, master: master, for: .rtp)
        #expect(hex(keys.cipher) == "c61e7a93744f39ee10734afe3ff7a087")
        #expect(hex(keys.salt) == "30cbbc08863d8c85d49db34a9ae1")
        #expect(hex(keys.authentication) == "cebe321f6ff7716b6fd4ab49af256a156d38baa4")
        #expect(SRTPKeys(.aes128HMAC32, master: master, for: .rtp) == keys)
        #expect(SRTPKeys(.aes128HMAC80, master: master, for: .rtcp) != keys)
    }

    @Test("keys of RFC 6188 section 7.2") func derivation256() {
        let master = octets(
            "f0f04914b513f2763a1b1fa130f10e2998f6f6e43e4309d1e622a0e332b9f1b6 3b04803de51ee7c96423ab5b78d2")
        let keys = SRTPKeys(.aes256HMAC80, master: master, for: .rtp)
        #expect(hex(keys.cipher) == "5ba1064e30ec51613cad926c5a28ef731ec7fb397f70a960653caf06554cd8c4")
        #expect(hex(keys.salt) == "fa31791685ca444a9e07c6c64e93")
        #expect(hex(keys.authentication) == "fd9c32d39ed5fbb5a9dc96b30818454d1313dc05")
    }

    /// Zeros encrypted are the keystream. The examples have source, rollover counter and sequence number zero.
    @Test(
        "keystreams of RFC 3711 appendix B.2 and RFC 6188 section 7.1",
        arguments: [
            (
                SRTPSuite.aes128HMAC80, "2B7E151628AED2A6ABF7158809CF4F3C",
                "e03ead0935c95e80e166b16dd92b4eb4 d23513162b02d0f72a43a2fe4a5f97ab 41e95b3bb0a2e8dd477901e4fca894c0"
            ),
            (
                SRTPSuite.aes256HMAC80, "57f82fe3613fd170a85ec93c40b1f0922ec4cb0dc025b58272147cc438944a98",
                "92bdd28a93c3f52511c677d08b5515a4 9da71b2378a854f67050756ded165bac 63c4868b7096d88421b563b8c94c9a31"
            )
        ]) func keystream(suite: SRTPSuite, key: String, stream: String) throws
    {
        let keys = SRTPKeys(
            cipher: octets(key), authentication: [UInt8](repeating: 0, count: 20), salt: octets("F0F1F2F3F4F5F6F7F8F9FAFBFCFD"))
        let sender = SRTPSender(suite, media: keys, control: keys)
        let packet = [0x80] + [UInt8](repeating: 0, count: 11 + 48)
        let protected = try #require(sender.protect(packet))
        #expect(protected.count == packet.count + 10)
        #expect(Array(protected[12..<60]) == octets(stream))
    }

    private static let sentence = """
        8040f17b 8041f8d3 5501a0b2 47616c6c 69612065 7374206f 6d6e6973 20646976 69736120 696e2070 61727465 73207472 6573
        """

    @Test(
        "packets of RFC 7714 section 16",
        arguments: [
            (
                SRTPSuite.aes128GCM,
                """
                8040f17b 8041f8d3 5501a0b2 f24de3a3 fb34de6c acba861c 9d7e4bca be633bd5 0d294e6f 42a5f47a 51c7d19b 36de3adf 8833899d
                7f27beb1 6a9152cf 765ee439 0cce
                """
            ),
            (
                SRTPSuite.aes256GCM,
                """
                8040f17b 8041f8d3 5501a0b2 32b1de78 a822fe12 ef9f78fa 332e33aa b1801238 9a58e2f3 b50b2a02 76ffae0f 1ba63799 b87b7aa3
                db36dfff d6b0f9bb 7878d7a7 6c13
                """
            )
        ]) func galois(suite: SRTPSuite, protected: String) throws
    {
        let keys = SRTPKeys(cipher: (0..<UInt8(suite.keyLength)).map { $0 }, salt: octets("517569642070726f2071756f"))
        #expect(SRTPSender(suite, media: keys, control: keys).protect(octets(Self.sentence)) == octets(protected))
        #expect(try SRTPReceiver(suite, media: keys, control: keys).unprotect(octets(protected)) == octets(Self.sentence))
    }

    @Test("the RTCP packet of RFC 7714 section 17.1") func galoisControl() throws {
        let keys = SRTPKeys(cipher: (0..<16).map { $0 }, salt: octets("517569642070726f2071756f"))
        let protected = octets(
            """
            81c8000d 4d617273 63e94885 dcdab67c a727d766 2f6b7e99 7ff5c0f7 6c06f32d c676a5f1 730d6fda 4ce09b46 86303ded 0bb9275b
            c84aa458 96cf4d2f c5abf872 45d9eade 800005d4
            """)
        let plain = octets(
            """
            81c8000d 4d617273 4e545031 4e545032 52545020 0000042a 0000e930 4c756e61 deadbeef deadbeef deadbeef deadbeef deadbeef
            """)
        #expect(try SRTPReceiver(.aes128GCM, media: keys, control: keys).unprotectControl(protected) == plain)
    }
}
