// A dial list, read row by row: CSV with a header row, or JSON lines. Columns become `target.*`.

package import FlowEngine
import Foundation

/// The rows of a list.
package final class TargetList {
    package struct Target: Sendable {
        /// The line of the file that it begins in, from 1.
        package var line: Int
        /// A map.
        package var value: Value
    }

    private let path: String
    private let csv: CSVReader?
    private let lines: ByteSource?
    private var header: [String] = []
    private var line = 0

    /// Opens the list and reads its header.
    package init(path: String) throws(CSVProblem) {
        self.path = path
        guard !Self.isJSON(path) else {
            csv = nil
            let source = try ByteSource(path: path)
            try source.skipMark()
            lines = source
            return
        }
        lines = nil
        let csv = try CSVReader(path: path)
        self.csv = csv
        guard let row = try csv.next() else {
            throw CSVProblem(path: path, line: 1, message: "the list is empty", mend: "its first row names the columns")
        }
        for name in row.fields {
            guard !name.isEmpty else {
                throw CSVProblem(
                    path: path, line: row.line, message: "a column has no name", mend: "the first row names the columns")
            }
            guard !header.contains(name) else {
                throw CSVProblem(path: path, line: row.line, message: "two columns are named \(name)")
            }
            header.append(name)
        }
    }

    private static func isJSON(_ path: String) -> Bool {
        let name = path.lowercased()
        return name.hasSuffix(".jsonl") || name.hasSuffix(".ndjson")
    }

    /// The next row; nil at the end.
    package func next() throws(CSVProblem) -> Target? {
        guard let csv else { return try nextObject() }
        guard let row = try csv.next() else { return nil }
        guard row.fields.count == header.count else {
            throw CSVProblem(
                path: path, line: row.line, message: "\(row.fields.count) fields, and the header has \(header.count)",
                mend: "a field with a comma in it stands in quotes")
        }
        var map = ValueMap()
        for (name, field) in zip(header, row.fields) { map[name] = .string(field) }
        return Target(line: row.line, value: .map(map))
    }

    private func nextObject() throws(CSVProblem) -> Target? {
        guard let lines else { return nil }
        while try lines.peek() != nil {
            var bytes: [UInt8] = []
            while let byte = try lines.next(), byte != UInt8(ascii: "\n") { bytes.append(byte) }
            line += 1
            if bytes.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\t") }) { continue }
            return Target(line: line, value: try Self.object(bytes, path, line))
        }
        return nil
    }

    private static func object(_ bytes: [UInt8], _ path: String, _ line: Int) throws(CSVProblem) -> Value {
        let value: Value
        let mend = "write {\"number\":\"100\"}, one a line"
        do throws(JSONProblem) {
            value = try Value.fromJSON(bytes)
        } catch {
            throw CSVProblem(path: path, line: line, message: error.message, mend: mend)
        }
        guard case .map = value else { throw CSVProblem(path: path, line: line, message: "a row is an object", mend: mend) }
        return value
    }
}
