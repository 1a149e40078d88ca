// A database with a thread of its own: whoever asks never waits on a loop, and what was asked first is done first.

import Glibc
import Reactor

/// Keeps what has to outlive the process. From any thread.
///
/// A server that goes away is waited for, and what was under way when it did is done again: nobody knows whether it came to pass. So work
/// must be such that twice is as good as once.
package final class Database: Sendable {
    private struct State {
        /// nil while the server is gone.
        var connection: (any StoreConnection)?
        var isClosed = false
        /// The server was waited for in vain: what comes now tries once.
        var isGivenUp = false
    }

    private let worker: WorkerPool
    private let open: @Sendable () throws(StoreError) -> any StoreConnection
    /// How long a server that is gone is waited for.
    private let patience: Duration
    /// Set by `close`: from then on nobody waits for a server that is gone.
    private let closing = Outcome<Void>()
    /// Never contended: the worker alone takes it, and `close` when the worker has ended.
    private let state: Locked<State>

    /// Pieces of work that may wait.
    private static let limit = 100_000
    /// How often work is begun anew when others are in its way.
    private static let mostConflicts = 20
    private static let usualPatience = Duration.seconds(30)

    /// Opens the file, makes it when it is not there, and brings it to the state of the latest migration.
    /// - Parameters:
    ///   - migrations: statements of one step each, `;` between them; those that the database has had are left out. Never change one that
    ///     was released: add another.
    ///   - isInline: without a thread, for virtual loops.
    package convenience init(sqlite path: String, migrations: [String], isInline: Bool = false) throws(StoreError) {
        try self.init(migrations, isInline: isInline, patience: .zero) { () throws(StoreError) in try SQLiteConnection(path: path)
        }
    }

    /// Connects and brings the tables to the state of the latest migration. Waits for the server to answer.
    /// - Parameters:
    ///   - space: the name of the owner of the tables, at most 63 octets; made when it is not there.
    ///   - patience: how long a server that is gone is waited for each time.
    package convenience init(
        postgresql address: PostgreSQLAddress, space: String, migrations: [String], isInline: Bool = false,
        patience: Duration = usualPatience
    ) throws(StoreError) {
        try self.init(migrations, isInline: isInline, patience: patience) { () throws(StoreError) in
            try PostgreSQLConnection(address, space: space)
        }
    }

    private init(
        _ migrations: [String], isInline: Bool, patience: Duration,
        open: @escaping @Sendable () throws(StoreError) -> any StoreConnection
    ) throws(StoreError) {
        self.open = open
        self.patience = patience
        let connection = try open()
        try connection.migrating { () throws(StoreError) in try Self.migrate(connection, migrations) }
        state = Locked(State(connection: connection))
        do throws(SystemError) {
            worker = isInline ? .inline(name: "store") : try WorkerPool(name: "store", threads: 1, limit: Self.limit)
        } catch {
            throw StoreError(.other, "the store has no thread: \(error)")
        }
    }

    private static func migrate(_ connection: any StoreConnection, _ migrations: [String]) throws(StoreError) {
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
        state.withLock { state in
            guard !state.isClosed else { return .failure(StoreError(.other, "the store is closed")) }
            let end = ContinuousClock.now + patience
            var conflicts = 0
            var pause = Duration.milliseconds(50)
            while true {
                do throws(StoreError) {
                    let connection: any StoreConnection
                    if let open = state.connection { connection = open } else { connection = try open() }
                    state.connection = connection
                    let result = try work(connection)
                    state.isGivenUp = false
                    return .success(result)
                } catch {
                    switch error.kind {
                    case .conflict where conflicts < Self.mostConflicts: conflicts += 1
                    case .lost:
                        state.connection = nil
                        guard !state.isGivenUp, ContinuousClock.now + pause < end else {
                            state.isGivenUp = true
                            return .failure(error)
                        }
                        // This thread is the store's own, and nothing else is for it to do. After `close` it tries once more.
                        if closing.wait(within: pause) != nil { state.isGivenUp = true }
                        pause = min(pause * 2, .seconds(1))
                    default: return .failure(error)
                    }
                }
            }
        }
    }

    /// Does what waits, and closes. A server that is gone is not waited for any more, but tried once. Once, and not from a loop.
    package func close() {
        closing.set(())
        worker.stop()
        state.withLock {
            $0.connection = nil
            $0.isClosed = true
        }
    }
}
