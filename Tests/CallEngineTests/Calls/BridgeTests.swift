import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

/// A caller, a hub that connects it, and phones that behave as their user part says: `answer`, `busy`, `ring`, `early`, `hangup`.
@Suite struct BridgeTests {
    private final class Town {
        let world: VirtualWorld
        let caller: Call
        private(set) var results: [BridgeResult] = []
        private(set) var phoneEnds: [String: CallEnd] = [:]
        private(set) var hubCall: Call?
        /// The caller's states as they came.
        private(set) var callerStates: [CallState] = []

        init(
            seed: UInt64, answersFirst: Bool = true, request: BridgeRequest,
            then: @escaping (Call) -> Void = { $0.hangUp(.normal) }
        ) throws {
            world = VirtualWorld(seed: seed)
            let hub = try world.engine(at: "192.0.2.1")
            let callers = try world.engine(at: "192.0.2.2")
            let phones = try world.engine(at: "192.0.2.3")
            caller = try callers.shard(0).place(CallRequest(target: "sip:hub@192.0.2.1"))
            caller.onStateChange = { [unowned self] in callerStates.append($0) }
            phones.shard(0).onIncoming = { [unowned self] in ring($0) }
            hub.shard(0).onIncoming = { [unowned self] call in
                hubCall = call
                let task = call.loop.spawn { [unowned self] in
                    do {
                        if answersFirst { try await call.answer() }
                        results.append(try await call.bridge(request))
                        then(call)
                    } catch {}
                }
                call.onEnd = { _ in task.cancel() }
            }
        }

        private func ring(_ call: Call) {
            let user = call.requestURI?.user ?? ""
            call.onEnd = { [unowned self] in phoneEnds[user] = $0 }
            call.loop.spawn {
                do {
                    switch user {
                    case "busy": return try call.reject(status: 486, reason: nil, headers: [])
                    case "early":
                        try call.progress()
                        try await call.loop.sleep(for: .seconds(3))
                        try await call.answer()
                    case "ring": try call.ring()
                    default:
                        try call.ring()
                        try await call.loop.sleep(for: .seconds(2))
                        try await call.answer()
                        if user == "hangup" {
                            try await call.loop.sleep(for: .seconds(4))
                            call.hangUp(.normal)
                        }
                    }
                } catch {}
            }
        }
    }

    private func targets(_ users: String...) -> [String] { users.map { "sip:\($0)@192.0.2.3" } }

    @Test func theCalledSideHangsUpAndTheFlowGoesOn() throws {
        let town = try Town(seed: 1, request: BridgeRequest(targets: targets("hangup")))
        town.world.loop.run(for: .seconds(20))
        #expect(town.results.map(\.outcome) == [.answered])
        #expect(town.results.first?.connected == .seconds(4))
        #expect(town.caller.state == .ended(CallEnd(by: .callee, cause: .normal)))
        #expect(town.caller.info.media.received > 290)
        #expect(town.world.finish() == [])
    }

    @Test func theCallerHangsUpAndTheOtherLegEnds() throws {
        let town = try Town(seed: 2, request: BridgeRequest(targets: targets("answer")))
        town.world.loop.schedule(after: .seconds(8)) { town.caller.hangUp(.normal) }
        town.world.loop.run(for: .seconds(20))
        #expect(town.phoneEnds["answer"] == CallEnd(by: .caller, cause: .normal))
        #expect(town.results.isEmpty)
        #expect(town.world.finish() == [])
    }

    @Test func hangingUpCancelsWhatStillRings() throws {
        let town = try Town(seed: 3, request: BridgeRequest(targets: targets("ring", "ring2")))
        town.world.loop.schedule(after: .seconds(1)) { town.caller.hangUp(.normal) }
        town.world.loop.run(for: .seconds(10))
        #expect(town.phoneEnds["ring"] == CallEnd(by: .caller, cause: .cancelled))
        #expect(town.phoneEnds["ring2"] == CallEnd(by: .caller, cause: .cancelled))
        #expect(town.world.finish() == [])
    }

    @Test func theFirstToAnswerWinsAndTheOthersAreCancelled() throws {
        let town = try Town(seed: 4, request: BridgeRequest(targets: targets("ring", "busy", "hangup")))
        town.world.loop.run(for: .seconds(20))
        #expect(town.results.map(\.target) == targets("hangup"))
        #expect(town.phoneEnds["ring"] == .answeredElsewhere)
        #expect(town.phoneEnds["busy"]?.cause == .busy)
        #expect(town.world.finish() == [])
    }

