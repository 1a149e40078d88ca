// Octets of a message: ranges over a buffer, character classes of RFC 3261 section 25.1, and a cursor for the decoders.
// Nothing here makes a String; a decoder works on the buffer where the message lies.

/// A part of a message's buffer, as offsets from its start.
package struct OctetRange: Hashable, Sendable {
    /// The first octet.
    package var start: UInt32
    /// One past the last octet.
    package var end: UInt32

    @inlinable package init(_ start: Int, _ end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.end = UInt32(truncatingIfNeeded: end)
    }

    /// A range without octets, for parts that are absent.
    package static let none = OctetRange(0, 0)
    /// The number of octets.
    @inlinable package var count: Int { Int(end) - Int(start) }
    /// True when there is no octet in it.
    @inlinable package var isEmpty: Bool { end == start }
    /// The same part as indices of an array.
    @inlinable package var indices: Range<Int> { Int(start)..<Int(end) }
}

/// Character classes. The masks hold one bit for each ASCII code (low: 0 to 63, high: 64 to 127).
enum Octet {
    static let cr: UInt8 = 13
    static let lf: UInt8 = 10
    static let space: UInt8 = 32
    static let tab: UInt8 = 9
    static let quote: UInt8 = 34
    static let backslash: UInt8 = 92
    static let comma: UInt8 = 44
    static let semicolon: UInt8 = 59
    static let colon: UInt8 = 58
    static let equals: UInt8 = 61
    static let less: UInt8 = 60
    static let greater: UInt8 = 62
    static let at: UInt8 = 64
    static let question: UInt8 = 63
    static let ampersand: UInt8 = 38
    static let percent: UInt8 = 37
    static let slash: UInt8 = 47
    static let openBracket: UInt8 = 91
    static let closeBracket: UInt8 = 93

    @inline(__always) static func matches(_ octet: UInt8, _ low: UInt64, _ high: UInt64) -> Bool {
        guard octet < 128 else { return false }
        return ((octet < 64 ? low : high) >> UInt64(octet & 63)) & 1 == 1
    }

    /// `token` of RFC 3261: letters, digits and - . ! % * _ + ` ' ~
    @inline(__always) static func isToken(_ octet: UInt8) -> Bool {
        matches(octet, 0x03ff_6ca2_0000_0000, 0x47ff_ffff_87ff_fffe)
    }

    /// Letters, digits, - . and _ (which names in the field do hold).
    @inline(__always) static func isHostName(_ octet: UInt8) -> Bool {
        matches(octet, 0x03ff_6000_0000_0000, 0x07ff_fffe_87ff_fffe)
    }

    /// Blank, tab, or an octet of a line end: inside an indexed value a line end is always a fold.
    @inline(__always) static func isBlank(_ octet: UInt8) -> Bool {
        octet == space || octet == tab || octet == cr || octet == lf
    }

    @inline(__always) static func isDigit(_ octet: UInt8) -> Bool { octet &- 48 < 10 }

    @inline(__always) static func isLetter(_ octet: UInt8) -> Bool { (octet | 32) &- 97 < 26 }

    /// What a URI's scheme is made of: letters, digits, + - .
    @inline(__always) static func isScheme(_ octet: UInt8) -> Bool {
        matches(octet, 0x03ff_6800_0000_0000, 0x07ff_fffe_07ff_fffe)
    }

    /// The lower-case letter of an ASCII letter, any other octet as it is.
    @inline(__always) static func lower(_ octet: UInt8) -> UInt8 { octet &- 65 < 26 ? octet | 32 : octet }

    @inline(__always) static func hexValue(_ octet: UInt8) -> UInt8? {
        switch octet {
        case 48...57: octet - 48
        case 65...70: octet - 55
        case 97...102: octet - 87
        default: nil
        }
    }

    /// What may stand in a URI at all: printable, no quotes and no angle brackets; octets over 127 are let through.
    @inline(__always) static func isURI(_ octet: UInt8) -> Bool {
        octet > 32 && octet != quote && octet != less && octet != greater && octet != 127
    }
}

