// A dial list, read row by row: CSV with a header row, JSON lines, or what a query finds in a database. Columns become `target.*`.

package import FlowEngine
import Foundation
import Store

/// The rows of a list.
package final class TargetList {
    package struct Target: Sendable {
        /// The line of the file that it begins in, or its row in the database; from 1.
        package var line: Int
        /// A map.
        package var value: Value
    }

    private enum Reader {
        case csv(CSVReader)
        case lines(ByteSource)
        case rows(StoredRows)
    }

    private let path: String
    private let reader: Reader
    private var header: [String] = []
    private var line = 0

    /// Opens the list and reads its header, or asks the database.
    package init(_ source: ListSource) throws(CSVProblem) {
        path = source.name
        switch source {
        case .query(let query, let place):
            let rows = try Self.asking(path, 1) { () throws(StoreError) in try StoredRows(query, of: place) }
            reader = .rows(rows)
            header = rows.columns
            try Self.check(header, path)
        case .file(let path) where Self.isJSON(path):
            let source = try ByteSource(path: path)
            try source.skipMark()
            reader = .lines(source)
        case .file(let path):
            let csv = try CSVReader(path: path)
            reader = .csv(csv)
            header = try Self.header(of: csv, path)
        }
    }

    private static func header(of csv: CSVReader, _ path: String) throws(CSVProblem) -> [String] {
        guard let row = try csv.next() else {
            throw CSVProblem(path: path, line: 1, message: "the list is empty", mend: "its first row names the columns")
        }
        for name in row.fields where name.isEmpty {
            throw CSVProblem(
                path: path, line: row.line, message: "a column has no name", mend: "the first row names the columns")
        }
        try check(row.fields, path, line: row.line)
        return row.fields
    }

    private static func check(_ names: [String], _ path: String, line: Int = 1) throws(CSVProblem) {
        for (index, name) in names.enumerated() where names[..<index].contains(name) {
            throw CSVProblem(path: path, line: line, message: "two columns are named \(name)")
        }
    }

    private static func asking<Result>(
        _ path: String, _ line: Int, _ body: () throws(StoreError) -> Result
    ) throws(CSVProblem) -> Result {
        do throws(StoreError) {
            return try body()
        } catch {
            throw CSVProblem(path: path, line: line, message: error.message)
        }
    }

    private static func isJSON(_ path: String) -> Bool {
        let name = path.lowercased()
        return name.hasSuffix(".jsonl") || name.hasSuffix(".ndjson")
    }

    /// The next row; nil at the end.
    package func next() throws(CSVProblem) -> Target? {
        switch reader {
        case .csv(let csv): return try nextRecord(of: csv)
        case .lines(let lines): return try nextObject(in: lines)
        case .rows(let rows):
            guard let row = try Self.asking(path, line + 1, { () throws(StoreError) in try rows.next() }) else { return nil }
            line += 1
            var map = ValueMap()
            for (name, value) in zip(header, row) { map[name] = Self.value(value) }
            return Target(line: line, value: .map(map))
        }
    }

    private static func value(_ stored: StoreValue) -> Value {
        switch stored {
        case .null: .null
        case .integer(let number): .int(number)
        case .real(let number): .double(number)
        case .text(let text): .string(text)
        }
    }

    private func nextRecord(of csv: CSVReader) throws(CSVProblem) -> Target? {
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

    private func nextObject(in lines: ByteSource) throws(CSVProblem) -> Target? {
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
