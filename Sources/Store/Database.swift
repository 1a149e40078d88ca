// A database with a thread of its own: whoever asks never waits on a loop, and what was asked first is done first.

import Reactor

/// Keeps what has to outlive the process. From any thread.
package final class Database: Sendable {
    private let worker: WorkerPool
    /// Never contended: the worker alone takes it, and `close` when the worker has ended.
    private let connection: Locked<(any StoreConnection)?>

    /// Pieces of work that may wait.
    private static let limit = 100_000

    /// Opens the file, makes it when it is not there, and brings it to the state of the latest migration.
    /// - Parameters:
    ///   - migrations: statements of one step each, `;` between them; those that the database has had are left out. Never change one that
    ///     was released: add another.
    ///   - isInline: without a thread, for virtual loops.
    package init(sqlite path: String, migrations: [String], isInline: Bool = false) throws(StoreError) {
        let connection = try SQLiteConnection(path: path)
        try Self.migrate(connection, migrations)
        self.connection = Locked(connection)
        do throws(SystemError) {
            worker = isInline ? .inline(name: "store") : try WorkerPool(name: "store", threads: 1, limit: Self.limit)
        } catch {
            throw StoreError(.other, "the store has no thread: \(error)")
        }
    }

    private static func migrate(_ connection: SQLiteConnection, _ migrations: [String]) throws(StoreError) {
        let version = try connection.version()
        guard version <= migrations.count else {
            throw StoreError(.newer, "the database was written by a newer version (\(version), known: \(migrations.count))")
        }
        for (index, migration) in migrations.enumerated().dropFirst(version) {
            try connection.transaction { () throws(StoreError) in
                for statement in migration.split(separator: ";") where !statement.allSatisfy(\.isWhitespace) {
                    try connection.execute(String(statement))
                }
                try connection.setVersion(index + 1)
            }
        }
    }

    /// Does `work` on the store's thread, after what was asked before; `then` gets what came of it, on that thread.
    package func perform<Result: Sendable>(
        _ work: @escaping @Sendable (any StoreConnection) throws(StoreError) -> Result,
        then: @escaping @Sendable (Swift.Result<Result, StoreError>) -> Void
    ) {
        do throws(WorkRefused) {
            try worker.submit { then(self.result(of: work)) }
        } catch {
            then(
                .failure(
                    StoreError(.busy, error == .full ? "the store is too slow: too much waits for it" : "the store is closed")))
        }
    }

    /// Does `work` and waits. Not from a loop.
    package func performAndWait<Result: Sendable>(
        _ work: @escaping @Sendable (any StoreConnection) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let outcome = Outcome<Swift.Result<Result, StoreError>>()
        perform(work) { outcome.set($0) }
        return try outcome.wait().get()
    }

    private func result<Result>(
        of work: (any StoreConnection) throws(StoreError) -> Result
    ) -> Swift.Result<Result, StoreError> {
        connection.withLock { connection in
            guard let connection else { return .failure(StoreError(.other, "the store is closed")) }
            do throws(StoreError) {
                return .success(try work(connection))
            } catch {
                return .failure(error)
            }
        }
    }

    /// Does what waits, and closes. Once, and not from a loop.
    package func close() {
        worker.stop()
        connection.withLock { $0 = nil }
    }
}
