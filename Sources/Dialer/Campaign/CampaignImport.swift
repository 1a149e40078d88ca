// Takes a list into the database, a thousand rows at a time: killed in the middle it goes on where it was.

import FlowEngine
package import Store

extension CampaignStore {
    private static let batch = 1000

    /// Takes in what is not yet there. Not on a loop. Returns the number of rows in all.
    package static func importList(_ source: ListSource, into database: Database) throws(CampaignProblem) -> Int {
        let (known, isWhole) = try storing(database) { connection throws(StoreError) in try imported(connection) }
        if isWhole { return known }
        let list = try listing { () throws(CSVProblem) in try TargetList(source) }
        var row = 0
        func skip(to known: Int) throws(CampaignProblem) {
            while row < known {
                _ = try listing { () throws(CSVProblem) in try list.next() }
                row += 1
            }
        }
        try skip(to: known)
        while true {
            let targets = try listing { () throws(CSVProblem) in
                var targets: [TargetList.Target] = []
                while targets.count < batch, let next = try list.next() { targets.append(next) }
                return targets
            }
            let before = row
            guard !targets.isEmpty else { break }
            row += targets.count
            // Another worker that takes the same list in may be further on.
            try skip(to: try storing(database) { connection throws(StoreError) in try add(targets, after: before, connection) })
        }
        try storing(database) { connection throws(StoreError) in try setMeta("imported", "whole", connection) }
        return row
    }

    package static func storing<Result: Sendable>(
        _ database: Database, _ work: @escaping @Sendable (any StoreConnection) throws(StoreError) -> Result
    ) throws(CampaignProblem) -> Result {
        do throws(StoreError) {
            return try database.performAndWait(work)
        } catch {
            throw CampaignProblem(store: error)
        }
    }

    private static func listing<Result>(_ read: () throws(CSVProblem) -> Result) throws(CampaignProblem) -> Result {
        do throws(CSVProblem) {
            return try read()
        } catch {
            throw CampaignProblem(list: error)
        }
    }
}

/// Why a campaign cannot go on.
package struct CampaignProblem: Error, Equatable, Sendable {
    package var message: String
    /// The machine's doing (a full disk), and not that of a file which somebody wrote.
    package var isOfMachine: Bool

    /// Of a file that somebody wrote.
    package init(_ message: String) {
        self.message = message
        isOfMachine = false
    }

    init(list: CSVProblem) {
        message = "\(list)"
        isOfMachine = false
    }

    package init(store: StoreError) {
        message = store.kind == .refused ? store.message : "the campaign's database: \(store)"
        isOfMachine = store.kind != .refused
    }
}
