// Where a campaign is kept: in its folder, for one process at a time, or in a database that several workers share.

import Basics
import Dialer
import FlowEngine
import Foundation
import Reactor
import Store

/// A campaign's database, opened; this process works on it.
struct CampaignPlace: Sendable {
    let database: Database
    /// The folder is this process's.
    private let lock: FileLock
    private(set) var worker: CampaignWorker
    /// Attempts that were in the air when the campaign was killed.
    let inTheAir: Int
    /// What was there before.
    let before: CampaignStore.Counts

    /// The database of this process alone, when it was made by this one; nil otherwise.
    private let made: String?

    /// - Parameter forgets: no call was begun, so that the same line can be run again: a database that was made for it goes.
    func close(forgets: Bool) {
        database.close()
        if forgets, let made { Self.remove(made) }
        lock.release()
    }

    /// Tells the other workers where this one's parties are called: at this port of the address by which the database sees this machine, when
    /// all of its addresses are listened on.
    mutating func announce(_ address: (_ own: IPAddress) -> String?) throws(CommandFailure) {
        let own = try asking { connection throws(StoreError) in try connection.clientAddress() }
        guard let address = address(own.flatMap { IPAddress($0) } ?? .loopback4) else {
            throw CommandFailure(
                .wrong, "workers pass calls of parties on by UDP or TCP, and `sip.listen` has neither",
                mend: "write `sip: { listen: [ udp:0.0.0.0:5060 ] }` in the configuration")
        }
        worker.address = address
        let id = worker.id
        try asking { connection throws(StoreError) in try CampaignStore.setAddress(address, of: id, connection) }
    }

    private func asking<Result: Sendable>(
        _ body: @escaping @Sendable (any StoreConnection) throws(StoreError) -> Result
    ) throws(CommandFailure) -> Result {
        do throws(StoreError) {
            return try database.performAndWait(body)
        } catch {
            throw CampaignCommand.failure(CampaignProblem(store: error))
        }
    }

    private static func remove(_ path: String) {
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
    }

    /// Opens it, takes the list in and puts in order what a killed process left.
    init(
        _ plan: CampaignPlan, flow: Flow, folder: String, workers: PostgreSQLAddress?, lease: Duration, resume: Bool
    ) throws(CommandFailure) {
        let path = "\(folder)/campaign.db"
        let exists = FileManager.default.fileExists(atPath: path)
        if workers == nil {
            if exists, !resume {
                throw CommandFailure(
                    .wrong, "\(folder) has a campaign already",
                    mend: "--resume goes on with it, or choose another --report folder")
            }
            if !exists, resume {
                throw CommandFailure(.wrong, "there is no campaign in \(folder) to go on with", mend: "leave --resume out")
            }
        }
        made = workers == nil && !exists ? path : nil
        try OutputFolder.make(folder)
        lock = try Self.lock(folder)
        if let workers {
            database = try SharedSpace.open("campaign", plan.name, at: workers, migrations: CampaignStore.migrations)
        } else {
            do throws(StoreError) {
                database = try Database(sqlite: path, migrations: CampaignStore.migrations)
            } catch {
                throw CampaignCommand.failure(CampaignProblem(store: error))
            }
        }
        // Other machines have other folders.
        let list = workers == nil ? plan.list.description : plan.list.withoutFolder
        let arrival = CampaignStore.Arrival(
            plan, list: list, isAlone: workers == nil, lease: lease, resumes: workers == nil ? nil : resume)
        let wall = Date().timeIntervalSince1970
        do throws(CampaignProblem) {
            let (id, inTheAir) = try CampaignStore.storing(database) { connection throws(StoreError) in
                try CampaignStore.join(arrival, at: wall, connection)
            }
            (worker, self.inTheAir) = (CampaignWorker(id: id, arrival), inTheAir)
            _ = try CampaignStore.importList(plan.list, into: database)
            before = try CampaignStore.storing(database) { connection throws(StoreError) in try CampaignStore.counts(connection) }
        } catch {
            database.close()
            // A list that is refused leaves nothing behind.
            if let made { Self.remove(made) }
            lock.release()
            throw CampaignCommand.failure(error)
        }
    }

    private static func lock(_ folder: String) throws(CommandFailure) -> FileLock {
        do throws(SystemError) {
            if let lock = try FileLock.take("\(folder)/campaign.lock") { return lock }
        } catch {
            throw CommandFailure(.unable, "\(error)")
        }
        throw CommandFailure(
            .wrong, "another process runs the campaign in \(folder)", mend: "wait for its end, or choose another --report folder")
    }
}
