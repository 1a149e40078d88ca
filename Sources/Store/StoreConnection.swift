// The one small interface to a database: statements with values in, rows out. What is stored is not known here.

/// A value of a column.
package enum StoreValue: Equatable, Sendable, ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByFloatLiteral,
    ExpressibleByNilLiteral
{
    case null
    case integer(Int64)
    case real(Double)
    case text(String)

    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(stringLiteral value: String) { self = .text(value) }
    package init(floatLiteral value: Double) { self = .real(value) }
    package init(nilLiteral: ()) { self = .null }

    package init(_ value: Int) { self = .integer(Int64(value)) }
    /// nil is null.
    package init(_ value: String?) { self = value.map { .text($0) } ?? .null }

    /// The whole number; nil for everything else.
    package var integer: Int? {
        if case .integer(let value) = self { Int(value) } else { nil }
    }
    /// The number, whole or not; nil for everything else.
    package var real: Double? {
        switch self {
        case .real(let value): value
        case .integer(let value): Double(value)
        case .null, .text: nil
        }
    }
    package var text: String? {
        if case .text(let value) = self { value } else { nil }
    }
}

/// Why the database did not do it.
package struct StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Kind: Sendable {
        /// Somebody else has it.
        case busy
        /// The disk is full, or may not be written.
        case disk
        /// It is no database, or a broken one.
        case corrupt
        /// It was written by a newer version.
        case newer
        /// A rule of the tables was broken.
        case constraint
        /// The server is gone, or not there. Nothing is known of what was under way.
        case lost
        /// Others did what this work looked at; nothing of it was done, and it can be done again.
        case conflict
        /// Whoever asked is wrong, by what is stored.
        case refused
        /// Everything else.
        case other
    }

    package var kind: Kind
    package var message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    package var description: String { message }
}

/// A connection; used on the store's thread alone.
package protocol StoreConnection: AnyObject {
    /// Runs a statement whose `?` are the values, in order. Returns how many rows it changed.
    @discardableResult
    func execute(_ statement: String, _ values: [StoreValue]) throws(StoreError) -> Int

    /// Gives each row of a query to `row`, which may end the reading by returning false.
    func query(
        _ statement: String, _ values: [StoreValue], each row: ([StoreValue]) throws(StoreError) -> Bool
    ) throws(StoreError)

    /// What the database is said to be: how many migrations it has had.
    func version() throws(StoreError) -> Int
    func setVersion(_ version: Int) throws(StoreError)
    /// Migrates; where others may want to at the same time, one after the other.
    func migrating(_ body: () throws(StoreError) -> Void) throws(StoreError)

    /// Begins a transaction that writes.
    var begin: String { get }

    /// A SELECT whose rows nobody else may change, or select in this way, before the transaction ends: others wait, or with
    /// `skipsLocked` pass over them. The statement itself where one transaction at a time writes.
    func locking(_ select: String, skipsLocked: Bool) -> String

    /// The numeric address by which the server sees this client; nil when both are on one machine.
    func clientAddress() throws(StoreError) -> String?

    /// The time that all who use the database agree on, seconds since 1970: the server's, or else `own`.
    func clock(or own: Double) throws(StoreError) -> Double
}

extension StoreConnection {
    @discardableResult
    package func execute(_ statement: String) throws(StoreError) -> Int { try execute(statement, []) }

    /// All rows of a query.
    package func rows(_ statement: String, _ values: [StoreValue] = []) throws(StoreError) -> [[StoreValue]] {
        var rows: [[StoreValue]] = []
        try query(statement, values) { row throws(StoreError) in
            rows.append(row)
            return true
        }
        return rows
    }

    /// All of `body` or nothing of it.
    package func transaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try execute(begin)
        let result: Result
        do throws(StoreError) {
            result = try body()
            try execute("COMMIT")
        } catch {
            // What cannot be rolled back was never begun, or is undone when the connection ends.
            _ = try? execute("ROLLBACK")
            throw error
        }
        return result
    }
}
