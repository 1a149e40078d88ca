// Parameters behind a value: `;name`, `;name=value`, `;name="quoted"` (RFC 3261 section 25.1, generic-param), blanks allowed
// around the separators. An empty one between two semicolons is a fault, one semicolon at the end is let through.

/// One parameter.
package struct Parameter: Sendable {
    /// Its name as written.
    package var name: OctetRange
    /// Its value with quotes when it had them; nil without `=`.
    package var value: OctetRange?
}

/// The parameters of one value, over its message's octets. Names are compared without regard to case.
package struct Parameters: Sendable {
    package let octets: [UInt8]
    /// From the first semicolon to the end.
    package let range: OctetRange

    /// The parameter called `name` (lower case).
    package func find(_ name: StaticString) -> Parameter? {
        octets.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return nil }
            return Parameters.find(base, range, name)
        }
    }

    /// The octets of a parameter's value, without quotes; empty for a flag; nil when it is absent.
    package subscript(name: StaticString) -> ArraySlice<UInt8>? {
        guard let found = find(name) else { return nil }
        guard let value = found.value else { return [] }
        return octets[octets.withUnsafeBufferPointer { Parameters.withoutQuotes($0.baseAddress!, value) }.indices]
    }

    /// True when the parameter is there, with or without a value.
    package func has(_ name: StaticString) -> Bool { find(name) != nil }

    /// A decimal value.
    package func number(_ name: StaticString) -> Int? {
        guard let value = self[name], !value.isEmpty, value.count < 11 else { return nil }
        var result = 0
        for octet in value {
            guard Octet.isDigit(octet) else { return nil }
            result = result * 10 + Int(octet - 48)
        }
        return result
    }

    /// All parameters in order: names as written; values unquoted and without backslashes, nil for a flag.
    package var all: [(name: String, value: String?)] {
        octets.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return [] }
            var result: [(name: String, value: String?)] = []
            var cursor = Cursor(base, range)
            while let next = try? Parameters.next(&cursor) {
                result.append((text(octets[next.name.indices]), next.value.map { unquoted(octets[$0.indices]) }))
            }
            return result
        }
    }

    static func find(_ base: UnsafePointer<UInt8>, _ range: OctetRange, _ name: StaticString) -> Parameter? {
        var cursor = Cursor(base, range)
        while let next = try? next(&cursor) {
            if equalsIgnoringCase(base, next.name, name) { return next }
        }
        return nil
    }

    /// Reads the next parameter, nil at the end; the cursor stands before its semicolon.
    static func next(_ cursor: inout Cursor) throws(ParseError) -> Parameter? {
        cursor.skipBlanks()
        guard !cursor.isAtEnd else { return nil }
        guard cursor.take(Octet.semicolon) else { throw ParseError(.parameter, at: cursor.at) }
        cursor.skipBlanks()
        guard !cursor.isAtEnd else { return nil }
        let name = cursor.token()
        guard !name.isEmpty else { throw ParseError(.parameter, at: cursor.at) }
        cursor.skipBlanks()
        guard cursor.take(Octet.equals) else { return Parameter(name: name, value: nil) }
        cursor.skipBlanks()
        if cursor.current == Octet.quote {
            let start = cursor.at
            guard let value = cursor.quotedString() else { throw ParseError(.quotedString, at: start) }
            return Parameter(name: name, value: value)
        }
        let start = cursor.at
        if cursor.current == Octet.less {  // Identity's info=<…> (RFC 8224 section 4)
            cursor.at = Octet.first(Octet.greater, cursor.base, start, cursor.end)
            guard cursor.take(Octet.greater) else { throw ParseError(.parameter, at: start) }
            return Parameter(name: name, value: OctetRange(start, cursor.at))
        }
        let separator = Octet.first(Octet.semicolon, cursor.base, start, cursor.end)
        cursor.at = Octet.firstForeignToURI(cursor.base, start, separator)
        return Parameter(name: name, value: OctetRange(start, cursor.at))
    }

    /// A value without its quotes, when it has both.
    static func withoutQuotes(_ base: UnsafePointer<UInt8>, _ value: OctetRange) -> OctetRange {
        guard value.count >= 2, base[Int(value.start)] == Octet.quote else { return value }
        return OctetRange(Int(value.start) + 1, Int(value.end) - 1)
    }
}

/// The text of a quoted string without its quotes and backslashes; other text as it is.
package func unquoted(_ octets: ArraySlice<UInt8>) -> String {
    guard octets.count >= 2, octets.first == Octet.quote, octets.last == Octet.quote else { return text(octets) }
    let inner = octets.dropFirst().dropLast()
    guard inner.contains(Octet.backslash) else { return text(inner) }
    var result: [UInt8] = []
    var isEscaped = false
    for octet in inner {
        if octet == Octet.backslash, !isEscaped {
            isEscaped = true
        } else {
            result.append(octet)
            isEscaped = false
        }
    }
    return text(result)
}
