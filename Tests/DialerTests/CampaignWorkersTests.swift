// Several workers on one campaign, in virtual time and on every store: together they keep to the plan, and whoever dies leaves nothing
// that is forgotten or done twice.

import Basics
import CallEngine
import Dialer
import FlowEngine
import Foundation
import Reactor
import Store
import TestKit
import Testing

@Suite struct CampaignWorkersTests {
    /// A campaign's list, and the calls of all its workers.
    final class Site {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString)")
        let loop = VirtualLoop()
        let plan: CampaignPlan
        private let kind: StoreKind
        var dialled: [CampaignAttempt] = []
        var starts: [Duration] = []
        var active = 0
        var peak = 0
        var workers: [Worker] = []
        var answer: (CampaignAttempt) -> (Duration, AttemptResult) = { _ in (.seconds(2), CampaignTests.result(.passed)) }
        var onDial: (CampaignAttempt, Worker) -> Void = { _, _ in }

        init(_ rows: Int, _ text: String, on kind: StoreKind) throws {
            self.kind = kind
            plan = try CampaignTests.Bench.plan(text)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try CampaignTests.Bench.rows(rows).write(to: folder.appending(path: "list.csv"), atomically: true, encoding: .utf8)
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        func open() throws -> Database {
            try kind.open(folder.appending(path: "campaign.db").path(), CampaignStore.migrations, isInline: true)
        }

        @discardableResult
        func join(_ plan: CampaignPlan? = nil) throws -> Worker {
            let database = try open()
            let arrival = CampaignStore.Arrival(plan ?? self.plan, list: "\(self.plan.list)", isAlone: false)
            let id = try database.performAndWait { connection throws(StoreError) in
                try CampaignStore.join(arrival, at: 0, connection).id
            }
            _ = try CampaignStore.importList(.file(folder.appending(path: "\(self.plan.list)").path()), into: database)
            let worker = Worker(CampaignWorker(id: id, arrival), database, self)
            workers.append(worker)
            return worker
        }

        /// Lets time pass until all is over, or should be.
        func finish() { loop.run(for: .seconds(900)) }

        /// kill -9: the process and its calls are gone.
        func kill(_ worker: Worker) {
            worker.isDead = true
            worker.run = nil
            active -= worker.active
            worker.active = 0
        }

        func counts() throws -> CampaignStore.Counts {
            try open().performAndWait { connection throws(StoreError) in try CampaignStore.counts(connection) }
        }

        /// Everybody was called once, or was in the air when a worker died.
        func expectExact(_ inTheAir: Int = 0, sourceLocation: SourceLocation = #_sourceLocation) throws {
            let counts = try counts()
            let rows = Dictionary(grouping: dialled, by: \.row)
            #expect(counts.waiting == 0 && counts.over == counts.targets, "\(counts)", sourceLocation: sourceLocation)
            #expect(counts.error == inTheAir, "\(counts)", sourceLocation: sourceLocation)
            #expect(rows.values.allSatisfy { $0.count == 1 }, sourceLocation: sourceLocation)
            #expect(rows.count == counts.targets, sourceLocation: sourceLocation)
            #expect(counts.attempts == counts.targets, sourceLocation: sourceLocation)
        }
    }

    final class Worker {
        let id: Int
        let database: Database
        private unowned let site: Site
        var run: CampaignRun?
        var active = 0
        var peak = 0
        var dialled = 0
        var isDead = false
        var isOver = false
        var problem: CampaignProblem?

        init(_ worker: CampaignWorker, _ database: Database, _ site: Site) {
            (id, self.database, self.site) = (worker.id, database, site)
            let run = CampaignRun(site.plan, database: database, worker: worker, loop: site.loop) {
                [unowned self, unowned site] attempt, then in
                guard !isDead else { return }
                site.dialled.append(attempt)
                site.starts.append(site.loop.now - .zero)
                dialled += 1
                active += 1
                peak = max(peak, active)
                site.active += 1
                site.peak = max(site.peak, site.active)
                site.onDial(attempt, self)
                let (length, result) = site.answer(attempt)
                site.loop.schedule(after: length) {
                    guard !self.isDead else { return }
                    self.active -= 1
                    site.active -= 1
                    then(result)
                }
            }
            run.onEnd = { [unowned self] in
                isOver = true
                problem = $0
            }
            self.run = run
            run.run()
        }
    }

