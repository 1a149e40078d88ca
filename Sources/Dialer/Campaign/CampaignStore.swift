// A campaign on disk: the rows of its list and every attempt, written before it is made and after it ends. What is here survives
// kill -9; what is not did not happen.

import Basics
import CallEngine
package import FlowEngine
package import Store

/// The statements of a campaign. Used on the database's thread.
package enum CampaignStore {
    package static let migrations = [
        """
        CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE target (
            id INTEGER PRIMARY KEY, line INTEGER NOT NULL, data TEXT NOT NULL, state TEXT NOT NULL,
            attempts INTEGER NOT NULL, due DOUBLE PRECISION NOT NULL);
        CREATE INDEX target_due ON target (state, due, id);
        CREATE TABLE attempt (
            target INTEGER NOT NULL, number INTEGER NOT NULL, destination TEXT NOT NULL, started DOUBLE PRECISION NOT NULL,
            ended DOUBLE PRECISION, verdict TEXT, cause TEXT, status INTEGER, answer DOUBLE PRECISION,
            duration DOUBLE PRECISION, score DOUBLE PRECISION, result TEXT, ladder TEXT,
            PRIMARY KEY (target, number))
        """,
        """
        ALTER TABLE target ADD COLUMN worker INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE attempt ADD COLUMN worker INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE worker (
            id INTEGER PRIMARY KEY, token TEXT NOT NULL, beat INTEGER NOT NULL, alive INTEGER NOT NULL, share TEXT NOT NULL,
            ended INTEGER NOT NULL, passed INTEGER NOT NULL, again INTEGER NOT NULL)
        """,
        // Tests with parties: whose call it is that came to another worker (PartyDirectory).
        """
        ALTER TABLE attempt ADD COLUMN token TEXT NOT NULL DEFAULT '';
        ALTER TABLE attempt ADD COLUMN called TEXT NOT NULL DEFAULT '';
        ALTER TABLE worker ADD COLUMN address TEXT NOT NULL DEFAULT '';
        CREATE INDEX attempt_token ON attempt (token) WHERE token <> '';
        CREATE INDEX attempt_open ON attempt (started) WHERE ended IS NULL
        """,
        // What a worker has registered of the lines that parties are called by (PartyLines).
        "ALTER TABLE worker ADD COLUMN contacts TEXT NOT NULL DEFAULT ''"
    ]

    /// What a row of the list is doing.
    enum State: String {
        /// For its time, or for its turn.
        case waiting
        /// For the one worker that has a place for its destination.
        case kept
        /// A worker has it in hand; nothing was written of an attempt yet.
        case ready
        /// An attempt is in the air.
        case running
        case passed
        case failed
        case error
    }

    /// A row that is to be called.
    package struct Target: Sendable {
        package var row: Int
        package var line: Int
        package var data: Value
        /// Those before.
        package var attempts: Int
    }

    /// What is to be written: the beginning and the end of an attempt.
    package enum Entry: Sendable {
        case began(CampaignAttempt, at: Double)
        /// `again`: when the target is to be called once more; nil: never.
        case ended(CampaignAttempt, AttemptResult, at: Double, again: Double?)
        /// The row is for another worker.
        case handedOver(CampaignAttempt, to: Int)
    }

    /// What a worker took in hand.
    struct Claim: Sendable {
        var targets: [Target] = []
        /// When the next of the other rows is due, seconds since 1970; nil: there is none.
        var nextDue: Double?
        /// Other workers have rows, which may come back.
        var isBusyElsewhere = false
    }

    package struct Counts: Equatable, Sendable {
        package var targets = 0
        package var passed = 0
        package var failed = 0
        package var error = 0
        package var waiting = 0
        package var attempts = 0

        package init() {}
        package var over: Int { passed + failed + error }
    }

    // MARK: The list

    /// Rows that were taken from the list so far, and whether that was all of it.
    static func imported(_ connection: any StoreConnection) throws(StoreError) -> (rows: Int, isWhole: Bool) {
        // In this order: another worker may take in rows, and the last of them, between the two looks.
        let isWhole = try meta("imported", connection) == "whole"
        // Rows are numbered without a gap.
        return (try connection.rows("SELECT max(id) FROM target").first?.first?.integer ?? 0, isWhole)
    }

    /// Rows of one statement.
    private static let addedAtOnce = 100

    /// Takes rows in, the first of which is number `row + 1`. When several workers take the same list in, the first one's are taken; returns
    /// the number of rows that are there.
    static func add(_ targets: [TargetList.Target], after row: Int, _ connection: any StoreConnection) throws(StoreError) -> Int {
        try connection.transaction { () throws(StoreError) -> Int in
            try lockMeta(connection)
            let known = try imported(connection).rows
            guard known == row else { return known }
            var rest = targets.enumerated().map { (id: row + $0.offset + 1, target: $0.element) }[...]
            while !rest.isEmpty {
                let count = rest.count >= addedAtOnce ? addedAtOnce : 1
                let places = [String](repeating: "(?, ?, ?, 'waiting', 0, 0)", count: count).joined(separator: ", ")
                try connection.execute(
                    "INSERT INTO target (id, line, data, state, attempts, due) VALUES \(places)",
                    rest.prefix(count).flatMap { [StoreValue($0.id), StoreValue($0.target.line), .text($0.target.value.json)] })
                rest = rest.dropFirst(count)
            }
            return row + targets.count
        }
    }

    /// One transaction at a time from here to its end.
    static func lockMeta(_ connection: any StoreConnection) throws(StoreError) {
        _ = try connection.rows(connection.locking("SELECT value FROM meta WHERE name = 'list'", skipsLocked: false))
    }

    static func meta(_ name: String, _ connection: any StoreConnection) throws(StoreError) -> String? {
        try connection.rows("SELECT value FROM meta WHERE name = ?", [.text(name)]).first?.first?.text
    }

    static func setMeta(_ name: String, _ value: String, _ connection: any StoreConnection) throws(StoreError) {
        try connection.execute(
            "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [.text(name), .text(value)])
    }

    // MARK: Work

    /// Takes rows that are due in hand, in their order.
    static func claim(_ most: Int, for worker: Int, at wall: Double, _ connection: any StoreConnection) throws(StoreError)
        -> Claim
    {
        try connection.transaction { () throws(StoreError) -> Claim in
            let alive = connection.locking("SELECT alive FROM worker WHERE id = ?", skipsLocked: false)
            guard try connection.rows(alive, [StoreValue(worker)]).first?[0].integer == 1 else {
                return Claim(isBusyElsewhere: true)
            }
            var claim = Claim()
            for (state, owner) in [(State.kept, worker), (.waiting, 0)] where claim.targets.count < most {
                let select = connection.locking(
                    """
                    SELECT id, line, data, attempts FROM target WHERE state = ? AND worker = ? AND due <= ?
                    ORDER BY due, id LIMIT ?
                    """, skipsLocked: true)
                let rows = try connection.rows(
                    select,
                    [.text(state.rawValue), StoreValue(owner), .real(wall), StoreValue(most - claim.targets.count)])
                for row in rows {
                    guard let id = row[0].integer, let data = row[2].text else { continue }
                    claim.targets.append(
                        Target(
                            row: id, line: row[1].integer ?? 0, data: (try? Value.fromJSON(data)) ?? .null,
                            attempts: row[3].integer ?? 0))
                    try connection.execute(
                        "UPDATE target SET state = 'ready', worker = ? WHERE id = ?", [StoreValue(worker), StoreValue(id)])
                }
            }
            let due = try connection.rows(
                """
                SELECT min(due) FROM target WHERE state = 'waiting'
                UNION ALL SELECT min(due) FROM target WHERE state = 'kept' AND worker = ?
                """, [StoreValue(worker)])
            claim.nextDue = due.compactMap { $0[0].real }.min()
            claim.isBusyElsewhere =
                try !connection.rows(
                    "SELECT id FROM target WHERE state IN ('kept', 'ready', 'running') AND worker <> ? LIMIT 1",
                    [StoreValue(worker)]
                ).isEmpty
            return claim
        }
    }

    /// Writes beginnings and ends, all or none. Returns the places of beginnings that may not be: another worker has the row by now.
    static func write(_ entries: [Entry], _ connection: any StoreConnection) throws(StoreError) -> Set<Int> {
        try connection.transaction { () throws(StoreError) -> Set<Int> in
            var refused: Set<Int> = []
            for (index, entry) in entries.enumerated() {
                switch entry {
                case .began(let attempt, let wall):
                    if try !begin(attempt, at: wall, connection) { refused.insert(index) }
                case .ended(let attempt, let result, let wall, let again):
                    try end(
                        target: attempt.row, number: attempt.number, of: attempt.worker, result, at: wall, again: again,
                        connection)
                case .handedOver(let attempt, let other):
                    try connection.execute(
                        "UPDATE target SET state = 'kept', worker = ? WHERE id = ? AND state = 'ready' AND worker = ?",
                        [StoreValue(other), StoreValue(attempt.row), StoreValue(attempt.worker)])
                }
            }
            return refused
        }
    }

    private static func begin(
        _ attempt: CampaignAttempt, at wall: Double, _ connection: any StoreConnection
    ) throws(StoreError) -> Bool {
        let number = StoreValue(attempt.number)
        let count = try connection.execute(
            "UPDATE target SET state = 'running', attempts = ? WHERE id = ? AND worker = ? AND (state = 'ready' OR attempts = ?)",
            [number, StoreValue(attempt.row), StoreValue(attempt.worker), number])
        guard count > 0 else { return false }
        try connection.execute(
            """
            INSERT INTO attempt (target, number, destination, started, worker, token) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (target, number) DO NOTHING
            """,
            [
                StoreValue(attempt.row), number, .text(attempt.destination), .real(wall), StoreValue(attempt.worker),
                .text(attempt.token)
            ])
        return true
    }

    /// - Parameter worker: who made it. When others gave that one up meanwhile, what it saw is better than what they thought.
    static func end(
        target: Int, number: Int, of worker: Int, _ result: AttemptResult, at wall: Double, again: Double?,
        _ connection: any StoreConnection
    ) throws(StoreError) {
        try connection.execute(
            """
            UPDATE attempt SET ended = ?, verdict = ?, cause = ?, status = ?, answer = ?, duration = ?, score = ?, result = ?,
            ladder = ? WHERE target = ? AND number = ? AND worker = ?
            """,
            [
                .real(wall), .text(result.verdict.rawValue), .text(result.cause.rawValue), StoreValue(result.status),
                result.answer.map { .real($0) } ?? .null, result.duration.map { .real($0) } ?? .null,
                result.score.map { .real($0) } ?? .null, .text(result.json), StoreValue(result.ladder), StoreValue(target),
                StoreValue(number), StoreValue(worker)
            ])
        let state = again == nil ? result.verdict.rawValue : State.waiting.rawValue
        try connection.execute(
            "UPDATE target SET state = ?, due = ?, worker = ? WHERE id = ? AND attempts = ? AND worker = ?",
            [
                .text(state), .real(again ?? wall), StoreValue(again == nil ? worker : 0), StoreValue(target),
                StoreValue(number), StoreValue(worker)
            ])
    }

    // MARK: Looking

    package static func counts(_ connection: any StoreConnection) throws(StoreError) -> Counts {
        var counts = Counts()
        for row in try connection.rows("SELECT state, count(*) FROM target GROUP BY state") {
            let count = row[1].integer ?? 0
            counts.targets += count
            switch row[0].text.flatMap({ State(rawValue: $0) }) {
            case .passed: counts.passed = count
            case .failed: counts.failed = count
            case .error: counts.error = count
            case .waiting, .kept, .ready, .running, nil: counts.waiting += count
            }
        }
        counts.attempts = try connection.rows("SELECT count(*) FROM attempt").first?.first?.integer ?? 0
        return counts
    }
}
