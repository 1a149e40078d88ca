// Campaigns in virtual time, with a real database: every row is called as often as its plan says, and no oftener, whatever happens.

import Basics
import CallEngine
import Dialer
import FlowEngine
import Foundation
import Reactor
import Store
import TestKit
import Testing

@Suite struct CampaignTests {
    /// A campaign in a folder, whose calls are answered by a closure.
    final class Bench {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString)")
        let loop = VirtualLoop()
        private(set) var dialled: [CampaignAttempt] = []
        private(set) var starts: [Duration] = []
        private(set) var active = 0
        private(set) var peak = 0
        var run: CampaignRun?
        var database: Database?
        private let kind: StoreKind
        private var worker: CampaignWorker?
        private(set) var problem: CampaignProblem?
        private(set) var isOver = false

        init(_ list: String, name: String = "list.csv", on kind: StoreKind = .sqlite) throws {
            self.kind = kind
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try list.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        static func rows(_ count: Int) -> String {
            "number,host\n" + (1...count).map { "\($0),h\($0 % 3)\n" }.joined()
        }

        static func plan(_ text: String = "", list: String = "list.csv") throws -> CampaignPlan {
            let file = "flow: f.yaml\ntargets: \(list)\nto: \"sip:${target.number}@${target.host}\"\n" + text
            let result = CampaignReader.read(text: file, file: "campaign.yaml")
            return try #require(result.plan, "\(result.diagnostics)")
        }

        /// Opens the database as a process that starts does; how many attempts were in the air.
        func open(_ plan: CampaignPlan) throws -> Int {
            let database = try kind.open(
                folder.appending(path: "campaign.db").path(), CampaignStore.migrations, isInline: true)
            self.database = database
            _ = try CampaignStore.importList(.file(folder.appending(path: "\(plan.list)").path()), into: database)
            let wall = loop.wallClock
            let arrival = CampaignStore.Arrival(plan, list: "\(plan.list)", isAlone: true)
            let joined = try database.performAndWait { connection throws(StoreError) in
                try CampaignStore.join(arrival, at: wall, connection)
            }
            worker = CampaignWorker(id: joined.id, arrival)
            return joined.inTheAir
        }

        /// Runs until nothing more happens, or for a while.
        func go(
            _ plan: CampaignPlan, seconds: Int? = nil,
            _ answer: @escaping (CampaignAttempt) -> (Duration, AttemptResult)
        ) {
            let run = CampaignRun(plan, database: database!, worker: worker!, loop: loop) { [unowned self] attempt, then in
                dialled.append(attempt)
                starts.append(loop.now - .zero)
                active += 1
                peak = max(peak, active)
                let (length, result) = answer(attempt)
                loop.schedule(after: length) {
                    self.active -= 1
                    then(result)
                }
            }
            run.onEnd = { [unowned self] in
                isOver = true
                problem = $0
            }
            self.run = run
            run.run()
            if let seconds { loop.run(for: .seconds(seconds)) } else { loop.run() }
        }

        func counts() throws -> CampaignStore.Counts {
            try database!.performAndWait { connection throws(StoreError) in try CampaignStore.counts(connection) }
        }
    }

    static func result(_ verdict: AttemptResult.Verdict, _ cause: CallEnd.Cause = .normal, _ status: Int = 200) -> AttemptResult {
        AttemptResult(verdict: verdict, cause: cause, status: status, json: "{}")
    }

    @Test(arguments: StoreKind.available) func everyRowIsCalledOnce(on kind: StoreKind) throws {
        let bench = try Bench(Bench.rows(500), on: kind)
        let plan = try Bench.plan("concurrency: 7\n")
        #expect(try bench.open(plan) == 0)
        bench.go(plan) { _ in (.seconds(2), Self.result(.passed)) }
        #expect(bench.isOver && bench.problem == nil)
        #expect(bench.dialled.map(\.row) == Array(1...500))
        #expect(bench.dialled[4].destination == "sip:5@h2")
        #expect(bench.peak == 7)
        let counts = try bench.counts()
        #expect((counts.targets, counts.passed, counts.waiting, counts.attempts) == (500, 500, 0, 500))
    }

