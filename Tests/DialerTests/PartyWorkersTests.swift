// Several workers on one campaign with parties: the system under test calls a party at any of them, and the call finds the test that it
// belongs to. Whoever dies leaves nothing that is forgotten or called twice, and the system is blamed for nothing.

import Basics
import CallEngine
import Dialer
import FlowEngine
import Foundation
import Reactor
import SIP
import Store
import TestKit
import Testing

@Suite struct PartyWorkersTests {
    static let caller = """
        flow: caller
        direction: outbound
        sections: { call: [ answer: { timeout: 20s }, wait: 1s, send-digits: "12", wait: 2s, hangup ] }
        """
    static let agent = "flow: agent\nsections: { call: [ ring, answer, wait: 60s ] }\n"

    /// A system at .9 in the middle of all workers.
    final class Site {
        let world: VirtualWorld
        let folder: TemporaryFolder
        let kind: StoreKind
        let plan: CampaignPlan
        private(set) var workers: [Worker] = []
        /// How often each row's caller called.
        private(set) var calls: [String: Int] = [:]
        private(set) var outcomes: [Int: PartyOutcome] = [:]
        private(set) var strays: [String] = []
        private var random: SeededRandom
        private let passesMark: Bool
        /// The parties are called by a line that registers at the system.
        let hasLine: Bool
        var password = "geheim"
        private(set) var middle: Engine?

        /// - Parameter passesMark: the system gives the mark on; otherwise the number alone tells whose call it is.
        init(
            _ rows: Int, _ text: String, passesMark: Bool, hasLine: Bool = false, seed: UInt64 = 1, on kind: StoreKind
        ) throws {
            (self.kind, self.passesMark, random) = (kind, passesMark, SeededRandom(seed: seed))
            self.hasLine = hasLine
            world = VirtualWorld(seed: seed)
            folder = try TemporaryFolder()
            try folder.write("number\n" + (1...rows).map { "\($0)\n" }.joined(), to: "list.csv")
            let read = CampaignReader.read(
                text: "flow: a.yaml\ntargets: list.csv\nto: \"sip:${target.number}@192.0.2.9\"\n" + text, file: "campaign.yaml")
            plan = try #require(read.plan, "\(read.diagnostics)")
            let registrar = RegistrarSettings(
                realm: "example.com", users: ["desk": DigestSecret(user: "desk", realm: "example.com", password: "geheim")])
            middle = try world.engine(
                at: "192.0.2.9", settings: { $0.registrar = hasLine ? registrar : nil },
                onIncoming: { [unowned self] in connect($0) })
        }

        /// Where the system finds the line.
        var bindings: [String] {
            (middle?.registrar?.devices(of: "desk", at: world.loop.now) ?? []).map { String(decoding: $0.contact, as: UTF8.self) }
        }

        /// The system calls the party of row N at the number 9N, at any worker that lives.
        private func connect(_ call: Call) {
            let row = call.info.to.user
            calls[row, default: 0] += 1
            let mark = call.info.headers.filter { passesMark && $0.name == "X-Ringwright-Test" }
            let alive = workers.filter { !$0.isDead }
            let party = alive[Int(random.next() % UInt64(alive.count))].parties
            let target = hasLine ? "user:desk" : "sip:9\(row)@\(party)"
            let task = call.loop.spawn {
                _ = try? await call.bridge(BridgeRequest(targets: [target], headers: mark))
                call.hangUp(HangUpReason(status: 480))
            }
            call.onEnd = { _ in task.cancel() }
        }

        func open() throws -> Database { try kind.open(folder.path("campaign.db"), CampaignStore.migrations, isInline: true) }

        @discardableResult func join() throws -> Worker {
            let worker = try Worker(workers.count, self)
            workers.append(worker)
            return worker
        }

        func note(_ outcome: PartyOutcome, of row: Int) { outcomes[row] = outcome }
        func note(stray words: String) { strays.append(words) }

