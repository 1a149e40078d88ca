// Who calls, in both directions: identity for the network (RFC 3325), privacy (RFC 3323), diversions (RFC 5806, RFC 7044), signed identity
// (RFC 8224) through a bridge, telephone numbers (RFC 3966).

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct CallerIdentityTests {
    /// A caller, an IVR that bridges every call out through its trunk, and a carrier that looks at what comes.
    private final class Scene {
        let world: VirtualWorld
        private let callers: Engine
        private(set) var atIVR: CallInfo?
        private(set) var atCarrier: CallInfo?

        init(
            seed: UInt64, trusts: Bool = true, line: @escaping (inout LineSettings) -> Void = { _ in },
            bridge: @escaping (inout BridgeRequest) -> Void = { _ in }
        ) throws {
            world = VirtualWorld(seed: seed)
            callers = try world.engine(at: "192.0.2.2")
            let ivr = try world.engine(at: "192.0.2.1") { settings in
                var trunk = LineSettings(name: "trunk", server: "192.0.2.3")
                line(&trunk)
                var access = LineSettings(name: "access", server: "192.0.2.2", from: [IPNetwork("192.0.2.2")!])
                access.isTrusted = trusts
                settings.lines = [trunk, access]
            }
            ivr.shard(0).onIncoming = { [unowned self] call in
                atIVR = call.info
                var request = BridgeRequest(targets: ["line:trunk/+15550199"])
                bridge(&request)
                call.loop.spawn {
                    _ = try? await call.bridge(request)
                    call.hangUp(.normal)
                }
            }
            _ = try world.engine(at: "192.0.2.3") { [unowned self] call in
                atCarrier = call.info
                try? call.reject(status: 486, reason: nil, headers: [])
            }
        }

        func call(_ from: String = "sip:anna@access.example", _ headers: [(String, String)] = []) throws {
            _ = try callers.shard(0).place(
                CallRequest(
                    target: "sip:100@192.0.2.1", from: from, headers: headers.map { CallHeader(name: $0.0, value: $0.1) }))
            world.loop.run(for: .seconds(2))
            #expect(world.finish() == [])
        }

        /// Values of a header at the carrier.
        func values(_ name: String) -> [String] { atCarrier?.headers.filter { $0.name == name }.map(\.value) ?? [] }
    }

    @Test func aLineAssertsWhoCalls() throws {
        let own: (inout LineSettings) -> Void = {
            $0.identity = .asserted
            $0.callerID = "+15550122"
        }
        let scene = try Scene(seed: 121, line: own)
        try scene.call("sip:anna@access.example")
        #expect(scene.values("P-Asserted-Identity") == ["<sip:+15550122@192.0.2.3>"] && scene.values("Privacy") == [])
        let kept = try Scene(seed: 120, line: own, bridge: { $0.callerID = "sip:anna@access.example" })
        try kept.call("sip:anna@access.example")
        #expect(kept.values("P-Asserted-Identity") == ["<sip:anna@access.example>"])
        let other = try Scene(seed: 122, line: { $0.identity = .preferred }, bridge: { $0.callerID = "+15550100" })
        try other.call()
        #expect(other.values("P-Preferred-Identity") == ["<sip:+15550100@192.0.2.3>"])
        #expect(other.atCarrier?.from.user == "+15550100")
    }

    @Test func aTrustedCallerIsPassedOnAndAnUntrustedOneIsNot() throws {
        let asserted = [("P-Asserted-Identity", "\"Anna\" <tel:+15550111>")]
        let scene = try Scene(seed: 123, line: { $0.identity = .asserted })
        try scene.call("sip:anna@access.example", asserted)
        #expect(scene.atIVR?.identity == CallParty(uri: "tel:+15550111", user: "+15550111", host: "", display: "Anna"))
        #expect(scene.values("P-Asserted-Identity") == ["<tel:+15550111>"])
        let stranger = try Scene(
            seed: 124, trusts: false,
            line: {
                $0.identity = .asserted
                $0.callerID = "+15550122"
            })
        try stranger.call("sip:anna@access.example", asserted)
        #expect(stranger.atIVR?.identity == nil)
        #expect(stranger.values("P-Asserted-Identity") == ["<sip:+15550122@192.0.2.3>"])
        let plain = try Scene(seed: 125)
        try plain.call("sip:anna@access.example", asserted)
        #expect(plain.values("P-Asserted-Identity") == [], "the trunk is not told")
    }

    @Test func anonymousShowsNobodyAndTellsTheNetwork() throws {
        let scene = try Scene(
            seed: 126,
            line: {
                $0.identity = .asserted
                $0.callerID = "+15550100"
            }, bridge: { $0.callerID = "anonymous" })
        try scene.call()
        #expect(scene.values("From").first?.hasPrefix("\"Anonymous\" <sip:anonymous@anonymous.invalid>;tag=") == true)
        #expect(scene.values("Privacy") == ["id"])
        #expect(scene.values("P-Asserted-Identity") == ["<sip:+15550100@192.0.2.3>"])
        let line = try Scene(seed: 127, line: { $0.callerID = "anonymous" }, bridge: { $0.callerID = "anonymous" })
        try line.call()
        #expect(line.values("Privacy") == ["id"] && line.values("P-Asserted-Identity") == [])
    }

    @Test func privacyThatTheCallerWantsIsKept() throws {
        let scene = try Scene(seed: 128, line: { $0.identity = .asserted })
        try scene.call(
            "sip:anonymous@anonymous.invalid",
            [
                ("Privacy", "id;history"), ("P-Asserted-Identity", "<sip:+15550111@access.example>"),
                ("Diversion", "<sip:boss@access.example>;reason=no-answer")
            ])
        #expect(scene.atIVR?.privacy == "id;history")
        #expect(scene.values("Privacy") == ["id;history"])
        #expect(scene.values("P-Asserted-Identity") == ["<sip:+15550111@access.example>"])
        #expect(scene.values("Diversion") == [])
    }

    // B097: both rows reach the flow, and the carrier.
    @Test func b097EveryDiversionIsReadAndPassedOn() throws {
        let rows = [
            ("Diversion", "<tel:+15550102>;reason=user-busy"),
            ("Diversion", "\"Boss\" <sip:boss@access.example>;reason=no-answer")
        ]
        let scene = try Scene(seed: 129)
        try scene.call("sip:anna@access.example", rows)
        #expect(scene.atIVR?.diversions.map(\.party.user) == ["+15550102", "boss"])
        #expect(scene.atIVR?.diversions.map(\.reason) == ["user-busy", "no-answer"])
        #expect(scene.values("Diversion") == rows.map(\.1))
        let own = try Scene(seed: 130, bridge: { $0.headers = [CallHeader(name: "diversion", value: "<sip:mine@h>")] })
        try own.call("sip:anna@access.example", rows)
        #expect(own.values("Diversion") == ["<sip:mine@h>"], "what the flow says counts more")
    }

    @Test func historyIsReadWhereThereIsNoDiversion() throws {
        let scene = try Scene(seed: 131)
        try scene.call(
            "sip:anna@access.example",
            [
                (
                    "History-Info",
                    "<sip:first@h>;index=1, <sip:second@h;cause=302>;index=1.1;mp=1, <sip:100@192.0.2.1;cause=486>;index=1.1.1;mp=1.1"
                )
            ])
        #expect(scene.atIVR?.diversions.map { "\($0.party.user) \($0.reason)" } == ["second user-busy", "first unconditional"])
        // A carrier that reads Diversion alone is told the same (RFC 7544).
        #expect(
            scene.values("Diversion") == [
                "<sip:second@h>;reason=user-busy;counter=1", "<sip:first@h>;reason=unconditional;counter=1"
            ])
        #expect(scene.values("History-Info").last == "<sip:+15550199@192.0.2.3>;index=1.1.1.1;mp=1.1.1")
    }

    @Test func aSignedIdentityIsPassedOnWhileItIsTrue() throws {
        let rows = [
            ("Identity", "e30.e30.c2ln;info=<https://cert.example/c.pem>;alg=ES256"), ("Date", "Mon, 30 Nov 2026 10:00:00 GMT")
        ]
        let same = try Scene(seed: 132, bridge: { $0.callerID = "sip:anna@access.example" })
        try same.call("sip:anna@access.example", rows)
        #expect(same.values("Identity") == [rows[0].1] && same.values("Date") == [rows[1].1])
        let other = try Scene(seed: 133, bridge: { $0.callerID = "+15550100" })
        try other.call("sip:anna@access.example", rows)
        #expect(other.values("Identity") == [] && other.values("Date") == [])
    }

    @Test func telephoneNumbersGoOutAsUsers() throws {
        for (target, expected) in [
            ("tel:+1-555-0199", "sip:+15550199@192.0.2.3;user=phone"),
            ("tel:7042;phone-context=Example.com", "sip:7042;phone-context=example.com@192.0.2.3;user=phone"),
            ("tel:+1(555)0199;isub=12;EXT=34", "sip:+15550199;isub=12;ext=34@192.0.2.3;user=phone")
        ] {
            let scene = try Scene(seed: 134, bridge: { $0.targets = ["line:trunk/\(target)"] })
            try scene.call()
            #expect(scene.atCarrier?.to.uri == expected)
            #expect(scene.atCarrier?.to.user == (target.hasPrefix("tel:7") ? "7042" : "+15550199"))
        }
        // A number needs a line, and an @ a user before it.
        for target in ["tel:+1", "sip:@192.0.2.3"] {
            #expect(throws: CallControlError.self) {
                try VirtualWorld(seed: 1).engine(at: "192.0.2.9").shard(0).place(CallRequest(target: target))
            }
        }
        #expect(try URI("tel:call-me").telephoneSubscriber == nil)
        #expect(try URI("sip:7042;phone-context=x@h").numberOrUser == "7042;phone-context=x", "no telephone number")
    }
}
