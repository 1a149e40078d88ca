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
        statistics.byeAnswered(after: .milliseconds(8), at: start + .seconds(1), since: start)
        statistics.sentAgain(2, at: start + .seconds(1), since: start)
        let lines = statistics.series.table.split(separator: "\n").map {
            $0.split(separator: ",", omittingEmptySubsequences: false)
        }
        #expect(lines.count == 3 && lines.allSatisfy { $0.count == lines[0].count })
        func row(_ index: Int) -> [Substring: Substring] { Dictionary(uniqueKeysWithValues: zip(lines[0], lines[index + 1])) }
        let (first, second) = (row(0), row(1))
        for (name, value) in [
            ("second", "0"), ("placed", "1"), ("answered", "2"), ("failed", "4"), ("peak_concurrency", "3"),
            ("ringing_ms_p50", ""), ("answer_ms_p50", "100.4"), ("answer_ms_p99.9", "300.0"), ("answer_ms_max", "300.0"),
            ("answer_ms_mean", "200.0"), ("bye_ms_p99", ""), ("retransmissions", "0"), ("sent", "600"), ("received", "275"),
            ("lost", "125"), ("lost_percent", "31.25"), ("jitter_ms_mean", "2.0"), ("mos_mean", "3.5"), ("mos_p5", "3.01"),
            ("one_way", "0"), ("failures", "503=3 no-answer=1")
        ] { #expect(first[Substring(name)] == Substring(value), "\(name)") }
        for (name, value) in [
            ("second", "1"), ("answered", "1"), ("failed", "1"), ("answer_ms_p50", "5.0"), ("bye_ms_p99", "8.0"),
            ("retransmissions", "2"), ("lost_percent", ""), ("mos_mean", ""), ("one_way", "1"), ("failures", "bye-timeout=1")
        ] { #expect(second[Substring(name)] == Substring(value), "\(name)") }
        let objects = statistics.series.lines.split(separator: "\n")
        #expect(objects.count == 2)
        #expect(objects[0].contains(#""by_status":{"503":3},"by_cause":{"no-answer":1}"#), "\(objects[0])")
        #expect(objects[1].contains(#""bye":{"p50":8.0,"p90":8.0,"p99":8.0,"p99.9":8.0,"max":8.0}"#), "\(objects[1])")
        #expect(objects[1].contains(#""retransmissions":2"#))
    }

    /// After a merge, each interval knows as much as if there had been one loop.
    @Test func intervalsAreMergedBucketByBucket() {
        var (one, other, both) = (IntervalSeries(), IntervalSeries(), IntervalSeries())
        for value in 0..<3000 {
            let time = Duration.milliseconds(value)
            if value % 2 == 0 { one.at(time) { $0.answer.record(Int64(value)) } }
            if value % 2 == 1 { other.at(time) { $0.answer.record(Int64(value)) } }
            both.at(time) { $0.answer.record(Int64(value)) }
        }
        one.merge(other)
        #expect(one == both)
        for second in 0..<2400 { both.at(.seconds(second)) { $0.retransmissions += 1 } }
        #expect(both.length == 2)
        #expect(both.intervals[0].answer.count == 2000 && both.intervals[0].retransmissions == 2)
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