        /// kill -9: neither a word of it nor one to it arrives any more.
        func kill(_ worker: Worker) {
            worker.isDead = true
            worker.run = nil
            for ip in [worker.callers, worker.parties] { world.network.partition(IPAddress(ip)!) }
            for engine in worker.engines { world.abandon(engine) }
        }

        func counts() throws -> CampaignStore.Counts {
            try open().performAndWait { connection throws(StoreError) in try CampaignStore.counts(connection) }
        }

        /// Nothing is left, and every row was called once.
        func finish(sourceLocation: SourceLocation = #_sourceLocation) throws -> CampaignStore.Counts {
            world.loop.run(for: .seconds(900))
            let counts = try counts()
            #expect(counts.waiting == 0 && counts.over == counts.targets, "\(counts)", sourceLocation: sourceLocation)
            #expect(counts.attempts == counts.targets, "\(counts)", sourceLocation: sourceLocation)
            #expect(calls.values.allSatisfy { $0 == 1 }, "\(calls)", sourceLocation: sourceLocation)
            return counts
        }
    }

    final class Worker {
        let callers: String
        let parties: String
        let id: Int
        private(set) var engines: [Engine] = []
        var run: CampaignRun?
        var isDead = false
        private(set) var end: CampaignProblem??
        private let database: Database

        init(_ index: Int, _ site: Site) throws {
            (callers, parties) = ("192.0.2.\(100 + index)", "192.0.2.\(200 + index)")
            let (loop, plan) = (site.world.loop, site.plan)
            let database = try site.open()
            self.database = database
            let arrival = CampaignStore.Arrival(
                plan, list: "\(plan.list)", isAlone: false, address: "\(parties):5060;transport=udp")
            id = try database.performAndWait { connection throws(StoreError) in
                try CampaignStore.join(arrival, at: 0, connection).id
            }
            _ = try CampaignStore.importList(.file(site.folder.path("list.csv")), into: database)
            let engine = try site.world.engine(at: callers)
            var surroundings = PartyDesk.Surroundings(
                callers: engine, callerFlow: try Self.flow(PartyWorkersTests.caller),
                flows: [try Self.flow(PartyWorkersTests.agent)], recordings: nil
            ) { arguments in
                var environment = FlowEnvironment()
                environment.arguments = arguments
                return environment
            }
            let worker = id
            surroundings.directory = PartyDesk.Directory(database) { worker }
            let desk = PartyDesk(plan, surroundings, loop: loop)
            desk.onStray = { [unowned site] in site.note(stray: $0) }
            let bound = LoopBound(desk, on: loop)
            let mark = plan.mark
            let called = try site.world.engine(
                at: parties, settings: { $0.lines = site.hasLine ? [Self.line(site.password)] : [] },
                onIncoming: { PartyDesk.take($0, at: bound, mark: mark) })
            engines = [engine, called]
            let run = CampaignRun(plan, database: database, worker: CampaignWorker(id: id, arrival), loop: loop) {
                [unowned self, unowned site] attempt, then in
                guard !isDead else { return }
                bound.onLoop.run(attempt) { result in
                    guard !self.isDead, case .success(let outcome) = result else { return }
                    site.note(outcome, of: attempt.row)
                    let isWell = PartyJudge.expectations(outcome).allSatisfy(\.passed) && outcome.caller.end.cause == .normal
                    then(CampaignTests.result(isWell ? .passed : .failed))
                }
            }
            self.run = run
            run.onEnd = { [unowned self] in end = .some($0) }
            if site.hasLine { run.lines = PartyLines(called, ["desk"]) }
            run.run()
        }

        private static func line(_ password: String) -> LineSettings {
            LineSettings(
                name: "desk", server: "192.0.2.9", username: "desk", password: Secret(password),
                registration: .init(domain: "example.com"))
        }

        private static func flow(_ text: String) throws -> Flow {
            let loaded = FlowLoader.load(text: text, file: "flow")
            return try #require(loaded.flow, "\(loaded.diagnostics)")
        }
    }

    private static let party =
        "parties: { agent: { flow: b.yaml, number: \"9${target.number}\", agree: [ digits, hang-up ] } }\n"

