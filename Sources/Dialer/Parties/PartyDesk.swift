// The desk at which the tests of a campaign meet: it places each caller's call, and finds for every call that comes in the test that it
// belongs to. Callers and parties are calls of two engines, because a proxy between them leaves the Call-ID as it is.

import Basics
package import CallEngine
package import FlowEngine
import Foundation
package import Reactor
package import Store

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
        /// The other workers; nil: this one is alone.
        package var directory: Directory?
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

    /// How a call of another worker's test is found.
    package struct Directory: Sendable {
        package var database: Database
        /// This worker, asked each time: one that was given up joins again under another number.
        package var worker: @Sendable () -> Int

        package init(_ database: Database, worker: @escaping @Sendable () -> Int) {
            self.database = database
            self.worker = worker
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

    package init(_ plan: CampaignPlan, _ surroundings: Surroundings, loop: EventLoop) {
        self.plan = plan
        self.surroundings = surroundings
        self.loop = loop
    }

    // MARK: Tests

    /// Places the caller's call of an attempt.
    /// - Parameter then: gets what came of both halves, in a later turn; or why no call could be placed.
    package func run(_ attempt: CampaignAttempt, then: @escaping (Result<PartyOutcome, CallControlError>) -> Void) {
        let id = next
        next += 1
        board.open(id, token: attempt.token, zip(attempt.parties, plan.parties).map { .init(number: $0.number, line: $1.line) })
        let close = { [unowned self] in
            tests[id] = nil
            board.close(id, "row \(attempt.row), attempt \(attempt.number)")
        }
        tests[id] = PartyTest(id, attempt, plan.parties, loop: loop) { outcome in
            close()
            then(.success(outcome))
        }
        var request = CallRequest(target: attempt.destination, line: plan.line, from: attempt.callerID)
        request.codecs = surroundings.callerFlow.codecs
        request.headers = [CallHeader(name: plan.mark.header, value: plan.mark.value(attempt.token))]
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

    /// Ends every call that runs.
    package func interrupt() {
        for test in tests.values { test.interrupt() }
    }

    // MARK: Calls that come in

    /// Takes or refuses a call. On the call's loop.
    package static func take(_ call: Call, at desk: LoopBound<PartyDesk>, mark: PartyMark) {
        let info = call.info
        func value(_ header: String) -> String? { info.headers.first { $0.name.lowercased() == header.lowercased() }?.value }
        let relay = value(PartyRelay.header).flatMap { PartyRelay($0) }
        let arrival = PartyArrival(
            number: info.to.user, line: relay?.line ?? info.line, token: value(mark.header).map { mark.token(in: $0) })
        let bound = LoopBound(call, on: call.loop)
        desk.run { $0.arrived(arrival, relay, at: info.started - (relay?.delay ?? .zero), bound) }
    }

    /// A call of another worker's test is passed on to that one. What was passed on is not passed on once more.
    private func arrived(_ arrival: PartyArrival, _ relay: PartyRelay?, at instant: Instant, _ call: LoopBound<Call>) {
        guard let directory = surroundings.directory, relay == nil, !board.runs(arrival.token) else {
            return place(arrival, by: relay?.match, relay: relay?.worker, at: instant, call)
        }
        let (desk, plan) = (LoopBound(self, on: loop), plan)
        directory.database.perform { connection throws(StoreError) in
            try CampaignStore.owner(of: arrival, plan, connection)
        } then: { result in
            desk.run { $0.found(result, arrival, at: instant, call) }
        }
    }

    private func found(
        _ owner: Result<PartyOwner, StoreError>, _ arrival: PartyArrival, at instant: Instant, _ call: LoopBound<Call>
    ) {
        let number = VisibleText.escaped(arrival.number, atMost: 100)
        switch owner {
        case .success(.test(let token, let worker, let address, let match)):
            var arrival = arrival
            arrival.token = token
            if board.runs(token) { return place(arrival, by: match, relay: nil, at: instant, call) }
            guard let directory = surroundings.directory, !address.isEmpty else {
                stray("a call to \(number) is for worker \(worker), which cannot be called")
                return refuse(call, 480)
            }
            let delay = max(.zero, loop.now - instant)
            let relay = PartyRelay(worker: directory.worker(), match: match, line: arrival.line, delay: delay)
            pass(call, to: address, arrival, relay)
        case .success(.late(let words)): late(number, words, call)
        case .success(.stranger): stranger(number, call)
        case .failure(let error):
            stray("a call to \(number) came when the database could not be asked whose it is: \(error)")
            refuse(call, 480)
        }
    }

    /// - Parameter match: what told elsewhere whose call it is.
    private func place(
        _ arrival: PartyArrival, by match: PartyBoard.Match?, relay: Int?, at instant: Instant, _ call: LoopBound<Call>
    ) {
        let number = VisibleText.escaped(arrival.number, atMost: 100)
        switch board.place(arrival) {
        case .party(let party, let id, let own):
            guard let test = tests[id] else { return refuse(call, 480) }
            let isTaken = test.called(party, at: arrival.number, by: match ?? own, at: instant, relay: relay)
            guard isTaken, let flow = surroundings.flows[party] else { return refuse(call, 486) }
            answer(call, party, of: test, flow)
        case .nobody(let id):
            let others = board.tests(at: arrival.number, but: id).compactMap { tests[$0]?.attempt.row }
            let place = others.isEmpty ? "where nobody is called" : "which is for row \(others[0])"
            tests[id]?.stray("at \(number), \(place)")
            refuse(call, 404)
        case .late(let words): late(number, words, call)
        case .stranger: stranger(number, call)
        }
    }

    private func late(_ number: String, _ words: String, _ call: LoopBound<Call>) {
        stray("a call to \(number) came when its test was over (\(words))")
        refuse(call, 480)
    }

    private func stranger(_ number: String, _ call: LoopBound<Call>) {
        stray("a call to \(number) belongs to no test")
        refuse(call, 404)
    }

    /// RFC 3261 section 25.1: unreserved and user-unreserved.
    private static let plainInUser = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.!~*'()&=+$,;?/")

    /// Connects the call with the worker whose test it belongs to, until either end hangs up.
    private func pass(_ call: LoopBound<Call>, to address: String, _ arrival: PartyArrival, _ relay: PartyRelay) {
        let mark = CallHeader(name: plan.mark.header, value: plan.mark.value(arrival.token ?? ""))
        let headers = [mark, CallHeader(name: PartyRelay.header, value: relay.text)]
        let user = arrival.number.addingPercentEncoding(withAllowedCharacters: Self.plainInUser) ?? ""
        let target = "sip:\(user.isEmpty ? "" : user + "@")\(address)"
        call.run { call in
            guard !call.state.isEnded else { return }
            let task = call.loop.spawn {
                let result = try? await call.bridge(BridgeRequest(targets: [target], headers: headers))
                call.hangUp(HangUpReason(status: result.map { $0.status >= 400 ? $0.status : 480 } ?? 480))
            }
            call.onEnd = { _ in task.cancel() }
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