    @Test func oneAfterTheOther() throws {
        let town = try Town(
            seed: 5, request: BridgeRequest(targets: targets("busy", "ring", "hangup"), order: .sequence, timeout: .seconds(5)))
        town.world.loop.run(for: .seconds(30))
        #expect(town.results.map(\.outcome) == [.answered])
        #expect(town.results.first?.target == targets("hangup")[0])
        #expect(town.phoneEnds["ring"]?.cause == .cancelled)
        #expect(town.world.finish() == [])
    }

    @Test(arguments: [
        (["busy"], BridgeResult.Outcome.busy, 486), (["ring"], .noAnswer, 180), (["busy", "ring"], .noAnswer, 180),
        (["busy", "busy"], .busy, 486)
    ])
    func outcomesOfFailure(users: [String], outcome: BridgeResult.Outcome, status: Int) throws {
        let town = try Town(
            seed: 6, request: BridgeRequest(targets: users.map { "sip:\($0)@192.0.2.3" }, timeout: .seconds(5)))
        town.world.loop.run(for: .seconds(20))
        #expect(town.results.map(\.outcome) == [outcome])
        #expect(town.results.first?.status == status)
        #expect(town.world.finish() == [])
    }

    @Test(arguments: [
        ("sip:a@192.0.2.99", "the INVITE could not be sent"), ("user:anna", "no device of anna is registered"),
        ("line:nowhere/100", "call: there is no line \"nowhere\""),
        ("nonsense", "call: \"nonsense\" is no SIP URI (sip:user@host)")
    ])
    func nobodyThere(target: String, why: String) throws {
        let town = try Town(seed: 7, request: BridgeRequest(targets: [target], timeout: .seconds(60)))
        town.world.loop.run(for: .seconds(100))
        #expect(town.results == [BridgeResult(outcome: .unreachable, target: target, detail: why)])
        #expect(town.world.finish() == [])
    }

    @Test func aCallerThatIsNotAnsweredYetHearsRingingAndIsAnsweredWithTheTarget() throws {
        let town = try Town(seed: 8, answersFirst: false, request: BridgeRequest(targets: targets("hangup")))
        town.world.loop.run(for: .seconds(20))
        #expect(town.callerStates.prefix(2) == [.ringing, .answered])
        #expect(town.results.map(\.outcome) == [.answered])
        #expect(town.world.finish() == [])
    }

    @Test func earlyMediaReachesACallerThatIsNotAnsweredYet() throws {
        let town = try Town(seed: 9, answersFirst: false, request: BridgeRequest(targets: targets("early")))
        town.world.loop.run(for: .seconds(2))
        #expect(town.callerStates == [.early])
        #expect(town.caller.info.media.received > 50)
        town.world.loop.run(for: .seconds(3))
        #expect(town.caller.state == .answered)
        town.caller.hangUp(.normal)
        #expect(town.world.finish() == [])
    }

    @Test func rotatingBeginsOneFurtherEachTime() throws {
        let world = VirtualWorld(seed: 10)
        let hub = try world.engine(at: "192.0.2.1")
        let callers = try world.engine(at: "192.0.2.2")
        let phones = try world.engine(at: "192.0.2.3")
        var order: [String] = []
        phones.shard(0).onIncoming = { call in
            order.append(call.requestURI?.user ?? "")
            try? call.reject(status: 486, reason: nil, headers: [])
        }
        let request = BridgeRequest(targets: targets("a", "b", "c"), order: .rotate)
        hub.shard(0).onIncoming = { call in
            call.loop.spawn {
                _ = try? await call.bridge(request)
                call.hangUp(.normal)
            }
        }
        for _ in 0..<2 {
            _ = try callers.shard(0).place(CallRequest(target: "sip:hub@192.0.2.1"))
            world.loop.run(for: .seconds(2))
        }
        #expect(order == ["a", "b", "c", "b", "c", "a"])
        #expect(world.finish() == [])
    }
}

extension CallEnd {
    /// How a phone's call ends that rang beside the one that answered (RFC 3326).
    static let answeredElsewhere = CallEnd(
        by: .caller, cause: .cancelled, detail: "SIP;cause=200;text=\"Call completed elsewhere\"")
}
