// The rows that a worker has in hand, so that no call waits for the disk, and what it knows of those that are still in the database.

import Basics
import Reactor
import Store

/// Belongs to its loop.
final class CampaignRows {
    /// The next to be called first.
    private(set) var inHand: [CampaignAttempt] = []
    /// When the next row outside of `inHand` is due, seconds since 1970; nil: there is none.
    private(set) var nextDue: Double? = 0
    /// Other workers have rows, which may come back.
    var isBusyElsewhere = false
    private(set) var isAsking = false
    /// Gets the rows that were taken in hand, and the worker that asked for them.
    var onRows: ((Result<[CampaignStore.Target], StoreError>, _ worker: Int) -> Void)?
    private let isAlone: Bool
    private let database: Database
    private let loop: EventLoop
    private static let most = 10_000

    init(_ database: Database, isAlone: Bool, loop: EventLoop) {
        self.database = database
        self.isAlone = isAlone
        self.loop = loop
    }

    /// Nothing is left for anybody.
    var isEmpty: Bool { inHand.isEmpty && nextDue == nil && !isBusyElsewhere }

    func put(_ attempt: CampaignAttempt) { inHand.append(attempt) }

    /// The first one that may be called.
    func take(where mayBegin: (CampaignAttempt) -> Bool) -> CampaignAttempt? {
        inHand.firstIndex(where: mayBegin).map { inHand.remove(at: $0) }
    }

    /// Those that are somebody else's.
    func takeAll(where isTheirs: (CampaignAttempt) -> Bool) -> [CampaignAttempt] {
        let theirs = inHand.filter(isTheirs)
        if !theirs.isEmpty { inHand.removeAll(where: isTheirs) }
        return theirs
    }

    /// What was in hand is the others' now.
    func forget() { inHand = [] }

    /// A row is due then.
    func expect(at wall: Double) { nextDue = min(nextDue ?? .infinity, wall) }

    /// There may be rows that nobody told of.
    func look() { nextDue = 0 }

    /// Asks for rows when too few are in hand.
    /// - Parameters:
    ///   - places: calls at a time.
    ///   - beyondHeld: limits hold back all that are in hand: others are looked for.
    func fill(for worker: Int, places: Int, beyondHeld: Bool = false) {
        // Among others no more than is needed soon: what one has in hand the others cannot call.
        let wanted = min(max(places * 2, isAlone ? 64 : 8), Self.most)
        guard !isAsking, let nextDue, nextDue <= loop.wallClock, inHand.count < (beyondHeld ? Self.most : wanted / 2) else {
            return
        }
        ask(for: beyondHeld ? wanted : wanted - inHand.count, worker: worker)
    }

    /// - Parameter count: 0 only looks whether all is over.
    func ask(for count: Int, worker: Int) {
        isAsking = true
        let wall = loop.wallClock
        let bound = LoopBound(self, on: loop)
        database.perform { connection throws(StoreError) in
            try CampaignStore.claim(count, for: worker, at: wall, connection)
        } then: { result in
            bound.run { $0.heard(result, worker) }
        }
    }

    private func heard(_ result: Result<CampaignStore.Claim, StoreError>, _ worker: Int) {
        isAsking = false
        if case .success(let claim) = result { (nextDue, isBusyElsewhere) = (claim.nextDue, claim.isBusyElsewhere) }
        onRows?(result.map(\.targets), worker)
    }
}
