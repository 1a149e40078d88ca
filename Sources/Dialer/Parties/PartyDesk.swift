// The desk at which the tests of a campaign meet: it places each caller's call, and finds for every call that comes in the test that it
// belongs to. Callers and parties are calls of two engines, because a proxy between them leaves the Call-ID as it is.

import Basics
package import CallEngine
package import FlowEngine
package import Reactor

/// Belongs to its loop; the calls are on loops of their own.
package final class PartyDesk {
    /// What a test needs of its surroundings.
    package struct Surroundings: Sendable {
        package var callers: Engine
        package var callerFlow: Flow
        /// In the order of the plan's parties; nil: calls are refused.
        package var flows: [Flow?]
        /// The absolute folder for recordings; nil: none, so that audio is not compared.
        package var recordings: String?
        /// Made on the call's loop, with the variables that its flow gets.
        package var environment: @Sendable (_ arguments: [String: Value]) -> FlowEnvironment

        package init(
            callers: Engine, callerFlow: Flow, flows: [Flow?], recordings: String?,
            environment: @escaping @Sendable (_ arguments: [String: Value]) -> FlowEnvironment
        ) {
            self.callers = callers
            self.callerFlow = callerFlow
            self.flows = flows
            self.recordings = recordings
            self.environment = environment
        }
    }

    /// Hears of calls that belong to no test that runs, in words.
    package var onStray: ((String) -> Void)?
    /// How many there were.
    package private(set) var strays = 0
    private let plan: CampaignPlan
    private let surroundings: Surroundings
    private let loop: EventLoop
    private var board = PartyBoard()
    private var tests: [Int: PartyTest] = [:]
    private var next = 0
    private var random: SeededRandom

    /// - Parameter seed: of the marks; random outside of tests.
    package init(_ plan: CampaignPlan, _ surroundings: Surroundings, loop: EventLoop, seed: UInt64) {
        self.plan = plan
        self.surroundings = surroundings
        self.loop = loop
        random = SeededRandom(seed: seed)
    }

    // MARK: Tests

    /// Places the caller's call of an attempt.
    /// - Parameter then: gets what came of both halves, in a later turn; or why no call could be placed.
    package func run(_ attempt: CampaignAttempt, then: @escaping (Result<PartyOutcome, CallControlError>) -> Void) {
        let id = next
        next += 1
        let token = newToken()
        board.open(id, token: token, zip(attempt.parties, plan.parties).map { .init(number: $0.number, line: $1.line) })
        let close = { [unowned self] in
            tests[id] = nil
            board.close(id, "row \(attempt.row), attempt \(attempt.number)")
        }
        tests[id] = PartyTest(id, attempt, plan.parties, loop: loop) { outcome in
            close()
            then(.success(outcome))
        }
        var request = CallRequest(target: attempt.destination, line: plan.line, from: attempt.callerID)
        request.headers = [CallHeader(name: plan.mark.header, value: plan.mark.value(token))]
        let fail = LoopBound(
            { (error: CallControlError) in
                close()
                then(.failure(error))
            }, on: loop)
        place(request, attempt, id) { error in fail.run { $0(error) } }
    }

    private func place(
        _ request: CallRequest, _ attempt: CampaignAttempt, _ id: Int, orFail fail: @escaping @Sendable (CallControlError) -> Void
    ) {
        let desk = LoopBound(self, on: loop)
        let (surroundings, variables) = (surroundings, surroundingsOf(attempt, variables: attempt.variables))
        let path = path(attempt, nil)
        let flow = surroundings.callerFlow
        surroundings.callers.withShard(attempt.row % surroundings.callers.loopCount) { shard in
            do throws(CallControlError) {
                let call = try shard.place(request)
                let began = shard.loop.now
                let bound = LoopBound(call, on: shard.loop)
                desk.run { desk in
                    desk.tests[id]?.callerBegins(at: began) { reason in bound.run { $0.hangUp(reason) } }
                }
                let run = PartyCall("caller", call, flow, variables(), recordingTo: path)
                shard.loop.spawn {
                    let half = await run.run()
                    desk.run { $0.tests[id]?.callerEnded(half) }
                }
            } catch {
                fail(error)
            }
        }
    }

    private func surroundingsOf(
        _ attempt: CampaignAttempt, variables: [String: Value]
    ) -> @Sendable () -> FlowEnvironment {
        let (make, name, target) = (surroundings.environment, plan.name, attempt.target)
        return {
            var environment = make(variables)
            environment.campaign = .object(["name": .string(name)])
            environment.target = target
            return environment
        }
    }

    /// Where a half is recorded; nil: it is not.
    private func path(_ attempt: CampaignAttempt, _ party: PartyPlan?) -> String? {
        guard let folder = surroundings.recordings else { return nil }
        guard party?.comparesAudio ?? plan.parties.contains(where: \.comparesAudio) else { return nil }
        return "\(folder)/\(CallAudio.path(row: attempt.row, attempt: attempt.number, party: party?.name))"
    }

    /// Long enough that nobody else has it, and hexadecimal (RFC 7433).
    private func newToken() -> String {
        let digits = String(random.next(), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// Ends every call that runs.
    package func interrupt() {
        for test in tests.values { test.interrupt() }
    }

    // MARK: Calls that come in

    /// Takes or refuses a call. On the call's loop.
    package static func take(_ call: Call, at desk: LoopBound<PartyDesk>, mark: PartyMark) {
        let info = call.info
        let value = info.headers.first { $0.name.lowercased() == mark.header.lowercased() }?.value
        let arrival = PartyArrival(number: info.to.user, line: info.line, token: value.map { mark.token(in: $0) })
        let bound = LoopBound(call, on: call.loop)
        desk.run { $0.arrived(arrival, at: info.started, bound) }
    }

    private func arrived(_ arrival: PartyArrival, at instant: Instant, _ call: LoopBound<Call>) {
        let number = VisibleText.escaped(arrival.number, atMost: 100)
        switch board.place(arrival) {
        case .party(let party, let id, let match):
            guard let test = tests[id] else { return refuse(call, 480) }
            guard test.called(party, at: arrival.number, by: match, at: instant), let flow = surroundings.flows[party] else {
                return refuse(call, 486)
            }
            answer(call, party, of: test, flow)
        case .nobody(let id):
            let others = board.tests(at: arrival.number, but: id).compactMap { tests[$0]?.attempt.row }
            let place = others.isEmpty ? "where nobody is called" : "which is for row \(others[0])"
            tests[id]?.stray("at \(number), \(place)")
            refuse(call, 404)
        case .late(let words):
            stray("a call to \(number) came when its test was over (\(words))")
            refuse(call, 480)
        case .stranger:
            stray("a call to \(number) belongs to no test")
            refuse(call, 404)
        }
    }

    private func stray(_ words: String) {
        strays += 1
        onStray?(words)
    }

    private func refuse(_ call: LoopBound<Call>, _ status: Int) {
        call.run { try? $0.reject(status: status, reason: nil, headers: []) }
    }

    private func answer(_ call: LoopBound<Call>, _ party: Int, of test: PartyTest, _ flow: Flow) {
        let desk = LoopBound(self, on: loop)
        let (id, name) = (test.id, plan.parties[party].name)
        let environment = surroundingsOf(test.attempt, variables: test.attempt.parties[party].variables)
        let path = path(test.attempt, plan.parties[party])
        test.runs(party) { reason in call.run { $0.hangUp(reason) } }
        call.run { call in
            let run = PartyCall(name, call, flow, environment(), recordingTo: path)
            call.loop.spawn {
                let half = await run.run()
                desk.run { $0.tests[id]?.ended(party, half) }
            }
        }
    }
}
