// Comma-separated values (RFC 4180), read a piece at a time: a file of millions of rows takes no memory to speak of. Lenient where people
// are: a byte order mark, line ends of every system, empty lines; strict where a mistake would call the wrong number.

import Foundation

/// What is wrong with a list, and where.
package struct CSVProblem: Error, Equatable, Sendable, CustomStringConvertible {
    package var path: String
    package var line: Int
    package var message: String
    package var mend: String?

    package init(path: String, line: Int, message: String, mend: String? = nil) {
        self.path = path
        self.line = line
        self.message = message
        self.mend = mend
    }

    package var description: String { "\(path):\(line): \(message)" + (mend.map { "; \($0)" } ?? "") }
}

/// Reads the rows of a file, one after the other.
package final class CSVReader {
    package struct Row: Equatable, Sendable {
        /// The line that it begins in, from 1.
        package var line: Int
        package var fields: [String]
    }

    private let path: String
    private let source: ByteSource
    private var line = 1
    /// Rows read so far.
    package private(set) var row = 0

    package init(path: String) throws(CSVProblem) {
        self.path = path
        source = try ByteSource(path: path)
        try source.skipMark()
    }

    /// The next row that is not empty; nil at the end.
    package func next() throws(CSVProblem) -> Row? {
        while try source.peek() != nil {
            let start = line
            let fields = try fields()
            if fields.count == 1, fields[0].isEmpty { continue }
            row += 1
            return Row(line: start, fields: fields)
        }
        return nil
    }

    private func fields() throws(CSVProblem) -> [String] {
        var fields: [String] = []
        while true {
            fields.append(try source.peek() == UInt8(ascii: "\"") ? quoted() : plain())
            switch try source.next() {
            case UInt8(ascii: ","): continue
            case UInt8(ascii: "\r"):
                if try source.peek() == UInt8(ascii: "\n") { _ = try source.next() }
                line += 1
                return fields
            case UInt8(ascii: "\n"):
                line += 1
                return fields
            default: return fields
            }
        }
    }

    private func plain() throws(CSVProblem) -> String {
        var bytes: [UInt8] = []
        while let byte = try source.peek(), byte != UInt8(ascii: ","), byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") {
            bytes.append(byte)
            _ = try source.next()
        }
        return try text(bytes, at: line).trimmingCharacters(in: .whitespaces)
    }

    private func quoted() throws(CSVProblem) -> String {
        let start = line
        var bytes: [UInt8] = []
        _ = try source.next()
        while let byte = try source.next() {
            if byte == UInt8(ascii: "\"") {
                guard try source.peek() == UInt8(ascii: "\"") else {
                    while try source.peek() == UInt8(ascii: " ") { _ = try source.next() }
                    let after = try source.peek()
                    guard after == nil || [UInt8(ascii: ","), UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains(after) else {
                        throw CSVProblem(
                            path: path, line: line, message: "text after a closing quote",
                            mend: "a quote within quotes is written twice")
                    }
                    return try text(bytes, at: start)
                }
                _ = try source.next()
            } else if byte == UInt8(ascii: "\n") {
                line += 1
            }
            bytes.append(byte)
            guard bytes.count <= 1 << 20 else { break }
        }
        throw CSVProblem(path: path, line: start, message: "a quote is not closed", mend: "close it, or write it twice")
    }

    private func text(_ bytes: [UInt8], at line: Int) throws(CSVProblem) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CSVProblem(path: path, line: line, message: "not readable as UTF-8 text", mend: "save the file as UTF-8")
        }
        return text
    }
}

/// The bytes of a file, read a piece at a time.
final class ByteSource {
    private let path: String
    private let file: FileHandle
    private var piece: [UInt8] = []
    private var place = 0

    init(path: String) throws(CSVProblem) {
        guard let file = FileHandle(forReadingAtPath: path) else {
            let exists = FileManager.default.fileExists(atPath: path)
            throw CSVProblem(path: path, line: 1, message: exists ? "the file cannot be read" : "there is no such file")
        }
        self.path = path
        self.file = file
    }

    func peek() throws(CSVProblem) -> UInt8? {
        if place == piece.count {
            do {
                piece = [UInt8](try file.read(upToCount: 1 << 16) ?? Data())
            } catch {
                // The end of a list must not be where a disk failed.
                throw CSVProblem(path: path, line: 1, message: "the file cannot be read: \(error.localizedDescription)")
            }
            place = 0
        }
        return place < piece.count ? piece[place] : nil
    }

    func next() throws(CSVProblem) -> UInt8? {
        guard let byte = try peek() else { return nil }
        place += 1
        return byte
    }

    /// Skips the byte order mark that some programs put before UTF-8.
    func skipMark() throws(CSVProblem) {
        guard try peek() == 0xEF, piece.count >= 3, piece[1] == 0xBB, piece[2] == 0xBF else { return }
        place = 3
    }
}
