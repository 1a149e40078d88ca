// Tokens of an expression (CEL language definition, "Syntax").

enum Token: Equatable, Sendable {
    case end
    case name(String)
    /// A name in backticks, allowed only after a point.
    case quotedName(String)
    /// An integer's digits; whether they are hexadecimal and unsigned.
    case int(UInt64)
    case uint(UInt64)
    case double(Double)
    case string(String)
    case bytes([UInt8])
    /// An operator or a bracket.
    case symbol(String)
}

struct Lexer {
    private let bytes: [UInt8]
    /// Where the next token begins to be looked for.
    private(set) var next: Int
    private let end: Int

    /// Reads `bytes[start..<end]`.
    init(_ bytes: [UInt8], from start: Int, to end: Int) {
        self.bytes = bytes
        next = start
        self.end = end
    }

    private func byte(_ ahead: Int = 0) -> UInt8 { next + ahead < end ? bytes[next + ahead] : 0 }

    private func at(_ text: StaticString, _ ahead: Int = 0) -> Bool {
        guard next + ahead + text.utf8CodeUnitCount <= end else { return false }
        for place in 0..<text.utf8CodeUnitCount where bytes[next + ahead + place] != text.utf8Start[place] { return false }
        return true
    }

    private static let symbols: [StaticString] = [
        "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", ".", ",", "(", ")", "[", "]",
        "{", "}"
    ]

    /// The next token and where it begins. With `braceEnds`, see `Parser`.
    mutating func token() throws(ExpressionError) -> (token: Token, offset: Int) {
        skipSpace()
        let start = next
        guard next < end else { return (.end, start) }
        let first = byte()
        if isDigit(first) || (first == UInt8(ascii: ".") && isDigit(byte(1))) { return (try number(), start) }
        if let literal = try stringOrBytes() { return (literal, start) }
        if isLetter(first) {
            while isLetter(byte()) || isDigit(byte()) { next += 1 }
            return (.name(String(decoding: bytes[start..<next], as: UTF8.self)), start)
        }
        if first == UInt8(ascii: "`") { return (.quotedName(try quotedName()), start) }
        for symbol in Self.symbols where at(symbol) {
            next += symbol.utf8CodeUnitCount
            return (.symbol(symbol.description), start)
        }
        let rest = String(decoding: bytes[start..<min(end, start + 8)], as: UTF8.self)
        let character = rest.first.map(String.init) ?? ""
        let mend =
            switch character {
            case "=": "; write == to compare"
            case "&": "; write && for \"and\""
            case "|": "; write || for \"or\""
            case "$": "; inside an expression names stand without ${ }"
            case "“", "”", "‘", "’", "„": "; write straight quotes"
            default: ""
            }
        throw ExpressionError(.syntax, "\"\(character)\" cannot stand here\(mend)", offset: start)
    }

