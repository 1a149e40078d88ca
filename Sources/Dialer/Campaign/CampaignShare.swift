// How the limits of a campaign are divided among its workers. Pure.

/// What one worker may use of a campaign's limits: of the whole campaign first, then of each destination limit.
package struct CampaignShare: Equatable, Sendable {
    /// Calls at a time; `Int.max`: no limit.
    package var places: [Int]
    /// Calls a second; infinite: no limit.
    package var rates: [Double]

    package init(places: [Int], rates: [Double]) {
        self.places = places
        self.rates = rates
    }

    /// All that a plan allows.
    package init(whole plan: CampaignPlan) {
        places = [plan.concurrency] + plan.limits.map { $0.concurrency ?? .max }
        rates = [plan.rate ?? .infinity] + plan.limits.map { $0.rate ?? .infinity }
    }

    /// Nothing of so many limits.
    static func none(of whole: CampaignShare) -> CampaignShare {
        CampaignShare(places: whole.places.map { _ in 0 }, rates: whole.rates.map { _ in 0 })
    }

    /// What a worker may use from now on. Together the workers never have more than the whole: one takes no more than the others leave.
    /// - Parameters:
    ///   - place: this one's among all of `count`, from 0; the order is the same for everybody.
    ///   - others: what the others hold at this moment.
    static func granted(of whole: CampaignShare, place: Int, count: Int, others: [CampaignShare]) -> CampaignShare {
        // With fewer places than workers the first ones have them, and those of the limits with them.
        let members = max(1, min(count, whole.places[0]))
        var share = none(of: whole)
        for (index, all) in whole.places.enumerated() {
            guard all != .max else {
                share.places[index] = .max
                continue
            }
            let fair = place < members ? (all - place + members - 1) / members : 0
            let left = all - others.reduce(0) { $0 + ($1.places.indices.contains(index) ? $1.places[index] : 0) }
            share.places[index] = max(0, min(fair, left))
        }
        for (index, all) in whole.rates.enumerated() {
            guard all.isFinite else {
                share.rates[index] = .infinity
                continue
            }
            let fair = place < members ? all / Double(members) : 0
            let left = all - others.reduce(0) { $0 + ($1.rates.indices.contains(index) ? $1.rates[index] : 0) }
            share.rates[index] = max(0, min(fair, left))
        }
        return share
    }

    /// What a worker with this share holds while so many calls run, of the whole campaign and of each limit: it gives up what it has too
    /// much of only when its calls end.
    func held(by active: [Int]) -> CampaignShare {
        CampaignShare(places: zip(places, active).map { max($0, $1) }, rates: rates)
    }

    // MARK: As it stands in the database

    /// `20,3;10.0,-`: places, then rates; `-` is no limit.
    package var text: String {
        places.map { $0 == .max ? "-" : String($0) }.joined(separator: ",") + ";"
            + rates.map { $0.isFinite ? String($0) : "-" }.joined(separator: ",")
    }

    /// Reads it; what cannot be read is nothing.
    init(text: String) {
        let halves = text.split(separator: ";", omittingEmptySubsequences: false)
        func numbers(_ index: Int) -> [Substring] { halves.indices.contains(index) ? halves[index].split(separator: ",") : [] }
        places = numbers(0).map { $0 == "-" ? .max : Int($0) ?? 0 }
        rates = numbers(1).map { $0 == "-" ? .infinity : Double($0) ?? 0 }
    }
}
