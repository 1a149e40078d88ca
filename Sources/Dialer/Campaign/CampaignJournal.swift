// What a campaign writes: beginnings and ends. Many share one transaction: while one is written the next gather.

import Reactor
import Store

/// Belongs to its loop.
final class CampaignJournal {
    private var gathered: [CampaignStore.Entry] = []
    private(set) var isWriting = false
    /// Gets entries that are on the disk, with the places of beginnings that may not be; or that could not be written.
    var onWritten: (([CampaignStore.Entry], Result<Set<Int>, StoreError>) -> Void)?
    private let database: Database
    private let loop: EventLoop

    init(_ database: Database, loop: EventLoop) {
        self.database = database
        self.loop = loop
    }

    /// All that was added is written.
    var isEmpty: Bool { gathered.isEmpty && !isWriting }

    func add(_ entry: CampaignStore.Entry) { gathered.append(entry) }

    /// Writes what gathered, unless something is being written.
    func write() {
        guard !isWriting, !gathered.isEmpty else { return }
        isWriting = true
        let entries = gathered
        gathered = []
        let bound = LoopBound(self, on: loop)
        database.perform { connection throws(StoreError) in
            try CampaignStore.write(entries, connection)
        } then: { result in
            bound.run { $0.written(entries, result) }
        }
    }

    private func written(_ entries: [CampaignStore.Entry], _ result: Result<Set<Int>, StoreError>) {
        isWriting = false
        onWritten?(entries, result)
    }
}
