// Searches over octets, eight at a time: where an octet is, and where a URI's octets end (RFC 3261 section 25.1). A word of eight is
// tested as a whole; only where one of its octets tells are they looked at one by one.

extension Octet {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    /// The high bit of each octet that is zero, and nothing when none is. Above the first zero octet others may be marked too.
    @inline(__always) private static func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word & highs }

    @inline(__always) static func word(_ base: UnsafePointer<UInt8>, _ at: Int) -> UInt64 {
        UnsafeRawPointer(base).loadUnaligned(fromByteOffset: at, as: UInt64.self).littleEndian
    }

    /// The place of the first `octet` from `start`; `end` when there is none before it.
    static func first(_ octet: UInt8, _ base: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        let pattern = UInt64(octet) &* ones
        var at = start
        while at + 8 <= end {
            let hits = zeros(word(base, at) ^ pattern)
            if hits != 0 { return at + hits.trailingZeroBitCount >> 3 }
            at += 8
        }
        if end - start >= 8 {
            // The rest with octets before it that were looked at already and hold none.
            let hits = zeros(word(base, end - 8) ^ pattern)
            return hits == 0 ? end : end - 8 + hits.trailingZeroBitCount >> 3
        }
        while at < end, base[at] != octet { at += 1 }
        return at
    }

    @inline(__always) private static func foreignToURI(_ word: UInt64) -> UInt64 {
        // Below 33; quotes; < and >, which differ in one bit; DEL.
        (word &- 33 &* ones) & ~word & highs | zeros(word ^ UInt64(quote) &* ones)
            | zeros((word | 2 &* ones) ^ UInt64(greater) &* ones) | zeros(word ^ 127 &* ones)
    }

    /// The place of the first octet from `start` that may not stand in a URI (see `isURI`); `end` when all may.
    static func firstForeignToURI(_ base: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Int {
        var at = start
        while at + 8 <= end, foreignToURI(word(base, at)) == 0 { at += 8 }
        if end - start >= 8, end - at < 8, foreignToURI(word(base, end - 8)) == 0 { return end }
        while at < end, isURI(base[at]) { at += 1 }
        return at
    }
}
