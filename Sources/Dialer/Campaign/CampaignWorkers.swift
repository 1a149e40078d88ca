// The workers of a campaign in its database. Each shows every second that it lives, by a count that the others watch with clocks of their
// own: no two machines need the same time. One that stood still too long is given up by another, which then puts in order what it left.

import Basics
import FlowEngine
package import Store

/// A worker as the others see it.
package struct CampaignMember: Equatable, Sendable {
    package var id: Int
    /// Grows as long as it lives.
    package var beat: Int
    package var share: CampaignShare

    /// Calls of a limit may begin there.
    func has(place index: Int) -> Bool { share.places.indices.contains(index) && share.places[index] > 0 }
}

/// What a worker tells of itself.
package struct CampaignNews: Equatable, Sendable {
    /// Calls that run, of the whole campaign and of each limit.
    package var active: [Int]
    package var ended = 0
    package var passed = 0
    /// Of those that ended: the row is called once more.
    package var again = 0
    /// What it has registered of the lines of parties, by line; nil: no party has such a line.
    package var contacts: [String: String]?

    package init(active: [Int]) { self.active = active }
}

/// What a worker learns when it shows that it lives.
package struct CampaignBeat: Equatable, Sendable {
    /// The others gave this worker up: it has to join again.
    package var isGivenUp = false
    package var share = CampaignShare(places: [], rates: [])
    package var others: [CampaignMember] = []
    /// Of all workers there ever were.
    package var ended = 0
    package var passed = 0
    package var again = 0
    /// Attempts that were in the air at workers which were given up now.
    package var inTheAir = 0
    /// The lines of parties are this worker's to hold.
    package var holdsLines = false
    /// They are registered by who holds them, as far as the database knows.
    package var hasLines = false
    /// For who holds them: what those had registered that are gone.
    package var leftContacts: [[String: String]] = []
}

extension CampaignStore {
    /// What a worker says when it comes.
    package struct Arrival: Sendable {
        /// Chosen at random: coming twice with it is coming once.
        var token = String(UInt64.random(in: .min ... .max), radix: 36)
        /// Where its parties are called by other workers: `HOST:PORT;transport=udp`; empty: nowhere.
        var address: String
        package var name: String
        /// The list of the campaign, by which it is known again.
        package var list: String
        package var whole: CampaignShare
        package var flow: String
        /// Everybody else is dead, and what they left is put in order.
        package var isAlone: Bool
        package var lease: Duration
        /// Whether this goes on with what is there; nil: as it comes.
        package var resumes: Bool?

        package init(
            _ plan: CampaignPlan, list: String, isAlone: Bool, lease: Duration = CampaignWorker.usualLease, resumes: Bool? = nil,
            address: String = ""
        ) {
            (name, self.list, whole, flow) = (plan.name, list, CampaignShare(whole: plan), plan.flow)
            (self.isAlone, self.lease, self.resumes, self.address) = (isAlone, lease, resumes, address)
        }
    }

    /// Adds a worker; how many attempts were in the air at those that are dead.
    package static func join(
        _ arrival: Arrival, at wall: Double, _ connection: any StoreConnection
    ) throws(StoreError) -> (id: Int, inTheAir: Int) {
        try connection.transaction { () throws(StoreError) -> (id: Int, inTheAir: Int) in
            let isNew =
                try connection.execute(
                    "INSERT INTO meta (name, value) VALUES ('list', ?) ON CONFLICT (name) DO NOTHING", [.text(arrival.list)]) > 0
            try lockMeta(connection)
            let known = try connection.rows("SELECT id FROM worker WHERE token = ? AND alive = 1", [.text(arrival.token)])
            if let id = known.first?[0].integer { return (id, 0) }
            let inTheAir = arrival.isAlone ? try buryAll(flow: arrival.flow, at: wall, connection) : 0
            try check(arrival, isNew: isNew, connection)
            let id = (try connection.rows("SELECT max(id) FROM worker").first?.first?.integer ?? 0) + 1
            let share: CampaignShare = arrival.isAlone ? arrival.whole : .none(of: arrival.whole)
            try connection.execute(
                """
                INSERT INTO worker (id, token, beat, alive, share, ended, passed, again, address) VALUES (?, ?, 0, 1, ?, 0, 0, 0, ?)
                """,
                [StoreValue(id), .text(arrival.token), .text(share.text), .text(arrival.address)])
            return (id, inTheAir)
        }
    }

    /// Who comes while others work joins them, with the same plan; a campaign that nobody works on is gone on with on request only.
    private static func check(_ arrival: Arrival, isNew: Bool, _ connection: any StoreConnection) throws(StoreError) {
        let isWorkedOn = try !connection.rows("SELECT id FROM worker WHERE alive = 1 LIMIT 1").isEmpty
        if arrival.resumes == true, isNew {
            throw StoreError(.refused, "there is no campaign \(arrival.name) to go on with: leave --resume out")
        }
        if arrival.resumes == false, !isNew, !isWorkedOn {
            throw StoreError(
                .refused, "there is a campaign \(arrival.name) already: --resume goes on with it, or choose another --name")
        }
        if let list = try meta("list", connection), list != arrival.list {
            throw StoreError(.refused, "the campaign \(arrival.name) has the list \(list), not \(arrival.list)")
        }
        let limits = "\(arrival.whole.text);\(FlowDuration.print(arrival.lease))"
        if isWorkedOn, let known = try meta("limits", connection), known != limits {
            throw StoreError(
                .refused, "the workers that run have other limits (concurrency; rate; lease): \(known), not \(limits)")
        }
        try setMeta("limits", limits, connection)
    }

