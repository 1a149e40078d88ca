// Where a PostgreSQL database is, and how it is reached. What it says of itself has no password in it, whatever libpq would say.

import Basics
import CPostgreSQL
import Glibc

/// A connection string as libpq reads it: `postgresql://user@host:5432/database?sslmode=verify-full`.
package struct PostgreSQLAddress: Sendable, CustomStringConvertible {
    /// The parameters by their names in libpq's documentation, the password left out.
    private var parameters: [String: String] = [:]
    private let password: Secret?

    /// What is not said: how long a connection may take to be made, and to be found dead.
    private static let usual = [
        "connect_timeout": "10", "keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3",
        "tcp_user_timeout": "10000", "application_name": "ringwright"
    ]

    package init(_ text: String) throws(StoreError) {
        guard ["postgresql://", "postgres://"].contains(where: { text.hasPrefix($0) }) else {
            throw StoreError(.other, "a database is named by a URL such as postgresql://user@host/database")
        }
        // libpq's own words about a mistake may hold a part of the password.
        let unreadable = StoreError(
            .other, "the database's URL cannot be read; in names and passwords @ is written %40, / %2F, : %3A and % %25")
        guard let options = PQconninfoParse(text, nil) else { throw unreadable }
        defer { PQconninfoFree(options) }
        var password: Secret?
        var option = options
        while let name = option.pointee.keyword {
            if let value = option.pointee.val {
                if String(cString: name) == "password" {
                    password = Secret(String(cString: value))
                } else {
                    parameters[String(cString: name)] = String(cString: value)
                }
            }
            option += 1
        }
        self.password = password
        // What a sign in the password that is not written so leads to: pieces of it where everybody may read them.
        let isPort = parameters["port"]?.allSatisfy { ("0"..."9").contains($0) || $0 == "," } ?? true
        guard isPort, !["host", "dbname", "user"].contains(where: { parameters[$0]?.contains("@") == true }) else {
            throw unreadable
        }
    }

    /// The URL names a password itself: the user's, or that of a key.
    package var hasPassword: Bool { password != nil || parameters["sslpassword"] != nil }

    /// Without the password.
    package var description: String {
        let user = parameters["user"].map { "\($0)@" } ?? ""
        let port = parameters["port"].map { ":\($0)" } ?? ""
        return "postgresql://\(user)\(parameters["host"] ?? "")\(port)/\(parameters["dbname"] ?? "")"
    }

    /// Connects and waits for it. The caller ends the connection, also one that failed.
    func connect() -> OpaquePointer? {
        var all = Self.usual.merging(parameters) { $1 }
        all["client_encoding"] = "UTF8"
        all["password"] = password?.revealed
        let names = all.keys.sorted()
        let keywords: [UnsafeMutablePointer<CChar>?] = names.map { strdup($0) } + [nil]
        let values: [UnsafeMutablePointer<CChar>?] = names.map { strdup(all[$0] ?? "") } + [nil]
        defer { for string in keywords + values { free(string) } }
        return PQconnectdbParams(keywords.map { UnsafePointer($0) }, values.map { UnsafePointer($0) }, 0)
    }
}
