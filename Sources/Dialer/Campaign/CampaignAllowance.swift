// What may begin at this moment: concurrency, rate, and limits by destination. Pure: times come in, decisions come out.

import Basics
import FlowEngine

struct CampaignAllowance {
    private struct Destination {
        let limit: DestinationLimit
        var active = 0
        var spacing: Spacing?

        init(_ limit: DestinationLimit) {
            self.limit = limit
            spacing = limit.rate.map { Spacing(rate: $0) }
        }
    }

    /// What this worker may use: of the whole campaign first, then of each destination limit.
    private var share: CampaignShare
    /// The same while it stands still.
    private var granted: CampaignShare
    private var spacing: Spacing?
    private var destinations: [Destination]

    /// - Parameter isAlone: all of the plan is this worker's; otherwise it has nothing before the others know of it.
    init(_ plan: CampaignPlan, isAlone: Bool) {
        let whole = CampaignShare(whole: plan)
        share = isAlone ? whole : .none(of: whole)
        granted = share
        spacing = plan.rate.map { Spacing(rate: $0) }
        destinations = plan.limits.map { Destination($0) }
    }

    /// Calls at a time.
    var places: Int { share.places[0] }
    /// There is any room for calls at all.
    var isOpen: Bool { share.places[0] > 0 && share.rates[0] > 0 }

    /// The limits that count for a destination, by their places in the plan.
    func limits(of destination: String) -> [Int] {
        destinations.indices.filter { destinations[$0].limit.pattern.matches(destination) }
    }

    // MARK: Calls

    /// The rate of the whole campaign lets one begin.
    func isTime(at now: Instant) -> Bool { (spacing?.next ?? .zero) <= now }

    /// Its destination lets it begin.
    func allows(_ attempt: CampaignAttempt, at now: Instant) -> Bool {
        attempt.limits.allSatisfy { index in
            destinations[index].active < share.places[index + 1] && share.rates[index + 1] > 0
                && (destinations[index].spacing?.next ?? .zero) <= now
        }
    }

    mutating func begin(_ attempt: CampaignAttempt, at now: Instant) {
        spacing?.take(at: now)
        for index in attempt.limits {
            destinations[index].active += 1
            destinations[index].spacing?.take(at: now)
        }
    }

    mutating func end(_ attempt: CampaignAttempt) {
        for index in attempt.limits { destinations[index].active -= 1 }
    }

    /// When a rate allows the next call; nil: none is waited for.
    func next(after now: Instant) -> Instant? {
        (destinations.map(\.spacing) + [spacing]).compactMap { $0?.next }.filter { $0 > now }.min()
    }

    // MARK: Among other workers

    /// No more than what runs may run until the next share comes.
    /// - Parameter active: calls of the whole campaign that run.
    /// - Returns: what runs, of the whole campaign and of each limit.
    mutating func standStill(active: Int) -> [Int] {
        let running = [active] + destinations.map(\.active)
        for index in share.places.indices { share.places[index] = min(share.places[index], running[index]) }
        return running
    }

    mutating func take(_ share: CampaignShare, at now: Instant) {
        self.share = share
        granted = share
        if share.rates[0] > 0 { spacing?.change(rate: share.rates[0], at: now) }
        for index in destinations.indices where share.rates[index + 1] > 0 {
            destinations[index].spacing?.change(rate: share.rates[index + 1], at: now)
        }
    }

    /// This worker has no place for such a destination, and the other has.
    func isFor(_ other: CampaignMember, _ attempt: CampaignAttempt) -> Bool {
        attempt.limits.contains { granted.places[$0 + 1] == 0 && other.has(place: $0 + 1) }
    }
}
