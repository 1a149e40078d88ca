// A piece of a body under parsing: a trimmed range of bytes. Valid only while the parser's buffer is.

import Basics

let lineFeed = UInt8(ascii: "\n")
let carriageReturn = UInt8(ascii: "\r")
let equals = UInt8(ascii: "=")
private let space = UInt8(ascii: " ")
private let tab = UInt8(ascii: "\t")

struct Field {
    private var bytes: UnsafeRawBufferPointer
    private(set) var start: Int
    private(set) var end: Int

    /// The range without blanks at both ends.
    init(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ end: Int) {
        self.bytes = bytes
        self.start = start
        self.end = end
        self = trimmed()
    }

    /// A range that was trimmed before.
    init(trimmed bytes: UnsafeRawBufferPointer, _ start: Int, _ end: Int) {
        self.bytes = bytes
        self.start = start
        self.end = end
    }

    var count: Int { end - start }
    var isEmpty: Bool { start == end }
    subscript(index: Int) -> UInt8 { bytes[start + index] }

    /// Bytes that are no UTF-8 become U+FFFD.
    var string: String { String(decoding: slice, as: UTF8.self) }

    func trimmed() -> Field {
        var result = self
        while result.start < result.end, isBlank(bytes[result.start]) { result.start += 1 }
        while result.start < result.end, isBlank(bytes[result.end - 1]) { result.end -= 1 }
        return result
    }

    func dropping(_ length: Int) -> Field {
        var result = self
        result.start += length
        return result.trimmed()
    }

    /// The bytes up to the next blank; moves behind them and the blanks that follow. Empty at the end.
    mutating func nextToken() -> Field {
        while start < end, isBlank(bytes[start]) { start += 1 }
        var token = self
        while start < end, !isBlank(bytes[start]) { start += 1 }
        token.end = start
        return token
    }

    /// All words, parted by blanks.
    var tokens: [Field] {
        var (rest, tokens) = (self, [Field]())
        while true {
            let token = rest.nextToken()
            if token.isEmpty { return tokens }
            tokens.append(token)
        }
    }

    /// The bytes up to `separator` (all of them when it is not there); moves behind it.
    mutating func splitting(at separator: UInt8) -> Field {
        var head = self
        var position = start
        while position < end, bytes[position] != separator { position += 1 }
        head.end = position
        start = min(position + 1, end)
        return head
    }

    func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        for index in 0..<count where bytes[start + index] != text.utf8Start[index] { return false }
        return true
    }

    /// ASCII, without regard to case.
    func equals(ignoringCase text: StaticString) -> Bool {
        equals(ignoringCase: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// ASCII, without regard to case.
    func equals(ignoringCase text: String) -> Bool {
        guard count == text.utf8.count else { return false }
        var text = text
        return text.withUTF8 { equals(ignoringCase: $0) }
    }

    private func equals(ignoringCase text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == text.count else { return false }
        for index in 0..<text.count where bytes[start + index] != text[index] {
            if lower(bytes[start + index]) != lower(text[index]) { return false }
        }
        return true
    }

    /// The bytes themselves.
    var slice: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[start..<end]) }

    /// A number of 1 to 10 decimal digits, at most `limit`.
    func number(upTo limit: Int) -> Int? {
        guard count > 0, count <= 10 else { return nil }
        var value = 0
        for index in start..<end {
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value * 10 + Int(digit)
        }
        return value <= limit ? value : nil
    }

    /// An IP address; dotted IPv4 is read in place.
    var address: IPAddress? {
        var value: UInt32 = 0
        var rest = self
        for part in 0..<4 {
            let isLast = part == 3
            let octet = isLast ? rest : rest.splitting(at: UInt8(ascii: "."))
            guard octet.count <= 3, octet.count == 1 || octet.count > 1 && octet[0] != UInt8(ascii: "0"),
                let number = octet.number(upTo: 255)
            else { return IPAddress(string) }
            value = value << 8 | UInt32(number)
        }
        return .v4(value)
    }

    private func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }
}