    @Test(arguments: StoreKind.available, [true, false])
    func aCallFindsItsTestAtAnyWorker(on kind: StoreKind, passesMark: Bool) throws {
        let site = try Site(40, "concurrency: 6\n" + Self.party, passesMark: passesMark, on: kind)
        for _ in 0..<3 { try site.join() }
        let counts = try site.finish()
        #expect(counts.passed == 40 && site.strays == [], "\(counts) \(site.strays)")
        #expect(site.calls.count == 40)
        let reports = site.outcomes.values.flatMap(\.parties)
        #expect(reports.allSatisfy { $0.calls == 1 && $0.half?.digitsReceived == "12" })
        #expect(reports.allSatisfy { $0.match == (passesMark ? "mark" : "number") })
        // Two of three calls come to another worker.
        let relayed = reports.count { $0.relay != nil }
        #expect((15...38).contains(relayed), "\(relayed)")
        #expect(site.world.finish() == [])
    }

    /// All tests wait at one number: the time alone tells them apart, over all workers.
    @Test(arguments: StoreKind.available) func oneNumberForAll(on kind: StoreKind) throws {
        let party = Self.party.replacing("number: \"9${target.number}\", ", with: "")
        let site = try Site(12, "concurrency: 1\n" + party, passesMark: false, on: kind)
        for _ in 0..<2 { try site.join() }
        let counts = try site.finish()
        #expect(counts.passed == 12 && site.strays == [], "\(counts) \(site.strays)")
        #expect(site.world.finish() == [])
    }

    @Test(arguments: StoreKind.available, 1...6) func killedAtAnyMoment(on kind: StoreKind, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let site = try Site(60, "concurrency: 6\n" + Self.party, passesMark: seed % 2 == 0, seed: seed, on: kind)
        try site.join()
        for _ in 0..<3 {
            try site.join()
            site.world.loop.run(for: .milliseconds(Int64(random.next() % 9000)))
            let alive = site.workers.filter { !$0.isDead }
            site.kill(alive[Int(random.next() % UInt64(alive.count))])
        }
        let counts = try site.finish()
        // Tests in the air, and those whose calls came by a worker that died: ours to blame, and few.
        #expect(counts.failed == 0, "\(counts) \(site.outcomes.mapValues { PartyTests.missed(PartyJudge.expectations($0)) })")
        #expect(counts.error <= 3 * 6 && counts.passed >= 60 - 3 * 6, "\(counts)")
        #expect(site.calls.count >= 60 - counts.error)
    }

    /// A call whose test is over, at another worker, and one that is nobody's.
    @Test(arguments: StoreKind.available) func callsThatComeTooLate(on kind: StoreKind) throws {
        let site = try Site(1, "concurrency: 1\n" + Self.party, passesMark: true, on: kind)
        let (first, second) = (try site.join(), try site.join())
        site.world.loop.run(for: .seconds(60))
        #expect(try site.counts().passed == 1)
        let token = try site.open().performAndWait { connection throws(StoreError) in
            try connection.rows("SELECT token FROM attempt")[0][0].text ?? ""
        }
        let stranger = try site.world.engine(at: "192.0.2.50")
        for target in [first, second].map(\.parties) {
            var late = CallRequest(target: "sip:91@\(target)")
            late.headers = [CallHeader(name: "X-Ringwright-Test", value: token)]
            _ = try stranger.shard(0).place(late)
            _ = try stranger.shard(0).place(CallRequest(target: "sip:77@\(target)"))
        }
        site.world.loop.run(for: .seconds(5))
        let late = "a call to 91 came when its test was over (row 1, attempt 1)"
        #expect(site.strays.count { $0 == late } == 2, "\(site.strays)")
        #expect(site.strays.count { $0 == "a call to 77 belongs to no test" } == 2, "\(site.strays)")
        #expect(site.world.finish() == [])
    }

    // MARK: By a line that registers

    private static let desk = "parties: { agent: { flow: b.yaml, line: desk, agree: [ digits, hang-up ] } }\n"

