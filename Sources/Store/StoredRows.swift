// Rows out of a database that is somebody else's: read and never written, a thousand at a time at most in memory.

/// Where a database is.
package enum StorePlace: Sendable, CustomStringConvertible {
    /// A file.
    case sqlite(String)
    case postgresql(PostgreSQLAddress)

    /// Reads `sqlite:FILE` or `postgresql://user@host/database`.
    package init(_ text: String) throws(StoreError) {
        let file = "sqlite:"
        if text.hasPrefix(file), text.utf8.count > file.utf8.count {
            self = .sqlite(String(text.dropFirst(file.utf8.count)))
        } else if text.hasPrefix("postgresql:") || text.hasPrefix("postgres:") {
            self = .postgresql(try PostgreSQLAddress(text))
        } else {
            throw StoreError(.other, "a database is named by sqlite:FILE or postgresql://user@host/database, not by \(text)")
        }
    }

    /// Without a password.
    package var description: String {
        switch self {
        case .sqlite(let path): "sqlite:\(path)"
        case .postgresql(let address): "\(address)"
        }
    }
}

/// What a query finds, row by row. Used on one thread; it may block.
package final class StoredRows {
    /// The names of the columns, as the query gives them.
    package let columns: [String]
    private let cursor: any RowCursor

    /// Asks. A statement that would write is refused.
    package init(_ query: String, of place: StorePlace) throws(StoreError) {
        cursor =
            switch place {
            case .sqlite(let path): try SQLiteRows(path: path, query)
            case .postgresql(let address): try PostgreSQLRows(address, query)
            }
        columns = cursor.columns
    }

    /// The next row; nil at the end.
    package func next() throws(StoreError) -> [StoreValue]? { try cursor.next() }
}

/// A query under way.
protocol RowCursor: AnyObject {
    var columns: [String] { get }
    func next() throws(StoreError) -> [StoreValue]?
}
