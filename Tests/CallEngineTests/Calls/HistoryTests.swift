// Where a call has been (History-Info, RFC 7044), as those hear of it to whom it goes on: bridged, redirected, and found by the registrar.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct HistoryTests {
    /// A caller, an IVR that does something with its call, and phones at .3 and .4 that refuse with the status their number says, or are redirected.
    private final class Scene {
        let world: VirtualWorld
        let ivr: Engine
        private let caller: Engine
        /// The rows that phones saw, by their user and address; and what their flows read.
        private(set) var seen: [(who: String, rows: [String], diversions: [String])] = []
        private(set) var redirection: Message?

        init(
            seed: UInt64, line: @escaping (inout LineSettings) -> Void = { _ in }, redirects: Int = 3,
            flow: @escaping (Call) async throws -> Void
        ) throws {
            world = VirtualWorld(seed: seed)
            caller = try world.engine(at: "192.0.2.2") { $0.redirects.limit = redirects }
            ivr = try world.engine(at: "192.0.2.1") { settings in
                var trunk = LineSettings(name: "trunk", server: "192.0.2.3")
                line(&trunk)
                settings.lines = [trunk]
                settings.redirects.limit = 3
            }
            ivr.shard(0).onIncoming = { call in
                call.loop.spawn {
                    try? await flow(call)
                    call.hangUp(HangUpReason(status: 480))
                }
            }
            for ip in ["192.0.2.3", "192.0.2.4"] {
                _ = try world.engine(at: ip) { [unowned self] call in
                    let info = call.info
                    seen.append(
                        (
                            "\(info.to.user)@\(ip.last!)", info.headers.filter { $0.name == "History-Info" }.map(\.value),
                            info.diversions.map { "\($0.party.user) \($0.reason)" }
                        ))
                    if info.to.user == "moved" { return (try? call.redirect(to: ["sip:486@192.0.2.4;transport=udp"])) ?? () }
                    try? call.reject(status: Int(info.to.user) ?? 486, reason: nil, headers: [])
                }
            }
        }

        @discardableResult
        func call(_ uri: String = "sip:100@192.0.2.1;transport=udp", _ headers: [(String, String)] = []) throws -> Call {
            let call = try caller.shard(0).place(
                CallRequest(target: uri, headers: headers.map { CallHeader(name: $0.0, value: $0.1) }))
            world.loop.run(for: .seconds(20))
            return call
        }

        func rows(_ who: String) -> [String]? { seen.last { $0.who == who }?.rows }
    }

    private func bridge(_ targets: String..., order: BridgeRequest.Order = .sequence, headers: [CallHeader] = []) -> (Call)
        async throws -> Void
    {
        { _ = try await $0.bridge(BridgeRequest(targets: targets, order: order, timeout: .seconds(2), headers: headers)) }
    }

    @Test func legsThatDidNotAnswerAreToldToTheNext() throws {
        let scene = try Scene(seed: 501, flow: bridge("sip:486@192.0.2.3;transport=udp", "line:trunk/603", "sip:480@192.0.2.4"))
        try scene.call()
        #expect(scene.rows("486@3") == ["<sip:100@192.0.2.1>;index=1", "<sip:486@192.0.2.3>;index=1.1;mp=1"])
        #expect(
            scene.rows("603@3") == [
                "<sip:100@192.0.2.1>;index=1", "<sip:486@192.0.2.3?Reason=SIP%3Bcause%3D486>;index=1.1;mp=1",
                "<sip:603@192.0.2.3>;index=1.2;mp=1"
            ])
        #expect(scene.rows("480@4")?.count == 4 && scene.rows("480@4")?.last == "<sip:480@192.0.2.4>;index=1.3;mp=1")
        #expect(scene.seen.last?.diversions == ["603 603", "486 user-busy", "100 "])
        #expect(scene.world.finish() == [])
    }

    @Test func legsAtTheSameTimeDoNotKnowOfEachOther() throws {
        let scene = try Scene(seed: 502, flow: bridge("sip:486@192.0.2.3", "sip:486@192.0.2.4", order: .all))
        try scene.call("sip:100@192.0.2.1", [("History-Info", "<sip:boss@h>;index=1, <sip:100@192.0.2.1;cause=302>;index=1.2")])
        for (number, ip) in [(1, 3), (2, 4)] {
            #expect(
                scene.rows("486@\(ip)") == [
                    "<sip:boss@h>;index=1", "<sip:100@192.0.2.1;cause=302>;index=1.2",
                    "<sip:486@192.0.2.\(ip)>;index=1.2.\(number);mp=1.2"
                ])
        }
        #expect(scene.world.finish() == [])
    }

    @Test func aLegThatIsRedirectedTellsIt() throws {
        let scene = try Scene(seed: 503, flow: bridge("sip:moved@192.0.2.3", "sip:480@192.0.2.4"))
        try scene.call()
        #expect(
            scene.rows("486@4") == [
                "<sip:100@192.0.2.1>;index=1", "<sip:moved@192.0.2.3?Reason=SIP%3Bcause%3D302>;index=1.1;mp=1",
                "<sip:486@192.0.2.4>;index=1.2;mp=1.1"
            ])
        #expect(
            scene.rows("480@4") == [
                "<sip:100@192.0.2.1>;index=1", "<sip:moved@192.0.2.3?Reason=SIP%3Bcause%3D302>;index=1.1;mp=1",
                "<sip:486@192.0.2.4?Reason=SIP%3Bcause%3D486>;index=1.2;mp=1.1", "<sip:480@192.0.2.4>;index=1.3;mp=1"
            ])
        #expect(scene.world.finish() == [])
    }

    @Test func aCallerThatIsRedirectedTellsIt() throws {
        let scene = try Scene(seed: 504) { try $0.redirect(to: ["sip:486@192.0.2.3;transport=udp"]) }
        try scene.call()
        #expect(
            scene.rows("486@3") == [
                "<sip:100@192.0.2.1?Reason=SIP%3Bcause%3D302>;index=1", "<sip:486@192.0.2.3>;index=2;mp=1"
            ])
        // The answer has what came with the call, and this end.
        let plain = try Scene(seed: 505, redirects: 0) { try $0.redirect(to: ["sip:486@192.0.2.3"]) }
        let call = try plain.call("sip:100@192.0.2.1", [("History-Info", "<sip:boss@h?Privacy=history>;index=1")])
        #expect(
            call.info.headers.filter { $0.name == "History-Info" }.map(\.value) == [
                "<sip:anonymous@anonymous.invalid>;index=1", "<sip:100@192.0.2.1>;index=1.0"
            ])
        #expect(scene.world.finish() == [] && plain.world.finish() == [])
    }

    @Test func whoWantsToStayPrivateDoes() throws {
        for privacy in ["history", "id;header", "session"] {
            let scene = try Scene(seed: 506, flow: bridge("sip:moved@192.0.2.3"))
            try scene.call("sip:100@192.0.2.1", [("Privacy", privacy), ("History-Info", "<sip:boss@h>;index=1")])
            #expect(scene.seen.count == 2 && scene.seen.allSatisfy { $0.rows.isEmpty })
            #expect(scene.world.finish() == [])
        }
        // One entry is private: a network that believes this end keeps it, others do not hear of it.
        for (kind, first) in [
            (nil, "<sip:anonymous@anonymous.invalid>;index=1"), (.asserted, "<sip:boss@h?Privacy=history>;index=1")
        ]
            as [(LineSettings.Identity?, String)]
        {
            let scene = try Scene(seed: 507, line: { $0.identity = kind }, flow: bridge("line:trunk/486"))
            try scene.call("sip:100@192.0.2.1", [("History-Info", "<sip:boss@h?Privacy=history>;index=1")])
            #expect(
                scene.rows("486@3") == [first, "<sip:100@192.0.2.1>;index=1.0", "<sip:486@192.0.2.3>;index=1.0.1;mp=1.0"])
            #expect(scene.world.finish() == [])
        }
    }

    @Test func diversionsAloneBecomeEntries() throws {
        let rows = [("Diversion", "<sip:100@h>;reason=no-answer"), ("Diversion", "<sip:boss@h>;reason=user-busy;privacy=full")]
        for (kind, first) in [
            (nil, "<sip:anonymous@anonymous.invalid>;index=1"), (.asserted, "<sip:boss@h?Privacy=history>;index=1")
        ] as [(LineSettings.Identity?, String)] {
            let scene = try Scene(seed: 509, line: { $0.identity = kind }, flow: bridge("line:trunk/486"))
            try scene.call("sip:100@192.0.2.1", rows)
            #expect(
                scene.rows("486@3") == [
                    first, "<sip:100@h;cause=486>;index=1.1;mp=1", "<sip:100@192.0.2.1;cause=408>;index=1.1.1;mp=1.1",
                    "<sip:486@192.0.2.3>;index=1.1.1.1;mp=1.1.1"
                ])
            #expect(scene.seen.last?.diversions == ["100 no-answer", "boss user-busy"])
            #expect(scene.world.finish() == [])
        }
        // Sent back, it says the same.
        let scene = try Scene(seed: 510, redirects: 0) { try $0.redirect(to: ["sip:486@192.0.2.3"]) }
        let call = try scene.call("sip:100@192.0.2.1", [rows[0]])
        #expect(
            call.info.headers.filter { $0.name == "History-Info" }.map(\.value) == [
                "<sip:100@h>;index=1", "<sip:100@192.0.2.1;cause=408>;index=1.1;mp=1"
            ])
        #expect(call.info.diversions.map { "\($0.party.user) \($0.reason)" } == ["100 deflection", "100 no-answer"])
        #expect(scene.world.finish() == [])
    }

    // RFC 7044: who asks (histinfo) is told where the request has been.
    @Test func whoAsksIsToldInTheAnswers() throws {
        let world = VirtualWorld(seed: 511)
        _ = try world.engine(at: "192.0.2.1") { call in
            call.loop.spawn {
                try? call.ring()
                switch call.info.to.user {
                case "no": try? call.reject(status: 486, reason: nil, headers: [])
                case "on": try? call.redirect(to: ["sip:next@192.0.2.3"])
                default: try? await call.answer()
                }
            }
        }
        let peer = try SIPPeer(world, "192.0.2.2")
        func answers(_ user: String, _ rows: String) throws -> [[String]] {
            let known = peer.responses.count
            let answer = try #require(
                peer.request(
                    "INVITE", rows + "Content-Type: application/sdp\r\n", body: peer.description, uri: "sip:\(user)@192.0.2.1"))
            // What is repeated until its ACK counts once.
            var statuses: Set<Int> = [100]
            let told = peer.responses[known...].filter { $0.cSeq == answer.cSeq && statuses.insert($0.status).inserted }.map {
                $0.headers("History-Info")
            }
            if answer.status == 200 {
                peer.acknowledge(answer)
                _ = peer.request("BYE", within: answer)
            }
            return told
        }
        let asks = "Supported: timer, histinfo\r\n"
        let history =
            "History-Info: <sip:boss@h?Privacy=history>;index=1\r\n"
            + "History-Info: <sip:yes@192.0.2.1;cause=302>;index=1.1;mp=1\r\n"
        let told = ["<sip:anonymous@anonymous.invalid>;index=1", "<sip:yes@192.0.2.1;cause=302>;index=1.1;mp=1"]
        #expect(try answers("yes", asks + history) == [told, told])
        let refused = try answers("no", asks + history)
        #expect(refused == [refused[0], refused[0]] && refused[0].count == 3)
        #expect(try answers("on", asks + history).last?.count == 3, "once")
        #expect(try answers("yes", history) == [[], []], "nobody asks")
        #expect(try answers("yes", asks) == [[], []], "there is none")
        #expect(try answers("yes", asks + history + "Privacy: session\r\n") == [[], []])
        #expect(peer.request("OPTIONS", "Require: histinfo, norefersub\r\n")?.status == 200)
        #expect(peer.request("OPTIONS")?.lists(.supported, "histinfo") == true)
        peer.close()
        #expect(world.finish() == [])
    }

    // A line that is to say so tells whom a call of ours is for from its beginning, and asks to be told where it went.
    @Test func aCallThatBeginsHereTellsItWhereItIsWanted() throws {
        let world = VirtualWorld(seed: 512)
        let engine = try world.engine(at: "192.0.2.1") { settings in
            for name in ["plain", "telling"] { settings.lines.append(LineSettings(name: name, server: "192.0.2.2")) }
            settings.lines[1].tellsHistory = true
        }
        let peer = try SIPPeer(world, "192.0.2.2") { _ in
            SIPPeer.Answer(
                status: 486,
                rows: "History-Info: <sip:100@192.0.2.2>;index=1, <sip:200@192.0.2.2;cause=302>;index=1.1;mp=1\r\n")
        }
        var calls: [Call] = []
        for (line, privacy) in [("plain", ""), ("telling", ""), ("telling", "id;history")] {
            var request = CallRequest(target: "100", line: line)
            request.privacy = privacy
            calls.append(try engine.shard(0).place(request))
            world.loop.run(for: .seconds(1))
        }
        let invites = peer.requests.filter { $0.method == .invite }
        #expect(invites.map { $0.headers("History-Info") } == [[], ["<sip:100@192.0.2.2>;index=1"], []])
        #expect(invites.map { $0.lists(.supported, "histinfo") } == [false, true, true])
        #expect(calls.allSatisfy { $0.info.diversions.map { "\($0.party.user) \($0.reason)" } == ["100 unconditional"] })
        peer.close()
        #expect(world.finish() == [])
    }

    @Test func whatTheFlowSaysCountsMore() throws {
        let own = CallHeader(name: "history-info", value: "<sip:mine@h>;index=1")
        let scene = try Scene(seed: 508, flow: bridge("sip:486@192.0.2.3", headers: [own]))
        try scene.call("sip:100@192.0.2.1", [("History-Info", "<sip:boss@h>;index=1")])
        #expect(scene.rows("486@3") == ["<sip:mine@h>;index=1"])
        #expect(scene.world.finish() == [])
    }

    @Test func aDeviceHearsOfItsUser() throws {
        let town = try RegistrarTown(seed: 513)
        try town.phone("192.0.2.11")
        town.world.loop.run(for: .seconds(2))
        var (rows, diversions): ([String], [String]) = ([], [])
        town.phones["192.0.2.11"]?.shard(0).onIncoming = { call in
            rows = call.info.headers.filter { $0.name == "History-Info" }.map(\.value)
            diversions = call.info.diversions.map(\.party.user)
            call.hangUp(HangUpReason(status: 486))
        }
        _ = try town.call(["user:anna"])
        town.world.loop.run(for: .seconds(3))
        #expect(
            rows == [
                "<sip:hub@192.0.2.1>;index=1", "<sip:anna@example.com>;index=1.1;mp=1",
                "<sip:anna@192.0.2.11:5060>;index=1.1.1;rc=1.1"
            ])
        #expect(diversions == ["hub"], "she herself has sent nothing on")
        // A registered line tells its address of record, not the mark in its contact.
        var told: [String] = []
        town.phones["192.0.2.11"]?.shard(0).onIncoming = { call in
            call.loop.spawn { _ = try? await call.bridge(BridgeRequest(targets: ["sip:next@192.0.2.77"])) }
        }
        let next = try SIPPeer(town.world, "192.0.2.77") { request in
            told = request.headers("History-Info")
            return SIPPeer.Answer(status: 486)
        }
        _ = try town.call(["user:anna"])
        town.world.loop.run(for: .seconds(3))
        #expect(told.last == "<sip:next@192.0.2.77>;index=1.1.1.1;mp=1.1.1" && !told.contains { $0.contains("line=") }, "\(told)")
        town.phones["192.0.2.11"]?.shard(0).onIncoming = { call in try? call.redirect(to: ["sip:next@192.0.2.77"]) }
        _ = try town.call(["user:anna"])
        town.world.loop.run(for: .seconds(3))
        #expect(next.requests.last { $0.method == .invite }?.headers("Diversion") == ["<sip:anna@example.com>;reason=deflection"])
        #expect(told.last == "<sip:next@192.0.2.77>;index=1.1.2;mp=1.1.1", "\(told)")
        next.close()
        #expect(town.finish() == [])
    }
}
