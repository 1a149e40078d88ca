// The attempts of a campaign as its reports read them, one after the other from the database.

import FlowEngine
import Store

/// An attempt that ended.
struct ReportRow: Sendable {
    let row: Int
    let number: Int
    let destination: String
    /// Seconds since 1970.
    let started: Double
    let ended: Double
    let verdict: AttemptResult.Verdict
    let cause: String
    let status: Int
    /// Milliseconds.
    let answer: Double?
    let duration: Double?
    let score: Double?
    /// As scripts read it, one JSON object.
    let result: String
    let ladder: String?
    /// No other attempt follows: the verdict is the row's.
    let isLast: Bool

    /// What was expected and was not there: its name, and what was there instead.
    let missed: [(name: String, actual: String)]
    /// More words about the end.
    let detail: String
    /// The called halves of a test; empty where the far end was the system under test itself.
    let parties: [ReportedParty]

    /// Why it did not pass, in a few words.
    var reason: String {
        if let first = missed.first { return "\(first.name): \(first.actual)" }
        let words = status >= 300 ? "\(status) (\(cause))" : cause
        return detail.isEmpty ? words : "\(words): \(detail)"
    }
}

extension ReportRow {
    /// Reads a row of the statement in `eachAttempt`.
    init(_ columns: [StoreValue]) {
        row = columns[0].integer ?? 0
        number = columns[1].integer ?? 0
        destination = columns[2].text ?? ""
        started = columns[3].real ?? 0
        ended = columns[4].real ?? 0
        verdict = columns[5].text.flatMap { .init(rawValue: $0) } ?? .error
        cause = columns[6].text ?? ""
        status = columns[7].integer ?? 0
        answer = columns[8].real
        duration = columns[9].real
        score = columns[10].real
        result = columns[11].text ?? "{}"
        ladder = columns[12].text
        let state = columns[14].text
        isLast =
            number == columns[13].integer
            && ![CampaignStore.State.waiting, .kept, .ready].contains { $0.rawValue == state }
        // Results may be large, and most of what passed has nothing more to tell.
        let isRead = verdict != .passed || result.contains("\"parties\":")
        let read = isRead ? try? Value.fromJSON(result) : nil
        (missed, detail) = verdict == .passed ? ([], "") : Self.words(of: read)
        parties = ReportedParty.all(in: read)
    }

    private static func words(of result: Value?) -> (missed: [(name: String, actual: String)], detail: String) {
        guard case .map(let map)? = result else { return ([], "") }
        var detail = ""
        if case .map(let ended)? = map["ended"], case .string(let text)? = ended["detail"] { detail = text }
        guard case .list(let all)? = map["expectations"] else { return ([], detail) }
        let missed = all.compactMap { item -> (name: String, actual: String)? in
            guard case .map(let map) = item, case .bool(false)? = map["passed"], case .string(let name)? = map["name"],
                case .string(let actual)? = map["actual"]
            else { return nil }
            return (name, actual)
        }
        return (missed, detail)
    }
}

extension CampaignStore {
    private static let page = 500

    /// Gives every attempt that ended to `body`, by row and number.
    static func eachAttempt(
        _ connection: any StoreConnection, _ body: (ReportRow) throws(StoreError) -> Void
    ) throws(StoreError) {
        let statement = """
            SELECT a.target, a.number, a.destination, a.started, a.ended, a.verdict, a.cause, a.status, a.answer, a.duration, a.score,
            a.result, a.ladder, t.attempts, t.state FROM attempt a JOIN target t ON t.id = a.target
            WHERE a.ended IS NOT NULL AND (a.target, a.number) > (?, ?) ORDER BY a.target, a.number LIMIT \(page)
            """
        // A page at a time: there may be millions, and no statement may take for ever.
        var last = (target: 0, number: 0)
        while true {
            let rows = try connection.rows(statement, [StoreValue(last.target), StoreValue(last.number)]).map { ReportRow($0) }
            for row in rows { try body(row) }
            guard rows.count == page, let end = rows.last else { return }
            last = (end.row, end.number)
        }
    }

    /// When the first attempt began and the last one ended.
    static func span(_ connection: any StoreConnection) throws(StoreError) -> (from: Double, until: Double)? {
        let row = try connection.rows("SELECT min(started), max(ended) FROM attempt").first
        guard let from = row?[0].real, let until = row?[1].real else { return nil }
        return (from, until)
    }
}
