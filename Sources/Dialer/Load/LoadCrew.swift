// A worker of a shared load run: comes, waits for the others, tells what it counts, and makes the one report when all are over.

import Basics
package import Reactor
package import Store

/// Belongs to its loop, which is none of the engine's.
package final class LoadCrew {
    private enum Stage {
        case coming
        case waiting((Result<LoadPart, StoreError>) -> Void)
        case running
        case over(LoadReport, (Result<LoadReport, StoreError>) -> Void)
        /// All are over.
        case merging(LoadReport, (Result<LoadReport, StoreError>) -> Void)
        case ended
    }

    /// All that is known of the others.
    private var members: [LoadStore.Member] = []
    /// Those that take part, and those that are to.
    package var others: Int { members.count { $0.id != id && $0.isAlive } }
    private let arrival: LoadStore.Arrival
    private let database: Database
    private let loop: EventLoop
    private var id = 0
    private var seed: UInt64 = 0
    private var stage = Stage.coming
    private var start = Instant.zero
    private var figures: LoadFigures?
    /// The series as it was told last.
    private var told = IntervalSeries()
    /// The others' counts, and since when each has been the same by this machine's clock.
    private var seen: [Int: (beat: Int, since: Instant)] = [:]
    private var timer: LoopTimer?

    package init(_ arrival: LoadStore.Arrival, database: Database, loop: EventLoop) {
        self.arrival = arrival
        self.database = database
        self.loop = loop
    }

    /// Comes and waits until all workers are there.
    package func join(then: @escaping (Result<LoadPart, StoreError>) -> Void) {
        stage = .waiting(then)
        let arrival = arrival
        let bound = LoopBound(self, on: loop)
        database.perform { connection throws(StoreError) in
            try LoadStore.join(arrival, connection)
        } then: { result in
            bound.run { crew in
                switch result {
                case .failure(let error): crew.fail(error)
                case .success(let joined):
                    (crew.id, crew.seed) = joined
                    crew.beat()
                }
            }
        }
    }

    /// What is to be seen while the run goes on.
    package func show(_ progress: LoadProgress) { figures = LoadFigures(progress, start: start) }

    /// This worker's part is over; `then` gets the report of all when theirs are.
    package func finish(_ report: LoadReport, then: @escaping (Result<LoadReport, StoreError>) -> Void) {
        figures = LoadFigures(report, start: start)
        stage = .over(report, then)
        timer?.cancel()
        beat()
    }

    /// Nobody wants it any more: whoever waits is told so.
    package func stop() { fail(StoreError(.refused, "it was cut short before all workers were there")) }

    private func fail(_ error: StoreError) {
        timer?.cancel()
        let stage = stage
        self.stage = .ended
        switch stage {
        case .waiting(let then): then(.failure(error))
        case .over(_, let then), .merging(_, let then): then(.failure(error))
        case .coming, .running, .ended: break
        }
    }

    // MARK: Beats

    private var interval: Duration {
        let usual = min(.seconds(1), arrival.lease / 5)
        if case .running = stage { return usual }
        return min(usual, .milliseconds(200))
    }

    private func beat() {
        switch stage {
        case .ended, .merging: return
        case .coming, .waiting, .running, .over: break
        }
        let asked = loop.now
        let dead = seen.filter { asked - $0.value.since >= arrival.lease }.mapValues(\.beat)
        var isOver = false
        if case .over = stage { isOver = true }
        var news = LoadStore.News(figures: figures?.text, isOver: isOver)
        let series = figures?.statistics.series ?? told
        news.intervals = series.changes(since: told).compactMap { place, interval in interval.text.map { (place, $0) } }
        let (id, told, workers, wall) = (id, news, arrival.workers, loop.wallClock)
        let bound = LoopBound(self, on: loop)
        database.perform { connection throws(StoreError) in
            try LoadStore.beat(id, told, dead: dead, workers: workers, at: wall, connection)
        } then: { result in
            bound.run { crew in
                if case .success = result { crew.told = series }
                crew.heard(result, asked: asked)
            }
        }
    }

    private func heard(_ result: Result<LoadStore.Beat, StoreError>, asked: Instant) {
        switch result {
        case .failure(let error):
            if case .running = stage { break }
            return fail(error)
        case .success(let beat):
            look(beat)
            switch stage {
            case .waiting(let then):
                guard let start = beat.start else { break }
                guard let mine = members.first(where: { $0.id == id }), let first = mine.first else {
                    return fail(StoreError(.refused, "the run \(arrival.name) began without this worker: it came too late"))
                }
                // The database said its time at some moment between asking and hearing.
                let now = loop.now
                let said = asked + (now - asked) / 2
                self.start = said + .nanoseconds(Int64((start - beat.now) * 1e9))
                stage = .running
                then(
                    .success(
                        LoadPart(
                            first: first, total: members.reduce(0) { $0 + ($1.first == nil ? 0 : $1.loops) }, start: self.start,
                            seed: seed)))
            case .over(let report, let then):
                guard !members.contains(where: { $0.first != nil && $0.isAlive && !$0.isOver && $0.id != id }) else { break }
                return merge(report, then)
            case .merging, .ended: return
            case .coming, .running: break
            }
        }
        timer?.cancel()
        timer = loop.schedule(after: interval) { [weak self] in self?.beat() }
    }

    private func look(_ beat: LoadStore.Beat) {
        members = beat.members
        let now = loop.now
        var known: [Int: (beat: Int, since: Instant)] = [:]
        for other in beat.members where other.id != id && other.isAlive && !other.isOver {
            let before = seen[other.id]
            known[other.id] = before?.beat == other.beat ? before : (other.beat, now)
        }
        seen = known
    }

    private func merge(_ report: LoadReport, _ then: @escaping (Result<LoadReport, StoreError>) -> Void) {
        stage = .merging(report, then)
        timer?.cancel()
        let bound = LoopBound(self, on: loop)
        database.perform { connection throws(StoreError) in
            try LoadStore.figures(connection)
        } then: { result in
            bound.run { $0.merged(result) }
        }
    }

    private func merged(_ result: Result<[(id: Int, isOver: Bool, figures: LoadFigures?)], StoreError>) {
        guard case .merging(let report, let then) = stage else { return }
        stage = .ended
        then(result.map { LoadReport(own: report, of: $0) })
    }
}
