// Reads texts with keywords: `[name]`, `[name+1]`, `[field0 file="x" line="[$n]"]`, `[last_Via:]`, `[$variable]`, `\x5b`.

/// Turns texts into templates and notes the variables they use.
package struct TemplateReader {
    /// Names given by `-key`, with their values.
    package var keys: [String: String] = [:]
    let file: String

    package init(file: String) {
        self.file = file
    }

    /// A text as it stands.
    package func template(
        _ text: String, line: Int, _ variables: inout VariableTable
    ) throws(ScenarioError) -> Template {
        Template(try segments(Array(text.utf8)[...], line, &variables))
    }

    /// A message: blanks at the ends of lines go, line ends become CRLF, an empty line ends the head.
    package func message(_ octets: [UInt8], line: Int, _ variables: inout VariableTable) throws(ScenarioError) -> Template {
        let lines = Self.cleaned(octets)
        return Template(try segments(lines[...], line, &variables))
    }

    /// The octets of a message in the form that goes out.
    static func cleaned(_ octets: [UInt8]) -> [UInt8] {
        func isBlank(_ octet: UInt8) -> Bool { octet == 32 || octet == 9 || octet == 13 }
        var lines = octets.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
            line -> ArraySlice<UInt8> in
            var line = line.drop(while: isBlank)
            while let last = line.last, isBlank(last) { line.removeLast() }
            return line
        }
        while lines.first?.isEmpty == true { lines.removeFirst() }
        let count = lines.count
        while lines.last?.isEmpty == true { lines.removeLast() }
        if !lines.contains(where: \.isEmpty) { return Array(lines.joined(separator: [13, 10])) + [13, 10, 13, 10] }
        // A body that ends right before `]]>` has no line end.
        return Array(lines.joined(separator: [13, 10])) + (lines.count < count ? [13, 10] : [])
    }

    // MARK: Segments

    private func segments(
        _ octets: ArraySlice<UInt8>, _ line: Int, _ variables: inout VariableTable
    ) throws(ScenarioError) -> [Template.Segment] {
        var result: [Template.Segment] = []
        var literal: [UInt8] = []
        var at = octets.startIndex
        func hexadecimal(_ index: Int) -> UInt8? {
            guard index + 3 < octets.endIndex, octets[index + 1] == UInt8(ascii: "x") else { return nil }
            return UInt8(String(decoding: octets[index + 2...index + 3], as: UTF8.self), radix: 16)
        }
        while at < octets.endIndex {
            let octet = octets[at]
            if octet == UInt8(ascii: "\\"), let value = hexadecimal(at) {
                literal.append(value)
                at += 4
            } else if octet == UInt8(ascii: "[") {
                guard let end = Self.close(octets, from: at) else {
                    throw ScenarioError(
                        file, line, "a keyword is not closed: \(String(decoding: octets[at...].prefix(40), as: UTF8.self))")
                }
                if !literal.isEmpty { result.append(.literal(literal)) }
                literal = []
                result.append(try keyword(octets[at + 1..<end], line, &variables))
                at = end + 1
            } else {
                literal.append(octet)
                at += 1
            }
        }
        if !literal.isEmpty { result.append(.literal(literal)) }
        return result
    }

    /// The bracket that ends a keyword; keywords may lie within its parameters.
    private static func close(_ octets: ArraySlice<UInt8>, from start: Int) -> Int? {
        var depth = 0
        for index in start..<octets.endIndex {
            switch octets[index] {
            case UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return index }
            default: break
            }
        }
        return nil
    }

    private func keyword(
        _ octets: ArraySlice<UInt8>, _ line: Int, _ variables: inout VariableTable
    ) throws(ScenarioError) -> Template.Segment {
        let whole = String(decoding: octets, as: UTF8.self)
        if whole.hasPrefix("$") { return .variable(variables.use(String(whole.dropFirst()), line: line)) }
        let name = String(whole.prefix { $0 != " " && $0 != "\t" })
        let rest = octets.drop { $0 != 32 && $0 != 9 }
        if let value = keys[name] { return .literal(Array(value.utf8)) }
        let parameters = try KeywordParameters(rest, file: file, line: line)
        if let number = Self.fieldNumber(name) {
            return .field(
                number, file: try segments(parameters["file"] ?? [], line, &variables),
                line: try segments(parameters["line"] ?? [], line, &variables))
        }
        switch name {
        case "authentication":
            return .authentication(
                Template.Authentication(
                    user: try segments(parameters["username"] ?? [], line, &variables),
                    password: try segments(parameters["password"] ?? [], line, &variables),
                    akaK: try segments(parameters["aka_K"] ?? [], line, &variables),
                    akaOP: try segments(parameters["aka_OP"] ?? [], line, &variables),
                    akaAMF: try segments(parameters["aka_AMF"] ?? [], line, &variables)))
        case "file":
            guard let path = parameters["name"] else { throw ScenarioError(file, line, "[file] needs name=…") }
            return .file(try segments(path, line, &variables))
        case "fill":
            guard let variable = parameters["variable"] else { throw ScenarioError(file, line, "[fill] needs variable=…") }
            return .fill(
                variable: variables.use(String(decoding: variable, as: UTF8.self), line: line),
                text: parameters["text"].map(Array.init) ?? [UInt8(ascii: "X")])
        default: break
        }
        // SIPp's own names of headers begin so; the rest is the header's.
        if let exact = Self.plain(name, offset: 0) { return exact }
        if let (base, offset) = Self.offset(name), let found = Self.plain(base, offset: offset) { return found }
        if name.hasPrefix("last_") { return .lastHeader(Self.headerName(String(whole.dropFirst(5)))) }
        if let crypto = SecureMediaKeyword.segment(name) { return crypto }
        throw ScenarioError(
            file, line, "there is no keyword [\(whole)]; a literal bracket is \\x5b, a name of your own comes by -key")
    }

    private static func headerName(_ text: String) -> String {
        String(text.prefix { $0 != ":" && $0 != " " })
    }

    private static func fieldNumber(_ name: String) -> Int? {
        name.hasPrefix("field") ? Int(name.dropFirst(5)) : nil
    }

    /// `name+4`, `name-1`
    private static func offset(_ name: String) -> (String, Int)? {
        guard let sign = name.lastIndex(where: { $0 == "+" || $0 == "-" }), let offset = Int(name[sign...]) else { return nil }
        return (String(name[..<sign]), offset)
    }

    private static func plain(_ name: String, offset: Int) -> Template.Segment? {
        if let constant = Template.Constant(rawValue: name) { return .constant(constant, offset: offset) }
        switch name {
        case "call_id": return .callID
        case "call_number": return .callNumber(offset: offset)
        case "branch": return .branch(offset: offset)
        case "cseq": return .cSeq(offset: offset)
        case "last_cseq_number": return .lastCSeq(offset: offset)
        case "peer_tag_param": return .peerTag
        case "routes": return .routes
        case "next_url": return .nextURL
        case "last_Request_URI": return .lastRequestURI
        case "last_message": return .lastMessage
        case "msg_index": return .messageIndex(offset: offset)
        case "clock_tick": return .clockTick
        case "dynamic_id": return .dynamicID
        case "users": return .users
        case "userid": return .userID
        case "len": return .length(offset: offset)
        case "date": return .date
        case "timestamp": return .timestamp
        case "local_port": return .localPort(offset: offset)
        case "media_port": return .mediaPort(offset: offset)
        case "auto_media_port": return .autoMediaPort(offset: offset)
        case "rtpstream_audio_port": return .streamPort(isVideo: false, offset: offset)
        case "rtpstream_video_port": return .streamPort(isVideo: true, offset: offset)
        case "server_ip": return .serverIP
        default: return nil
        }
    }
}

