// Takes a multipart body apart (RFC 2046 section 5.1.1) and says what of it is a call's (RFC 5621 section 4):
//
//   mixed, unknown subtypes   every part that is required has to be understood; the first description counts
//   alternative               one part has to be; the last one that is counts
//   related                   the root speaks for all: the one that `start` names, or the first (RFC 2387)
//
//   --boundary CRLF  *(header CRLF)  CRLF  content  CRLF  --boundary … CRLF  --boundary-- CRLF

/// One walk through a body, with what it may still take.
struct MultipartReader {
    let base: UnsafePointer<UInt8>
    private(set) var isMalformed = false
    private var partsLeft = 32
    private static let deepest = 4

    init(base: UnsafePointer<UInt8>) { self.base = base }

    /// What a part, or the body itself, holds.
    mutating func read(_ part: BodyPart, depth: Int) -> BodyContent {
        let type = BodyPart.mediaType(base, part.type)
        if part.isDescription(base, type: type.name) { return BodyContent(description: part.content, isUnderstood: true) }
        guard type.isMultipart, part.isPlain(base) else { return BodyContent(isUnderstood: part.isOptional(base)) }
        guard depth < Self.deepest, let boundary = Parameters.find(base, type.parameters, "boundary")?.value else {
            isMalformed = true
            return BodyContent(isUnderstood: false)
        }
        let parts = split(part.content, boundary: Parameters.withoutQuotes(base, boundary))
        if parts.isEmpty { isMalformed = true }
        var content: BodyContent
        if equalsIgnoringCase(base, type.subtype, "alternative") {
            content = alternative(parts, depth)
        } else if equalsIgnoringCase(base, type.subtype, "related") {
            let root = Parameters.find(base, type.parameters, "start")?.value.flatMap { start in
                parts.first { same($0.id, Parameters.withoutQuotes(base, start)) }
            }
            content = (root ?? parts.first).map { read($0, depth: depth + 1) } ?? BodyContent(isUnderstood: false)
        } else {
            content = mixed(parts, depth)
        }
        if part.isOptional(base) { content.isUnderstood = true }
        return content
    }

    private mutating func mixed(_ parts: [BodyPart], _ depth: Int) -> BodyContent {
        var result = BodyContent(isUnderstood: true)
        for part in parts {
            let next = read(part, depth: depth + 1)
            result.description = result.description ?? next.description
            result.isUnderstood = result.isUnderstood && next.isUnderstood
        }
        return result
    }

    private mutating func alternative(_ parts: [BodyPart], _ depth: Int) -> BodyContent {
        var result = BodyContent(isUnderstood: false)
        for part in parts {
            let next = read(part, depth: depth + 1)
            guard next.isUnderstood else { continue }
            result = BodyContent(description: next.description ?? result.description, isUnderstood: true)
        }
        return result
    }

    private func same(_ left: OctetRange, _ right: OctetRange) -> Bool {
        left.count == right.count && (0..<left.count).allSatisfy { base[Int(left.start) + $0] == base[Int(right.start) + $0] }
    }

    // MARK: Lines

    /// The parts between the delimiters. What precedes the first and follows the last is not looked at; a last one that is not closed
    /// goes to the end.
    private mutating func split(_ content: OctetRange, boundary: OctetRange) -> [BodyPart] {
        // RFC 2046: 1 to 70 characters.
        guard 1...70 ~= boundary.count else { return [] }
        var parts: [BodyPart] = []
        var partStart: Int?
        var at = Int(content.start)
        let end = Int(content.end)
        func take(until limit: Int) -> Bool {
            guard let partStart else { return true }
            guard partsLeft > 0 else { return false }
            partsLeft -= 1
            parts.append(part(partStart, max(limit, partStart)))
            return true
        }
        while at < end {
            let lineEnd = Octet.first(Octet.lf, base, at, end)
            if let isLast = delimiter(at, lineEnd, boundary) {
                // The line end before a delimiter is the delimiter's.
                var limit = max(at - 1, Int(content.start))
                if limit > Int(content.start), base[limit - 1] == Octet.cr { limit -= 1 }
                guard take(until: limit) else {
                    isMalformed = true
                    return parts
                }
                if isLast { return parts }
                partStart = min(lineEnd + 1, end)
            }
            at = lineEnd + 1
        }
        if !take(until: end) { isMalformed = true }
        return parts
    }

    /// Whether a line is a delimiter: nil, or whether it is the closing one.
    private func delimiter(_ start: Int, _ end: Int, _ boundary: OctetRange) -> Bool? {
        let name = OctetRange(start + 2, start + 2 + boundary.count)
        guard end >= Int(name.end), base[start] == 45, base[start + 1] == 45, same(name, boundary) else { return nil }
        let rest = trimmed(base, Int(name.end), end)
        // Behind the closing two hyphens anything may follow.
        if end - Int(name.end) >= 2, base[Int(name.end)] == 45, base[Int(name.end) + 1] == 45 { return true }
        return rest.isEmpty ? false : nil
    }

    /// A part: its header rows, one empty line, its content. Without that line its content is empty.
    private func part(_ start: Int, _ end: Int) -> BodyPart {
        var part = BodyPart(content: OctetRange(end, end))
        var at = start
        while at < end {
            var lineEnd = Octet.first(Octet.lf, base, at, end)
            guard !trimmed(base, at, lineEnd).isEmpty else {
                part.content = OctetRange(min(lineEnd + 1, end), end)
                return part
            }
            while lineEnd + 1 < end, base[lineEnd + 1] == Octet.space || base[lineEnd + 1] == Octet.tab {
                lineEnd = Octet.first(Octet.lf, base, lineEnd + 1, end)
            }
            let colon = Octet.first(Octet.colon, base, at, lineEnd)
            if colon < lineEnd {
                let name = trimmed(base, at, colon)
                let value = trimmed(base, colon + 1, lineEnd)
                switch HeaderKind.of(base, name) {
                case .contentType: part.type = value
                case .contentDisposition: part.disposition = value
                case .contentEncoding: part.coding = value
                default:
                    if equalsIgnoringCase(base, name, "content-id") { part.id = value }
                    if equalsIgnoringCase(base, name, "content-transfer-encoding") { part.encoding = value }
                }
            }
            at = lineEnd + 1
        }
        return part
    }
}
