// Functions of strings. Places and lengths count code points, as CEL's do.

enum StringFunctions {
    static func call(_ function: Function, _ text: String, _ arguments: [Value]) throws(ExpressionError) -> Value? {
        switch (function, arguments.count) {
        case (.lowerAscii, 0): return .string(mapAscii(text, from: 0x41...0x5A, adding: 0x20))
        case (.upperAscii, 0): return .string(mapAscii(text, from: 0x61...0x7A, adding: 0xE0))
        case (.trim, 0): return .string(trim(text))
        case (.reverse, 0): return .string(scalars(text.unicodeScalars.reversed()))
        case (.substring, 1...2):
            guard case .int(let start) = arguments[0] else { return nil }
            var end: Int64?
            if arguments.count == 2 {
                guard case .int(let number) = arguments[1] else { return nil }
                end = number
            }
            return .string(try substring(text, start, end))
        case (.charAt, 1):
            guard case .int(let place) = arguments[0] else { return nil }
            let all = Array(text.unicodeScalars)
            guard place >= 0, place <= all.count else { throw outside(place, all.count) }
            return .string(place == all.count ? "" : String(Character(all[Int(place)])))
        default: break
        }
        guard case .string(let other)? = arguments.first else { return nil }
        switch (function, arguments.count) {
        case (.contains, 1): return .bool(find(Array(other.utf8), in: Array(text.utf8)) != nil)
        case (.startsWith, 1): return .bool(text.utf8.starts(with: other.utf8))
        case (.endsWith, 1): return .bool(text.utf8.reversed().starts(with: other.utf8.reversed()))
        case (.matches, 1): return .bool(try Pattern(other).matches(text))
        case (.indexOf, 1...2), (.lastIndexOf, 1...2):
            var from: Int64?
            if arguments.count == 2 {
                guard case .int(let number) = arguments[1] else { return nil }
                from = number
            }
            return .int(try index(function, other, in: text, from: from))
        case (.split, 1...2):
            guard let limit = limit(arguments.dropFirst()) else { return nil }
            return .list(split(text, by: other, limit: limit).map { .string($0) })
        case (.replace, 2...3):
            guard case .string(let new) = arguments[1], let limit = limit(arguments.dropFirst(2)) else { return nil }
            if limit == 0 { return .string(text) }
            return .string(split(text, by: other, limit: limit < 0 ? -1 : limit + 1, replacing: true).joined(separator: new))
        default: return nil
        }
    }

    /// The optional last argument that bounds how often; -1 is without bound. Nil when it is no int.
    private static func limit(_ arguments: ArraySlice<Value>) -> Int64? {
        guard let argument = arguments.first else { return -1 }
        guard case .int(let number) = argument else { return nil }
        return min(number, 1 << 40)
    }

    static func join(_ elements: [Value], _ separator: Value?) throws(ExpressionError) -> Value? {
        guard case .string(let between) = separator ?? .string("") else { return nil }
        var texts: [String] = []
        for element in elements {
            guard case .string(let text) = element else {
                throw ExpressionError(
                    .noSuchOverload, "join() takes a list of strings; it holds \(element.type.word)")
            }
            texts.append(text)
        }
        return .string(texts.joined(separator: between))
    }

    private static func outside(_ place: Int64, _ count: Int) -> ExpressionError {
        ExpressionError(.indexOutOfBounds, "place \(place) is outside the string, which has \(count) characters")
    }

    private static func scalars(_ scalars: some Sequence<Unicode.Scalar>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars)
        return String(view)
    }

    private static func mapAscii(_ text: String, from range: ClosedRange<UInt8>, adding shift: UInt8) -> String {
        String(decoding: text.utf8.map { range.contains($0) ? $0 &+ shift : $0 }, as: UTF8.self)
    }

    private static func trim(_ text: String) -> String {
        var view = text.unicodeScalars[...]
        while let first = view.first, first.properties.isWhitespace { view.removeFirst() }
        while let last = view.last, last.properties.isWhitespace { view.removeLast() }
        return String(view)
    }

    private static func substring(_ text: String, _ start: Int64, _ end: Int64?) throws(ExpressionError) -> String {
        let all = Array(text.unicodeScalars)
        let end = end ?? Int64(all.count)
        guard start >= 0, start <= all.count else { throw outside(start, all.count) }
        guard end >= 0, end <= all.count else { throw outside(end, all.count) }
        guard start <= end else {
            throw ExpressionError(.invalidArgument, "substring() from \(start) to \(end): the end lies before the start")
        }
        return scalars(all[Int(start)..<Int(end)])
    }

    private static func index(
        _ function: Function, _ wanted: String, in text: String, from: Int64?
    ) throws(ExpressionError) -> Int64 {
        let all = Array(text.unicodeScalars)
        let pattern = Array(wanted.unicodeScalars)
        if let from, from < 0 || from > all.count { throw outside(from, all.count) }
        if function == .indexOf {
            return find(pattern, in: all, from: Int(from ?? 0)).map(Int64.init) ?? -1
        }
        guard all.count >= pattern.count else { return -1 }
        var place = min(Int(from ?? Int64(all.count)), all.count - pattern.count)
        while place >= 0 {
            if all[place...].starts(with: pattern) { return Int64(place) }
            place -= 1
        }
        return -1
    }

    /// The first place of `wanted`; nil when there is none.
    private static func find<Item: Equatable>(_ wanted: [Item], in all: [Item], from: Int = 0) -> Int? {
        if wanted.isEmpty { return from }
        guard all.count >= wanted.count + from else { return nil }
        for place in from...(all.count - wanted.count)
        where all[place] == wanted[0] && all[place...].starts(with: wanted) {
            return place
        }
        return nil
    }

    /// The parts between separators: at most `limit` of them (-1: all). An empty separator splits between code points;
    /// `replacing` gives the parts that an empty search text of `replace` is put between: before each code point and at the end.
    private static func split(_ text: String, by separator: String, limit: Int64, replacing: Bool = false) -> [String] {
        if limit == 0 { return [] }
        if limit == 1 { return [text] }
        let most = limit < 0 ? Int.max : Int(limit)
        if separator.isEmpty {
            var parts = text.unicodeScalars.map { String(Character($0)) }
            if replacing { parts = [""] + parts + (parts.isEmpty ? [] : [""]) }
            if replacing, text.isEmpty { parts = ["", ""] }
            guard parts.count > most else { return parts }
            return Array(parts.prefix(most - 1)) + [parts[(most - 1)...].joined()]
        }
        let bytes = Array(text.utf8)
        let wanted = Array(separator.utf8)
        var parts: [String] = []
        var start = 0
        while parts.count < most - 1, let place = find(wanted, in: bytes, from: start) {
            parts.append(String(decoding: bytes[start..<place], as: UTF8.self))
            start = place + wanted.count
        }
        parts.append(String(decoding: bytes[start...], as: UTF8.self))
        return parts
    }
}
