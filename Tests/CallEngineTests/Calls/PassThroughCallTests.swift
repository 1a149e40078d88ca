// Calls that speak G.729 and those they are connected with: what is offered, and what becomes of legs that cannot hear each other.

import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct PassThroughCallTests {
    /// A caller, a hub that connects it, and a phone that answers; each with its codecs.
    private final class Town {
        let world: VirtualWorld
        let caller: Call
        private(set) var results: [BridgeResult] = []
        private(set) var phone: Call?

        init(
            seed: UInt64, caller mine: [String], hub: [String], phone theirs: [String], answersFirst: Bool = true,
            target: String = "sip:phone@192.0.2.3", lines: [LineSettings] = []
        ) throws {
            world = VirtualWorld(seed: seed)
            let center = try world.engine(at: "192.0.2.1", settings: { ($0.codecs, $0.lines) = (hub, lines) })
            let callers = try world.engine(at: "192.0.2.2", settings: { $0.codecs = mine })
            let phones = try world.engine(at: "192.0.2.3", settings: { $0.codecs = theirs })
            caller = try callers.shard(0).place(CallRequest(target: "sip:hub@192.0.2.1"))
            phones.shard(0).onIncoming = { [unowned self] call in
                phone = call
                call.loop.spawn { try? await call.answer() }
            }
            center.shard(0).onIncoming = { [unowned self] call in
                let task = call.loop.spawn { [unowned self] in
                    do {
                        if answersFirst { try await call.answer() }
                        results.append(try await call.bridge(BridgeRequest(targets: [target])))
                        call.hangUp(.normal)
                    } catch {}
                }
                call.onEnd = { _ in task.cancel() }
            }
        }
    }

    @Test func equalsAreConnected() throws {
        let town = try Town(seed: 1, caller: ["g729"], hub: ["pcmu", "g729"], phone: ["pcmu", "g729"])
        town.world.loop.run(for: .seconds(10))
        let phone = try #require(town.phone)
        #expect(town.caller.info.codec == "G729/8000" && phone.info.codec == "G729/8000")
        #expect(town.results.isEmpty)
        phone.hangUp(.normal)
        town.world.loop.run(for: .seconds(5))
        #expect(town.results.map(\.outcome) == [.answered])
        #expect(town.world.finish() == [])
    }

    @Test func whatCouldNotBeHeardIsNotOffered() throws {
        // The phone would take G.729 first, and the caller speaks something else.
        let town = try Town(seed: 2, caller: ["pcmu"], hub: ["pcmu", "g729"], phone: ["g729", "pcmu"])
        town.world.loop.run(for: .seconds(5))
        #expect(town.phone?.info.codec == "PCMU/8000")
        town.caller.hangUp(.normal)
        #expect(town.world.finish() == [])
        let other = try Town(seed: 3, caller: ["g729"], hub: ["pcmu", "g729"], phone: ["pcmu"])
        other.world.loop.run(for: .seconds(5))
        #expect(other.results.map(\.outcome) == [.rejected] && other.results.first?.status == 488)
        #expect(other.world.finish() == [])
    }

    @Test func anAnswerThatFitsNothingEndsTheLeg() throws {
        // A caller without an offer: what it speaks is known after the phone has answered.
        let world = VirtualWorld(seed: 4)
        let hub = try world.engine(at: "192.0.2.1", settings: { $0.codecs = ["g729", "pcmu"] })
        let phones = try world.engine(at: "192.0.2.3", settings: { $0.codecs = ["g729"] })
        var result: BridgeResult?
        var phone: Call?
        phones.shard(0).onIncoming = { call in
            phone = call
            call.loop.spawn { try? await call.answer() }
        }
        hub.shard(0).onIncoming = { call in
            call.loop.spawn {
                result = try? await call.bridge(BridgeRequest(targets: ["sip:phone@192.0.2.3"]))
                call.hangUp(.normal)
            }
        }
        let peer = try SIPPeer(world, "192.0.2.9")
        let answer = try #require(peer.request("INVITE"))
        #expect(answer.status == 200 && phone?.state == .answered)
        peer.acknowledge(answer, body: peer.description)
        world.loop.run(for: .seconds(5))
        let found = try #require(result)
        #expect(found.outcome == .unreachable && found.status == 488)
        #expect(found.detail == "PCMU and G729 cannot be made of each other")
        #expect(phone?.state.isEnded == true && peer.count(.bye) == 1)
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func whereNothingIsLeftToOfferTheReasonIsTold() throws {
        var line = LineSettings(name: "desk", server: "192.0.2.3")
        line.codecs = ["pcmu"]
        let town = try Town(
            seed: 6, caller: ["g729"], hub: ["g729", "pcmu"], phone: ["pcmu"], target: "line:desk/phone", lines: [line])
        town.world.loop.run(for: .seconds(5))
        let result = try #require(town.results.first)
        #expect(result.outcome == .unreachable && result.status == 0 && result.detail == "no audio codec in common")
        #expect(town.world.finish() == [])
    }

    @Test func aCallerThatIsNotAnsweredYetCounts() throws {
        let town = try Town(seed: 5, caller: ["pcmu"], hub: ["g729", "pcmu"], phone: ["g729"], answersFirst: false)
        town.world.loop.run(for: .seconds(10))
        #expect(town.results.first?.outcome == .rejected && town.results.first?.status == 488 && town.phone == nil)
        #expect(town.world.finish() == [])
    }
}
