// Transfers (RFC 3515, RFC 5589) between four engines in virtual time: a caller, the IVR that bridges it to an agent, and the target.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct TransferTests {
    /// What the four did.
    private final class Scene {
        let world = VirtualWorld(seed: 51)
        var bridged: BridgeResult?
        var result: TransferResult?
        var failure: (any Error)?
        var agent: Call?
        var targets: [Call] = []
        var caller: Call?
        /// What the IVR sent.
        let sent = Locked<[Message]>([])

        init(
            mayTransfer: Bool = true, target: @escaping (Call) -> Void = { call in call.loop.spawn { try? await call.answer() } },
            agent script: @escaping (Call, Scene) async throws -> Void
        ) throws {
            let sent = self.sent
            _ = try world.engine(
                at: "192.0.2.1", settings: nil,
                trace: { traced in
                    guard traced.direction == .sent, let message = try? Message(parsing: traced.bytes) else { return }
                    sent.withLock { $0.append(message) }
                },
                onIncoming: { [unowned self] call in
                    var request = BridgeRequest(targets: ["sip:agent@192.0.2.3"], timeout: .seconds(10))
                    request.mayTransfer = { _ in mayTransfer }
                    let task = call.loop.spawn { self.bridged = try? await call.bridge(request) }
                    call.onEnd = { _ in task.cancel() }
                })
            let callers = try world.engine(at: "192.0.2.2")
            _ = try world.engine(at: "192.0.2.3") { [unowned self] call in
                agent = call
                call.loop.spawn {
                    do {
                        try await call.answer()
                        try await call.loop.sleep(for: .seconds(2))
                        try await script(call, self)
                    } catch {
                        self.failure = error
                    }
                }
            }
            _ = try world.engine(at: "192.0.2.4") { [unowned self] call in
                targets.append(call)
                target(call)
            }
            caller = try callers.shard(0).place(CallRequest(target: "sip:ivr@192.0.2.1"))
        }

        func transfer(_ call: Call, attended: Bool = false) async throws {
            result = try await call.transfer(
                TransferRequest(target: "sip:target@192.0.2.4", isAttended: attended, timeout: .seconds(10)))
            if result?.outcome == .transferred { call.hangUp(.normal) }
        }
    }

    @Test(arguments: [false, true]) func `the caller ends up with the target`(attended: Bool) throws {
        let scene = try Scene { call, scene in try await scene.transfer(call, attended: attended) }
        scene.world.loop.run(for: .seconds(12))
        #expect(scene.result == TransferResult(outcome: .transferred, status: 200))
        #expect(scene.failure == nil)
        // RFC 3515 section 2.2, RFC 6665 section 8.2.1: both have a Contact.
        let told = scene.sent.withLock { $0.filter { $0.method == .notify || ($0.status == 202 && $0.cSeqMethod == .refer) } }
        #expect(told.count >= 2 && told.allSatisfy { $0.header("Contact") == "<sip:192.0.2.1:5060>" })
        #expect(scene.agent?.state == .ended(CallEnd(by: .callee, cause: .normal)))
        #expect(scene.caller?.state == .answered)
        #expect(scene.targets.last?.state == .answered)
        // The call that the agent made to the target is over, the one in its place goes on.
        #expect(scene.targets.filter { !$0.state.isEnded }.count == 1)
        let heard = scene.targets.last?.info.media.received ?? 0
        scene.world.loop.run(for: .seconds(5))
        #expect((scene.targets.last?.info.media.received ?? 0) > heard + 200, "the caller's audio reaches the target")
        scene.caller?.hangUp(.normal)
        scene.world.loop.run(for: .seconds(1))
        #expect(scene.targets.allSatisfy { $0.state.isEnded })
        #expect(scene.world.finish() == [])
    }

    @Test(arguments: [false, true]) func `a target that is busy leaves the two as they were`(attended: Bool) throws {
        let scene = try Scene(target: { try? $0.reject(status: 486, reason: nil, headers: []) }) { call, scene in
            try await scene.transfer(call, attended: attended)
        }
        scene.world.loop.run(for: .seconds(10))
        #expect(scene.result == TransferResult(outcome: .busy, status: 486))
        #expect(scene.agent?.state == .answered)
        let heard = scene.agent?.info.media.received ?? 0
        scene.world.loop.run(for: .seconds(5))
        #expect((scene.agent?.info.media.received ?? 0) > heard + 200)
        scene.agent?.hangUp(.normal)
        scene.world.loop.run(for: .seconds(1))
        #expect(scene.bridged?.outcome == .answered)
        scene.caller?.hangUp(.normal)
        #expect(scene.world.finish() == [])
    }

    @Test(arguments: [false, true]) func `a target that does not answer is given up`(attended: Bool) throws {
        let scene = try Scene(target: { try? $0.ring() }) { call, scene in try await scene.transfer(call, attended: attended) }
        scene.world.loop.run(for: .seconds(30))
        #expect(scene.result?.outcome == .noAnswer)
        #expect(scene.agent?.state == .answered)
        #expect(scene.targets.allSatisfy { $0.state.isEnded })
        scene.caller?.hangUp(.normal)
        #expect(scene.world.finish() == [])
    }

    @Test func `a transfer to where the flow may not call is declined`() throws {
        let scene = try Scene(mayTransfer: false) { call, scene in try await scene.transfer(call) }
        scene.world.loop.run(for: .seconds(5))
        #expect(scene.result == TransferResult(outcome: .refused, status: 603))
        #expect(scene.targets.isEmpty)
        scene.caller?.hangUp(.normal)
        #expect(scene.world.finish() == [])
    }

    @Test func `an agent that leaves before the target answers leaves the caller ringing`() throws {
        let scene = try Scene(
            target: { call in
                call.loop.spawn {
                    try? call.ring()
                    try? await call.loop.sleep(for: .seconds(4))
                    try? await call.answer()
                }
            }
        ) { call, _ in
            call.loop.schedule(after: .seconds(1)) { call.hangUp(.normal) }
            _ = try await call.transfer(TransferRequest(target: "sip:target@192.0.2.4"))
        }
        scene.world.loop.run(for: .seconds(12))
        #expect(scene.agent?.state.isEnded == true)
        #expect(scene.targets.last?.state == .answered)
        #expect(scene.caller?.state == .answered)
        scene.caller?.hangUp(.normal)
        scene.world.loop.run(for: .seconds(1))
        #expect(scene.targets.allSatisfy { $0.state.isEnded })
        #expect(scene.world.finish() == [])
    }

    @Test func `the caller hangs up while the target rings: nobody is left ringing`() throws {
        let scene = try Scene(target: { try? $0.ring() }) { call, scene in try await scene.transfer(call) }
        scene.world.loop.run(for: .seconds(4))
        #expect(scene.targets.count == 1)
        scene.caller?.hangUp(.normal)
        scene.world.loop.run(for: .seconds(2))
        #expect(scene.targets.allSatisfy { $0.state.isEnded })
        #expect(scene.agent?.state.isEnded == true)
        #expect(scene.world.finish() == [])
    }

    @Test func `a transfer outside of an answered call is refused at once`() throws {
        let world = VirtualWorld(seed: 52)
        var why: (any Error)?
        _ = try world.engine(at: "192.0.2.1") { call in
            call.loop.spawn {
                do { _ = try await call.transfer(TransferRequest(target: "sip:a@192.0.2.9")) } catch { why = error }
                call.hangUp(.normal)
            }
        }
        _ = try world.engine(at: "192.0.2.2").shard(0).place(CallRequest(target: "sip:ivr@192.0.2.1"))
        world.loop.run(for: .seconds(2))
        #expect(why as? CallControlError == .wrongState(operation: "transfer", why: "the call is not answered"))
        #expect(world.finish() == [])
    }

    /// A call through a bridge to an agent of our own making, who asks for its transfer to a phone that rings or answers.
    private final class AgentsCall {
        let agent: SIPPeer
        let caller: Call
        var targets: [Call] = []
        /// Target-Dialog with the agent's tag and this one of the other end.
        var named: (_ tag: String?) -> String = { _ in "" }

        init(_ world: VirtualWorld, isAnswered: Bool) throws {
            var ivrSees: Message?
            let agent = try SIPPeer(world, "192.0.2.3")
            agent.answer = { [unowned agent] request in
                if request.method == .invite { ivrSees = request }
                return .init(status: 200, body: request.method == .invite ? agent.description : "")
            }
            self.agent = agent
            _ = try world.engine(at: "192.0.2.1") { call in
                var request = BridgeRequest(targets: ["sip:agent@192.0.2.3"], timeout: .seconds(10))
                request.mayTransfer = { _ in true }
                let task = call.loop.spawn { _ = try? await call.bridge(request) }
                call.onEnd = { _ in task.cancel() }
            }
            caller = try world.engine(at: "192.0.2.2").shard(0).place(CallRequest(target: "sip:ivr@192.0.2.1"))
            _ = try world.engine(at: "192.0.2.4") { [unowned self] call in
                targets.append(call)
                call.loop.spawn { if isAnswered { try? await call.answer() } else { try? call.ring() } }
            }
            world.loop.run(for: .seconds(2))
            #expect(caller.state == .answered)
            let invite = try #require(ivrSees)
            let callID = String(decoding: invite.callID, as: UTF8.self)
            let own = String(decoding: try #require(try invite.from().tag), as: UTF8.self)
            named = { "Target-Dialog: \(callID);local-tag=raw;remote-tag=\($0 ?? own)\r\n" }
        }

        func refer(_ rows: String = "") -> Message? { agent.request("REFER", "Refer-To: <sip:target@192.0.2.4>\r\n\(rows)") }
        var notes: [Message] { agent.requests.filter { $0.method == .notify } }
    }

    // RFC 4538: the agent's REFER comes outside of its call and names it.
    @Test(arguments: [true, false]) func `a REFER outside of the call transfers when it names it`(isAnswered: Bool) throws {
        let world = VirtualWorld(seed: 53)
        let scene = try AgentsCall(world, isAnswered: isAnswered)
        #expect(scene.refer()?.status == 603, "nobody's call")
        #expect(scene.refer(scene.named(nil).replacing(/;remote-tag=.*\r\n/, with: "\r\n"))?.status == 400)
        #expect(scene.refer(scene.named(nil).replacing("local-tag=raw", with: "local-tag=x"))?.status == 481)
        #expect(scene.refer(scene.named("x"))?.status == 481)
        let accepted = scene.refer(scene.named(nil))
        #expect(accepted?.status == 202)
        world.loop.run(for: .seconds(2))
        #expect(scene.targets.count == 1)
        // How it goes is told in the dialog that the REFER made, not in the call's.
        #expect(accepted?.has(.contact) == true && scene.notes.allSatisfy { $0.has(.contact) })
        #expect(!scene.notes.isEmpty && scene.notes.allSatisfy { $0.callID.elementsEqual(accepted?.callID ?? []) })
        if isAnswered {
            #expect(scene.notes.last?.body.starts(with: Array("SIP/2.0 200".utf8)) == true)
            #expect(scene.targets[0].state == .answered && scene.caller.state == .answered)
        }
        scene.caller.hangUp(.normal)
        world.loop.run(for: .seconds(3))
        #expect(scene.notes.last?.header("Subscription-State")?.hasPrefix("terminated") == true)
        #expect(scene.targets.allSatisfy { $0.state.isEnded })
        scene.agent.close()
        #expect(world.finish() == [])
    }

    // RFC 6665 sections 4.1.2.3 and 4.2.2: it has unsubscribed, or does not know the subscription.
    @Test(arguments: [true, false]) func `who wants to hear no more of a transfer does not`(unsubscribes: Bool) throws {
        let world = VirtualWorld(seed: 54)
        let scene = try AgentsCall(world, isAnswered: false)
        if !unsubscribes { scene.agent.answer = { _ in .init(status: 481) } }
        let accepted = try #require(scene.refer(scene.named(nil)))
        world.loop.run(for: .seconds(2))
        if unsubscribes {
            let answer = scene.agent.request("SUBSCRIBE", "Event: refer\r\nExpires: 0\r\n", within: accepted)
            #expect(answer?.status == 200 && answer?.header("Expires") == "0")
        }
        let told = scene.notes.count
        #expect(told >= 1 && scene.targets.first?.state.isEnded == false)
        scene.agent.answer = { _ in .init(status: 200) }
        scene.caller.hangUp(.normal)
        world.loop.run(for: .seconds(3))
        #expect(scene.notes.count == told)
        scene.agent.close()
        #expect(world.finish() == [])
    }
}