    /// Each has one attempt that ends at once: nothing is dialled, and the campaign comes to its end.
    @Test(arguments: ["vars: { half: \"${100 / int(target.number)}\" }\n", "caller-id: \"${target.missing}\"\n"])
    func aRowThatCannotBeToldIsAnErrorOfItsOwn(_ text: String) throws {
        let bench = try Bench("number,host\n0,h\n")
        let plan = try Bench.plan(text)
        _ = try bench.open(plan)
        bench.go(plan, seconds: 5) { _ in (.seconds(1), Self.result(.passed)) }
        #expect(bench.isOver && bench.dialled.isEmpty)
        let counts = try bench.counts()
        #expect((counts.error, counts.waiting, counts.attempts) == (1, 0, 1))
        #expect((bench.run?.figures.began, bench.run?.figures.ended, bench.run?.figures.active) == (1, 1, 0))
    }

    @Test func aRowThatNamesNobodyIsAnErrorOfItsOwn() throws {
        let bench = try Bench("number,host\n,h\n1,h\n")
        var plan = try Bench.plan()
        plan.to = try #require(CampaignReader.template("${target.number}") { _ in })
        _ = try bench.open(plan)
        bench.go(plan, seconds: 5) { _ in (.seconds(1), Self.result(.passed)) }
        #expect(bench.isOver && bench.dialled.map(\.row) == [2])
        #expect(try bench.counts().error == 1)
    }

    @Test(arguments: StoreKind.available) func theRateIsAnUpperLimit(on kind: StoreKind) throws {
        let bench = try Bench(Bench.rows(50), on: kind)
        let plan = try Bench.plan("concurrency: 5\nrate: 2\n")
        _ = try bench.open(plan)
        // The eleventh call takes long, and four others with it: what is missed meanwhile is not made up for.
        bench.go(plan) { ($0.row > 10 && $0.row <= 15 ? .seconds(20) : .milliseconds(100), Self.result(.passed)) }
        let gaps = zip(bench.starts.dropFirst(), bench.starts).map { $0 - $1 }
        #expect(gaps.allSatisfy { $0 >= .milliseconds(499) })
        #expect(bench.starts.count == 50)
        #expect(abs(bench.starts[9].seconds - 4.5) < 0.1)
    }

    @Test(arguments: StoreKind.available) func callsAreTriedAgainByTheirCause(on kind: StoreKind) throws {
        let bench = try Bench(Bench.rows(6), on: kind)
        let plan = try Bench.plan(
            "attempts: { most: 3, wait: 10m, factor: 2, after: { busy: 1m, rejected: 5m } }\nconcurrency: 10\n")
        _ = try bench.open(plan)
        var times: [Int: [Double]] = [:]
        bench.go(plan) { attempt in
            times[attempt.row, default: []].append(bench.loop.now.nanoseconds == 0 ? 0 : (bench.loop.now - .zero).seconds)
            switch attempt.row {
            case 1: return (.zero, Self.result(.failed, .busy, 486))
            case 2: return (.zero, Self.result(.failed, .noAnswer, 480))
            case 3: return (.zero, Self.result(.failed, .rejected, 603))
            // An expectation that is not met is a result, and no reason to call again.
            case 4: return (.zero, Self.result(.failed, .normal))
            case 5: return (.zero, attempt.number == 2 ? Self.result(.passed) : Self.result(.failed, .busy, 486))
            default: return (.zero, Self.result(.error, .error))
            }
        }
        func waits(_ row: Int) -> [Int] {
            let all = times[row] ?? []
            return zip(all.dropFirst(), all).map { Int(($0 - $1).rounded()) }
        }
        #expect(waits(1) == [60, 120])
        #expect(waits(2) == [600, 1200])
        #expect(waits(3) == [300, 600])
        #expect(waits(4) == [])
        #expect(waits(5) == [60])
        #expect(waits(6) == [])
        let counts = try bench.counts()
        #expect((counts.passed, counts.failed, counts.error, counts.attempts) == (1, 4, 1, 13))
        #expect(bench.isOver)
    }

    @Test(arguments: StoreKind.available) func limitsOfDestinationsHoldBackOnlyThem(on kind: StoreKind) throws {
        let bench = try Bench(Bench.rows(90), on: kind)
        let plan = try Bench.plan(
            "concurrency: 30\nlimits: [ { to: \"/@h1$/\", concurrency: 2 }, { to: \"/@h2$/\", rate: 1 } ]\n")
        _ = try bench.open(plan)
        var (active, peak) = (0, 0)
        bench.go(plan) { attempt in
            if attempt.destination.hasSuffix("@h1") {
                active += 1
                peak = max(peak, active)
                bench.loop.schedule(after: .milliseconds(999)) { active -= 1 }
            }
            return (.seconds(1), Self.result(.passed))
        }
        #expect(peak == 2)
        let slow = zip(bench.dialled, bench.starts).filter { $0.0.destination.hasSuffix("@h2") }.map(\.1)
        #expect(zip(slow.dropFirst(), slow).allSatisfy { $0 - $1 >= .milliseconds(999) })
        let free = zip(bench.dialled, bench.starts).filter { $0.0.destination.hasSuffix("@h0") }.map(\.1)
        #expect(free.count == 30 && (free.max() ?? .zero) < .seconds(3))
        #expect(bench.dialled.count == 90)
    }

