// A load run of several workers in their database: who takes part, when all begin, and what each counted. Each shows that it lives as
// workers of a campaign do (CampaignWorkers.swift); a part is given once and not to anybody else.

package import Basics
import Store

/// One worker's part of a run.
package struct LoadPart: Equatable, Sendable {
    /// Its first loop's place among those of all workers.
    package var first: Int
    /// The loops of all workers.
    package var total: Int
    /// The same moment for all, by this machine's clock.
    package var start: Instant
    /// Of chance, the same for all.
    package var seed: UInt64

}

package enum LoadStore {
    package static let migrations = [
        """
        CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE worker (
            id INTEGER PRIMARY KEY, token TEXT NOT NULL, beat INTEGER NOT NULL, alive INTEGER NOT NULL, loops INTEGER NOT NULL,
            first INTEGER, figures TEXT, over INTEGER NOT NULL)
        """,
        // Only what changed is written again.
        """
        CREATE TABLE counted (
            worker INTEGER NOT NULL, place INTEGER NOT NULL, figures TEXT NOT NULL, PRIMARY KEY (worker, place))
        """
    ]

    /// What a worker says when it comes.
    package struct Arrival: Sendable {
        /// Chosen at random: coming twice with it is coming once.
        var token = String(UInt64.random(in: .min ... .max), radix: 36)
        var name: String
        /// In words; that of all workers is the same.
        var plan: String
        /// How many workers there are to be.
        var workers: Int
        var loops: Int
        var seed: UInt64
        var lease: Duration

        package init(name: String, plan: String, workers: Int, loops: Int, seed: UInt64, lease: Duration) {
            (self.name, self.plan, self.workers, self.loops) = (name, plan, workers, loops)
            (self.seed, self.lease) = (seed, lease)
        }
    }

    /// What a worker counted since it told so last.
    struct News: Sendable {
        var figures: String?
        /// Intervals of its series that changed, by their places.
        var intervals: [(place: Int, figures: String)] = []
        var isOver = false
    }

    struct Member: Equatable, Sendable {
        var id: Int
        var beat: Int
        var isAlive: Bool
        var isOver: Bool
        var loops: Int
        /// nil: it takes no part, because it was not there in time.
        var first: Int?
    }

    struct Beat: Sendable {
        var members: [Member]
        /// When all begin, and what time it is; seconds since 1970 by the database's clock. nil: not all workers are there.
        var start: Double?
        var now: Double
    }

    /// Adds a worker. Returns its number, and the seed of chance that all have.
    static func join(_ arrival: Arrival, _ connection: any StoreConnection) throws(StoreError) -> (id: Int, seed: UInt64) {
        try connection.transaction { () throws(StoreError) -> (id: Int, seed: UInt64) in
            let plan = "\(arrival.plan), \(arrival.workers) workers"
            try note("plan", plan, connection)
            try note("seed", String(arrival.seed), connection)
            let known = try connection.rows(
                connection.locking("SELECT value FROM meta WHERE name = 'plan'", skipsLocked: false))[0][0].text
            let seed = try meta("seed", connection).flatMap { UInt64($0) } ?? arrival.seed
            if let id = try connection.rows("SELECT id FROM worker WHERE token = ?", [.text(arrival.token)]).first?[0].integer {
                return (id, seed)
            }
            guard try meta("start", connection) == nil else {
                throw StoreError(.refused, "the run \(arrival.name) has its workers already: choose another --name")
            }
            guard known == plan else {
                throw StoreError(.refused, "the other workers of \(arrival.name) have another plan: \(known ?? ""), not \(plan)")
            }
            let id = (try connection.rows("SELECT max(id) FROM worker")[0][0].integer ?? 0) + 1
            try connection.execute(
                "INSERT INTO worker (id, token, beat, alive, loops, over) VALUES (?, ?, 0, 1, ?, 0)",
                [StoreValue(id), .text(arrival.token), StoreValue(arrival.loops)])
            return (id, seed)
        }
    }

    /// Shows that this worker lives, with its figures so far, and gives up those that do not. The last one that comes says when all begin.
    /// - Parameters:
    ///   - dead: workers that stood still too long, with the count at which they did.
    ///   - wall: this machine's time, for databases without a clock.
    static func beat(
        _ id: Int, _ news: News, dead: [Int: Int], workers: Int, at wall: Double, _ connection: any StoreConnection
    ) throws(StoreError) -> Beat {
        try connection.transaction { () throws(StoreError) -> Beat in
            let select = connection.locking(
                "SELECT id, beat, alive, over, loops, first FROM worker ORDER BY id", skipsLocked: false)
            var members = try connection.rows(select).map {
                Member(
                    id: $0[0].integer ?? 0, beat: $0[1].integer ?? 0, isAlive: $0[2].integer == 1, isOver: $0[3].integer == 1,
                    loops: $0[4].integer ?? 1, first: $0[5].integer)
            }
            for index in members.indices where members[index].id != id && dead[members[index].id] == members[index].beat {
                members[index].isAlive = false
                try connection.execute("UPDATE worker SET alive = 0 WHERE id = ?", [StoreValue(members[index].id)])
            }
            // One that was given up and lives after all is back.
            if let mine = members.firstIndex(where: { $0.id == id }) { members[mine].isAlive = true }
            try connection.execute(
                "UPDATE worker SET beat = beat + 1, alive = 1, figures = ?, over = ? WHERE id = ?",
                [StoreValue(news.figures), StoreValue(news.isOver ? 1 : 0), StoreValue(id)])
            for (place, figures) in news.intervals {
                try connection.execute(
                    """
                    INSERT INTO counted (worker, place, figures) VALUES (?, ?, ?)
                    ON CONFLICT (worker, place) DO UPDATE SET figures = excluded.figures
                    """, [StoreValue(id), StoreValue(place), .text(figures)])
            }
            let now = try connection.clock(or: wall)
            var start = try meta("start", connection).flatMap { Double($0) }
            if start == nil, members.count(where: \.isAlive) >= workers {
                var first = 0
                for index in members.indices where members[index].isAlive {
                    members[index].first = first
                    try connection.execute(
                        "UPDATE worker SET first = ? WHERE id = ?", [StoreValue(first), StoreValue(members[index].id)])
                    first += members[index].loops
                }
                start = now + delay
                try note("start", String(now + delay), connection)
            }
            return Beat(members: members, start: start, now: now)
        }
    }

    /// From the moment when the last worker is there to the start, seconds: the others hear of it meanwhile.
    private static let delay = 1.5

    /// What each worker that took part counted, in their order.
    static func figures(
        _ connection: any StoreConnection
    ) throws(StoreError) -> [(id: Int, isOver: Bool, figures: LoadFigures?)] {
        var intervals: [Int: [Int: String]] = [:]
        for row in try connection.rows("SELECT worker, place, figures FROM counted") {
            intervals[row[0].integer ?? 0, default: [:]][row[1].integer ?? 0] = row[2].text
        }
        return try connection.rows("SELECT id, over, figures FROM worker WHERE first IS NOT NULL ORDER BY id").map { row in
            let id = row[0].integer ?? 0
            let figures = row[2].text.flatMap { LoadFigures(text: $0, intervals: intervals[id] ?? [:]) }
            return (id: id, isOver: row[1].integer == 1, figures: figures)
        }
    }

    private static func meta(_ name: String, _ connection: any StoreConnection) throws(StoreError) -> String? {
        try connection.rows("SELECT value FROM meta WHERE name = ?", [.text(name)]).first?.first?.text
    }

    /// The first one's word stands.
    private static func note(_ name: String, _ value: String, _ connection: any StoreConnection) throws(StoreError) {
        try connection.execute(
            "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING", [.text(name), .text(value)])
    }
}