    @Test(arguments: StoreKind.available) func concurrencyAndRateAreOfAllTogether(on kind: StoreKind) throws {
        let site = try Site(200, "concurrency: 9\nrate: 3\n", on: kind)
        site.answer = { _ in (.seconds(4), CampaignTests.result(.passed)) }
        try site.join()
        site.loop.run(for: .seconds(10))
        try site.join()
        site.loop.run(for: .milliseconds(3300))
        try site.join()
        site.finish()
        try site.expectExact()
        #expect(site.peak <= 9)
        // Each of three workers spaces its calls alone: as many at once, and no more over any ten seconds.
        for start in site.starts {
            #expect(site.starts.count { $0 >= start && $0 < start + .seconds(10) } <= 33)
        }
        // Nor is anything of the rate lost: 9 places and 4 seconds allow 2.25 a second.
        #expect((site.starts.last ?? .zero) < .seconds(105))
        #expect(site.workers.allSatisfy { $0.isOver && $0.problem == nil && $0.active == 0 })
        #expect(site.workers[2].peak == 3)
    }

    @Test(arguments: StoreKind.available) func whoDiesLosesItsLeaseAndItsShare(on kind: StoreKind) throws {
        let site = try Site(150, "concurrency: 10\n", on: kind)
        let (first, second) = (try site.join(), try site.join())
        site.loop.run(for: .milliseconds(7900))
        let inTheAir = second.active
        #expect((first.active, inTheAir) == (5, 5))
        let before = site.dialled.count
        site.kill(second)
        first.peak = 0
        // Until the others give it up its share is not theirs.
        site.loop.run(for: .seconds(9))
        #expect(first.peak == 5)
        #expect(site.dialled.count > before)
        site.loop.run(for: .seconds(5))
        #expect(first.active == 10)
        site.finish()
        try site.expectExact(inTheAir)
        #expect(first.isOver)
    }

    @Test(arguments: StoreKind.available, 1...10) func killedAtAnyMoment(on kind: StoreKind, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let site = try Site(120, "concurrency: 6\n", on: kind)
        site.answer = { _ in (.milliseconds(Int64(random.next() % 3000) + 1), CampaignTests.result(.passed)) }
        var inTheAir = 0
        try site.join()
        for _ in 0..<4 {
            try site.join()
            site.loop.run(for: .milliseconds(Int64(random.next() % 5000)))
            let alive = site.workers.filter { !$0.isDead }
            let victim = alive[Int(random.next() % UInt64(alive.count))]
            inTheAir += victim.active
            site.kill(victim)
        }
        site.finish()
        try site.expectExact(inTheAir)
        #expect(site.peak <= 6)
    }

    @Test(arguments: StoreKind.available) func aLimitOfOnePlaceIsOneOfAll(on kind: StoreKind) throws {
        let site = try Site(90, "concurrency: 12\nlimits: [ { to: \"/@h1$/\", concurrency: 1 } ]\n", on: kind)
        var (active, peak) = (0, 0)
        site.onDial = { attempt, _ in
            guard attempt.destination.hasSuffix("@h1") else { return }
            active += 1
            peak = max(peak, active)
            site.loop.schedule(after: .milliseconds(1999)) { active -= 1 }
        }
        for _ in 0..<3 { try site.join() }
        site.finish()
        try site.expectExact()
        #expect(peak == 1)
        #expect((site.starts.last ?? .zero) < .seconds(75))
    }

    @Test(arguments: StoreKind.available) func moreWorkersThanPlaces(on kind: StoreKind) throws {
        let site = try Site(10, "concurrency: 1\n", on: kind)
        for _ in 0..<3 { try site.join() }
        site.finish()
        try site.expectExact()
        #expect(site.peak == 1)
        #expect(site.workers.allSatisfy { $0.isOver })
    }

