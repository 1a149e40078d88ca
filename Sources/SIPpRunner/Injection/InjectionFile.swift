// Injection files (`-inf`): lines of fields for calls. First line: SEQUENTIAL, RANDOM or USER, then perhaps PRINTF=n,
// PRINTFMULTIPLE=n, PRINTFOFFSET=n, by which few lines stand for many. Fields are parted by `;`, lines that begin with `#` say nothing.

/// One injection file.
package final class InjectionFile {
    package enum Order: String {
        case sequential = "SEQUENTIAL", random = "RANDOM", user = "USER"
    }

    /// The file's name without its folders: what scenarios call it.
    package let name: String
    package let order: Order
    private var rows: [[[UInt8]]] = []
    /// Lines that there seem to be; nil: as many as there are.
    private let virtual: Int?
    private let multiple: Int
    private let offset: Int
    private var next = 0
    /// The field that lines are looked up by, with where each value is.
    private var indexed: Int?
    private var places: [[UInt8]: Int] = [:]

    package init(_ octets: [UInt8], path: String) throws(ScenarioError) {
        name = path.split(separator: "/").last.map(String.init) ?? path
        var lines = octets.split(separator: 10, omittingEmptySubsequences: false).map { line in
            line.last == 13 ? line.dropLast() : line
        }
        guard let first = lines.first, !first.isEmpty else {
            throw ScenarioError(path, 1, "the first line says SEQUENTIAL, RANDOM or USER")
        }
        lines.removeFirst()
        let words = String(decoding: first, as: UTF8.self).split(separator: ",").map { $0.split(separator: " ").joined() }
        guard let order = words.first.flatMap({ Order(rawValue: $0) }) else {
            throw ScenarioError(path, 1, "\"\(words.first ?? "")\" is no order of lines: SEQUENTIAL, RANDOM or USER")
        }
        self.order = order
        var numbers: [String: Int] = [:]
        for word in words.dropFirst() {
            let parts = word.split(separator: "=")
            guard parts.count == 2, let number = Int(parts[1]), ["PRINTF", "PRINTFMULTIPLE", "PRINTFOFFSET"].contains(parts[0])
            else {
                throw ScenarioError(path, 1, "\"\(word)\" is not PRINTF=n, PRINTFMULTIPLE=n or PRINTFOFFSET=n")
            }
            numbers[String(parts[0])] = number
        }
        virtual = numbers["PRINTF"]
        multiple = numbers["PRINTFMULTIPLE"] ?? 1
        offset = numbers["PRINTFOFFSET"] ?? 0
        for line in lines where !line.isEmpty && line.first != UInt8(ascii: "#") { rows.append(Self.fields(line)) }
        let bounds = 1...1_000_000_000
        for (word, value) in [("PRINTF", virtual), ("PRINTFMULTIPLE", multiple)] {
            guard let value, !bounds.contains(value) else { continue }
            throw ScenarioError(path, 1, "\(word)=\(value): it is a number from 1 to \(bounds.upperBound)")
        }
        guard offset.magnitude <= 1_000_000_000 else { throw ScenarioError(path, 1, "PRINTFOFFSET=\(offset): that is too much") }
        guard !rows.isEmpty else { throw ScenarioError(path, 0, "there are no lines with fields in it") }
    }

    private static func fields(_ line: ArraySlice<UInt8>) -> [[UInt8]] {
        line.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map(Array.init)
    }

    package var count: Int { virtual ?? rows.count }

    /// The line for a new call. `user` from 1 for USER files.
    package func line(user: Int, chance: Double) -> Int {
        switch order {
        case .sequential:
            defer { next += 1 }
            return next % count
        case .random: return min(count - 1, Int(chance * Double(count)))
        case .user: return max(0, user - 1) % count
        }
    }

    /// A field of a line; empty when it is not there.
    package func field(_ number: Int, line: Int) -> [UInt8] {
        guard line >= 0, line < count else { return [] }
        let row = rows[line % rows.count]
        guard row.indices.contains(number) else { return [] }
        guard virtual != nil else { return row[number] }
        return Self.formatted(row[number], line * multiple + offset)
    }

    /// `%d`, `%05u`, `%x`: the line's number; `%%` a per cent sign.
    static func formatted(_ octets: [UInt8], _ number: Int) -> [UInt8] {
        var result: [UInt8] = []
        var at = 0
        while at < octets.count {
            guard octets[at] == UInt8(ascii: "%"), at + 1 < octets.count else {
                result.append(octets[at])
                at += 1
                continue
            }
            var end = at + 1
            while end < octets.count, (48...57).contains(octets[end]) || octets[end] == UInt8(ascii: "-") { end += 1 }
            let width = String(decoding: octets[at + 1..<end], as: UTF8.self)
            let kind = end < octets.count ? octets[end] : 0
            let digits: String
            switch kind {
            case UInt8(ascii: "d"), UInt8(ascii: "u"), UInt8(ascii: "i"): digits = String(number)
            case UInt8(ascii: "x"): digits = String(number, radix: 16)
            case UInt8(ascii: "X"): digits = String(number, radix: 16, uppercase: true)
            case UInt8(ascii: "o"): digits = String(number, radix: 8)
            default:
                result.append(UInt8(ascii: "%"))
                at += kind == UInt8(ascii: "%") ? 2 : 1
                continue
            }
            let size = min(Int(width.drop { $0 == "-" || $0 == "0" }) ?? 0, 1000)
            let padding = String(repeating: width.hasPrefix("0") ? "0" : " ", count: max(0, size - digits.count))
            result += (width.hasPrefix("-") ? digits + padding : padding + digits).utf8
            at = end + 1
        }
        return result
    }

    // MARK: Looking up and changing

    /// Lines are found by this field from now on (`-infindex`). The first line of equal ones counts.
    package func index(by field: Int) {
        indexed = field
        places = [:]
        for place in 0..<count { note(place) }
    }

    private func note(_ place: Int) {
        guard let indexed else { return }
        let key = field(indexed, line: place)
        if places[key] == nil { places[key] = place }
    }

    /// The line whose indexed field has this value; nil when there is none.
    package func line(withKey key: [UInt8]) -> Int? {
        if indexed == nil { index(by: 0) }
        return places[key]
    }

    /// Adds a line, in memory only.
    package func insert(_ line: [UInt8]) {
        rows.append(Self.fields(line[...]))
        note(count - 1)
    }

    /// Replaces a line, in memory only; false when it is not there.
    package func replace(line: Int, by text: [UInt8]) -> Bool {
        guard rows.indices.contains(line) else { return false }
        let before = indexed.map { field($0, line: line) }
        rows[line] = Self.fields(text[...])
        if let before, places[before] == line { places[before] = nil }
        note(line)
        return true
    }
}