    /// Shows that this worker lives, gives up those that do not, and tells what share it has from now on.
    /// - Parameter dead: workers that stood still too long, with the count at which they did.
    package static func beat(
        _ id: Int, _ news: CampaignNews, dead: [Int: Int], whole: CampaignShare, flow: String, at wall: Double,
        _ connection: any StoreConnection
    ) throws(StoreError) -> CampaignBeat {
        try connection.transaction { () throws(StoreError) -> CampaignBeat in
            let select = connection.locking("SELECT id, beat, share FROM worker WHERE alive = 1 ORDER BY id", skipsLocked: false)
            var members = try connection.rows(select).map {
                CampaignMember(id: $0[0].integer ?? 0, beat: $0[1].integer ?? 0, share: CampaignShare(text: $0[2].text ?? ""))
            }
            var beat = CampaignBeat()
            guard members.contains(where: { $0.id == id }) else {
                beat.isGivenUp = true
                return beat
            }
            for member in members where member.id != id && dead[member.id] == member.beat {
                beat.inTheAir += try bury(member.id, flow: flow, at: wall, connection)
                members.removeAll { $0.id == member.id }
            }
            let place = members.firstIndex { $0.id == id } ?? 0
            if let contacts = news.contacts { try noteLines(id, contacts, holder: members[0].id, &beat, connection) }
            beat.others = members.filter { $0.id != id }
            beat.share = .granted(of: whole, place: place, count: members.count, others: beat.others.map(\.share))
            try connection.execute(
                "UPDATE worker SET beat = beat + 1, share = ?, ended = ?, passed = ?, again = ? WHERE id = ?",
                [
                    .text(beat.share.held(by: news.active).text), StoreValue(news.ended), StoreValue(news.passed),
                    StoreValue(news.again),
                    StoreValue(id)
                ])
            let sums = try connection.rows("SELECT sum(ended), sum(passed), sum(again) FROM worker")[0]
            (beat.ended, beat.passed, beat.again) = (sums[0].integer ?? 0, sums[1].integer ?? 0, sums[2].integer ?? 0)
            return beat
        }
    }

    /// The lines of parties: who holds them, whether they are registered, and what is to be removed.
    private static func noteLines(
        _ id: Int, _ contacts: [String: String], holder: Int, _ beat: inout CampaignBeat, _ connection: any StoreConnection
    ) throws(StoreError) {
        beat.holdsLines = holder == id
        try connection.execute(
            "UPDATE worker SET contacts = ? WHERE id = ?", [.text(PartyContacts.text(contacts)), StoreValue(id)])
        guard beat.holdsLines else {
            let known = try connection.rows("SELECT contacts FROM worker WHERE id = ?", [StoreValue(holder)])
            beat.hasLines = known.first?[0].text?.isEmpty == false
            return
        }
        beat.hasLines = !contacts.isEmpty
        if beat.hasLines {
            try connection.execute("UPDATE worker SET contacts = '' WHERE alive = 0 AND contacts <> ''")
        } else {
            beat.leftContacts = try connection.rows("SELECT contacts FROM worker WHERE alive = 0 AND contacts <> ''").map {
                PartyContacts.read($0[0].text ?? "")
            }
        }
    }

    /// Gives back what a worker has in hand. It is no worker from then on, unless it had something and `mayGoOn`. Returns how
    /// many rows it gave back.
    static func leave(_ id: Int, mayGoOn: Bool, _ connection: any StoreConnection) throws(StoreError) -> Int {
        try connection.transaction { () throws(StoreError) -> Int in
            _ = try connection.rows(
                connection.locking("SELECT id FROM worker WHERE id = ?", skipsLocked: false), [StoreValue(id)])
            let count = try giveBack(id, connection)
            if count == 0 || !mayGoOn {
                try connection.execute("UPDATE worker SET alive = 0 WHERE id = ?", [StoreValue(id)])
            }
            return count
        }
    }

    private static func giveBack(_ id: Int, _ connection: any StoreConnection) throws(StoreError) -> Int {
        try connection.execute(
            "UPDATE target SET state = 'waiting', worker = 0 WHERE state IN ('ready', 'kept') AND worker = ?", [StoreValue(id)])
    }

    /// Puts in order what a dead worker left: its attempts in the air are reported as such and their targets are not called again; what was
    /// only in hand waits again. Returns how many were in the air.
    private static func bury(
        _ id: Int, flow: String, at wall: Double, _ connection: any StoreConnection
    ) throws(StoreError) -> Int {
        _ = try giveBack(id, connection)
        let open = try connection.rows(
            "SELECT target, number, destination FROM attempt WHERE ended IS NULL AND worker = ?", [StoreValue(id)])
        for row in open {
            guard let target = row[0].integer, let number = row[1].integer else { continue }
            let result = AttemptResult.unseen(
                row: target, number: number, destination: row[2].text ?? "", flow: flow,
                detail: "\(AttemptResult.inTheAir): what became of it is not known")
            try end(target: target, number: number, of: id, result, at: wall, again: nil, connection)
        }
        try connection.execute(
            "UPDATE worker SET alive = 0, ended = ended + ? WHERE id = ?", [StoreValue(open.count), StoreValue(id)])
        return open.count
    }

    /// Everybody who ever left something; worker 0 is who worked before there were workers.
    private static func buryAll(flow: String, at wall: Double, _ connection: any StoreConnection) throws(StoreError) -> Int {
        let ids = try connection.rows(
            """
            SELECT id FROM worker WHERE alive = 1 UNION SELECT worker FROM attempt WHERE ended IS NULL
            UNION SELECT worker FROM target WHERE state IN ('ready', 'kept')
            """)
        var inTheAir = 0
        for row in ids { inTheAir += try bury(row[0].integer ?? 0, flow: flow, at: wall, connection) }
        return inTheAir
    }
}
