// JSON into values (RFC 8259), strict and bounded. Written by hand so that the order of members stays, and whole numbers stay whole.

/// Why a text is no JSON, and where.
package struct JSONProblem: Error, Equatable, Sendable {
    package let message: String
    /// In bytes from the start of the text.
    package let offset: Int
}

extension Value {
    /// Reads JSON. Numbers without fraction and exponent that fit are int (or uint), others double. Of two members with one name
    /// the last counts. At most `depth` levels of lists and objects.
    package static func fromJSON(_ text: String, depth: Int = 64) throws(JSONProblem) -> Value {
        try fromJSON(Array(text.utf8), depth: depth)
    }

    /// Reads JSON in UTF-8.
    package static func fromJSON(_ bytes: [UInt8], depth: Int = 64) throws(JSONProblem) -> Value {
        var reader = JSONReader(bytes: bytes)
        let value = try reader.value(depth: depth)
        reader.skipSpace()
        guard reader.next == bytes.count else { throw reader.problem("there is something after the end of the JSON value") }
        return value
    }
}

private struct JSONReader {
    let bytes: [UInt8]
    var next = 0

    func problem(_ message: String) -> JSONProblem { JSONProblem(message: message, offset: next) }

    var current: UInt8? { next < bytes.count ? bytes[next] : nil }

    mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { next += 1 }
    }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard current == UInt8(ascii: character) else { return false }
        next += 1
        return true
    }

    mutating func word(_ word: StaticString, _ value: Value) throws(JSONProblem) -> Value {
        let wanted = word.withUTF8Buffer { Array($0) }
        guard bytes[next...].starts(with: wanted) else { throw problem("not a JSON value") }
        next += wanted.count
        return value
    }

    mutating func value(depth: Int) throws(JSONProblem) -> Value {
        skipSpace()
        guard let byte = current else { throw problem("the JSON ends too early") }
        switch Unicode.Scalar(byte) {
        case "{":
            guard depth > 0 else { throw problem("the JSON is nested too deeply") }
            return try object(depth: depth - 1)
        case "[":
            guard depth > 0 else { throw problem("the JSON is nested too deeply") }
            return try array(depth: depth - 1)
        case "\"": return .string(try string())
        case "t": return try word("true", .bool(true))
        case "f": return try word("false", .bool(false))
        case "n": return try word("null", .null)
        default: return try number()
        }
    }

    mutating func object(depth: Int) throws(JSONProblem) -> Value {
        next += 1
        var map = ValueMap()
        if take("}") { return .map(map) }
        repeat {
            skipSpace()
            guard current == UInt8(ascii: "\"") else { throw problem("a member's name in quotes is missing") }
            let name = try string()
            guard take(":") else { throw problem("a colon is missing") }
            map[name] = try value(depth: depth)
        } while take(",")
        guard take("}") else { throw problem("a comma or } is missing") }
        return .map(map)
    }

    mutating func array(depth: Int) throws(JSONProblem) -> Value {
        next += 1
        var elements: [Value] = []
        if take("]") { return .list(elements) }
        repeat { elements.append(try value(depth: depth)) } while take(",")
        guard take("]") else { throw problem("a comma or ] is missing") }
        return .list(elements)
    }

    mutating func digits() -> Int {
        let start = next
        while let byte = current, (0x30...0x39).contains(byte) { next += 1 }
        return next - start
    }

    mutating func number() throws(JSONProblem) -> Value {
        let start = next
        if current == UInt8(ascii: "-") { next += 1 }
        let leadingZero = current == UInt8(ascii: "0")
        let count = digits()
        guard count > 0, !(leadingZero && count > 1) else {
            next = start
            throw problem("not a JSON value")
        }
        var whole = true
        if current == UInt8(ascii: ".") {
            next += 1
            whole = false
            guard digits() > 0 else { throw problem("digits are missing after the point") }
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            next += 1
            whole = false
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { next += 1 }
            guard digits() > 0 else { throw problem("digits are missing in the exponent") }
        }
        let text = String(decoding: bytes[start..<next], as: UTF8.self)
        if whole, let number = Int64(text) { return .int(number) }
        if whole, let number = UInt64(text) { return .uint(number) }
        return .double(Double(text) ?? .nan)
    }

    mutating func string() throws(JSONProblem) -> String {
        next += 1
        var output: [UInt8] = []
        let start = next
        while let byte = current, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw problem("a control character inside a string") }
            next += 1
            if byte == UInt8(ascii: "\\") {
                output.append(contentsOf: String(Character(try escape())).utf8)
            } else {
                output.append(byte)
            }
        }
        guard current != nil else { throw problem("a string does not end") }
        next += 1
        guard let text = String(validating: output, as: UTF8.self) else {
            throw JSONProblem(message: "a string is not UTF-8", offset: start)
        }
        return text
    }

    mutating func escape() throws(JSONProblem) -> Unicode.Scalar {
        guard let byte = current else { throw problem("a string does not end") }
        next += 1
        switch Unicode.Scalar(byte) {
        case "\"": return "\""
        case "\\": return "\\"
        case "/": return "/"
        case "b": return "\u{8}"
        case "f": return "\u{C}"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "u":
            let high = try hex4()
            if let scalar = Unicode.Scalar(high) { return scalar }
            // Half of a pair: the other half must follow; a lone one becomes the replacement character.
            guard high < 0xDC00, current == UInt8(ascii: "\\"), next + 1 < bytes.count, bytes[next + 1] == UInt8(ascii: "u")
            else { return "\u{FFFD}" }
            let before = next
            next += 2
            let low = try hex4()
            guard (0xDC00...0xDFFF).contains(low) else {
                next = before
                return "\u{FFFD}"
            }
            return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)) ?? "\u{FFFD}"
        default:
            next -= 1
            throw problem("an unknown escape in a string")
        }
    }

    mutating func hex4() throws(JSONProblem) -> UInt32 {
        var number: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = current, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw problem("four hexadecimal digits are missing after \\u")
            }
            number = number << 4 | UInt32(digit)
            next += 1
        }
        return number
    }
}
