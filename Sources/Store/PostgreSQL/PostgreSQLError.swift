// PostgreSQL's errors in the store's words.

import CPostgreSQL

enum PostgreSQLError {
    /// Why a connection was not made. What another attempt would not change is told apart from a server that is not there.
    static func connecting(_ handle: OpaquePointer, to address: PostgreSQLAddress) -> StoreError {
        let words = line(PQerrorMessage(handle))
        let isRefusal =
            PQconnectionNeedsPassword(handle) == 1 || PQconnectionUsedPassword(handle) == 1
            || ["does not exist", "pg_hba.conf", "certificate", "does not support SSL", "authentication failed"]
                .contains { words.contains($0) }
        return StoreError(isRefusal && !isPassing(words) ? .other : .lost, "\(address): \(words)")
    }

    /// A server that starts, ends or is full is one that comes back.
    private static func isPassing(_ words: String) -> Bool {
        ["starting up", "shutting down", "too many", "remaining connection slots", "Connection refused", "No such file"]
            .contains { words.contains($0) }
    }

    /// Of a statement.
    static func of(_ result: OpaquePointer?, _ handle: OpaquePointer, _ what: String) -> StoreError {
        let state = result.flatMap { PQresultErrorField($0, 67 /* PG_DIAG_SQLSTATE: 'C' */) }.map { String(cString: $0) } ?? ""
        let words =
            result.flatMap { PQresultErrorField($0, 77 /* PG_DIAG_MESSAGE_PRIMARY: 'M' */) }.map { line($0) }
            ?? line(PQerrorMessage(handle))
        guard PQstatus(handle) == CONNECTION_OK else { return StoreError(.lost, words) }
        return StoreError(kind(of: state), "\(words) (\(what))")
    }

    /// By SQLSTATE (PostgreSQL's documentation, appendix A).
    private static func kind(of state: String) -> StoreError.Kind {
        switch state {
        case "40001", "40P01": .conflict
        case "57014", "55P03": .busy
        case "25006": .disk
        default:
            switch state.prefix(2) {
            case "23": .constraint
            case "08", "57": .lost
            case "53", "58": .disk
            case "XX": .corrupt
            default: .other
            }
        }
    }

    private static func line(_ text: UnsafePointer<CChar>?) -> String {
        let words = text.map { String(cString: $0) } ?? ""
        return words.split(whereSeparator: \.isNewline).map { String($0.drop { $0 == "\t" || $0 == " " }) }.joined(
            separator: "; ")
    }
}
