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
        #expect(scene.seen.last?.diversions == ["603 603", "486 486", "100 "])
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

    @Test func whatTheFlowSaysCountsMore() throws {
        let own = CallHeader(name: "history-info", value: "<sip:mine@h>;index=1")
        let scene = try Scene(seed: 508, flow: bridge("sip:486@192.0.2.3", headers: [own]))
        try scene.call("sip:100@192.0.2.1", [("History-Info", "<sip:boss@h>;index=1")])
        #expect(scene.rows("486@3") == ["<sip:mine@h>;index=1"])
        #expect(scene.world.finish() == [])
    }

    @Test func aDeviceHearsOfItsUser() throws {
        let town = try RegistrarTown(seed: 509)
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
