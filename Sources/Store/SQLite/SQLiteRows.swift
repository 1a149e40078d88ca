// A query of a file of SQLite that is opened for reading alone.

import CSQLite

final class SQLiteRows: RowCursor {
    let columns: [String]
    private let handle: OpaquePointer
    private let statement: OpaquePointer
    private let query: String
    /// SQLite would begin anew behind the last row.
    private var isOver = false

    init(path: String, _ query: String) throws(StoreError) {
        self.query = query
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let handle else {
            defer { sqlite3_close_v2(handle) }
            throw SQLiteConnection.error(code, handle, path)
        }
        sqlite3_busy_timeout(handle, SQLiteConnection.busyTimeout)
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, query, -1, &statement, nil) == SQLITE_OK, let statement else {
            defer { sqlite3_close_v2(handle) }
            throw SQLiteConnection.error(sqlite3_errcode(handle), handle, query)
        }
        let count = sqlite3_column_count(statement)
        guard sqlite3_stmt_readonly(statement) != 0, count > 0 else {
            sqlite3_finalize(statement)
            sqlite3_close_v2(handle)
            throw StoreError(.refused, "this is no query of rows: \(query)")
        }
        columns = (0..<count).map { sqlite3_column_name(statement, $0).map { String(cString: $0) } ?? "" }
        (self.handle, self.statement) = (handle, statement)
    }

    deinit {
        sqlite3_finalize(statement)
        sqlite3_close_v2(handle)
    }

    func next() throws(StoreError) -> [StoreValue]? {
        guard !isOver else { return nil }
        switch sqlite3_step(statement) {
        case SQLITE_DONE:
            isOver = true
            return nil
        case SQLITE_ROW: return columns.indices.map { SQLiteConnection.value(statement, Int32($0)) }
        case let code: throw SQLiteConnection.error(code, handle, query)
        }
    }
}