/// A reading position in a stretch of octets. The caller keeps the memory alive.
struct Cursor {
    let base: UnsafePointer<UInt8>
    var at: Int
    var end: Int

    init(_ base: UnsafePointer<UInt8>, _ range: OctetRange) {
        self.base = base
        at = Int(range.start)
        end = Int(range.end)
    }

    @inline(__always) var isAtEnd: Bool { at >= end }

    /// The octet at the position, or 0 at the end.
    @inline(__always) var current: UInt8 { at < end ? base[at] : 0 }

    @inline(__always) mutating func skipBlanks() {
        while at < end, Octet.isBlank(base[at]) { at += 1 }
    }

    /// Steps over `octet` when it is next.
    @inline(__always) mutating func take(_ octet: UInt8) -> Bool {
        guard at < end, base[at] == octet else { return false }
        at += 1
        return true
    }

    /// A run of token characters, possibly empty.
    @inline(__always) mutating func token() -> OctetRange {
        let start = at
        while at < end, Octet.isToken(base[at]) { at += 1 }
        return OctetRange(start, at)
    }

    /// Steps over a quoted string whose opening quote is next; gives its range with the quotes, nil when it does not end.
    mutating func quotedString() -> OctetRange? {
        let start = at
        at += 1
        while at < end {
            switch base[at] {
            case Octet.backslash: at += 2
            case Octet.quote:
                at += 1
                return OctetRange(start, at)
            default: at += 1
            }
        }
        at = end
        return nil
    }

    /// A decimal number up to `limit` (at most 2^40); nil when there is no digit or it is larger.
    mutating func number(upTo limit: UInt64) -> UInt64? {
        let start = at
        var value: UInt64 = 0
        while at < end, Octet.isDigit(base[at]) {
            value = value &* 10 &+ UInt64(base[at] &- 48)
            if value > limit { return nil }
            at += 1
        }
        return at > start ? value : nil
    }
}

/// `range` without blanks at both ends.
@inline(__always) func trimmed(_ base: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> OctetRange {
    var start = start
    var end = end
    while start < end, Octet.isBlank(base[start]) { start += 1 }
    while end > start, Octet.isBlank(base[end - 1]) { end -= 1 }
    return OctetRange(start, end)
}

/// Whether the octets are `text` without regard to ASCII case. `text` is written in lower case.
@inline(__always) func equalsIgnoringCase(_ base: UnsafePointer<UInt8>, _ range: OctetRange, _ text: StaticString) -> Bool {
    guard range.count == text.utf8CodeUnitCount else { return false }
    let other = text.utf8Start
    let start = Int(range.start)
    for index in 0..<range.count where Octet.lower(base[start + index]) != other[index] { return false }
    return true
}

/// Whether the octets are `text`.
@inline(__always) func equals(_ base: UnsafePointer<UInt8>, _ range: OctetRange, _ text: StaticString) -> Bool {
    guard range.count == text.utf8CodeUnitCount else { return false }
    for index in 0..<range.count where base[Int(range.start) + index] != text.utf8Start[index] { return false }
    return true
}

/// Whether two stretches hold the same octets without regard to ASCII case.
func equalsIgnoringCase(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    left.count == right.count && zip(left, right).allSatisfy { Octet.lower($0) == Octet.lower($1) }
}

/// Undoes %HH once (RFC 3261 section 19.1.2); what is no escape stays as it is.
package func unescaped(_ octets: some Collection<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(octets.count)
    var index = octets.startIndex
    while index != octets.endIndex {
        let octet = octets[index]
        if octet == Octet.percent, octets.distance(from: index, to: octets.endIndex) > 2 {
            let second = octets.index(after: index)
            let third = octets.index(after: second)
            if let high = Octet.hexValue(octets[second]), let low = Octet.hexValue(octets[third]) {
                result.append(high << 4 | low)
                index = octets.index(after: third)
                continue
            }
        }
        result.append(octet)
        index = octets.index(after: index)
    }
    return result
}

/// The text of octets from a peer; octets that are no UTF-8 become U+FFFD, so that logs and JSON stay valid.
package func text(_ octets: some Collection<UInt8>) -> String {
    String(decoding: octets, as: UTF8.self)
}
