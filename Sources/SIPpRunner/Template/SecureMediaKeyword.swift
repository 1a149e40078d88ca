// The keywords that write an SDES offer (RFC 4568) into a body: tag, suite and key of one of two attributes, audio or video.

enum SecureMediaKeyword {
    private static let suites: [(keyword: String, name: String)] = [
        ("cryptosuiteaescm128sha180", "AES_CM_128_HMAC_SHA1_80"), ("cryptosuiteaescm128sha132", "AES_CM_128_HMAC_SHA1_32"),
        ("cryptosuitenullsha180", "NULL_HMAC_SHA1_80"), ("cryptosuitenullsha132", "NULL_HMAC_SHA1_32"),
        ("ueaescm128sha180", "UNENCRYPTED_SRTP"), ("ueaescm128sha132", "UNENCRYPTED_SRTP")
    ]

    /// `cryptotag1audio`, `cryptosuiteaescm128sha1801audio`, `cryptokeyparams1audio-1`, …
    static func segment(_ name: String) -> Template.Segment? {
        var base = name
        var reuse = 0
        if let minus = name.lastIndex(of: "-"), let number = Int(name[name.index(after: minus)...]) {
            base = String(name[..<minus])
            reuse = number
        }
        guard let medium = ["audio", "video"].first(where: { base.hasSuffix($0) }) else { return nil }
        let head = base.dropLast(medium.count)
        guard let tag = head.last, tag == "1" || tag == "2" else { return nil }
        let kind = String(head.dropLast())
        if kind == "cryptotag" { return .literal(Array("\(tag)".utf8)) }
        if kind == "cryptokeyparams" { return .masterKey(name: "\(tag)\(medium)", reuse: reuse) }
        return suites.first { $0.keyword == kind }.map { .literal(Array($0.name.utf8)) }
    }
}