    /// One worker has the line; calls that come by it find their tests at all of them.
    @Test(arguments: StoreKind.available) func oneWorkerHoldsTheLine(on kind: StoreKind) throws {
        let site = try Site(40, "concurrency: 6\n" + Self.desk, passesMark: true, hasLine: true, on: kind)
        for _ in 0..<3 { try site.join() }
        site.world.loop.run(for: .seconds(8))
        #expect(site.bindings.count == 1 && site.bindings.first?.contains("192.0.2.200") == true, "\(site.bindings)")
        let counts = try site.finish()
        #expect(counts.passed == 40 && site.strays == [], "\(counts) \(site.strays)")
        let relays = site.outcomes.values.flatMap(\.parties).compactMap(\.relay)
        #expect(relays.count > 10 && Set(relays) == [1], "\(relays)")
        #expect(site.workers.map(\.end) == [.some(nil), .some(nil), .some(nil)])
    }

    /// Nobody is called before somebody can be called back.
    @Test(arguments: StoreKind.available) func nothingBeginsBeforeTheLineIsThere(on kind: StoreKind) throws {
        let site = try Site(5, "concurrency: 5\n" + Self.desk, passesMark: true, hasLine: true, on: kind)
        site.world.network.partition(IPAddress("192.0.2.200")!)
        for _ in 0..<2 { try site.join() }
        site.world.loop.run(for: .seconds(20))
        #expect(site.calls.isEmpty && site.bindings == [])
        #expect(site.workers.map(\.run?.figures.waitsForLines) == [true, true])
    }

    /// Who holds the line is killed, again and again: the next one takes it over, and what the dead one had registered is gone.
    @Test(arguments: StoreKind.available, 1...4) func whoHoldsTheLineIsKilled(on kind: StoreKind, seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let site = try Site(
            60, "concurrency: 6\n" + Self.desk, passesMark: true, hasLine: true, seed: seed, on: kind)
        for _ in 0..<3 { try site.join() }
        for dead in 0..<2 {
            site.world.loop.run(for: .milliseconds(2000 + Int64(random.next() % 9000)))
            site.kill(site.workers[dead])
            // The lease, and a while for a registrar's answer.
            site.world.loop.run(for: .seconds(16))
            #expect(
                site.bindings.count == 1 && site.bindings.first?.contains("192.0.2.20\(dead + 1)") == true, "\(site.bindings)")
        }
        let counts = try site.finish()
        #expect(counts.failed == 0, "\(counts) \(site.outcomes.mapValues { PartyTests.missed(PartyJudge.expectations($0)) })")
        #expect(counts.error <= 2 * 12 && counts.passed >= 60 - 2 * 12, "\(counts)")
    }

    /// One that goes in order leaves the line to the next.
    @Test(arguments: StoreKind.available) func whoHoldsTheLineLeaves(on kind: StoreKind) throws {
        let site = try Site(40, "concurrency: 4\n" + Self.desk, passesMark: true, hasLine: true, on: kind)
        for _ in 0..<2 { try site.join() }
        site.world.loop.run(for: .seconds(8))
        site.workers[0].run?.drain()
        site.world.loop.run(for: .seconds(15))
        #expect(site.workers[0].end == .some(nil))
        #expect(site.bindings.count == 1 && site.bindings.first?.contains("192.0.2.201") == true, "\(site.bindings)")
        let counts = try site.finish()
        #expect(counts.failed == 0 && counts.passed >= 30, "\(counts)")
    }

    @Test(arguments: StoreKind.available) func aLineThatIsRefusedEndsTheCampaign(on kind: StoreKind) throws {
        let site = try Site(5, "concurrency: 5\n" + Self.desk, passesMark: true, hasLine: true, on: kind)
        site.password = "falsch"
        for _ in 0..<2 { try site.join() }
        site.world.loop.run(for: .seconds(60))
        #expect(site.calls.isEmpty)
        for worker in site.workers {
            let end = try #require(worker.end, "it goes on")
            #expect(end?.message.hasPrefix("the line desk, by which a party is called, is not registered: ") == true)
        }
    }
}
