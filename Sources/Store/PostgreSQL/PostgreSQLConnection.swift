// PostgreSQL behind the store's interface, by libpq. The tables of one owner stand in a schema of their own, so that a database has room
// for many.

import CPostgreSQL
import Glibc

/// One session. Belongs to one thread at a time.
final class PostgreSQLConnection: StoreConnection {
    private let handle: OpaquePointer
    private let space: String
    /// Statements that were used before, by their text: the names under which the server has them.
    private var prepared: [String: String] = [:]
    private static let preparedLimit = 64
    /// No statement of ours takes so long; nor does a transaction stand open so long without one.
    private static let settings = [
        "SET statement_timeout = '30s'", "SET idle_in_transaction_session_timeout = '30s'", "SET client_min_messages = warning"
    ]
    /// Names are cut beyond it, and two might become one.
    private static let longestName = 63

    /// - Parameter space: the schema, made when it is not there.
    init(_ address: PostgreSQLAddress, space: String) throws(StoreError) {
        guard space.utf8.count <= Self.longestName, !space.utf8.contains(0) else {
            throw StoreError(.other, "the name \(space) is too long: at most \(Self.longestName) octets")
        }
        guard let handle = address.connect() else { throw StoreError(.lost, "no memory for a connection to \(address)") }
        guard PQstatus(handle) == CONNECTION_OK else {
            let error = PostgreSQLError.connecting(handle, to: address)
            PQfinish(handle)
            throw error
        }
        self.handle = handle
        self.space = space
        let quoted = "\"\(space.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
        for statement in Self.settings + ["SET search_path = \(quoted)"] { try execute(statement) }
        if try rows("SELECT 1 FROM pg_namespace WHERE nspname = ?", [.text(space)]).isEmpty {
            // Two may do so at once: the second finds what the first made.
            do throws(StoreError) {
                try execute("CREATE SCHEMA IF NOT EXISTS \(quoted)")
            } catch  where error.kind == .constraint {}
        }
    }

    deinit { PQfinish(handle) }

    @discardableResult
    func execute(_ text: String, _ values: [StoreValue]) throws(StoreError) -> Int {
        let result = try run(text, values)
        defer { PQclear(result) }
        return Int(String(cString: PQcmdTuples(result))) ?? 0
    }

    func query(
        _ text: String, _ values: [StoreValue], each row: ([StoreValue]) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let result = try run(text, values)
        defer { PQclear(result) }
        let columns = PQnfields(result)
        for index in 0..<PQntuples(result) {
            guard try row((0..<columns).map { Self.value(result, index, $0) }) else { return }
        }
    }

    private func run(_ text: String, _ values: [StoreValue]) throws(StoreError) -> OpaquePointer {
        let name = try prepare(text)
        var strings: [UnsafeMutablePointer<CChar>?] = []
        defer { for string in strings { free(string) } }
        for value in values { strings.append(try Self.text(value).flatMap { strdup($0) }) }
        return try checked(
            PQexecPrepared(handle, name, Int32(values.count), strings.map { UnsafePointer($0) }, nil, nil, 0), text)
    }

    private func prepare(_ text: String) throws(StoreError) -> String {
        if let name = prepared[text] { return name }
        if prepared.count >= Self.preparedLimit {
            PQclear(try checked(PQexec(handle, "DEALLOCATE ALL"), "DEALLOCATE ALL"))
            prepared = [:]
        }
        let name = "s\(prepared.count)"
        PQclear(try checked(PQprepare(handle, name, Self.numbered(text), 0, nil), text))
        prepared[text] = name
        return name
    }

    /// `?` as `$1`, `$2`, …; those in quotes are text.
    private static func numbered(_ text: String) -> String {
        var result = ""
        var count = 0
        var isQuoted = false
        for character in text {
            if character == "'" { isQuoted.toggle() }
            if character == "?", !isQuoted {
                count += 1
                result += "$\(count)"
            } else {
                result.append(character)
            }
        }
        return result
    }

    private func checked(_ result: OpaquePointer?, _ what: String) throws(StoreError) -> OpaquePointer {
        let status = PQresultStatus(result)
        if let result, status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK { return result }
        defer { PQclear(result) }
        throw PostgreSQLError.of(result, handle, what)
    }

    // MARK: Values, as text

    private static func text(_ value: StoreValue) throws(StoreError) -> String? {
        switch value {
        case .null: return nil
        case .integer(let value): return String(value)
        case .real(let value): return String(value)
        case .text(let value):
            guard !value.utf8.contains(0) else { throw StoreError(.constraint, "PostgreSQL takes no text with a zero octet") }
            return value
        }
    }

    static func value(_ result: OpaquePointer, _ row: Int32, _ column: Int32) -> StoreValue {
        guard PQgetisnull(result, row, column) == 0, let bytes = PQgetvalue(result, row, column) else { return .null }
        let text = String(cString: bytes)
        switch PQftype(result, column) {
        // int8, int2, int4 (pg_type.dat of PostgreSQL)
        case 20, 21, 23: return Int64(text).map { .integer($0) } ?? .text(text)
        // float4, float8, numeric
        case 700, 701, 1700: return Double(text).map { .real($0) } ?? .text(text)
        case 16: return .integer(text == "t" ? 1 : 0)
        default: return .text(text)
        }
    }

    // MARK: What differs from other databases

    var begin: String { "BEGIN" }

    func locking(_ select: String, skipsLocked: Bool) -> String {
        select + (skipsLocked ? " FOR UPDATE SKIP LOCKED" : " FOR UPDATE")
    }

    func clientAddress() throws(StoreError) -> String? { try rows("SELECT host(inet_client_addr())").first?.first?.text }

    func migrating(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        // Of the session: it goes with the connection, too.
        _ = try rows("SELECT pg_advisory_lock(hashtext(?))", [.text(space)])
        defer { _ = try? rows("SELECT pg_advisory_unlock(hashtext(?))", [.text(space)]) }
        try body()
    }

    func version() throws(StoreError) -> Int {
        try execute("CREATE TABLE IF NOT EXISTS store_version (version INTEGER NOT NULL)")
        return try rows("SELECT version FROM store_version").first?.first?.integer ?? 0
    }

    func setVersion(_ version: Int) throws(StoreError) {
        try execute("DELETE FROM store_version")
        try execute("INSERT INTO store_version (version) VALUES (?)", [StoreValue(version)])
    }

    func clock(or own: Double) throws(StoreError) -> Double {
        try rows("SELECT extract(epoch FROM clock_timestamp())").first?.first?.real ?? own
    }
}
