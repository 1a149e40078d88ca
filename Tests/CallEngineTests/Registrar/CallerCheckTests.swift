// Digest of calls that come in: users of the registrar, and lines that are known by their credentials.

import Basics
import CallEngine
import Reactor
import SIP
import TestKit
import Testing

@Suite struct CallerCheckTests {
    /// A server with a registrar (anna) and, where it is wanted, a trunk that is known by digest; and what came to it.
    private final class Scene {
        let world: VirtualWorld
        let server: Engine
        private(set) var calls: [CallInfo] = []

        init(seed: UInt64, digestLine: Bool = false, integrity: Bool = false) throws {
            world = VirtualWorld(seed: seed)
            server = try world.engine(at: "192.0.2.1") { settings in
                settings.registrar = RegistrarTown.settings()
                settings.registrar?.offersIntegrity = integrity
                settings.lines = [LineSettings(name: "pbx", server: "192.0.2.9", from: [IPNetwork("192.0.2.9")!])]
                guard digestLine else { return }
                var line = LineSettings(name: "roaming", server: "192.0.2.8", username: "trunk", password: Secret("trunk-secret"))
                line.isKnownByDigest = true
                settings.lines.append(line)
            }
            server.shard(0).onIncoming = { [unowned self] call in
                calls.append(call.info)
                try? call.reject(status: 486, reason: nil, headers: [])
            }
        }

        /// A call from `ip` with these credentials; its final status.
        func call(_ ip: String, from: String, user: String? = nil, password: String = "geheim") throws -> Int {
            let caller = try world.engine(at: ip) { settings in
                var line = LineSettings(name: "out", server: "192.0.2.1")
                line.username = user
                line.password = user.map { _ in Secret(password) }
                settings.lines = [line]
            }
            let call = try caller.shard(0).place(CallRequest(target: "sip:100@192.0.2.1", line: "out", from: from))
            world.loop.run(for: .seconds(2))
            return call.info.sipStatus
        }
    }

    @Test func aUserOfTheRegistrarHasToProveIt() throws {
        let scene = try Scene(seed: 81)
        #expect(try scene.call("192.0.2.21", from: "sip:anna@example.com", user: "anna") == 486)
        #expect(try scene.call("192.0.2.22", from: "sip:anna@example.com") == 401)
        #expect(try scene.call("192.0.2.23", from: "sip:anna@EXAMPLE.com", user: "anna", password: "falsch") == 403)
        #expect(try scene.call("192.0.2.24", from: "sip:nobody@example.com") == 401, "who exists is not told")
        #expect(try scene.call("192.0.2.25", from: "sip:hall@example.com", user: "anna") == 403, "nobody calls as another")
        #expect(
            try scene.call("192.0.2.26", from: "sip:anna@192.0.2.1", user: "anna") == 486, "a phone whose domain is our address")
        #expect(scene.calls.map(\.user) == ["anna", "anna"])
        #expect(scene.world.finish() == [])
    }

    @Test func othersAreNotAsked() throws {
        let scene = try Scene(seed: 82)
        #expect(try scene.call("192.0.2.31", from: "sip:eve@elsewhere.example") == 486)
        #expect(try scene.call("192.0.2.9", from: "sip:anna@example.com") == 486, "the PBX is known by its address")
        #expect(scene.calls.map(\.user) == ["", ""] && scene.calls.map(\.line) == ["", "pbx"])
        #expect(scene.world.finish() == [])
    }

    @Test func aLineIsKnownByItsCredentials() throws {
        let scene = try Scene(seed: 83, digestLine: true)
        #expect(
            try scene.call("192.0.2.41", from: "sip:+15550100@carrier.example", user: "trunk", password: "trunk-secret") == 486)
        #expect(try scene.call("192.0.2.42", from: "sip:+15550100@carrier.example") == 401, "now everybody is asked")
        #expect(try scene.call("192.0.2.43", from: "sip:+1@carrier.example", user: "trunk", password: "wrong") == 403)
        #expect(try scene.call("192.0.2.44", from: "sip:anna@elsewhere.example", user: "anna") == 403)
        #expect(try scene.call("192.0.2.9", from: "sip:x@pbx.example") == 486)
        #expect(scene.calls.map(\.line) == ["roaming", "pbx"])
        #expect(scene.world.finish() == [])
    }

    @Test func aChallengeLeavesNothingBehind() throws {
        let scene = try Scene(seed: 84)
        #expect(try scene.call("192.0.2.51", from: "sip:anna@example.com") == 401)
        #expect(scene.server.shard(0).endpoint.held == 0 && scene.server.gate.active == 0)
        #expect(scene.world.finish() == [])
    }

    @Test func theBodyIsCoveredWhereTheServerTakesNothingLess() throws {
        let secret = DigestSecret(user: "anna", realm: "example.com", password: "geheim")
        var server = DigestServer(realm: "example.com", algorithms: [.md5], offersIntegrity: true, secret: [7])
        var client = DigestClient(credentials: Credentials(user: "anna", password: "geheim"), seed: 3)
        func invite(_ rows: String, _ body: String) throws -> Message {
            try Message(
                parsing: Array(
                    ("INVITE sip:x@h SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\nFrom: <sip:anna@example.com>;tag=1\r\n"
                        + "To: <sip:x@h>\r\nCall-ID: 1\r\nCSeq: 1 INVITE\r\n\(rows)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
                        .utf8))
        }
        let offered = String(decoding: server.challenge(stale: false, at: .zero), as: UTF8.self)
        #expect(offered.contains("qop=\"auth,auth-int\""))
        let only = offered.replacing("auth,auth-int", with: "auth-int")
        let refusal = try Message(
            parsing: Array("SIP/2.0 401 x\r\nCall-ID: 1\r\nCSeq: 1 INVITE\r\n\(only)Content-Length: 0\r\n\r\n".utf8))
        #expect(client.challenged(by: refusal, request: try invite("", "")) == .retry)
        let rows = String(
            decoding: client.headers(method: "INVITE", uri: Array("sip:x@h".utf8), body: Array("v=0".utf8)), as: UTF8.self)
        #expect(rows.contains("qop=auth-int, nc=00000001"))
        #expect(server.check(try invite(rows, "v=1"), at: .zero, secretOf: { _ in secret }) == .refused)
        #expect(server.check(try invite(rows, "v=0"), at: .zero, secretOf: { _ in secret }) == .accepted(user: "anna"))
        var plain = DigestServer(realm: "example.com", algorithms: [.md5], secret: [7])
        #expect(plain.check(try invite(rows, "v=0"), at: .zero, secretOf: { _ in secret }) == .malformed)
        // The response by hand (RFC 7616 section 3.4.1).
        let values = AuthParameters(Array(rows.dropFirst("Authorization: ".count).utf8))
        func md5(_ text: String) -> String { String(decoding: DigestAlgorithm.md5.hash(Array(text.utf8)), as: UTF8.self) }
        let expected = md5(
            "\(md5("anna:example.com:geheim")):\(values["nonce"]!):00000001:\(values["cnonce"]!):auth-int:\(md5("INVITE:sip:x@h:\(md5("v=0"))"))"
        )
        #expect(values["response"] == expected)
    }
}
