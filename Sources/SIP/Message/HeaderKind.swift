// The header fields this module knows by kind, with their compact forms (RFC 3261 section 7.3.3 and the extensions' RFCs).
// A name is looked up by a hash of its length, first and last octet; an unknown name is `other` and keeps its octets.

/// What kind of header field a row is.
package enum HeaderKind: UInt8, Sendable, CaseIterable {
    case via, from, to, callID, cSeq, contact, maxForwards, contentLength, contentType
    case route, recordRoute, require, supported, unsupported, allow, retryAfter, expires, minExpires
    case wwwAuthenticate, proxyAuthenticate, authorization, proxyAuthorization
    case rAck, rSeq, reason, sessionExpires, minSE, event, subscriptionState, allowEvents
    case userAgent, server, date, accept, acceptEncoding, acceptLanguage, proxyRequire, subject
    case referTo, referredBy, replaces, pAssertedIdentity, privacy, diversion, historyInfo, identity
    case warning, contentEncoding, contentDisposition, recvInfo
    case other

    /// The name as this module writes it; empty for `other`.
    package var name: StaticString { HeaderKind.spellings[Int(rawValue)].name }

    /// Kinds of which a message may hold one row only (RFC 3261 section 7.3.1).
    var isSingle: Bool {
        switch self {
        case .from, .to, .callID, .cSeq, .maxForwards, .contentLength, .contentType: true
        default: false
        }
    }

    private static let spellings: [(name: StaticString, compact: UInt8)] = [
        ("Via", 118), ("From", 102), ("To", 116), ("Call-ID", 105), ("CSeq", 0), ("Contact", 109), ("Max-Forwards", 0),
        ("Content-Length", 108), ("Content-Type", 99), ("Route", 0), ("Record-Route", 0), ("Require", 0), ("Supported", 107),
        ("Unsupported", 0), ("Allow", 0), ("Retry-After", 0), ("Expires", 0), ("Min-Expires", 0), ("WWW-Authenticate", 0),
        ("Proxy-Authenticate", 0), ("Authorization", 0), ("Proxy-Authorization", 0), ("RAck", 0), ("RSeq", 0), ("Reason", 0),
        ("Session-Expires", 120), ("Min-SE", 0), ("Event", 111), ("Subscription-State", 0), ("Allow-Events", 117),
        ("User-Agent", 0), ("Server", 0), ("Date", 0), ("Accept", 0), ("Accept-Encoding", 0), ("Accept-Language", 0),
        ("Proxy-Require", 0), ("Subject", 115), ("Refer-To", 114), ("Referred-By", 98), ("Replaces", 0),
        ("P-Asserted-Identity", 0), ("Privacy", 0), ("Diversion", 0), ("History-Info", 0), ("Identity", 121), ("Warning", 0),
        ("Content-Encoding", 101), ("Content-Disposition", 0), ("Recv-Info", 0), ("", 0)
    ]

    /// Kinds by compact letter (index: letter - 97).
    private static let byLetter: InlineArray<26, HeaderKind> = {
        var table = InlineArray<26, HeaderKind>(repeating: .other)
        for kind in allCases where spellings[Int(kind.rawValue)].compact != 0 {
            table[Int(spellings[Int(kind.rawValue)].compact) - 97] = kind
        }
        return table
    }()

    /// The octets of a name of 2 to 24 in three words: the first eight, those from the ninth, the last eight, as far as there are any
    /// (they overlap). A name below eight lies in two words of four, one below four in one word.
    private struct Words: Equatable {
        var first: UInt64 = 0
        var middle: UInt64 = 0
        var last: UInt64 = 0

        init() {}

        @inline(__always) init(_ base: UnsafePointer<UInt8>, _ count: Int) {
            if count >= 8 {
                first = Octet.word(base, 0)
                if count > 16 { middle = Octet.word(base, 8) }
                last = Octet.word(base, count - 8)
            } else if count >= 4 {
                first = UInt64(UnsafeRawPointer(base).loadUnaligned(as: UInt32.self))
                last = UInt64(UnsafeRawPointer(base).loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
            } else {
                first = UInt64(base[0]) << 16 | UInt64(base[count / 2]) << 8 | UInt64(base[count - 1])
            }
        }

        @inline(__always) static func | (left: Words, right: Words) -> Words {
            var result = left
            result.first |= right.first
            result.middle |= right.middle
            result.last |= right.last
            return result
        }
    }

    /// A known name in lower case, and the bits that make its capitals small: set in a name from outside, they let it be compared in
    /// any case.
    private struct Spelling {
        var kind = HeaderKind.other
        var count = 0
        var words = Words()
        var capitals = Words()
    }

    /// Open addressing over 256 places: `other` is an empty place.
    private static let byHash: InlineArray<256, Spelling> = {
        var table = InlineArray<256, Spelling>(repeating: Spelling())
        for kind in allCases where kind != .other {
            let name = kind.name
            let count = name.utf8CodeUnitCount
            let octets = UnsafeBufferPointer(start: name.utf8Start, count: count)
            var place = hash(name.utf8Start, count)
            while table[place].kind != .other { place = (place + 1) & 255 }
            table[place] = Spelling(
                kind: kind, count: count,
                words: octets.map(Octet.lower).withUnsafeBufferPointer { Words($0.baseAddress!, count) },
                capitals: octets.map { Octet.isLetter($0) ? 32 : 0 }.withUnsafeBufferPointer { Words($0.baseAddress!, count) })
        }
        return table
    }()

    @inline(__always) private static func hash(_ base: UnsafePointer<UInt8>, _ count: Int) -> Int {
        (Int(base[0] | 32) &* 7 &+ Int(base[count - 1] | 32) &* 31 &+ count &* 13) & 255
    }

    /// The kind of a header name, in any case, long or compact. Nothing beyond `range` is read.
    static func of(_ base: UnsafePointer<UInt8>, _ range: OctetRange) -> HeaderKind {
        let name = base + Int(range.start)
        let count = range.count
        if count == 1 {
            let letter = Int(Octet.lower(name[0])) - 97
            return letter >= 0 && letter < 26 ? byLetter[letter] : .other
        }
        guard count <= 24 else { return .other }
        let words = Words(name, count)
        var place = hash(name, count)
        while byHash[place].kind != .other {
            if byHash[place].count == count, words | byHash[place].capitals == byHash[place].words { return byHash[place].kind }
            place = (place + 1) & 255
        }
        return .other
    }

    /// The kind of a header name given as text.
    package init(name: String) {
        var name = name
        self = name.withUTF8 { bytes in
            bytes.isEmpty ? .other : HeaderKind.of(bytes.baseAddress!, OctetRange(0, bytes.count))
        }
    }
}
