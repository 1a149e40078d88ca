// Whose call is it, among the tests of all workers of a campaign? The database knows every attempt in the air with its mark, and where each
// worker is called. Used on the database's thread.

import FlowEngine
package import Store

/// What the database says about a call that came in.
enum PartyOwner: Equatable, Sendable {
    /// It belongs to the attempt with that mark; its worker is called at this address.
    case test(token: String, worker: Int, address: String, by: PartyBoard.Match)
    /// It belongs to an attempt that is over.
    case late(String)
    case stranger
}

extension CampaignStore {
    /// Where the parties of a worker are called by the others.
    package static func setAddress(_ address: String, of worker: Int, _ connection: any StoreConnection) throws(StoreError) {
        try connection.execute("UPDATE worker SET address = ? WHERE id = ?", [.text(address), StoreValue(worker)])
    }

    /// Finds the test that a call belongs to, by its mark, or else by number, line and time as PartyBoard has it; that a test has had its
    /// call is kept.
    static func owner(
        of arrival: PartyArrival, _ plan: CampaignPlan, _ connection: any StoreConnection
    ) throws(StoreError) -> PartyOwner {
        if let token = arrival.token, !token.isEmpty {
            let known = try connection.rows(
                """
                SELECT attempt.target, attempt.number, attempt.ended, attempt.worker, worker.address
                FROM attempt JOIN worker ON worker.id = attempt.worker WHERE attempt.token = ?
                """, [.text(token)])
            if let row = known.first {
                guard case .null = row[2] else {
                    return .late("row \(row[0].integer ?? 0), attempt \(row[1].integer ?? 0)")
                }
                return .test(token: token, worker: row[3].integer ?? 0, address: row[4].text ?? "", by: .mark)
            }
        }
        return try connection.transaction { () throws(StoreError) -> PartyOwner in
            // One call after the other: two that come at once are not for the same test.
            try lockMeta(connection)
            return try ownerByNumber(of: arrival, plan, connection)
        }
    }

    private static func ownerByNumber(
        of arrival: PartyArrival, _ plan: CampaignPlan, _ connection: any StoreConnection
    ) throws(StoreError) -> PartyOwner {
        let open = try connection.rows(
            """
            SELECT attempt.target, attempt.number, attempt.token, attempt.called, attempt.worker, worker.address, target.data
            FROM attempt JOIN worker ON worker.id = attempt.worker JOIN target ON target.id = attempt.target
            WHERE attempt.ended IS NULL AND attempt.token <> '' ORDER BY attempt.started, attempt.target
            """)
        var board = PartyBoard()
        for (index, row) in open.enumerated() {
            var attempt = CampaignAttempt(
                row: row[0].integer ?? 0, number: row[1].integer ?? 0, target: (try? Value.fromJSON(row[6].text ?? "")) ?? .null)
            _ = attempt.fill(from: plan)
            let expected = zip(attempt.parties, plan.parties).map { PartyBoard.Expected(number: $0.number, line: $1.line) }
            let called = (row[3].text ?? "").split(separator: ",").compactMap { Int($0) }
            board.open(index, token: row[2].text ?? "", expected, called: called)
        }
        guard case .party(_, let index, let match) = board.place(PartyArrival(number: arrival.number, line: arrival.line)) else {
            return .stranger
        }
        let row = open[index]
        try connection.execute(
            "UPDATE attempt SET called = ? WHERE target = ? AND number = ?",
            [.text(board.calls(of: index).map(String.init).joined(separator: ",")), row[0], row[1]])
        return .test(token: row[2].text ?? "", worker: row[4].integer ?? 0, address: row[5].text ?? "", by: match)
    }
}