/// `name=value name="value"` behind a keyword's name.
struct KeywordParameters {
    private var values: [String: ArraySlice<UInt8>] = [:]

    init(_ octets: ArraySlice<UInt8>, file: String, line: Int) throws(ScenarioError) {
        var at = octets.startIndex
        func skipBlanks() { while at < octets.endIndex, octets[at] <= 32 { at += 1 } }
        while true {
            skipBlanks()
            guard at < octets.endIndex else { return }
            let start = at
            while at < octets.endIndex, octets[at] != UInt8(ascii: "="), octets[at] > 32 { at += 1 }
            let name = String(decoding: octets[start..<at], as: UTF8.self)
            skipBlanks()
            guard at < octets.endIndex, octets[at] == UInt8(ascii: "=") else {
                throw ScenarioError(file, line, "the keyword's parameter \(name) has no value")
            }
            at += 1
            skipBlanks()
            let isQuoted = at < octets.endIndex && (octets[at] == UInt8(ascii: "\"") || octets[at] == UInt8(ascii: "'"))
            let quote = isQuoted ? octets[at] : 0
            if isQuoted { at += 1 }
            let begin = at
            var depth = 0
            while at < octets.endIndex {
                let octet = octets[at]
                if depth == 0, isQuoted ? octet == quote : octet <= 32 { break }
                if octet == UInt8(ascii: "[") { depth += 1 }
                if octet == UInt8(ascii: "]") { depth -= 1 }
                at += 1
            }
            values[name] = octets[begin..<at]
            if isQuoted, at < octets.endIndex { at += 1 }
        }
    }

    subscript(name: String) -> ArraySlice<UInt8>? { values[name] }
}
