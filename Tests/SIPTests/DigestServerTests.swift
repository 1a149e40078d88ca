// Digest as a server: what counts as credentials, and how often.

import Basics
import SIP
import Testing

@Suite struct DigestServerTests {
    let secret = DigestSecret(user: "anna", realm: "example.com", password: "geheim")

    func verdict(_ server: inout DigestServer, _ message: Message, at now: Instant = .zero) -> DigestServer.Verdict {
        server.check(message, at: now) { $0 == "anna" ? secret : nil }
    }

    func challenged(_ device: inout RegisteringDevice, by server: inout DigestServer, at now: Instant = .zero) throws {
        let request = try device.request([])
        var writer = MessageWriter()
        writer.response(401, to: request, tag: Array("r".utf8)[...], source: nil)
        writer.append(server.challenge(stale: false, at: now))
        writer.finish()
        #expect(device.digest.challenged(by: try Message(parsing: writer.octets), request: request) == .retry)
    }

    @Test(arguments: [[DigestAlgorithm.sha256, .md5], [.md5], [.sha256]])
    func rightOnes(algorithms: [DigestAlgorithm]) throws {
        var server = DigestServer(realm: "example.com", algorithms: algorithms, secret: [1])
        var device = RegisteringDevice()
        #expect(verdict(&server, try device.request([])) == .challenge(stale: false))
        try challenged(&device, by: &server)
        let request = try device.request([])
        #expect(request.header("Authorization")?.contains("algorithm=\(algorithms[0].name)") == true)
        #expect(verdict(&server, request) == .accepted(user: "anna"))
        #expect(verdict(&server, try device.request([])) == .accepted(user: "anna"))
    }

    @Test func anOverheardRequestIsNotTakenAgain() throws {
        var server = DigestServer(realm: "example.com", secret: [1])
        var device = RegisteringDevice()
        try challenged(&device, by: &server)
        let requests = try (0..<70).map { _ in try device.request([]) }
        // Out of order is well, twice is not.
        for place in [0, 2, 1, 69] { #expect(verdict(&server, requests[place]) == .accepted(user: "anna")) }
        for place in [0, 1, 2, 69, 3] { #expect(verdict(&server, requests[place]) == .challenge(stale: true)) }
        #expect(verdict(&server, requests[30]) == .accepted(user: "anna"))
    }

    @Test func oldAndForeignNonces() throws {
        var server = DigestServer(realm: "example.com", secret: [1])
        var device = RegisteringDevice()
        try challenged(&device, by: &server)
        #expect(verdict(&server, try device.request([]), at: .zero + .seconds(301)) == .challenge(stale: true))
        var other = DigestServer(realm: "example.com", secret: [2])
        #expect(verdict(&other, try device.request([])) == .challenge(stale: true))
        var wrong = RegisteringDevice(password: "falsch")
        try challenged(&wrong, by: &server)
        #expect(verdict(&server, try wrong.request([]), at: .zero + .seconds(301)) == .refused)
    }

    @Test func withoutCountsANonceServesOnce() throws {
        var server = DigestServer(realm: "example.com", algorithms: [.md5], secret: [1])
        let rows = String(decoding: server.challenge(stale: false, at: .zero), as: UTF8.self)
        let nonce = try #require(rows.firstMatch(of: /nonce="([0-9a-f]+)"/)).1
        func hash(_ text: String) -> String { String(decoding: DigestAlgorithm.md5.hash(Array(text.utf8)), as: UTF8.self) }
        let response = hash("\(hash("anna:example.com:geheim")):\(nonce):\(hash("REGISTER:sip:example.com"))")
        var device = RegisteringDevice()
        let row =
            "Authorization: Digest username=\"anna\", realm=\"example.com\", nonce=\"\(nonce)\", uri=\"sip:example.com\", response=\"\(response)\""
        #expect(verdict(&server, try device.request([row])) == .accepted(user: "anna"))
        #expect(verdict(&server, try device.request([row])) == .challenge(stale: true))
    }

    @Test func whatCannotBeRead() throws {
        var server = DigestServer(realm: "example.com", secret: [1])
        for field in ["uri", "nonce", "response", "username", "nc", "cnonce"] {
            var device = RegisteringDevice()
            try challenged(&device, by: &server)
            let text = String(decoding: try device.request([]).octets, as: UTF8.self)
            let without = text.replacing(" \(field)=", with: " x\(field)=")
            #expect(without != text)
            #expect(verdict(&server, try Message(parsing: Array(without.utf8))) == .malformed)
        }
    }

    @Test func aHashInsteadOfAPassword() throws {
        let ha1 = String(decoding: DigestAlgorithm.md5.hash(Array("anna:example.com:geheim".utf8)), as: UTF8.self)
        var server = DigestServer(realm: "example.com", algorithms: [.md5], secret: [1])
        var device = RegisteringDevice()
        try challenged(&device, by: &server)
        let request = try device.request([])
        #expect(
            server.check(request, at: .zero) { _ in DigestSecret(ha1: ha1.uppercased(), algorithm: .md5) }
                == .accepted(user: "anna"))
        #expect(!"\(DigestSecret(ha1: ha1, algorithm: .md5))".contains(ha1))
    }

    /// Twenty thousand devices that each use a nonce: what is kept is bounded by the nonces' lifetime.
    @Test func usedNoncesAreForgotten() throws {
        var server = DigestServer(realm: "example.com", algorithms: [.md5], secret: [1])
        for second in 0..<2000 {
            var device = RegisteringDevice(seed: UInt64(second))
            let now = Instant.zero + .seconds(second)
            try challenged(&device, by: &server, at: now)
            #expect(verdict(&server, try device.request([]), at: now) == .accepted(user: "anna"))
        }
        #expect(server.heldNonces <= 1024)
    }
}
