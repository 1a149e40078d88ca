// What tests of parties run in: callers, the system in the middle and the parties, in virtual time.

import Basics
import CallEngine
import Dialer
import FlowEngine
import Foundation
import Reactor
import TestKit
import Testing

extension PartyTests {
    /// Three hosts: the caller at .1, the parties at .2, the system between them at .9.
    final class Bench {
        let world = VirtualWorld(seed: 5)
        let folder: TemporaryFolder
        var plan: CampaignPlan
        var desk: LoopBound<PartyDesk>?
        private(set) var outcomes: [Int: PartyOutcome] = [:]
        private(set) var strays: [String] = []
        private var next = 0
        private var middle: Engine?

        init(
            _ parties: String, caller: String = PartyTests.caller, flows: [String] = [PartyTests.agent], mark: String = "",
            recordings: String? = nil, callers: ((inout EngineSettings) -> Void)? = nil, system: @escaping System
        ) throws {
            folder = try TemporaryFolder()
            let text = """
                flow: a.yaml
                targets: list.csv
                to: "sip:${target.number}@192.0.2.9"
                \(mark)
                parties:
                \(parties)
                """
            let read = CampaignReader.read(text: text, file: "campaign.yaml")
            plan = try #require(read.plan, "\(read.diagnostics)")
            let (loop, mark) = (world.loop, plan.mark)
            let engine = try world.engine(at: "192.0.2.1", settings: callers)
            let surroundings = PartyDesk.Surroundings(
                callers: engine, callerFlow: try Self.flow(caller),
                flows: try zip(plan.parties, flows + flows + flows).map { try $0.flow == nil ? nil : Self.flow($1) },
                recordings: recordings ?? folder.url.path
            ) { arguments in
                var environment = FlowEnvironment()
                environment.arguments = arguments
                return environment
            }
            let desk = PartyDesk(plan, surroundings, loop: loop)
            desk.onStray = { [unowned self] in strays.append($0) }
            let bound = LoopBound(desk, on: loop)
            self.desk = bound
            _ = try world.engine(at: "192.0.2.2") { PartyDesk.take($0, at: bound, mark: mark) }
            middle = try world.engine(at: "192.0.2.9") { [unowned self] in system($0, middle!.shard(0)) }
        }

        private static func flow(_ text: String) throws -> Flow {
            let loaded = FlowLoader.load(text: text, file: "flow")
            return try #require(loaded.flow, "\(loaded.diagnostics)")
        }

        func begin(_ number: String = "200", after delay: Duration = .zero) throws {
            next += 1
            var attempt = CampaignAttempt(row: next, number: 1, target: .object(["number": .string(number)]))
            #expect(attempt.fill(from: plan) == nil)
            let placed = attempt
            world.loop.schedule(after: delay) { [self] in
                desk?.onLoop.run(placed) { [unowned self] in
                    switch $0 {
                    case .success(let outcome): outcomes[placed.row] = PartyJudge.listen(outcome)
                    case .failure(let error): Issue.record("\(error)")
                    }
                }
            }
        }

        /// Runs to the end; nothing is left.
        func finish(seconds: Int = 120) throws -> [FlowEngine.Expectation] {
            world.loop.run(for: .seconds(seconds))
            let outcome = try #require(outcomes[1], "the test did not end")
            #expect(world.finish() == [])
            return PartyJudge.expectations(outcome)
        }
    }

    /// A system that connects its callers with this address.
    static func bridging(to target: String, headers: [String] = []) -> System {
        { call, _ in
            let passed = call.info.headers.filter { headers.contains($0.name) }
            let task = call.loop.spawn {
                _ = try? await call.bridge(
                    BridgeRequest(targets: target.split(separator: " ").map(String.init), headers: passed))
                call.hangUp(HangUpReason(status: 480))
            }
            call.onEnd = { _ in task.cancel() }
        }
    }

    /// A system that answers both sides and lets nothing pass between them.
    static func apart(tells: Bool = true) -> System {
        { call, shard in
            call.loop.spawn {
                guard let far = try? shard.place(CallRequest(target: "sip:200@192.0.2.2")) else { return }
                _ = try? await far.wait(for: .answered, timeout: nil)
                try? await call.answer()
                guard tells else { return }
                far.onEnd = { _ in call.hangUp(.normal) }
                call.onEnd = { _ in far.hangUp(.normal) }
            }
        }
    }

    static func missed(_ all: [FlowEngine.Expectation]) -> [String] {
        all.filter { !$0.passed }.map { "\($0.name): \($0.actual)" }
    }
}
