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
    case warning, contentEncoding, contentDisposition
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
        ("Content-Encoding", 101), ("Content-Disposition", 0), ("", 0)
    ]

    /// Kinds by compact letter (index: letter - 97).
    private static let byLetter: [HeaderKind] = {
        var table = [HeaderKind](repeating: .other, count: 26)
        for kind in allCases where spellings[Int(kind.rawValue)].compact != 0 {
            table[Int(spellings[Int(kind.rawValue)].compact) - 97] = kind
        }
        return table
    }()

    /// Open addressing over 256 places: `other` is an empty place.
    private static let byHash: [HeaderKind] = {
        var table = [HeaderKind](repeating: .other, count: 256)
        for kind in allCases where kind != .other {
            let name = kind.name
            var place = hash(name.utf8Start, 0, name.utf8CodeUnitCount)
            while table[place] != .other { place = (place + 1) & 255 }
            table[place] = kind
        }
        return table
    }()

    @inline(__always) private static func hash(_ base: UnsafePointer<UInt8>, _ start: Int, _ count: Int) -> Int {
        (Int(base[start] | 32) &* 7 &+ Int(base[start + count - 1] | 32) &* 31 &+ count &* 13) & 255
    }

    /// The kind of a header name, in any case, long or compact.
    static func of(_ base: UnsafePointer<UInt8>, _ range: OctetRange) -> HeaderKind {
        let start = Int(range.start)
        let count = range.count
        if count == 1 {
            let letter = Int(Octet.lower(base[start])) - 97
            return letter >= 0 && letter < 26 ? byLetter[letter] : .other
        }
        var place = hash(base, start, count)
        while true {
            let kind = byHash[place]
            if kind == .other { return .other }
            let name = kind.name
            if name.utf8CodeUnitCount == count {
                var index = 0
                while index < count, Octet.lower(name.utf8Start[index]) == Octet.lower(base[start + index]) { index += 1 }
                if index == count { return kind }
            }
            place = (place + 1) & 255
        }
    }

    /// The kind of a header name given as text.
    package init(name: String) {
        var name = name
        self = name.withUTF8 { bytes in
            bytes.isEmpty ? .other : HeaderKind.of(bytes.baseAddress!, OctetRange(0, bytes.count))
        }
    }
}