    private mutating func skipSpace() {
        while next < end {
            switch byte() {
            case 0x20, 0x09, 0x0A, 0x0C, 0x0D: next += 1
            case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "/"):
                while next < end, byte() != 0x0A { next += 1 }
            default: return
            }
        }
    }

    private func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private func isLetter(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    private mutating func quotedName() throws(ExpressionError) -> String {
        let start = next
        next += 1
        while next < end, byte() != UInt8(ascii: "`") { next += 1 }
        let name = String(decoding: bytes[(start + 1)..<next], as: UTF8.self)
        let allowed = name.utf8.allSatisfy { isLetter($0) || isDigit($0) || "-./ ".utf8.contains($0) }
        guard next < end, !name.isEmpty, allowed else {
            throw ExpressionError(
                .syntax, "a name in backticks holds letters, digits, spaces and _ . - / and ends with a backtick", offset: start)
        }
        next += 1
        return name
    }

    private mutating func number() throws(ExpressionError) -> Token {
        let start = next
        if at("0x") || at("0X") {
            next += 2
            let digits = next
            while byte() != 0, Character(Unicode.Scalar(byte())).isHexDigit { next += 1 }
            let text = String(decoding: bytes[digits..<next], as: UTF8.self)
            return try integer(text, radix: 16, from: start)
        }
        var whole = true
        while isDigit(byte()) { next += 1 }
        if byte() == UInt8(ascii: "."), isDigit(byte(1)) {
            whole = false
            next += 1
            while isDigit(byte()) { next += 1 }
        }
        if byte() == UInt8(ascii: "e") || byte() == UInt8(ascii: "E") {
            let sign = byte(1) == UInt8(ascii: "+") || byte(1) == UInt8(ascii: "-") ? 1 : 0
            if isDigit(byte(1 + sign)) {
                whole = false
                next += 1 + sign
                while isDigit(byte()) { next += 1 }
            }
        }
        let text = String(decoding: bytes[start..<next], as: UTF8.self)
        if whole { return try integer(text, radix: 10, from: start) }
        try refuseLetter(from: start)
        // Too large for a double gives infinity, as the standard's own implementations do.
        return .double(Double(text) ?? .infinity)
    }

    private mutating func integer(_ digits: String, radix: Int, from start: Int) throws(ExpressionError) -> Token {
        let unsigned = byte() == UInt8(ascii: "u") || byte() == UInt8(ascii: "U")
        if unsigned { next += 1 }
        try refuseLetter(from: start)
        guard !digits.isEmpty else { throw ExpressionError(.syntax, "digits are missing after 0x", offset: start) }
        guard let number = UInt64(digits, radix: radix) else {
            throw ExpressionError(.syntax, "the number \(digits.prefix(40)) is too large", offset: start)
        }
        return unsigned ? .uint(number) : .int(number)
    }

    private func refuseLetter(from start: Int) throws(ExpressionError) {
        guard isLetter(byte()) || isDigit(byte()) else { return }
        var stop = next
        while stop < end, isLetter(bytes[stop]) || isDigit(bytes[stop]) { stop += 1 }
        let text = String(decoding: bytes[start..<stop].prefix(40), as: UTF8.self)
        throw ExpressionError(.syntax, "\"\(text)\" is not a number; put text in quotes", offset: start)
    }

    // MARK: Strings and bytes

    /// Reads `'…'`, `"…"` and their triple forms with the prefixes r and b; nil when none begins here.
    private mutating func stringOrBytes() throws(ExpressionError) -> Token? {
        let start = next
        var ahead = 0
        var raw = false
        var isBytes = false
        while ahead < 2 {
            let prefix = byte(ahead) | 0x20
            if prefix == UInt8(ascii: "r"), !raw {
                raw = true
            } else if prefix == UInt8(ascii: "b"), !isBytes {
                isBytes = true
            } else {
                break
            }
            ahead += 1
        }
        let quote = byte(ahead)
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
        next += ahead
        let triple = byte(1) == quote && byte(2) == quote
        next += triple ? 3 : 1
        var output: [UInt8] = []
        while true {
            guard next < end else { throw ExpressionError(.syntax, "a string does not end", offset: start) }
            let current = byte()
            if current == quote, !triple || (byte(1) == quote && byte(2) == quote) {
                next += triple ? 3 : 1
                break
            }
            if !triple, current == 0x0A || current == 0x0D {
                throw ExpressionError(.syntax, "a string does not end in its line", offset: start)
            }
            if current == UInt8(ascii: "\\"), !raw {
                try escape(into: &output, isBytes: isBytes)
            } else {
                output.append(current)
                next += 1
            }
        }
        if isBytes { return .bytes(output) }
        return .string(String(decoding: output, as: UTF8.self))
    }

    private mutating func escape(into output: inout [UInt8], isBytes: Bool) throws(ExpressionError) {
        let start = next
        next += 1
        let letter = byte()
        next += 1
        let plain: UInt8? =
            switch Unicode.Scalar(letter) {
            case "a": 7
            case "b": 8
            case "f": 12
            case "n": 10
            case "r": 13
            case "t": 9
            case "v": 11
            case "\\", "'", "\"", "`", "?": letter
            default: nil
            }
        if let plain {
            output.append(plain)
            return
        }
        let number: UInt32
        switch Unicode.Scalar(letter) {
        case "x", "X": number = try digits(2, radix: 16, from: start)
        case "u" where !isBytes: number = try digits(4, radix: 16, from: start)
        case "U" where !isBytes: number = try digits(8, radix: 16, from: start)
        case "0", "1", "2", "3":
            next -= 1
            number = try digits(3, radix: 8, from: start)
        default:
            throw ExpressionError(.syntax, "an unknown escape in a string; write \\\\ for a backslash", offset: start)
        }
        if isBytes {
            output.append(UInt8(truncatingIfNeeded: number))
        } else if let scalar = Unicode.Scalar(number) {
            output.append(contentsOf: String(Character(scalar)).utf8)
        } else {
            throw ExpressionError(.syntax, "an escape names no Unicode character", offset: start)
        }
    }

    private mutating func digits(_ count: Int, radix: Int, from start: Int) throws(ExpressionError) -> UInt32 {
        var number: UInt32 = 0
        for _ in 0..<count {
            guard let digit = Character(Unicode.Scalar(byte())).hexDigitValue, digit < radix else {
                throw ExpressionError(.syntax, "an escape needs \(count) digits", offset: start)
            }
            number = number &* UInt32(radix) &+ UInt32(digit)
            next += 1
        }
        return number
    }
}
