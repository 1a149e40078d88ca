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
        """
    ]

    /// What a row of the list is doing.
    enum State: String {
        /// For its time, or for its turn.
        case waiting
        /// Somebody has it in hand; nothing was written of an attempt yet.
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
        let rows = try connection.rows("SELECT count(*) FROM target").first?.first?.integer ?? 0
        return (rows, try meta("imported", connection) == "whole")
    }

    static func add(_ targets: [TargetList.Target], after row: Int, _ connection: any StoreConnection) throws(StoreError) {
        try connection.transaction { () throws(StoreError) in
            for (index, target) in targets.enumerated() {
                try connection.execute(
                    "INSERT INTO target (id, line, data, state, attempts, due) VALUES (?, ?, ?, 'waiting', 0, 0)",
                    [StoreValue(row + index + 1), StoreValue(target.line), .text(target.value.json)])
            }
        }
    }

    /// Notes whose list this is; the list that was noted first.
    package static func begin(list: String, _ connection: any StoreConnection) throws(StoreError) -> String {
        if let known = try meta("list", connection) { return known }
        try setMeta("list", list, connection)
        return list
    }

    private static func meta(_ name: String, _ connection: any StoreConnection) throws(StoreError) -> String? {
        try connection.rows("SELECT value FROM meta WHERE name = ?", [.text(name)]).first?.first?.text
    }

    static func setMeta(_ name: String, _ value: String, _ connection: any StoreConnection) throws(StoreError) {
        try connection.execute("DELETE FROM meta WHERE name = ?", [.text(name)])
        try connection.execute("INSERT INTO meta (name, value) VALUES (?, ?)", [.text(name), .text(value)])
    }

    // MARK: Work

    /// Puts in order what a killed process left: attempts in the air are reported as such and their targets are not called again; what was
    /// only in hand waits again. Returns how many were in the air.
    package static func recover(flow: String, at wall: Double, _ connection: any StoreConnection) throws(StoreError) -> Int {
        try connection.transaction { () throws(StoreError) -> Int in
            try connection.execute("UPDATE target SET state = 'waiting' WHERE state = 'ready'")
            let open = try connection.rows("SELECT target, number, destination FROM attempt WHERE ended IS NULL")
            for row in open {
                guard let target = row[0].integer, let number = row[1].integer else { continue }
                let result = AttemptResult.unseen(
                    row: target, number: number, destination: row[2].text ?? "", flow: flow,
                    detail: "\(AttemptResult.inTheAir): what became of it is not known")
                try end(target: target, number: number, result, at: wall, again: nil, connection)
            }
            return open.count
        }
    }

    /// Takes rows that are due in hand, in their order; and when the next one of the others is due.
    static func claim(
        _ most: Int, at wall: Double, _ connection: any StoreConnection
    ) throws(StoreError) -> (targets: [Target], nextDue: Double?) {
        try connection.transaction { () throws(StoreError) -> (targets: [Target], nextDue: Double?) in
            let rows = try connection.rows(
                "SELECT id, line, data, attempts FROM target WHERE state = 'waiting' AND due <= ? ORDER BY due, id LIMIT ?",
                [.real(wall), StoreValue(most)])
            var targets: [Target] = []
            for row in rows {
                guard let id = row[0].integer, let data = row[2].text else { continue }
                targets.append(
                    Target(
                        row: id, line: row[1].integer ?? 0, data: (try? Value.fromJSON(data)) ?? .null,
                        attempts: row[3].integer ?? 0))
                try connection.execute("UPDATE target SET state = 'ready' WHERE id = ?", [StoreValue(id)])
            }
            let next = try connection.rows("SELECT min(due) FROM target WHERE state = 'waiting'").first?.first?.real
            return (targets, next)
        }
    }

    /// Gives back what was in hand.
    static func release(_ connection: any StoreConnection) throws(StoreError) {
        try connection.execute("UPDATE target SET state = 'waiting' WHERE state = 'ready'")
    }

    /// Writes beginnings and ends, all or none.
    static func write(_ entries: [Entry], _ connection: any StoreConnection) throws(StoreError) {
        try connection.transaction { () throws(StoreError) in
            for entry in entries {
                switch entry {
                case .began(let attempt, let wall):
                    try connection.execute(
                        "UPDATE target SET state = 'running', attempts = ? WHERE id = ?",
                        [StoreValue(attempt.number), StoreValue(attempt.row)])
                    try connection.execute(
                        "INSERT INTO attempt (target, number, destination, started) VALUES (?, ?, ?, ?)",
                        [StoreValue(attempt.row), StoreValue(attempt.number), .text(attempt.destination), .real(wall)])
                case .ended(let attempt, let result, let wall, let again):
                    try end(target: attempt.row, number: attempt.number, result, at: wall, again: again, connection)
                }
            }
        }
    }

    private static func end(
        target: Int, number: Int, _ result: AttemptResult, at wall: Double, again: Double?, _ connection: any StoreConnection
    ) throws(StoreError) {
        try connection.execute(
            """
            UPDATE attempt SET ended = ?, verdict = ?, cause = ?, status = ?, answer = ?, duration = ?, score = ?, result = ?,
            ladder = ? WHERE target = ? AND number = ?
            """,
            [
                .real(wall), .text(result.verdict.rawValue), .text(result.cause.rawValue), StoreValue(result.status),
                result.answer.map { .real($0) } ?? .null, result.duration.map { .real($0) } ?? .null,
                result.score.map { .real($0) } ?? .null, .text(result.json), StoreValue(result.ladder), StoreValue(target),
                StoreValue(number)
            ])
        let state = again == nil ? result.verdict.rawValue : State.waiting.rawValue
        try connection.execute(
            "UPDATE target SET state = ?, due = ? WHERE id = ?", [.text(state), .real(again ?? wall), StoreValue(target)])
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
            case .waiting, .ready, .running, nil: counts.waiting += count
            }
        }
        counts.attempts = try connection.rows("SELECT count(*) FROM attempt").first?.first?.integer ?? 0
        return counts
    }
}
