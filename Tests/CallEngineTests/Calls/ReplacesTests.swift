// INVITE with Replaces (RFC 3891) between engines in virtual time: who takes whose place, and who is refused.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct ReplacesTests {
    /// An IVR that keeps what passes it, a caller, a phone that rings, and a newcomer.
    private final class Scene {
        let world: VirtualWorld
        let ivr: Engine
        let callers: Engine
        let newcomers: Engine
        private let passed = Locked<[Message]>([])
        private(set) var ivrCalls: [Call] = []
        private(set) var phoneEnd: CallEnd?

        init(seed: UInt64, loops: Int = 1, _ script: @escaping (Call) async throws -> Void) throws {
            world = VirtualWorld(seed: seed)
            let passed = self.passed
            let trace: @Sendable (TracedMessage) -> Void = { traced in
                if let message = try? Message(parsing: traced.bytes) { passed.withLock { $0.append(message) } }
            }
            ivr = try world.engine(at: "192.0.2.1", loops: loops, settings: nil, trace: trace)
            callers = try world.engine(at: "192.0.2.2", settings: nil, trace: trace)
            newcomers = try world.engine(at: "192.0.2.4")
            _ = try world.engine(at: "192.0.2.3") { [unowned self] call in
                call.onEnd = { self.phoneEnd = $0 }
                try? call.ring()
            }
            let incoming: (Call) -> Void = { [unowned self] call in
                ivrCalls.append(call)
                let task = call.loop.spawn { try? await script(call) }
                call.onEnd = { _ in task.cancel() }
            }
            for index in 0..<loops { ivr.shard(index).onIncoming = incoming }
        }

        func messages(_ isWanted: (Message) -> Bool) -> [Message] { passed.withLock { $0.filter(isWanted) } }

        /// The value of Replaces for the dialog of a response that passed: as the IVR's other end names it.
        func reference(_ response: Message, ivrIsCaller: Bool) throws -> String {
            let from = text(try #require(try response.from().tag))
            let to = text(try #require(try response.to().tag))
            return "\(text(response.callID));to-tag=\(ivrIsCaller ? from : to);from-tag=\(ivrIsCaller ? to : from)"
        }

        func call() throws -> Call {
            let call = try callers.shard(0).place(CallRequest(target: "sip:100@192.0.2.1", from: "first"))
            world.loop.run(for: .seconds(2))
            return call
        }

        func replace(_ values: String..., from: String = "second") throws -> Call {
            let call = try newcomers.shard(0).place(
                CallRequest(
                    target: "sip:100@192.0.2.1", from: from, headers: values.map { CallHeader(name: "Replaces", value: $0) }))
            world.loop.run(for: .seconds(2))
            return call
        }

        /// The response that set up the caller's dialog.
        func answer(_ status: Int) throws -> Message { try #require(messages { $0.status == status }.first) }
    }

    @Test func aNewcomerTakesTheCallersPlaceAndTheFlowGoesOn() throws {
        let scene = try Scene(seed: 71) { try await $0.answer() }
        let first = try scene.call()
        let reference = try scene.reference(scene.answer(200), ivrIsCaller: false)
        let before = try #require(scene.ivrCalls.first).info
        let second = try scene.replace(reference)
        #expect(first.state == .ended(CallEnd(by: .callee, cause: .normal, detail: "SIP;cause=200;text=\"Replaced\"")))
        #expect(second.state == .answered)
        #expect(scene.ivrCalls.count == 1, "the flow gets no second call")
        let call = try #require(scene.ivrCalls.first)
        #expect(call.state == .answered && call.info.id == before.id)
        #expect(before.from.user == "first" && call.info.from.user == "second" && call.info.to == before.to)
        #expect(call.info.answered == before.answered)
        // Audio comes from the newcomer, and goes to it.
        let heard = (call.info.media.received, second.info.media.received)
        scene.world.loop.spawn { try? await second.sendDigits("7", options: SendDigitsOptions()) }
        scene.world.loop.run(for: .seconds(5))
        #expect(call.info.media.received > heard.0 + 200 && second.info.media.received > heard.1 + 200)
        #expect(call.digits.history == "7")
        #expect(scene.ivr.gate.active == 1)
        second.hangUp(.normal)
        scene.world.loop.run(for: .seconds(1))
        #expect(call.state == .ended(CallEnd(by: .caller, cause: .normal)))
        #expect(scene.world.finish() == [])
    }

    @Test func aCallThatRingsElsewhereIsPickedUp() throws {
        var bridged: BridgeResult?
        let scene = try Scene(seed: 72) { call in
            bridged = try await call.bridge(BridgeRequest(targets: ["sip:phone@192.0.2.3"], timeout: .seconds(60)))
            call.hangUp(.normal)
        }
        let caller = try scene.call()
        #expect(caller.state == .ringing)
        let ringing = try #require(scene.messages { $0.status == 180 && $0.cSeqMethod == .invite }.first)
        let second = try scene.replace(try scene.reference(ringing, ivrIsCaller: true) + ";early-only")
        #expect(second.state == .answered && caller.state == .answered)
        #expect(scene.phoneEnd == .answeredElsewhere)
        let heard = second.info.media.received
        scene.world.loop.run(for: .seconds(5))
        #expect(second.info.media.received > heard + 200)
        second.hangUp(.normal)
        scene.world.loop.run(for: .seconds(1))
        #expect(bridged?.outcome == .answered)
        #expect(caller.state.isEnded)
        #expect(scene.world.finish() == [])
    }

    @Test func aLegOfABridgeIsReplaced() throws {
        let scene = try Scene(seed: 73) { call in
            if call.requestURI?.user == "agent" {
                try await call.answer()
                return try await call.loop.sleep(for: .seconds(600))
            }
            _ = try await call.bridge(BridgeRequest(targets: ["sip:agent@192.0.2.1"]))
        }
        let caller = try scene.call()
        #expect(caller.state == .answered)
        // The leg from the IVR to the agent: the agent's side of it is the second call that came in.
        let answer = try #require(scene.messages { $0.status == 200 && $0.cSeqMethod == .invite }.first)
        let second = try scene.replace(try scene.reference(answer, ivrIsCaller: true), from: "supervisor")
        #expect(second.state == .answered && caller.state == .answered)
        #expect(scene.ivrCalls.last?.state.isEnded == true)
        let heard = (second.info.media.received, caller.info.media.received)
        scene.world.loop.run(for: .seconds(5))
        #expect(second.info.media.received > heard.0 + 200 && caller.info.media.received > heard.1 + 200)
        caller.hangUp(.normal)
        scene.world.loop.run(for: .seconds(1))
        #expect(second.state.isEnded)
        #expect(scene.world.finish() == [])
    }

    @Test func whatMayNotBeReplacedIsRefusedAndGoesOn() throws {
        let scene = try Scene(seed: 74) { call in
            try call.ring()
            try await call.loop.sleep(for: .seconds(10))
            try await call.answer()
        }
        let first = try scene.call()
        let reference = try scene.reference(scene.answer(180), ivrIsCaller: false)
        #expect(try scene.replace(reference).info.sipStatus == 481, "it rings here")
        scene.world.loop.run(for: .seconds(10))
        #expect(first.state == .answered)
        #expect(try scene.replace(reference + ";early-only").info.sipStatus == 486)
        #expect(try scene.replace("no-such-call;to-tag=a;from-tag=b").info.sipStatus == 481)
        #expect(try scene.replace(reference.replacing("from-tag=", with: "from-tag=x")).info.sipStatus == 481)
        #expect(try scene.replace("only-a-call-id").info.sipStatus == 400)
        #expect(try scene.replace(reference, reference).info.sipStatus == 400)
        #expect(first.state == .answered)
        first.hangUp(.normal)
        scene.world.loop.run(for: .seconds(1))
        #expect(try scene.replace(reference).info.sipStatus == 481)
        #expect(scene.ivrCalls.count == 1)
        #expect(scene.world.finish() == [])
    }

    @Test func aCallThatWasJustLeftIsDeclined() throws {
        let scene = try Scene(seed: 75) { try await $0.answer() }
        let first = try scene.call()
        let reference = try scene.reference(scene.answer(200), ivrIsCaller: false)
        scene.ivrCalls[0].hangUp(.normal)
        #expect(try scene.replace(reference).info.sipStatus == 603)
        #expect(first.state.isEnded)
        #expect(scene.world.finish() == [])
    }

    // The newcomer's Call-ID belongs to another loop in three of four cases: its dialog lives where the call is.
    @Test(arguments: 0..<8) func theCallIsFoundOnWhicheverLoopItIs(seed: UInt64) throws {
        let scene = try Scene(seed: 170 + seed, loops: 4) { try await $0.answer() }
        _ = try scene.call()
        let second = try scene.replace(try scene.reference(scene.answer(200), ivrIsCaller: false))
        #expect(second.state == .answered && scene.ivrCalls.count == 1)
        // What belongs to the new dialog goes there too, in both directions.
        var failure: (any Error)?
        scene.world.loop.spawn {
            do {
                try await second.hold(music: nil)
                try await second.unhold()
            } catch {
                failure = error
            }
        }
        scene.world.loop.run(for: .seconds(2))
        #expect(failure == nil)
        second.hangUp(.normal)
        scene.world.loop.run(for: .seconds(1))
        #expect(scene.ivrCalls[0].state == .ended(CallEnd(by: .caller, cause: .normal)))
        #expect(try scene.replace("no-such-call;to-tag=a;from-tag=b").info.sipStatus == 481)
        #expect(scene.world.finish() == [])
    }

    @Test func routingForgetsWhatIsOver() throws {
        let routing = DialogRouting(count: 4)
        func invite(_ callID: String, replaces: String? = nil, tag: String = "") throws -> Message {
            let row = replaces.map { "Replaces: \($0);to-tag=a;from-tag=b\r\n" } ?? ""
            return try Message(
                parsing: Array("INVITE sip:x@h SIP/2.0\r\nTo: <sip:x@h>\(tag)\r\nCall-ID: \(callID)\r\n\(row)\r\n".utf8))
        }
        func own(_ callID: String) -> Int { ShardChoice.index(ofCallID: Array(callID.utf8)[...], count: 4) }
        let replaced = "first"
        let newcomer = try #require((0..<99).map { "second\($0)" }.first { own($0) != own(replaced) })
        #expect(routing.index(of: try invite(newcomer), at: .zero) == own(newcomer))
        #expect(routing.index(of: try invite(newcomer, replaces: replaced), at: .zero) == own(replaced))
        #expect(routing.index(of: try invite(newcomer, tag: ";tag=1"), at: .zero) == own(replaced))
        // A further one that replaces the newcomer finds it.
        let third = try #require((0..<99).map { "third\($0)" }.first { own($0) != own(replaced) })
        #expect(routing.index(of: try invite(third, replaces: newcomer), at: .zero) == own(replaced))
        routing.note(Array(newcomer.utf8), lives: true, at: .zero)
        routing.note(Array("unknown".utf8), lives: true, at: .zero + .seconds(40))
        #expect(routing.movedCount == 1, "nobody took the third")
        routing.note(Array(newcomer.utf8), lives: false, at: .zero + .seconds(50))
        #expect(routing.movedCount == 1, "its last messages still come")
        routing.note([], lives: false, at: .zero + .seconds(90))
        #expect(routing.movedCount == 0)
    }

    @Test func aHoldThatIsUnderWayIsAskedOfTheNewcomer() throws {
        var held = false
        let scene = try Scene(seed: 76) { call in
            try await call.answer()
            try await call.loop.sleep(for: .milliseconds(1990))
            try await call.hold(music: nil)
            held = true
            try await call.loop.sleep(for: .seconds(60))
        }
        _ = try scene.call()
        let second = try scene.replace(try scene.reference(scene.answer(200), ivrIsCaller: false))
        scene.world.loop.run(for: .seconds(5))
        #expect(held && second.state == .answered)
        second.hangUp(.normal)
        #expect(scene.world.finish() == [])
    }
}
