// Calls of ours that are redirected (RFC 3261 section 8.1.3.4): the order of contacts, loops, limits, and who may be called.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct RedirectTests {
    /// Hosts that do with a call what the user part of its Request-URI says.
    private final class Scene {
        let world: VirtualWorld
        let caller: Engine
        private(set) var visits: [String] = []
        private var sockets: [DatagramSocket] = []
        private let sent = Locked<[Message]>([])

        /// - Parameter contacts: rows of Contact that a user part answers with 302.
        init(
            seed: UInt64, limit: Int = 5, allows: @escaping @Sendable (String) -> Bool = { _ in true },
            lineLimit: Int? = nil, contacts: [String: [String]]
        ) throws {
            world = VirtualWorld(seed: seed)
            let sent = self.sent
            caller = try world.engine(
                at: "192.0.2.1",
                settings: { settings in
                    settings.redirects = .init(limit: limit, allows: allows)
                    settings.lines = [
                        LineSettings(name: "trunk", server: "192.0.2.11", username: "trunk", password: Secret("geheim"))
                    ]
                    settings.lines[0].redirects = lineLimit
                    settings.lines[0].identity = .asserted
                },
                trace: { traced in
                    guard traced.direction == .sent, let message = try? Message(parsing: traced.bytes) else { return }
                    sent.withLock { $0.append(message) }
                })
            for host in ["192.0.2.11", "192.0.2.12"] {
                let socket = try world.loop.bindDatagram(to: SocketAddress(ip: IPAddress(host)!, port: 5060))
                sockets.append(socket)
                socket.onReceive = { [unowned self, unowned socket] bytes, source in
                    guard let request = try? Message(parsing: Array(bytes)), request.method != .ack else { return }
                    answer(request, contacts, host).withUnsafeBytes { socket.send($0, to: source) }
                }
            }
        }

        private func answer(_ request: Message, _ contacts: [String: [String]], _ host: String) -> [UInt8] {
            let user = (try? request.requestURI().user) ?? ""
            var status = 200
            var (rows, body) = ("Contact: <sip:\(host)>\r\n", "")
            if request.method == .invite {
                visits.append("\(user)@\(host.suffix(2))")
                if let values = contacts[user] {
                    status = 302
                    rows = values.map { "Contact: \($0)\r\n" }.joined()
                } else if user.hasPrefix("asks") {
                    status = 401
                    rows = "WWW-Authenticate: Digest realm=\"\(host)\", nonce=\"n\", qop=\"auth\"\r\n"
                } else if user.hasPrefix("busy") || user.hasPrefix("never") {
                    status = user.hasPrefix("busy") ? 486 : 603
                } else {
                    body = "v=0\r\no=- 1 1 IN IP4 \(host)\r\ns=-\r\nc=IN IP4 \(host)\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n"
                }
            }
            var writer = MessageWriter()
            writer.response(status, to: request, tag: Array(user.utf8)[...], source: nil)
            writer.append(Array(rows.utf8))
            writer.finish(body: Array(body.utf8), type: "application/sdp")
            return writer.octets
        }

        func call(_ target: String, line: String? = nil) throws -> Call {
            let call = try caller.shard(0).place(CallRequest(target: target, line: line, from: "me"))
            world.loop.run(for: .seconds(5))
            return call
        }

        var invites: [Message] { sent.withLock { $0.filter { $0.method == .invite } } }

        /// Ends the call, and tells what is left.
        func end(_ call: Call? = nil) -> [String] {
            call?.hangUp(.normal)
            world.loop.run(for: .seconds(1))
            for socket in sockets { socket.close() }
            return world.finish()
        }
    }

    @Test func aCallGoesWhereItIsSent() throws {
        let scene = try Scene(seed: 101, contacts: ["old": ["<sip:new@192.0.2.12>"]])
        let call = try scene.call("sip:old@192.0.2.11")
        #expect(call.state == .answered && scene.visits == ["old@11", "new@12"])
        let invites = scene.invites
        #expect(invites.map(\.cSeq) == [1, 2] && Set(invites.map { text($0.callID) }).count == 1)
        #expect(Set(invites.map { $0.header("From")! }).count == 1 && Set(invites.map { $0.header("To")! }).count == 1)
        #expect(scene.end(call) == [])
    }

    @Test func theBestContactIsTriedFirstAndTheNextWhenItRefuses() throws {
        let scene = try Scene(
            seed: 102,
            contacts: ["old": ["<sip:last@192.0.2.12>;q=0.1, <sip:busy1@192.0.2.12>;q=0.7", "<sip:busy2@192.0.2.12>"]])
        let call = try scene.call("sip:old@192.0.2.11")
        #expect(call.state == .answered)
        #expect(scene.visits == ["old@11", "busy2@12", "busy1@12", "last@12"])
        #expect(scene.end(call) == [])
    }

    @Test func aLoopEndsAndTheLastRefusalCounts() throws {
        let scene = try Scene(
            seed: 103, contacts: ["a": ["<sip:b@192.0.2.12>"], "b": ["<sip:a@192.0.2.11>", "<sip:b@192.0.2.12;transport=udp>"]])
        let call = try scene.call("sip:a@192.0.2.11")
        #expect(scene.visits == ["a@11", "b@12", "b@12"])
        #expect(call.info.sipStatus == 302 && call.state.isEnded)
        #expect(scene.end() == [])
    }

    @Test func aGlobalRefusalEndsTheSearch() throws {
        let scene = try Scene(seed: 104, contacts: ["old": ["<sip:never@192.0.2.12>;q=0.9,<sip:new@192.0.2.12>;q=0.5"]])
        let call = try scene.call("sip:old@192.0.2.11")
        #expect(call.info.sipStatus == 603 && scene.visits == ["old@11", "never@12"])
        #expect(scene.end() == [])
    }

    @Test func theLimitHolds() throws {
        let chain = Dictionary(
            uniqueKeysWithValues: (0..<9).map { ("c\($0)", ["<sip:c\($0 + 1)@192.0.2.1\($0 % 2 + 1)>"]) })
        let scene = try Scene(seed: 105, limit: 3, contacts: chain)
        let call = try scene.call("sip:c0@192.0.2.11")
        #expect(scene.visits.count == 4 && call.info.sipStatus == 302)
        #expect(scene.end() == [])
        let none = try Scene(seed: 106, limit: 0, contacts: chain)
        let other = try none.call("sip:c0@192.0.2.11")
        #expect(none.visits.count == 1)
        guard case .ended(let end) = other.state else { Issue.record("it goes on"); return }
        #expect(end.detail.hasPrefix("redirected to <sip:c1@192.0.2.11>"))
        #expect(none.end() == [])
    }

    @Test func whatMayNotBeCalledIsLeftOutAndNamed() throws {
        let scene = try Scene(
            seed: 107, allows: { $0.hasSuffix("@192.0.2.12") },
            contacts: ["old": ["<sip:premium@203.0.113.9>"], "both": ["<sip:premium@203.0.113.9>,<sip:new@192.0.2.12>"]])
        let refused = try scene.call("sip:old@192.0.2.11")
        guard case .ended(let end) = refused.state else { Issue.record("it goes on"); return }
        #expect(end.detail == "redirected to <sip:premium@203.0.113.9>: sip:premium@203.0.113.9 may not be called")
        let call = try scene.call("sip:both@192.0.2.11")
        #expect(call.state == .answered && scene.visits.last == "new@12")
        #expect(scene.end(call) == [])
    }

    @Test func aLineHasItsOwnLimit() throws {
        let scene = try Scene(seed: 108, limit: 0, lineLimit: 1, contacts: ["100": ["<sip:200@192.0.2.12>"]])
        let call = try scene.call("100", line: "trunk")
        #expect(call.state == .answered && scene.visits == ["100@11", "200@12"] && call.info.line == "trunk")
        #expect(scene.end(call) == [])
    }

    /// Whoever a trunk sends calls on to could try passwords against what they got.
    @Test func credentialsOfALineAreForItsServer() throws {
        let scene = try Scene(seed: 110, contacts: ["100": ["<sip:asks@192.0.2.12>", "<sip:asks@192.0.2.11>;q=0.1"]])
        let call = try scene.call("100", line: "trunk")
        // Its own server is answered as often as it asks.
        #expect(Array(scene.visits.prefix(3)) == ["100@11", "asks@12", "asks@11"] && scene.visits.count > 3)
        #expect(call.info.sipStatus == 401)
        let foreign = scene.invites.filter { (try? $0.requestURI().host) == "192.0.2.12" }
        #expect(foreign.count == 1 && foreign.allSatisfy { !$0.has(.authorization) })
        // Nor is who calls, as its network is told.
        #expect(scene.invites.first?.header(.pAssertedIdentity) == "<sip:me@192.0.2.11>")
        #expect(foreign.allSatisfy { !$0.has(.pAssertedIdentity) })
        #expect(scene.invites.contains { $0.has(.authorization) })
        #expect(scene.end() == [])
    }

    @Test func aHostThatIsNotFoundIsPassedOver() throws {
        let scene = try Scene(
            seed: 111,
            contacts: ["old": ["<sip:a@nowhere.invalid>, <sip:new@192.0.2.12>;q=0.5"], "lost": ["<sip:a@nowhere.invalid>"]])
        let call = try scene.call("sip:old@192.0.2.11")
        #expect(call.state == .answered && scene.visits == ["old@11", "new@12"])
        let lost = try scene.call("sip:lost@192.0.2.11")
        guard case .ended(let end) = lost.state else { Issue.record("it goes on"); return }
        #expect(end.cause == .unreachable && end.detail == "nowhere.invalid was not found")
        #expect(scene.end(call) == [])
    }

    @Test func aCallThatIsGivenUpMeanwhileGoesNowhere() throws {
        let scene = try Scene(seed: 109, contacts: ["old": ["<sip:new@192.0.2.12>"]])
        let call = try scene.caller.shard(0).place(CallRequest(target: "sip:old@192.0.2.11"))
        call.hangUp(.normal)
        scene.world.loop.run(for: .seconds(5))
        #expect(!scene.visits.contains("new@12") && call.state.isEnded)
        #expect(scene.end() == [])
    }

    @Test func whoSendsOnSaysWhoWasCalled() throws {
        let world = VirtualWorld(seed: 110)
        let caller = try world.engine(at: "192.0.2.1") { $0.redirects = .init(limit: 2) }
        var seen: CallInfo?
        _ = try world.engine(at: "192.0.2.11") { call in try? call.redirect(to: ["sip:new@192.0.2.12"]) }
        _ = try world.engine(at: "192.0.2.12") { call in
            seen = call.info
            try? call.reject(status: 486, reason: nil, headers: [])
        }
        _ = try caller.shard(0).place(
            CallRequest(
                target: "sip:old@192.0.2.11", headers: [CallHeader(name: "Diversion", value: "<tel:+15550100>;reason=no-answer")])
        )
        world.loop.run(for: .seconds(2))
        let diversions = seen?.diversions.map { "\($0.party.user) \($0.reason)" }
        #expect(diversions == ["old deflection", "+15550100 no-answer"])
        #expect(world.finish() == [])
    }

    @Test func secureCallsStaySecure() throws {
        var redirections = Redirections(from: try URI("sips:a@example.com"), limit: 5)
        redirections.take(
            try Message(
                parsing: Array(
                    "SIP/2.0 302 x\r\nContact: <sip:a@other.example>, <sips:b@other.example?Subject=x>, <tel:+1>, *\r\n\r\n".utf8)
            ))
        #expect(redirections.next()?.description == "sips:b@other.example")
        #expect(redirections.next() == nil)
    }
}
