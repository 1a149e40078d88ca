// SQLite behind the store's interface: a write-ahead log, so that a killed process loses nothing that was committed, and a disk that
// loses its power neither (synchronous = FULL).

import CSQLite

/// One open file. Belongs to one thread at a time.
final class SQLiteConnection: StoreConnection {
    private let handle: OpaquePointer
    /// Statements that were used before, prepared.
    private var prepared: [String: OpaquePointer] = [:]
    private static let preparedLimit = 64
    /// How long another process may hold the file, milliseconds.
    static let busyTimeout: Int32 = 5000

    init(path: String) throws(StoreError) {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2(path, &handle, flags, nil)
        guard code == SQLITE_OK, let handle else {
            let error = Self.error(code, handle, path)
            sqlite3_close_v2(handle)
            throw error
        }
        self.handle = handle
        sqlite3_busy_timeout(handle, Self.busyTimeout)
        sqlite3_extended_result_codes(handle, 1)
        for pragma in ["journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"] {
            try query("PRAGMA \(pragma)", []) { _ in true }
        }
    }

    deinit {
        for statement in prepared.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    func execute(_ text: String, _ values: [StoreValue]) throws(StoreError) -> Int {
        try query(text, values) { _ in true }
        return Int(sqlite3_changes(handle))
    }

    func query(
        _ text: String, _ values: [StoreValue], each row: ([StoreValue]) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let statement = try statement(text)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (index, value) in values.enumerated() { try bind(value, to: Int32(index + 1), of: statement) }
        let columns = sqlite3_column_count(statement)
        while true {
            let code = sqlite3_step(statement)
            if code == SQLITE_DONE { return }
            guard code == SQLITE_ROW else { throw Self.error(code, handle, text) }
            guard try row((0..<columns).map { Self.value(statement, $0) }) else { return }
        }
    }

    private func statement(_ text: String) throws(StoreError) -> OpaquePointer {
        if let statement = prepared[text] { return statement }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v2(handle, text, -1, &statement, nil)
        guard code == SQLITE_OK, let statement else { throw Self.error(code, handle, text) }
        if prepared.count >= Self.preparedLimit {
            for old in prepared.values { sqlite3_finalize(old) }
            prepared = [:]
        }
        prepared[text] = statement
        return statement
    }

    private func bind(_ value: StoreValue, to index: Int32, of statement: OpaquePointer) throws(StoreError) {
        /// SQLITE_TRANSIENT: SQLite copies the text.
        let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        let code =
            switch value {
            case .null: sqlite3_bind_null(statement, index)
            case .integer(let value): sqlite3_bind_int64(statement, index, value)
            case .real(let value): sqlite3_bind_double(statement, index, value)
            case .text(let value): sqlite3_bind_text(statement, index, value, Int32(value.utf8.count), copied)
            }
        guard code == SQLITE_OK else { throw Self.error(code, handle, "value \(index)") }
    }

    static func value(_ statement: OpaquePointer, _ column: Int32) -> StoreValue {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, column))
        case SQLITE_TEXT:
            guard let bytes = sqlite3_column_text(statement, column) else { return .null }
            let count = Int(sqlite3_column_bytes(statement, column))
            return .text(String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self))
        default: return .null
        }
    }

    func version() throws(StoreError) -> Int { try rows("PRAGMA user_version").first?.first?.integer ?? 0 }

    func setVersion(_ version: Int) throws(StoreError) { try query("PRAGMA user_version = \(version)", []) { _ in true } }

    func migrating(_ body: () throws(StoreError) -> Void) throws(StoreError) { try body() }

    /// At once: one that began to read could not write any more when another wrote meanwhile.
    var begin: String { "BEGIN IMMEDIATE" }

    func locking(_ select: String, skipsLocked: Bool) -> String { select }

    func clock(or own: Double) -> Double { own }

    func clientAddress() -> String? { nil }

    static func error(_ code: Int32, _ handle: OpaquePointer?, _ what: String) -> StoreError {
        let kind: StoreError.Kind =
            switch code & 0xFF {
            case SQLITE_BUSY, SQLITE_LOCKED: .busy
            case SQLITE_FULL, SQLITE_IOERR, SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM: .disk
            case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
            case SQLITE_CONSTRAINT: .constraint
            default: .other
            }
        let words = handle.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
        return StoreError(kind, "\(words) (\(what))")
    }
}
