// Several workers of one load run, on every store: they begin at one moment, each with a part of its own, and all tell the same in the end.

import Basics
import CallEngine
import Dialer
import Foundation
import Reactor
import Store
import TestKit
import Testing

@Suite struct LoadCrewTests {
    final class Site {
        let loop = VirtualLoop()
        private let kind: StoreKind
        private let folder = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString)")

        init(_ kind: StoreKind) throws {
            self.kind = kind
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        func crew(_ workers: Int, loops: Int = 2, plan: String = "rate 10", seed: UInt64 = 1) throws -> Member {
            let database = try kind.open(folder.appending(path: "load.db").path(), LoadStore.migrations, isInline: true)
            let arrival = LoadStore.Arrival(
                name: "monday", plan: plan, workers: workers, loops: loops, seed: seed, lease: .seconds(10))
            let member = Member(LoadCrew(arrival, database: database, loop: loop))
            member.crew?.join { member.part = $0 }
            return member
        }
    }

    final class Member {
        var crew: LoadCrew?
        var part: Result<LoadPart, StoreError>?
        var merged: Result<LoadReport, StoreError>?

        init(_ crew: LoadCrew) { self.crew = crew }

        func finish(_ report: LoadReport) { crew?.finish(report) { self.merged = $0 } }
    }

    /// So many calls, answered after so many milliseconds each; the first and the last at these seconds after the start.
    static func statistics(_ calls: Int, answer: Int, from first: Double, to last: Double, start: Instant) -> LoadStatistics {
        var statistics = LoadStatistics()
        var timings = CallTimings()
        timings.answer = .milliseconds(answer)
        for index in 0..<calls {
            let share = calls == 1 ? 0 : Double(index) / Double(calls - 1)
            let now = start + .nanoseconds(Int64((first + (last - first) * share) * 1e9))
            statistics.started(at: now, since: start, active: calls)
            statistics.ended(
                LoadOutcome(
                    failure: index == 0 ? .status(503) : nil, wasAnswered: index > 0,
                    timings: index > 0 ? timings : CallTimings(),
                    media: MediaReport(), score: nil),
                at: now + .milliseconds(10), since: start)
        }
        statistics.sentAgain(3, at: start + .seconds(4), since: start)
        return statistics
    }

    static func report(_ statistics: LoadStatistics) -> LoadReport {
        LoadReport(
            statistics: statistics, elapsed: .seconds(10), plannedCalls: 100, plannedRate: 10)
    }

