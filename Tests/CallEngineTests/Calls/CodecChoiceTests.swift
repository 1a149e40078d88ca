// Which codecs a call has: those of its line, or those that its flow wants of them, when it comes in, goes out, and is bridged.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct CodecChoiceTests {
    /// A caller with all codecs of the engine and an engine that answers as `flow` says; the caller's codec and end.
    private func call(
        offering codecs: [String]? = nil, callee: [String] = ["pcmu", "pcma", "g722", "opus"], seed: UInt64 = 1,
        _ flow: @escaping (Call) async throws -> Void
    ) throws -> (codec: String, status: Int, heard: Bool) {
        let world = VirtualWorld(seed: seed)
        let callee = try world.engine(at: "192.0.2.1", settings: { $0.codecs = callee })
        let caller = try world.engine(at: "192.0.2.2")
        callee.shard(0).onIncoming = { call in
            call.loop.spawn {
                do {
                    try await flow(call)
                } catch {
                    call.hangUp(HangUpReason(status: 488))
                }
            }
        }
        var request = CallRequest(target: "sip:hub@192.0.2.1")
        request.codecs = codecs
        let call = try caller.shard(0).place(request)
        world.loop.run(for: .seconds(5))
        let seen = (call.info.codec, call.info.sipStatus, call.info.media.received > 100)
        call.hangUp(.normal)
        #expect(world.finish() == [])
        return seen
    }

    @Test(arguments: [
        (["opus"], "opus/48000/2"), (["g722", "pcmu"], "PCMU/8000"), (["pcma", "g722"], "PCMA/8000"), (["l16"], "")
    ])
    func aCallThatCameInHasWhatItsFlowWants(wanted: [String], codec: String) throws {
        let seen = try call { call in
            try call.choose(codecs: wanted)
            try call.ring()
            try await call.answer()
        }
        #expect(seen.codec == codec && seen.status == (codec.isEmpty ? 488 : 200) && seen.heard != codec.isEmpty)
    }

    @Test func itIsChosenAgainWhileNothingWasAnswered() throws {
        let seen = try call { call in
            try call.ring()
            try call.choose(codecs: ["opus"])
            try call.choose(codecs: ["g722"])
            try call.progress()
            #expect(throws: CallControlError.self) { try call.choose(codecs: ["pcmu"]) }
            try await call.answer()
            #expect(throws: CallControlError.self) { try call.choose(codecs: ["pcmu"]) }
        }
        #expect(seen.codec == "G722/8000" && seen.heard)
    }

    @Test(arguments: [(["opus", "pcma"], "opus/48000/2"), (["g722"], "G722/8000"), (["l16"], "")])
    func aCallThatGoesOutOffersThem(wanted: [String], codec: String) throws {
        let seen = try call(offering: wanted) { try await $0.answer() }
        #expect(seen.codec == codec && seen.status == (codec.isEmpty ? 488 : 200))
    }

    @Test func aLineWithCodecsOfItsOwnHasNoOthers() throws {
        let world = VirtualWorld(seed: 3)
        let phones = try world.engine(at: "192.0.2.1") { call in
            call.loop.spawn { try? await call.answer() }
        }
        _ = phones
        let line = LineSettings(name: "trunk", server: "192.0.2.1", codecs: ["pcma", "g722"])
        let caller = try world.engine(at: "192.0.2.2", settings: { $0.lines = [line] })
        var codecs: [String] = []
        for wanted in [["opus", "g722"], ["pcma"], ["opus"], nil] {
            var request = CallRequest(target: "100", line: "trunk")
            request.codecs = wanted
            let call = try caller.shard(0).place(request)
            world.loop.run(for: .seconds(2))
            codecs.append(call.info.codec.isEmpty ? "\(call.state.isEnded)" : call.info.codec)
            call.hangUp(.normal)
        }
        #expect(codecs == ["G722/8000", "PCMA/8000", "true", "PCMA/8000"])
        #expect(world.finish() == [])
    }

    @Test func theLegsOfABridgeAreOfferedThem() throws {
        let world = VirtualWorld(seed: 4)
        let hub = try world.engine(at: "192.0.2.1")
        let caller = try world.engine(at: "192.0.2.2", settings: { $0.codecs = ["pcmu"] })
        let phone = try world.engine(at: "192.0.2.3")
        var leg: Call?
        phone.shard(0).onIncoming = { call in
            leg = call
            call.loop.spawn { try? await call.answer() }
        }
        hub.shard(0).onIncoming = { call in
            var request = BridgeRequest(targets: ["sip:phone@192.0.2.3"])
            request.codecs = ["opus"]
            let task = call.loop.spawn {
                try? await call.answer()
                _ = try? await call.bridge(request)
            }
            call.onEnd = { _ in task.cancel() }
        }
        let call = try caller.shard(0).place(CallRequest(target: "sip:hub@192.0.2.1"))
        world.loop.run(for: .seconds(4))
        #expect(call.info.codec == "PCMU/8000" && leg?.info.codec == "opus/48000/2")
        call.hangUp(.normal)
        #expect(world.finish() == [])
    }
}
