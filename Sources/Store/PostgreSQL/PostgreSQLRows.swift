// A query of a PostgreSQL server by a cursor, in a transaction that may only read.

import CPostgreSQL

final class PostgreSQLRows: RowCursor {
    private(set) var columns: [String] = []
    private let handle: OpaquePointer
    private var piece: OpaquePointer?
    private var row: Int32 = 0
    private static let pieceSize = 1000

    init(_ address: PostgreSQLAddress, _ query: String) throws(StoreError) {
        guard let handle = address.connect() else { throw StoreError(.lost, "no memory for a connection to \(address)") }
        self.handle = handle
        guard PQstatus(handle) == CONNECTION_OK else { throw PostgreSQLError.connecting(handle, to: address) }
        PQclear(try run("BEGIN READ ONLY"))
        // One command alone: parameters, also none, allow no second one behind a semicolon.
        PQclear(try run("DECLARE list NO SCROLL CURSOR FOR \(query)"))
        try fetch()
        columns = (0..<PQnfields(piece)).map { PQfname(piece, $0).map { String(cString: $0) } ?? "" }
    }

    deinit {
        PQclear(piece)
        PQfinish(handle)
    }

    private func run(_ statement: String) throws(StoreError) -> OpaquePointer {
        let result = PQexecParams(handle, statement, 0, nil, nil, nil, nil, 0)
        let status = PQresultStatus(result)
        if let result, status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK { return result }
        defer { PQclear(result) }
        throw PostgreSQLError.of(result, handle, statement)
    }

    private func fetch() throws(StoreError) {
        PQclear(piece)
        piece = nil
        piece = try run("FETCH \(Self.pieceSize) FROM list")
        row = 0
    }

    func next() throws(StoreError) -> [StoreValue]? {
        if row == PQntuples(piece) {
            guard row == Self.pieceSize else { return nil }
            try fetch()
        }
        guard let piece, row < PQntuples(piece) else { return nil }
        defer { row += 1 }
        return columns.indices.map { PostgreSQLConnection.value(piece, row, Int32($0)) }
    }
}
