// Reads the XML of scenario files as leniently as twenty years of them need: `<` in attribute values (regular expressions hold it),
// a bare `&`, dashes in comments, text around the root, no XML declaration. There are no entities but the five of XML and those by
// number, so nothing outside the file is ever read. Not a validator.

/// An element with the place where it begins.
package struct XMLElement: Sendable {
    /// An attribute as it stands in the file, its entities resolved.
    package struct Attribute: Sendable {
        package var name: String
        package var value: String
    }

    package var name: String
    package var attributes: [Attribute] = []
    package var children: [XMLElement] = []
    /// The octets of its CDATA and other text, in order and in the file's own encoding.
    package var text: [UInt8] = []
    /// The line in the file, from 1.
    package var line: Int

    /// The value of an attribute, the first one of that name.
    package subscript(name: String) -> String? { attributes.first { $0.name == name }?.value }
}

/// Why a scenario cannot be used: `file:line: message; mend`.
package struct ScenarioError: Error, Equatable, Sendable, CustomStringConvertible {
    package var file: String
    /// From 1; 0 when it is about the whole file.
    package var line: Int
    package var message: String

    package init(_ file: String, _ line: Int, _ message: String) {
        self.file = file
        self.line = line
        self.message = message
    }

    package var description: String { line > 0 ? "\(file):\(line): \(message)" : "\(file): \(message)" }
}

/// A reader of one document.
package struct XMLReader {
    private let file: String
    private let bytes: [UInt8]
    private var at = 0
    private var line = 1
    /// Elements within each other, at most.
    private static let deepest = 64

    package init(_ bytes: [UInt8], file: String) {
        self.bytes = bytes
        self.file = file
    }

    /// The root element.
    package mutating func root() throws(ScenarioError) -> XMLElement {
        while at < bytes.count {
            if try skipMarkup() { continue }
            if bytes[at] == UInt8(ascii: "<") { return try element(depth: 0) }
            advance()
        }
        throw ScenarioError(file, 0, "there is no element in it; a scenario is <scenario name=\"…\">…</scenario>")
    }

    // MARK: Parts

    private mutating func element(depth: Int) throws(ScenarioError) -> XMLElement {
        guard depth < Self.deepest else { throw fault("more than \(Self.deepest) elements within each other") }
        let begin = line
        advance()
        var result = XMLElement(name: try name("an element"), line: begin)
        while true {
            skipBlanks()
            if take("/>") { return result }
            if take(">") { break }
            guard at < bytes.count else { throw ScenarioError(file, begin, "<\(result.name)> is not closed") }
            if take("/") || take(",") { continue }
            result.attributes.append(try attribute(of: result.name))
        }
        while at < bytes.count {
            if take("<![CDATA[") {
                guard let text = octets(until: "]]>") else {
                    throw ScenarioError(file, begin, "CDATA of <\(result.name)> does not end with ]]>")
                }
                result.text += text
            } else if try skipMarkup() {
                continue
            } else if take("</") {
                let closed = try name("an end")
                skipBlanks()
                _ = take(">")
                guard closed == result.name else {
                    throw fault("</\(closed)> ends what began as <\(result.name)> in line \(begin)")
                }
                return result
            } else if bytes[at] == UInt8(ascii: "<") {
                result.children.append(try element(depth: depth + 1))
            } else {
                let start = at
                while at < bytes.count, bytes[at] != UInt8(ascii: "<") { advance() }
                result.text += Array(Self.resolved(bytes[start..<at]).utf8)
            }
        }
        throw ScenarioError(file, begin, "<\(result.name)> has no </\(result.name)>")
    }

    private mutating func attribute(of element: String) throws(ScenarioError) -> XMLElement.Attribute {
        let name = try name("an attribute of <\(element)>")
        skipBlanks()
        guard take("=") else { throw fault("<\(element)>: \(name) has no value; write \(name)=\"…\"") }
        skipBlanks()
        guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") || bytes[at] == UInt8(ascii: "'") else {
            throw fault("<\(element)>: the value of \(name) is not in quotes")
        }
        let quote = bytes[at]
        let begin = line
        advance()
        let start = at
        while at < bytes.count, bytes[at] != quote { advance() }
        guard at < bytes.count else {
            throw ScenarioError(file, begin, "<\(element)>: the value of \(name) has no closing quote")
        }
        let value = Self.resolved(bytes[start..<at])
        advance()
        return XMLElement.Attribute(name: name, value: value)
    }

    private mutating func name(_ what: String) throws(ScenarioError) -> String {
        let start = at
        while at < bytes.count, Self.isName(bytes[at]) { at += 1 }
        guard at > start else { throw fault("\(what) has no name") }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }

    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"), 128...:
            true
        default: false
        }
    }

    /// Steps over a comment, a processing instruction or a declaration; false when none is next.
    private mutating func skipMarkup() throws(ScenarioError) -> Bool {
        let begin = line
        if take("<!--") {
            guard octets(until: "-->") != nil else { throw ScenarioError(file, begin, "a comment does not end with -->") }
        } else if take("<?") {
            guard octets(until: "?>") != nil else { throw ScenarioError(file, begin, "the declaration does not end with ?>") }
        } else if !next("<![CDATA["), take("<!") {
            guard octets(until: ">") != nil else { throw ScenarioError(file, begin, "the declaration does not end with >") }
        } else {
            return false
        }
        return true
    }

    // MARK: Octets

    private func fault(_ message: String) -> ScenarioError { ScenarioError(file, line, message) }

    private mutating func advance() {
        if bytes[at] == UInt8(ascii: "\n") { line += 1 }
        at += 1
    }

    private mutating func skipBlanks() {
        while at < bytes.count, [32, 9, 10, 13].contains(bytes[at]) { advance() }
    }

    private func next(_ text: String) -> Bool { bytes[at...].starts(with: text.utf8) }

    private mutating func take(_ text: String) -> Bool {
        guard next(text) else { return false }
        at += text.utf8.count
        return true
    }

    /// All up to `end`, which is stepped over; nil when it does not come.
    private mutating func octets(until end: String) -> ArraySlice<UInt8>? {
        let start = at
        while at < bytes.count {
            if next(end) {
                defer { at += end.utf8.count }
                return bytes[start..<at]
            }
            advance()
        }
        return nil
    }

    /// Text with its entities replaced; what is none stays as it is.
    private static func resolved(_ bytes: ArraySlice<UInt8>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.contains("&") else { return text }
        var result = ""
        var rest = text[...]
        while let amp = rest.firstIndex(of: "&") {
            result += rest[..<amp]
            let after = rest[rest.index(after: amp)...]
            if let semicolon = after.prefix(10).firstIndex(of: ";"), let value = entity(after[..<semicolon]) {
                result.unicodeScalars.append(value)
                rest = after[after.index(after: semicolon)...]
            } else {
                result += "&"
                rest = after
            }
        }
        return result + rest
    }

    private static func entity(_ name: Substring) -> Unicode.Scalar? {
        switch name {
        case "lt": return "<"
        case "gt": return ">"
        case "amp": return "&"
        case "quot": return "\""
        case "apos": return "'"
        default:
            guard name.hasPrefix("#") else { return nil }
            let number = name.dropFirst()
            let value = number.first == "x" || number.first == "X" ? UInt32(number.dropFirst(), radix: 16) : UInt32(number)
            return value.flatMap(Unicode.Scalar.init)
        }
    }
}
