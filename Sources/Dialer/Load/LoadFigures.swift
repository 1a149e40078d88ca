// What a worker of a load run counted, as the others read it, and the one report of all.

import Basics
import Foundation

/// A worker in the report.
package struct LoadWorker: Equatable, Sendable {
    /// From 1, in the order in which they came.
    package var id: Int
    package var placed: Int
    package var answered: Int
    package var failed: Int
    /// Of one that died: its calls at its last sign.
    package var inTheAir: Int
    package var isLost: Bool

    var json: JSONText {
        .object([
            ("worker", .count(id)), ("placed", .count(placed)), ("answered", .count(answered)), ("failed", .count(failed)),
            ("in_the_air", .count(inTheAir)), ("lost", .bool(isLost))
        ])
    }
}

struct LoadFigures: Codable, Sendable {
    /// Its instants count from the start of the run: machines have different clocks.
    var statistics: LoadStatistics
    var health: GeneratorHealth
    /// Nanoseconds.
    var elapsed: Int64
    var wasCut = false
    /// The intervals of the statistics' series, which are stored each by itself: seconds of each, and how many there are.
    private(set) var length = 1
    private(set) var intervals = 0
    /// Of the far end, when it is this process's as well and all is over.
    private(set) var farEnd: [FarEnd] = []

    struct FarEnd: Codable, Sendable {
        var statistics: LoadStatistics
        var series: IntervalSeries
        var health: GeneratorHealth
        var elapsed: Int64
    }

    init(_ progress: LoadProgress, start: Instant) {
        statistics = progress.statistics.counted(from: start)
        health = progress.health
        elapsed = progress.elapsed.nanoseconds
        note(statistics.series)
    }

    init(_ report: LoadReport, start: Instant) {
        statistics = report.statistics.counted(from: start)
        health = report.health
        elapsed = report.elapsed.nanoseconds
        wasCut = report.wasCut
        note(statistics.series)
        farEnd = report.farEnd.map { far in
            FarEnd(
                statistics: far.statistics.counted(from: start), series: far.statistics.series, health: far.health,
                elapsed: far.elapsed.nanoseconds)
        }
    }

    private mutating func note(_ series: IntervalSeries) { (length, intervals) = (series.length, series.intervals.count) }

    var text: String? { (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } }

    /// - Parameter intervals: by their places; what is missing had nothing in it.
    init?(text: String, intervals stored: [Int: String]) {
        guard let figures = try? JSONDecoder().decode(LoadFigures.self, from: Data(text.utf8)) else { return nil }
        self = figures
        statistics.series = IntervalSeries(
            length: length,
            intervals: (0..<max(0, intervals)).map { place in
                stored[place].flatMap { try? JSONDecoder().decode(IntervalSeries.Interval.self, from: Data($0.utf8)) }
                    ?? IntervalSeries.Interval()
            })
    }
}

extension IntervalSeries.Interval {
    /// As it is stored.
    var text: String? { (try? JSONEncoder().encode(self)).map { String(decoding: $0, as: UTF8.self) } }
}

extension LoadStatistics {
    fileprivate func counted(from start: Instant) -> LoadStatistics {
        var result = self
        result.firstStart = firstStart.map { .zero + ($0 - start) }
        result.lastStart = lastStart.map { .zero + ($0 - start) }
        return result
    }
}

extension LoadReport {
    /// One report of all workers.
    /// - Parameters:
    ///   - own: what is planned is the same for all.
    ///   - figures: of each worker, in their order; of one that died the last ones that there are.
    init(own: LoadReport, of figures: [(id: Int, isOver: Bool, figures: LoadFigures?)]) {
        self.init(plannedCalls: own.plannedCalls, plannedRate: own.plannedRate)
        for (id, isOver, figures) in figures {
            if !isOver { health.lostWorkers += 1 }
            let (placed, over) = (figures?.statistics.placed ?? 0, figures?.statistics.over ?? 0)
            workers.append(
                LoadWorker(
                    id: id, placed: placed, answered: figures?.statistics.answered ?? 0, failed: figures?.statistics.failed ?? 0,
                    inTheAir: isOver ? 0 : placed - over, isLost: !isOver))
            guard let figures else { continue }
            statistics.merge(figures.statistics, together: true)
            health.merge(figures.health)
            elapsed = max(elapsed, .nanoseconds(figures.elapsed))
            wasCut = wasCut || figures.wasCut
            for far in figures.farEnd { addFarEnd(far) }
        }
    }

    private mutating func addFarEnd(_ figures: LoadFigures.FarEnd) {
        var far = farEnd.first ?? LoadReport()
        far.side = .called
        var statistics = figures.statistics
        statistics.series = figures.series
        far.statistics.merge(statistics, together: true)
        far.health.merge(figures.health)
        far.elapsed = max(far.elapsed, .nanoseconds(figures.elapsed))
        farEnd = [far]
    }
}
