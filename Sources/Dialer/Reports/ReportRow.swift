// The attempts of a campaign as its reports read them, one after the other from the database.

import FlowEngine
import Store

/// An attempt that ended.
struct ReportRow: Sendable {
    var row: Int
    var number: Int
    var destination: String
    /// Seconds since 1970.
    var started: Double
    var ended: Double
    var verdict: AttemptResult.Verdict
    var cause: String
    var status: Int
    /// Milliseconds.
    var answer: Double?
    var duration: Double?
    var score: Double?
    /// As scripts read it, one JSON object.
    var result: String
    var ladder: String?
    /// No other attempt follows: the verdict is the row's.
    var isLast: Bool

    /// What was expected and was not there: its name, and what was there instead.
    var missed: [(name: String, actual: String)] {
        guard let value = try? Value.fromJSON(result), case .map(let map) = value, case .list(let all)? = map["expectations"]
        else {
            return []
        }
        return all.compactMap { item in
            guard case .map(let map) = item, case .bool(false)? = map["passed"], case .string(let name)? = map["name"],
                case .string(let actual)? = map["actual"]
            else { return nil }
            return (name, actual)
        }
    }

    /// More words about the end.
    var detail: String {
        guard let value = try? Value.fromJSON(result), case .map(let map) = value, case .map(let ended)? = map["ended"],
            case .string(let detail)? = ended["detail"]
        else { return "" }
        return detail
    }

    /// Why it did not pass, in a few words.
    var reason: String {
        if let first = missed.first { return "\(first.name): \(first.actual)" }
        let words = status >= 300 ? "\(status) (\(cause))" : cause
        return detail.isEmpty ? words : "\(words): \(detail)"
    }
}

extension CampaignStore {
    /// Gives every attempt that ended to `body`, by row and number.
    static func eachAttempt(
        _ connection: any StoreConnection, _ body: (ReportRow) throws(StoreError) -> Void
    ) throws(StoreError) {
        let statement = """
            SELECT a.target, a.number, a.destination, a.started, a.ended, a.verdict, a.cause, a.status, a.answer, a.duration, a.score,
            a.result, a.ladder, t.attempts, t.state FROM attempt a JOIN target t ON t.id = a.target
            WHERE a.ended IS NOT NULL ORDER BY a.target, a.number
            """
        try connection.query(statement, []) { row throws(StoreError) in
            let number = row[1].integer ?? 0
            try body(
                ReportRow(
                    row: row[0].integer ?? 0, number: number, destination: row[2].text ?? "", started: row[3].real ?? 0,
                    ended: row[4].real ?? 0, verdict: row[5].text.flatMap { .init(rawValue: $0) } ?? .error,
                    cause: row[6].text ?? "",
                    status: row[7].integer ?? 0, answer: row[8].real, duration: row[9].real, score: row[10].real,
                    result: row[11].text ?? "{}", ladder: row[12].text,
                    isLast: number == row[13].integer && row[14].text != State.waiting.rawValue
                        && row[14].text != State.ready.rawValue))
            return true
        }
    }

    /// When the first attempt began and the last one ended.
    static func span(_ connection: any StoreConnection) throws(StoreError) -> (from: Double, until: Double)? {
        let row = try connection.rows("SELECT min(started), max(ended) FROM attempt").first
        guard let from = row?[0].real, let until = row?[1].real else { return nil }
        return (from, until)
    }
}