    /// A worker that was given up although it lives, because it or its network stood still: its rows are the others', and what its calls
    /// came to is believed in the end.
    @Test(arguments: StoreKind.available) func whoIsGivenUpJoinsAgain(on kind: StoreKind) throws {
        let site = try Site(80, "concurrency: 4\n", on: kind)
        site.answer = { _ in (.milliseconds(700), CampaignTests.result(.passed)) }
        let (first, second) = (try site.join(), try site.join())
        site.loop.run(for: .milliseconds(4200))
        let inTheAir = second.active
        #expect(inTheAir == 2)
        let beat = try site.open().performAndWait { [id = second.id] connection throws(StoreError) in
            try connection.rows("SELECT beat FROM worker WHERE id = ?", [StoreValue(id)])[0][0].integer ?? 0
        }
        let whole = CampaignShare(whole: site.plan)
        let given = try site.open().performAndWait { [id = second.id, by = first.id] connection throws(StoreError) in
            try CampaignStore.beat(
                by, CampaignNews(active: [2]), dead: [id: beat], whole: whole, flow: "f", at: 0, connection)
        }
        #expect(given.inTheAir == inTheAir)
        let before = second.dialled
        #expect(try site.counts().error == inTheAir)
        site.finish()
        try site.expectExact()
        #expect(second.isOver && second.problem == nil && second.dialled > before)
    }

    @Test(arguments: StoreKind.available) func theStopRuleCountsAllWorkers(on kind: StoreKind) throws {
        let site = try Site(400, "concurrency: 10\nstop: { failure-rate: 20%, after: 50 }\n", on: kind)
        site.answer = { _ in (.seconds(2), CampaignTests.result(.failed, .rejected, 603)) }
        for _ in 0..<2 { try site.join() }
        site.finish()
        #expect((50...75).contains(site.dialled.count), "\(site.dialled.count)")
        #expect(site.workers.allSatisfy { $0.isOver && $0.run?.figures.wasStopped == true })
        #expect(try site.counts().waiting == 400 - site.dialled.count)
    }

    @Test(arguments: StoreKind.available) func otherLimitsAreRefused(on kind: StoreKind) throws {
        let site = try Site(10, "concurrency: 4\n", on: kind)
        try site.join()
        var other = site.plan
        other.concurrency = 5
        let error = #expect(throws: StoreError.self) { try site.join(other) }
        #expect(error?.message == "the workers that run have other limits (concurrency; rate; lease): 4;-;10s, not 5;-;10s")
        site.finish()
    }

    @Test(arguments: StoreKind.available) func whoComesTwiceWithOneTokenIsOne(on kind: StoreKind) throws {
        let site = try Site(10, "concurrency: 4\n", on: kind)
        let arrival = CampaignStore.Arrival(site.plan, list: "list.csv", isAlone: false, resumes: false)
        let ids = try site.open().performAndWait { connection throws(StoreError) in
            [try CampaignStore.join(arrival, at: 0, connection).id, try CampaignStore.join(arrival, at: 0, connection).id]
        }
        #expect(ids[0] == ids[1])
        try site.open().performAndWait { connection throws(StoreError) in
            _ = try connection.execute("UPDATE worker SET alive = 0")
        }
        for (resumes, list, words) in [
            (false, "list.csv", "there is a campaign campaign already"),
            (true, "other.csv", "has the list list.csv, not other.csv")
        ] {
            let arrival = CampaignStore.Arrival(site.plan, list: list, isAlone: false, resumes: resumes)
            let error = #expect(throws: StoreError.self) {
                try site.open().performAndWait { connection throws(StoreError) in
                    _ = try CampaignStore.join(arrival, at: 0, connection)
                }
            }
            #expect(error?.kind == .refused && error?.message.contains(words) == true, "\(error as Any)")
        }
    }

    @Test(arguments: StoreKind.available) func theSameListIsTakenInOnce(on kind: StoreKind) throws {
        let site = try Site(2500, "concurrency: 1\n", on: kind)
        let list = site.folder.appending(path: "list.csv").path()
        let databases = [try site.open(), try site.open()]
        let arrival = CampaignStore.Arrival(site.plan, list: "list.csv", isAlone: false)
        _ = try databases[0].performAndWait { connection throws(StoreError) in
            try CampaignStore.join(arrival, at: 0, connection)
        }
        let ends = databases.map { database in
            let outcome = Outcome<Int?>()
            Thread { outcome.set(try? CampaignStore.importList(.file(list), into: database)) }.start()
            return outcome
        }
        #expect(ends.map { $0.wait() } == [2500, 2500])
        let rows = try site.open().performAndWait { connection throws(StoreError) in
            try connection.rows("SELECT count(*), min(id), max(id), count(DISTINCT data) FROM target")[0]
        }
        #expect(rows == [2500, 1, 2500, 2500])
    }
}