    @Test(arguments: StoreKind.available) func outsideOfTheHoursNothingBegins(on kind: StoreKind) throws {
        let bench = try Bench(Bench.rows(10), on: kind)
        // The virtual clock begins at midnight UTC on a Thursday.
        let plan = try Bench.plan("concurrency: 1\nhours: { from: \"09:00\", until: \"18:00\", days: [ fri, mon ], zone: UTC }\n")
        _ = try bench.open(plan)
        bench.go(plan) { _ in (.seconds(3600), Self.result(.passed)) }
        let hours = bench.starts.map { $0.seconds / 3600 }
        #expect(hours.first.map { abs($0 - 33) < 0.01 } == true)
        #expect(hours.prefix(9).allSatisfy { $0 >= 33 && $0 < 42 })
        // The tenth waits for Monday.
        #expect(hours.last.map { abs($0 - 105) < 0.01 } == true)
        #expect(bench.isOver)
    }

    @Test(arguments: StoreKind.available) func tooManyFailuresStopIt(on kind: StoreKind) throws {
        let bench = try Bench(Bench.rows(1000), on: kind)
        let plan = try Bench.plan("concurrency: 5\nstop: { failure-rate: 20%, after: 50 }\n")
        _ = try bench.open(plan)
        bench.go(plan) {
            (.seconds(1), Self.result($0.row % 3 == 0 ? .failed : .passed, $0.row % 3 == 0 ? .rejected : .normal, 603))
        }
        #expect(bench.isOver)
        #expect(bench.run?.figures.wasStopped == true)
        #expect((50...60).contains(bench.dialled.count))
        let counts = try bench.counts()
        #expect(counts.waiting == 1000 - bench.dialled.count)
    }

    @Test(arguments: StoreKind.available) func drainingLeavesTheRestForLater(on kind: StoreKind) throws {
        let bench = try Bench(Bench.rows(100), on: kind)
        let plan = try Bench.plan("concurrency: 5\n")
        _ = try bench.open(plan)
        bench.loop.schedule(after: .milliseconds(3500)) { bench.run?.drain() }
        bench.go(plan) { _ in (.seconds(1), Self.result(.passed)) }
        #expect(bench.isOver)
        #expect(bench.dialled.count == 20)
        #expect(try bench.open(plan) == 0)
        bench.go(plan) { _ in (.seconds(1), Self.result(.passed)) }
        #expect(Set(bench.dialled.map(\.row)) == Set(1...100))
        #expect(bench.dialled.count == 100)
    }

    /// The process dies at some instant: the next one finds what was in the air, calls nobody twice and forgets nobody.
    @Test(arguments: StoreKind.available, 1...20) func killedAndResumed(on kind: StoreKind, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let bench = try Bench(Bench.rows(60), on: kind)
        let plan = try Bench.plan("concurrency: 8\nattempts: { most: 2, wait: 10s }\n")
        var inAir = 0
        var kills = 0
        while true {
            inAir += try bench.open(plan)
            let until = kills < 5 ? Int(random.next() % 4) : nil
            bench.go(plan, seconds: until) { attempt in
                let length = Duration.milliseconds(Int64(random.next() % 2000) + 1)
                return (length, attempt.row % 5 == 0 ? Self.result(.failed, .busy, 486) : Self.result(.passed))
            }
            guard until != nil else { break }
            // kill -9: the run and its calls are gone; the file is what it is.
            bench.run = nil
            bench.loop.run(for: .zero)
            bench.database = nil
            kills += 1
        }
        let counts = try bench.counts()
        #expect(bench.isOver)
        #expect(counts.targets == 60 && counts.waiting == 0, "\(counts)")
        #expect(counts.error == inAir)
        #expect(counts.attempts == bench.dialled.count)
        var calls: [Int: [Int]] = [:]
        for attempt in bench.dialled { calls[attempt.row, default: []].append(attempt.number) }
        #expect(calls.count == 60)
        for (row, numbers) in calls { #expect(numbers == Array(1...numbers.count), "row \(row): \(numbers)") }
        #expect(calls.filter { $0.key % 5 != 0 }.allSatisfy { $0.value == [1] })
    }
}
