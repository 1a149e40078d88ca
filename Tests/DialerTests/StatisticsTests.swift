// Histograms and intervals: fixed memory, known precision, merging without loss.

import Basics
import CallEngine
import Dialer
import Testing

@Suite struct StatisticsTests {
    @Test func quantilesAreRightToOnePercent() {
        var random = SeededRandom(seed: 5)
        var values: [Int64] = []
        var histogram = Histogram()
        for _ in 0..<50_000 {
            // Over six orders of magnitude.
            let value = Int64(1) << Int64(random.next() % 30) + Int64(random.next() % 1000)
            let odd = value + Int64(random.next() % 997)
            values.append(odd)
            histogram.record(odd)
        }
        values.sort()
        for share in [0.01, 0.5, 0.9, 0.99, 0.999, 1] {
            let exact = values[max(0, Int((share * Double(values.count)).rounded(.up)) - 1)]
            let seen = histogram.quantile(share)
            #expect(seen >= exact && Double(seen) <= Double(exact) * 1.008 + 1, "\(share): \(seen) for \(exact)")
        }
        #expect(histogram.maximum == values.last)
        #expect(histogram.count == 50_000)
        #expect(histogram.buckets.map(\.count).reduce(0, +) == 50_000)
    }

    @Test func twoAreMergedAsIfTheyWereOne() {
        var (one, other, both) = (Histogram(), Histogram(), Histogram())
        for value in 0..<1000 as Range<Int64> {
            if value % 3 == 0 { one.record(value * value) } else { other.record(value * value) }
            both.record(value * value)
        }
        one.merge(other)
        #expect(one == both)
        one.merge(Histogram())
        #expect(one == both)
    }

    @Test func emptyAndExtremeValues() {
        var histogram = Histogram()
        #expect(histogram.quantile(0.5) == 0)
        #expect(histogram.buckets.isEmpty)
        histogram.record(-5)
        histogram.record(.max)
        #expect(histogram.quantile(0.5) == 0)
        #expect(histogram.maximum == Int64(1) << 36)
        #expect(histogram.count == 2)
    }

    @Test func intervalsStayFew() {
        var series = IntervalSeries()
        for second in 0..<10_000 { series.at(.seconds(second)) { $0.placed += 1 } }
        #expect(series.length == 16)
        #expect(series.intervals.count == 625)
        #expect(series.intervals.map(\.placed).reduce(0, +) == 10_000)
        var short = IntervalSeries()
        short.at(.seconds(3)) { $0.placed += 1 }
        short.merge(series)
        #expect(short.length == 16)
        #expect(short.intervals.map(\.placed).reduce(0, +) == 10_001)
        #expect(short.intervals[0].placed == 17)
    }

    @Test func eachIntervalHasItsOwnFigures() {
        func outcome(
            _ failure: LoadOutcome.Failure?, answer: Int?, received: UInt64, lost: Int64, score: Double?
        ) -> LoadOutcome {
            var timings = CallTimings()
            timings.answer = answer.map { .milliseconds($0) }
            var media = MediaReport()
            (media.sent, media.received, media.lost, media.jitter) = (100, received, lost, .milliseconds(2))
            return LoadOutcome(failure: failure, wasAnswered: answer != nil, timings: timings, media: media, score: score)
        }
        var statistics = LoadStatistics()
        let start = Instant.zero
        func ended(_ second: Int, _ outcome: LoadOutcome) {
            statistics.ended(outcome, at: start + .seconds(second), since: start)
        }
        statistics.started(at: start, since: start, active: 3)
        ended(0, outcome(nil, answer: 100, received: 75, lost: 25, score: 3))
        ended(0, outcome(nil, answer: 300, received: 100, lost: 0, score: 4))
        ended(0, outcome(.status(503), answer: nil, received: 0, lost: 0, score: nil))
        ended(0, outcome(.status(503), answer: nil, received: 0, lost: 0, score: nil))
        ended(0, outcome(.cause("no-answer"), answer: nil, received: 0, lost: 0, score: nil))
        ended(1, outcome(nil, answer: 5, received: 0, lost: 0, score: nil))
        var other = LoadStatistics()
        other.ended(outcome(.status(503), answer: nil, received: 100, lost: 100, score: nil), at: start, since: start)
        statistics.merge(other, together: true)
        statistics.failedLater(.cause("bye-timeout"), at: start + .seconds(1), since: start)
        let lines = statistics.series.table.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0].hasSuffix(",answer_ms_max,lost_percent,jitter_ms_mean,mos_mean,one_way,failures"))
        #expect(lines[1] == "0,1,2,4,3,200.0,300.0,31.25,2.0,3.5,0,503=3 no-answer=1")
        #expect(lines[2] == "1,0,1,1,0,5.0,5.0,,,,1,bye-timeout=1")
    }

    @Test func theCulpritIsNamed() {
        func limits(_ change: (inout GeneratorHealth) -> Void) -> [GeneratorHealth.Limit] {
            var health = GeneratorHealth()
            for _ in 0..<1000 { health.lateness.record(800) }
            health.seconds = 60
            health.slices = 10_000
            change(&health)
            return health.limitsHit
        }
        #expect(limits { _ in } == [])
        #expect(limits { health in for _ in 0..<20 { health.lateness.record(50_000) } } == [.lateTimers])
        #expect(limits { $0.lateSlices = 200 } == [.lateTimers])
        #expect(limits { $0.starvedSeconds = 12 } == [.cpu])
        #expect(limits { $0.busySeconds = 30 } == [.cpu])
        #expect(limits { $0.portRefusals = 3 } == [.ports])
        #expect(limits { ($0.portRefusals, $0.lackedDescriptors) = (3, 3) } == [.descriptors])
        #expect(limits { $0.dropped = 1 } == [.queues])
        #expect(limits { $0.sendFailures = 1 } == [.sending])
        // Starts that a limit held back are late for its sake.
        #expect(
            limits { health in
                health.heldBack = 20
                for _ in 0..<20 { health.lateness.record(50_000) }
            } == [.concurrency])
    }
}
