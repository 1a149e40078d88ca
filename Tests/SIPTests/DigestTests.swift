// Digest as a client: RFC vectors, header form, several challenges. Field reports B080, B081, B083.

import SIP
import Testing

struct DigestTests {
    private func refusal(_ rows: String..., status: Int = 401) -> Message {
        vector(
            octets(
                "SIP/2.0 \(status) x", "Via: SIP/2.0/UDP h;branch=z9hG4bK1", "From: <sip:a@h>;tag=1", "To: <sip:x@h>;tag=2",
                "Call-ID: 1",
                "CSeq: 1 INVITE", rows.joined(separator: "\r\n")))
    }

    private let plain = vector(Vectors.invite)

    private func written(
        _ challenge: DigestChallenge, _ user: String, _ password: String, _ method: StaticString, _ uri: String, cnonce: String
    ) -> String {
        var writer = MessageWriter()
        DigestClient.write(
            challenge, Credentials(user: user, password: password), method: method, uri: Array(uri.utf8), count: 1,
            cnonce: Array(cnonce.utf8), into: &writer)
        return text(writer.octets)
    }

    // The examples of RFC 2617 section 3.5 and RFC 7616 section 3.9.1.
    @Test func publishedExamples() throws {
        let old = try #require(
            DigestChallenge.all(
                in: refusal(
                    "WWW-Authenticate: Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", opaque=\"5ccc069c403ebaf9f0171e9517f40e41\""
                )
            ).first)
        let oldRow = written(old, "Mufasa", "Circle Of Life", "GET", "/dir/index.html", cnonce: "0a4f113b")
        #expect(oldRow.contains("response=\"6629fae49393a05397450978507c4ef1\""))
        let challenges = DigestChallenge.all(
            in: refusal(
                "WWW-Authenticate: Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=SHA-256, nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"",
                "WWW-Authenticate: Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=MD5, nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
            ))
        let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        let rows = challenges.map { written($0, "Mufasa", "Circle of Life", "GET", "/dir/index.html", cnonce: cnonce) }
        #expect(rows[0].contains("response=\"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1\""))
        #expect(rows[1].contains("response=\"8ca523f5e9506fed4657c9700eebdbec\""))
    }

    // B080, B081, B083: nc, qop and algorithm without quotes; one qop value; the same for a proxy without algorithm.
    @Test func b080b081b083Form() throws {
        let challenge = try #require(
            DigestChallenge.all(
                in: refusal("Proxy-Authenticate: Digest realm=\"r\",nonce=\"n\",qop=\"auth-int, auth\",opaque=\"\"", status: 407)
            ).first)
        let row = written(challenge, "u", "p", "INVITE", "sip:x@h", cnonce: "c")
        #expect(row.hasPrefix("Proxy-Authorization: Digest username=\"u\", realm=\"r\", nonce=\"n\", uri=\"sip:x@h\""))
        #expect(row.contains(", qop=auth, nc=00000001") && row.contains(", algorithm=MD5") && row.contains("opaque=\"\""))
        #expect(!row.contains("auth-int") && !row.contains("undefined"))
    }

    @Test func choiceCountAndStale() throws {
        var client = DigestClient(credentials: Credentials(user: "u", password: "p"), seed: 1)
        #expect(client.headers(method: "INVITE", uri: [65]).isEmpty)
        let challenge = refusal(
            "WWW-Authenticate: Digest realm=\"r\", nonce=\"m\", algorithm=MD5, qop=\"auth\"",
            "WWW-Authenticate: Digest realm=\"r\", nonce=\"s\", algorithm=\"SHA-256\", qop=\"auth\"",
            "WWW-Authenticate: NewScheme realm=\"r\", nonce=\"x\"", "Proxy-Authenticate: Digest realm=\"q\", nonce=\"y\"")
        #expect(client.challenged(by: challenge, request: plain) == .retry)
        let first = text(client.headers(method: "INVITE", uri: Array("sip:x@h".utf8)))
        #expect(first.contains("nonce=\"s\"") && first.contains("algorithm=SHA-256") && !first.contains("nonce=\"m\""))
        #expect(first.contains("Proxy-Authorization: Digest username=\"u\", realm=\"q\""))
        #expect(text(client.headers(method: "BYE", uri: [65])).contains("nc=00000002"))
        let request = try Message(
            parsing: octets("INVITE sip:x@h SIP/2.0", "Call-ID: 1", first + "CSeq: 2 INVITE"))
        #expect(client.challenged(by: challenge, request: request) == .refused)
        let stale = refusal("WWW-Authenticate: Digest realm=\"r\", nonce=\"t\", qop=\"auth\", STALE=TRUE")
        #expect(client.challenged(by: stale, request: request) == .retry)
        #expect(text(client.headers(method: "INVITE", uri: [65])).contains("nonce=\"t\""))
        var other = DigestClient(credentials: Credentials(user: "u", password: "p", realm: "else"), seed: 1)
        #expect(other.challenged(by: challenge, request: plain) == .unsupported)
    }

    @Test func secretsAreNotShown() {
        let credentials = Credentials(user: "u", password: "hidden-word")
        var shown = ""
        dump(DigestClient(credentials: credentials, seed: 1), to: &shown)
        shown += "\(credentials) \(String(reflecting: credentials)) \(Optional(credentials) as Any)"
        #expect(!shown.contains("hidden-word"))
    }

    @Test(.enabled(if: Corpus.isPresent, "skipped: ../shared/corpora is absent"))
    func fieldChallenges() throws {
        func challenges(_ name: String) throws -> [DigestChallenge] {
            DigestChallenge.all(in: try Message(parsing: try Corpus.octets("sip-messages/" + name)))
        }
        #expect(try challenges("022-huawei-401-folded-challenge.sip").map(\.nonce) == ["248e4b4457f252ae53c859bfe03c4f93"])
        let two = try challenges("075-two-challenges-qop-list-stale.sip")
        #expect(two.map(\.algorithm) == [.sha256, .md5] && two.allSatisfy { $0.isStale && $0.opaque == "" })
        #expect(try challenges("076-challenge-algorithm-quoted.sip").map(\.algorithm) == [.md5])
        let proxy = try challenges("077-twilio-407-no-blanks.sip")
        #expect(proxy.map(\.realm) == ["sip.example.com"] && proxy.allSatisfy { $0.isProxy && $0.protection == .auth })
    }
}