    @Test(arguments: StoreKind.available) func allBeginTogetherAndTellTheSame(on kind: StoreKind) throws {
        let site = try Site(kind)
        let first = try site.crew(3, seed: 77)
        site.loop.run(for: .seconds(5))
        #expect(first.part == nil)
        let others = [try site.crew(3, loops: 1, seed: 5), try site.crew(3, loops: 4, seed: 6)]
        site.loop.run(for: .seconds(1))
        let members = [first] + others
        let parts = try members.map { try #require(try $0.part?.get()) }
        #expect(parts.map(\.first) == [0, 2, 3])
        #expect(parts.map(\.total) == [7, 7, 7])
        #expect(parts.map(\.seed) == [77, 77, 77])
        // PostgreSQL's clock is a real one, and the loop's stands still meanwhile.
        let starts = parts.map(\.start)
        #expect((starts.max() ?? .zero) - (starts.min() ?? .zero) < .milliseconds(500))
        site.loop.run(for: .seconds(10))
        for (index, member) in members.enumerated() {
            site.loop.run(for: .seconds(3))
            #expect(members.allSatisfy { $0.merged == nil })
            let calls = (index + 1) * 100
            member.finish(
                Self.report(
                    Self.statistics(calls, answer: calls, from: Double(index), to: 9, start: parts[index].start)))
        }
        site.loop.run(for: .seconds(2))
        let reports = try members.map { try #require(try $0.merged?.get()) }
        #expect(reports.map(\.json) == [JSONText](repeating: reports[0].json, count: 3))
        let report = reports[0]
        #expect((report.statistics.placed, report.statistics.failed, report.statistics.retransmissions) == (600, 3, 9))
        #expect(report.statistics.byStatus == [503: 3])
        #expect(report.statistics.answer.count == 597)
        #expect((report.statistics.answer.quantile(0.99) + 500) / 1000 == 300)
        #expect((report.statistics.answer.quantile(0.1) + 500) / 1000 == 100)
        #expect(abs((report.statistics.rateAchieved ?? 0) - 599.0 / 9) < 0.01)
        #expect(report.statistics.series.intervals.map(\.placed).reduce(0, +) == 600)
        let intervals = report.statistics.series.intervals
        #expect(intervals[8].peak == 600)
        #expect(intervals[4].retransmissions == 9 && intervals.map(\.retransmissions).reduce(0, +) == 9)
        // In the first second only the first worker's calls: 100 ms each.
        #expect(intervals[0].answer.count > 5 && (intervals[0].answer.quantile(0.999) + 500) / 1000 == 100)
        #expect(intervals[5].answer.maximum == 300_000)
        #expect(intervals.map(\.answer.count).reduce(0, +) == 597)
        #expect(report.health.limitsHit == [])
        #expect(report.workers.map(\.placed) == [100, 200, 300])
    }

    /// Each worker's far end is in the one report, added up as the calling halves are.
    @Test(arguments: StoreKind.available) func farEndsAreAddedUp(on kind: StoreKind) throws {
        let site = try Site(kind)
        let members = [try site.crew(2), try site.crew(2)]
        site.loop.run(for: .seconds(1))
        for (index, member) in members.enumerated() {
            let start = try #require(try member.part?.get()).start
            var report = Self.report(Self.statistics(100, answer: 20, from: 0, to: 4, start: start))
            var far = LoadReport(
                statistics: Self.statistics(90 + index, answer: 10 + index * 10, from: 0, to: 4, start: start),
                elapsed: .seconds(3 + index))
            far.side = .called
            far.health.turnedAway = UInt64(index)
            report.farEnd = [far]
            member.finish(report)
        }
        site.loop.run(for: .seconds(2))
        let report = try #require(try members[0].merged?.get())
        let far = try #require(report.farEnd.first)
        #expect(report.farEnd.count == 1 && far.side == .called && far.elapsed == .seconds(4))
        #expect((far.statistics.placed, far.statistics.failed, far.statistics.retransmissions) == (181, 2, 6))
        #expect(far.health.limitsHit == [.admission] && report.health.limitsHit == [])
        #expect(far.statistics.series.intervals.map(\.placed).reduce(0, +) == 181)
        #expect((far.statistics.answer.quantile(0.999) + 500) / 1000 == 20)
        #expect(report.json.text.contains(#""between":{"calls":19,"#), "\(report.json.text)")
    }

    @Test(arguments: StoreKind.available) func whoDiesIsNamedAndSpoilsTheRun(on kind: StoreKind) throws {
        let site = try Site(kind)
        let (first, second) = (try site.crew(2), try site.crew(2))
        site.loop.run(for: .seconds(1))
        let start = try #require(try first.part?.get()).start
        let theirs = try #require(try second.part?.get()).start
        var statistics = Self.statistics(40, answer: 10, from: 0, to: 5, start: theirs)
        for _ in 0..<7 { statistics.started(at: theirs + .seconds(5), since: theirs, active: 8) }
        // What is active was looked at a moment later.
        let progress = LoadProgress(
            elapsed: .seconds(5), statistics: statistics, active: 6, rate: 8,
            health: GeneratorHealth())
        second.crew?.show(progress)
        site.loop.run(for: .milliseconds(1500))
        second.crew = nil
        first.finish(Self.report(Self.statistics(50, answer: 10, from: 0, to: 5, start: start)))
        site.loop.run(for: .seconds(8))
        #expect(first.merged == nil)
        site.loop.run(for: .seconds(5))
        let report = try #require(try first.merged?.get())
        #expect(report.statistics.placed == 97)
        #expect(report.health.limitsHit == [.lostWorker])
        #expect(report.workers.map(\.placed) == [50, 47] && report.workers.map(\.isLost) == [false, true])
        #expect(report.workers.map(\.inTheAir) == [0, 7])
        #expect(report.summary.contains("worker 2: 47 calls, 39 answered, 1 failed; it died, with 7 calls in the air"))
    }

    /// One that died before the start has no part; who takes its place has.
    @Test(arguments: StoreKind.available) func whoDiesBeforeTheStartIsReplaced(on kind: StoreKind) throws {
        let site = try Site(kind)
        let (first, second) = (try site.crew(3), try site.crew(3))
        site.loop.run(for: .seconds(1))
        second.crew = nil
        site.loop.run(for: .seconds(15))
        #expect(first.part == nil)
        let others = [try site.crew(3), try site.crew(3)]
        site.loop.run(for: .seconds(1))
        #expect(try ([first] + others).map { try $0.part?.get().first } == [0, 2, 4])
        let late = try site.crew(3)
        site.loop.run(for: .seconds(1))
        let error = #expect(throws: StoreError.self) { try late.part?.get() }
        #expect(error?.message == "the run monday has its workers already: choose another --name")
    }

    @Test(arguments: StoreKind.available) func anotherPlanIsRefusedAndWaitingCanBeEnded(on kind: StoreKind) throws {
        let site = try Site(kind)
        let first = try site.crew(2)
        let other = try site.crew(2, plan: "rate 20")
        site.loop.run(for: .seconds(1))
        let error = #expect(throws: StoreError.self) { try other.part?.get() }
        #expect(
            error?.message
                == "the other workers of monday have another plan: rate 10, 2 workers, not rate 20, 2 workers")
        first.crew?.stop()
        let cut = #expect(throws: StoreError.self) { try first.part?.get() }
        #expect(cut?.kind == .refused)
    }

    @Test func figuresOfOtherMachinesAreReadAsTheyWere() throws {
        var histogram = Histogram()
        for value: Int64 in [0, 1, 255, 256, 1000, 123_456_789, 1 << 40] { histogram.record(value) }
        let copy = try JSONDecoder().decode(Histogram.self, from: JSONEncoder().encode(histogram))
        #expect(copy == histogram)
        #expect(try JSONDecoder().decode(Histogram.self, from: JSONEncoder().encode(Histogram())) == Histogram())
        let strange = Data(#"{"buckets":[99999999999,1,5],"maximum":7,"sum":1}"#.utf8)
        #expect(try JSONDecoder().decode(Histogram.self, from: strange).count == 0)
    }
}
