// What is done on single legs of a bridge over the virtual network: targets that are asked first, keys in the talk, the limit. Whoever hangs
// up when, nothing is left.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct BridgeAsideTests {
    /// A caller, a hub that bridges with `request`, and phones that answer: `fast` after a second, `slow` after three, `ring` never.
    private final class Town {
        let world: VirtualWorld
        let caller: Call
        private(set) var hub: Call?
        private(set) var phones: [String: Call] = [:]
        private(set) var ends: [String: CallEnd] = [:]
        private(set) var results: [BridgeResult] = []
        /// What tests note down.
        var notes: [String] = []

        init(seed: UInt64, answersFirst: Bool = true, request: @escaping (Town) -> BridgeRequest) throws {
            let world = VirtualWorld(seed: seed)
            self.world = world
            let engines = try ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map { try world.engine(at: $0) }
            caller = try engines[1].shard(0).place(CallRequest(target: "sip:hub@192.0.2.1"))
            engines[2].shard(0).onIncoming = { [unowned self] call in ring(call) }
            engines[0].shard(0).onIncoming = { [unowned self] call in
                hub = call
                let task = call.loop.spawn { [unowned self] in
                    do {
                        if answersFirst { try await call.answer() }
                        results.append(try await call.bridge(request(self)))
                        call.hangUp(.normal)
                    } catch {}
                }
                call.onEnd = { _ in task.cancel() }
            }
        }

        private func ring(_ call: Call) {
            let user = call.requestURI?.user ?? ""
            phones[user] = call
            call.onEnd = { [unowned self] in ends[user] = $0 }
            call.loop.spawn {
                do {
                    try call.ring()
                    guard user != "ring" else { return }
                    try await call.loop.sleep(for: user == "slow" ? .seconds(3) : .seconds(1))
                    try await call.answer()
                } catch {}
            }
        }

        func at(_ seconds: Double, _ body: @escaping () -> Void) {
            world.loop.schedule(after: .milliseconds(seconds * 1000), body)
        }

        /// A verdict that comes after a while.
        func after(_ length: Duration, _ verdict: @escaping (String) -> BridgeVerdict) -> BridgeAside {
            { [unowned self] leg async throws(CancellationError) in
                let user = String(leg.info.to.user)
                notes.append("asks \(user)")
                defer { notes.append("asked \(user)") }
                try await leg.loop.sleep(for: length)
                return verdict(user)
            }
        }

        func run(_ seconds: Int) { world.loop.run(for: .seconds(seconds)) }
    }

    private static func targets(_ users: String...) -> [String] { users.map { "sip:\($0)@192.0.2.3" } }

    @Test(arguments: [true, false]) func theCalleeIsAskedWhileTheCallerHearsRinging(answersFirst: Bool) throws {
        let town = try Town(seed: 1, answersFirst: answersFirst) { town in
            var request = BridgeRequest(targets: Self.targets("fast"))
            request.prepare = { leg async throws(CancellationError) in
                town.notes.append("caller \(town.caller.state == .answered) callee \(town.phones["fast"]?.state == .answered)")
                let playback = leg.play(PlaybackRequest([.tone(frequencies: [1000], cadence: [.seconds(2), .zero])]))
                let over = Waiter<Void>()
                playback.onEnd = { _ in over.resume(returning: ()) }
                try await over.wait()
                return .goOn
            }
            return request
        }
        var heard: [String] = []
        func listen(_ call: Call?, _ name: String, _ frequencies: [Double]) {
            let listening = call?.listen(ListenRequest(tones: [frequencies]))
            listening?.onEvent = { if case .tone = $0 { heard.append(name) } }
        }
        town.at(1.5) { listen(town.phones["fast"], "callee", [1000]) }
        if answersFirst { town.at(0.5) { listen(town.caller, "caller", [1000]) } }
        town.run(3)
        #expect(town.notes == ["caller \(answersFirst) callee true"])
        town.run(2)
        #expect(town.caller.state == .answered && town.phones["fast"]?.state == .answered)
        #expect(heard == ["callee"])
        // The two are connected now.
        _ = town.phones["fast"]?.play(PlaybackRequest([.tone(frequencies: [700], cadence: [])]))
        listen(town.caller, "talk", [700])
        town.run(2)
        #expect(heard == ["callee", "talk"])
        town.phones["fast"]?.hangUp(.normal)
        town.run(5)
        #expect(town.results.map(\.outcome) == [.answered])
        #expect(town.world.finish() == [])
    }

    @Test func othersRingOnUntilOneTakesTheCall() throws {
        let town = try Town(seed: 2) { town in
            var request = BridgeRequest(targets: Self.targets("fast", "slow", "ring"), timeout: .seconds(10))
            request.prepare = town.after(.seconds(4)) { $0 == "fast" ? .rejected : .goOn }
            return request
        }
        town.run(6)
        #expect(town.notes == ["asks fast", "asks slow", "asked fast"])
        #expect(town.ends["fast"] == CallEnd(by: .caller, cause: .normal) && town.ends["ring"] == nil)
        town.run(3)
        #expect(town.ends["ring"]?.cause == .cancelled && town.ends["ring"]?.detail.contains("elsewhere") == true)
        town.phones["slow"]?.hangUp(.normal)
        town.run(5)
        #expect(town.results.map(\.target) == Self.targets("slow"))
        #expect(town.world.finish() == [])
    }

    @Test func theTimeoutIsForTheAnswerAndNotForTheQuestion() throws {
        let town = try Town(seed: 3) { town in
            var request = BridgeRequest(targets: Self.targets("fast", "ring"), timeout: .seconds(4))
            request.prepare = town.after(.seconds(10)) { _ in .noAnswer }
            return request
        }
        town.run(6)
        #expect(town.ends["ring"]?.cause == .cancelled && town.ends["fast"] == nil)
        town.run(10)
        #expect(town.results.map(\.outcome) == [.noAnswer])
        #expect(town.world.finish() == [])
    }

    enum Leaver: CaseIterable { case caller, callee }

    @Test(arguments: Leaver.allCases) func hangingUpWhileTheCalleeIsAsked(leaver: Leaver) throws {
        let town = try Town(seed: 4) { town in
            var request = BridgeRequest(targets: Self.targets("fast", "ring"))
            request.prepare = town.after(.seconds(20)) { _ in .goOn }
            return request
        }
        town.at(3) { (leaver == .caller ? town.caller : town.phones["fast"])?.hangUp(.normal) }
        town.run(4)
        #expect(town.notes == ["asks fast", "asked fast"], "what was asked has ended with the leg")
        if leaver == .caller {
            #expect(town.ends["fast"]?.by == .caller && town.ends["ring"]?.cause == .cancelled && town.results.isEmpty)
        } else {
            #expect(town.ends["ring"] == nil, "the other rings on")
            town.run(40)
            #expect(town.results.map(\.outcome) == [.noAnswer])
        }
        #expect(town.world.finish() == [])
    }

    @Test func leavingEndsEveryLegAndNotTheCaller() throws {
        let town = try Town(seed: 5) { town in
            var request = BridgeRequest(targets: Self.targets("fast", "ring"))
            request.prepare = town.after(.seconds(2)) { _ in .leave }
            return request
        }
        town.run(8)
        #expect(town.results.map(\.outcome) == [.cancelled])
        #expect(town.ends["fast"]?.by == .caller && town.ends["ring"]?.cause == .cancelled)
        #expect(town.caller.state == .ended(CallEnd(by: .callee, cause: .normal)), "by the flow, after the bridge")
        #expect(town.world.finish() == [])
    }

    private func keysTown(
        seed: UInt64, _ onKeys: @escaping (Town, Int, any CallControl) async throws(CancellationError) -> BridgeVerdict
    ) throws -> Town {
        try Town(seed: seed) { town in
            var request = BridgeRequest(targets: Self.targets("fast"))
            request.keys = [BridgeKeys("*1".compactMap { Digit($0) }), BridgeKeys("*2".compactMap { Digit($0) }, by: .callee)]
            request.onKeys = { [unowned town] index, call async throws(CancellationError) in
                town.notes.append("\(index) by \(call === town.hub ? "caller" : "callee")")
                return try await onKeys(town, index, call)
            }
            return request
        }
    }

    private func press(_ keys: String, _ call: Call?) {
        call?.loop.spawn { try? await call?.sendDigits(keys, options: SendDigitsOptions()) }
    }

    @Test func keysOfEachSideAreFollowedAndHeardByTheOther() throws {
        let town = try keysTown(seed: 6) { _, _, _ in .goOn }
        town.at(2) { press("4**1", town.caller) }
        town.at(5) { press("*1", town.phones["fast"]) }
        town.at(7) { press("*2", town.caller) }
        town.at(9) { press("*2", town.phones["fast"]) }
        town.run(12)
        #expect(town.notes == ["0 by caller", "0 by callee", "1 by callee"])
        #expect(town.phones["fast"]?.digits.history == "4**1*2" && town.caller.digits.history == "*1*2")
        #expect(town.caller.state == .answered && town.phones["fast"]?.state == .answered)
        town.caller.hangUp(.normal)
        #expect(town.world.finish() == [])
    }

    @Test func whatAKeyBeginsReadsKeysAndEndsWithTheTalk() throws {
        let town = try keysTown(seed: 7) { town, _, call throws(CancellationError) in
            let typed = Mailbox<Digit>(loop: call.loop)
            _ = call.digits.read { if $0.phase == .began { typed.send($0.digit) } }
            defer {
                call.digits.stopReading()
                town.notes.append("over")
            }
            while let digit = try await typed.next() { town.notes.append("\(digit)") }
            return .goOn
        }
        town.at(2) { press("*189", town.caller) }
        town.at(5) { press("*1", town.phones["fast"]) }
        town.at(8) { town.phones["fast"]?.hangUp(.normal) }
        town.run(10)
        #expect(town.notes == ["0 by caller", "8", "9", "over"], "one at a time")
        #expect(town.results.map(\.outcome) == [.answered])
        #expect(town.world.finish() == [])
    }

    @Test func aKeyMayEndTheBridge() throws {
        let town = try keysTown(seed: 8) { _, _, _ in .leave }
        town.at(4) { press("*1", town.caller) }
        town.run(8)
        #expect(town.results.map(\.outcome) == [.answered] && town.results[0].isLimited == false)
        #expect(town.ends["fast"] == CallEnd(by: .caller, cause: .normal))
        #expect(town.world.finish() == [])
    }

    @Test func theLimitEndsTheTalkAndBothAreWarned() throws {
        let town = try Town(seed: 9) { _ in
            var request = BridgeRequest(targets: Self.targets("fast"))
            request.limit = .seconds(20)
            request.warning = (.seconds(5), [.tone(frequencies: [1000], cadence: [.milliseconds(500), .zero])])
            return request
        }
        var heard: [String] = []
        town.at(2) {
            for (name, call) in [("caller", town.caller), ("callee", town.phones["fast"])] {
                let listening = call?.listen(ListenRequest(tones: [[1000]]))
                listening?.onEvent = { [began = town.world.loop.now] in
                    if case .tone = $0 { heard.append("\(name) \((town.world.loop.now - began).components.seconds / 2 * 2)") }
                }
            }
        }
        town.run(18)
        #expect(heard.sorted() == ["callee 14", "caller 14"])
        #expect(town.results.isEmpty)
        town.run(6)
        #expect(town.results.map(\.isLimited) == [true] && town.results[0].connected == .seconds(20))
        #expect(town.ends["fast"] == CallEnd(by: .caller, cause: .normal))
        #expect(town.world.finish() == [])
    }

    /// The one who was called transfers the caller to a phone that rings on, or does so in the moment in which a key of his begins something
    /// that leaves the bridge.
    @Test(arguments: [true, false]) func aTransferEndsWithTheTalk(byLimit: Bool) throws {
        let town = try Town(seed: 10) { town in
            var request = BridgeRequest(targets: Self.targets("fast"), timeout: .seconds(60))
            request.mayTransfer = { _ in true }
            if byLimit {
                request.limit = .seconds(5)
            } else {
                request.keys = [BridgeKeys([Digit("1")!])]
                request.onKeys = { _, leg async throws(CancellationError) in
                    try await leg.loop.sleep(for: .seconds(3))
                    return .leave
                }
            }
            return request
        }
        var transfers: [TransferResult?] = []
        town.at(3) {
            let phone = town.phones["fast"]
            if !byLimit {
                var options = SendDigitsOptions()
                options.method = .info
                phone?.loop.spawn { [options] in try? await phone?.sendDigits("1", options: options) }
            }
            phone?.loop.spawn {
                transfers.append(try? await phone?.transfer(TransferRequest(target: "sip:ring@192.0.2.3")))
            }
        }
        town.run(5)
        #expect(town.phones["ring"]?.state.isEnded == false && town.results.isEmpty)
        town.run(10)
        #expect(town.ends["ring"]?.cause == .cancelled && town.results.map(\.isLimited) == [byLimit])
        #expect(town.caller.state.isEnded && town.phones["fast"]?.state.isEnded == true)
        #expect(transfers.map { $0?.status } == [487])
        #expect(town.world.finish() == [])
    }
}
