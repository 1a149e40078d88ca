// A worker among the others: shows every second that it lives, watches whether they do, and takes its share.

import Basics
import Reactor
import Store

/// Who works on a campaign.
package struct CampaignWorker: Sendable {
    package var id: Int
    /// Nobody else can: the database is this process's own.
    package var isAlone: Bool
    /// How long a worker may stand still before the others give it up; the same for all of them.
    package var lease: Duration
    /// Where its parties are called by other workers; empty: nowhere.
    package var address = ""

    /// As it came.
    let list: String

    package static let usualLease = Duration.seconds(10)

    package init(id: Int, _ arrival: CampaignStore.Arrival) {
        self.id = id
        (isAlone, lease, list) = (arrival.isAlone, arrival.lease, arrival.list)
    }
}

/// Belongs to its loop.
final class CampaignCrew {
    /// How often a worker shows that it lives.
    private let interval: Duration
    private let lease: Duration
    private let list: String
    private let address: String
    private let plan: CampaignPlan
    private let database: Database
    private let loop: EventLoop
    private(set) var id: Int
    /// Asked before each beat: nothing begins from then on beyond what runs, until the answer is there.
    var news: (() -> CampaignNews?)?
    var onBeat: ((Result<CampaignBeat, StoreError>) -> Void)?
    /// The others' counts, and since when each has been the same by this machine's clock.
    private var seen: [Int: (beat: Int, since: Instant)] = [:]
    private var timer: LoopTimer?
    private var isStopped = false

    init(_ plan: CampaignPlan, _ worker: CampaignWorker, database: Database, loop: EventLoop) {
        self.plan = plan
        id = worker.id
        (lease, list, address) = (worker.lease, worker.list, worker.address)
        interval = min(.seconds(1), worker.lease / 5)
        self.database = database
        self.loop = loop
    }

    /// Shows it now and from now on.
    func start() { beat() }

    func stop() {
        isStopped = true
        timer?.cancel()
        timer = nil
    }

    private func beat() {
        guard !isStopped, let news = news?() ?? nil else { return }
        let now = loop.now
        let dead = seen.filter { now - $0.value.since >= lease }.mapValues(\.beat)
        let (id, flow, wall) = (id, plan.flow, loop.wallClock)
        let whole = CampaignShare(whole: plan)
        let bound = LoopBound(self, on: loop)
        database.perform { connection throws(StoreError) in
            try CampaignStore.beat(id, news, dead: dead, whole: whole, flow: flow, at: wall, connection)
        } then: { result in
            bound.run { $0.heard(result) }
        }
    }

    private func heard(_ result: Result<CampaignBeat, StoreError>) {
        guard !isStopped else { return }
        if case .success(let beat) = result {
            if beat.isGivenUp { return joinAgain() }
            let now = loop.now
            var known: [Int: (beat: Int, since: Instant)] = [:]
            for other in beat.others {
                let before = seen[other.id]
                known[other.id] = before?.beat == other.beat ? before : (other.beat, now)
            }
            seen = known
        }
        timer = loop.schedule(after: interval) { [weak self] in self?.beat() }
        onBeat?(result)
    }

    /// This worker stood still, or was cut off, for longer than the others wait. Its rows are theirs; it goes on as a new one.
    private func joinAgain() {
        let arrival = CampaignStore.Arrival(plan, list: list, isAlone: false, lease: lease, address: address)
        let wall = loop.wallClock
        let bound = LoopBound(self, on: loop)
        database.perform { connection throws(StoreError) in
            try CampaignStore.join(arrival, at: wall, connection).id
        } then: { result in
            bound.run { crew in
                switch result {
                case .success(let id):
                    crew.id = id
                    crew.beat()
                case .failure(let error): crew.onBeat?(.failure(error))
                }
            }
        }
    }
}
