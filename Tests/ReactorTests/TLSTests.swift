// TLS over both kinds of streams: who is believed and who is not, short handshakes, ends, limits.

import Basics
import Reactor
import TestKit
import Testing

@Suite(.enabled(if: TestCertificates.standard != nil, "there is no openssl program")) struct TLSTests {
    var made: TestCertificates { TestCertificates.standard! }

    /// What a client saw of a server that answers with what it gets.
    struct Visit: Sendable {
        var answer = ""
        var end: StreamEnd?
        var serverEnd: StreamEnd?
        var isResumed = false
        var version = ""
        var names: [String] = []
    }

    /// One connection: the client says "hello" and leaves when it has the echo.
    func visit(_ loop: EventLoop, _ server: TLSContext, _ client: TLSContext, name: String) async throws -> Visit {
        var visit = Visit()
        let over = Waiter<StreamEnd>()
        let serverOver = Waiter<StreamEnd>()
        var served: TLSStream?
        let listener = try loop.listen(on: loopback) { lower in
            let stream = TLSStream.accept(lower, context: server)
            served = stream
            stream.onReceive = { [unowned stream] in _ = stream.send(Array($0)) }
            stream.onClose = { serverOver.resume(returning: $0) }
        }
        let stream = TLSStream.open(on: loop, to: listener.localAddress, name: name, context: client)
        stream.send(Array("hello".utf8))
        stream.onReceive = { [unowned stream] in
            visit.answer += text($0)
            visit.isResumed = stream.isResumed
            visit.version = stream.version
            visit.names = served?.peerIdentities ?? []
            if visit.answer == "hello" { stream.close() }
        }
        stream.onClose = { over.resume(returning: $0) }
        visit.end = try await over.wait()
        visit.serverEnd = try await serverOver.wait()
        listener.close()
        return visit
    }

    @Test(arguments: LoopKind.allCases) func aGoodServerIsTalkedToAndTheSecondHandshakeIsShort(_ kind: LoopKind) async throws {
        let server = try TLSContext(made.settings("server"))
        let client = try TLSContext(made.settings())
        try await kind.run { loop in
            // The listener's port is another each time, so sessions are tried on one.
            let listener = try loop.listen(on: loopback) { lower in
                let stream = TLSStream.accept(lower, context: server)
                stream.onReceive = { [unowned stream] in _ = stream.send(Array($0)) }
            }
            defer { listener.close() }
            var resumed: [Bool] = []
            for _ in 0..<3 {
                let over = Waiter<StreamEnd>()
                let stream = TLSStream.open(on: loop, to: listener.localAddress, name: "SIP.example.com", context: client)
                stream.send(Array("hello".utf8))
                stream.onReceive = { [unowned stream] in
                    #expect(text($0) == "hello")
                    #expect(stream.version == "TLSv1.3" && stream.isOpen)
                    #expect(stream.peerIdentities == ["sip.example.com", "example.com"])
                    resumed.append(stream.isResumed)
                    stream.close()
                }
                stream.onClose = { over.resume(returning: $0) }
                #expect(try await over.wait() == .closed)
            }
            #expect(resumed == [false, true, true])
            try await loop.sleep(for: .milliseconds(20))
        }
    }

    /// RFC 6066 section 3: the host name that was called is in the first message, an address is not.
    @Test(arguments: LoopKind.allCases) func theHelloNamesTheHost(_ kind: LoopKind) async throws {
        let client = try TLSContext(made.settings())
        try await kind.run { loop in
            for (name, isNamed) in [("sip.example.com", true), ("127.0.0.1", false)] {
                var hello: [UInt8] = []
                let whole = Waiter<Void>()
                let listener = try loop.listen(on: loopback) { lower in
                    lower.onReceive = { [unowned lower] in
                        hello += Array($0)
                        // The record's length is in its fourth and fifth octet.
                        guard hello.count >= 5, hello.count >= 5 + (Int(hello[3]) << 8 | Int(hello[4])) else { return }
                        lower.close()
                        whole.resume(returning: ())
                    }
                }
                let stream = TLSStream.open(on: loop, to: listener.localAddress, name: name, context: client)
                try await whole.wait()
                #expect(hello.first == 22)
                #expect((hello.firstRange(of: Array(name.utf8)) != nil) == isNamed)
                stream.close()
                listener.close()
            }
            try await loop.sleep(for: .milliseconds(20))
        }
    }

    /// Certificate of the server, name that is called, and what comes of it; nil: it is believed.
    static let judgements: [(String, String, TLSFailure?)] = [
        ("server", "example.com", nil), ("server", "sip.example.com.", nil), ("wild", "sip.example.com", nil),
        ("common", "sip.example.com", nil), ("address", "127.0.0.1", nil),
        ("server", "www.example.com", .name(expected: "www.example.com", found: ["sip.example.com", "example.com"])),
        ("other", "sip.example.com", .name(expected: "sip.example.com", found: ["other.example.com"])),
        ("wild", "a.b.example.com", .name(expected: "a.b.example.com", found: ["*.example.com"])),
        ("wild", "example.com", .name(expected: "example.com", found: ["*.example.com"])),
        ("person", "sip.example.com", .name(expected: "sip.example.com", found: ["nobody"])),
        ("address", "127.0.0.2", .name(expected: "127.0.0.2", found: ["127.0.0.1"])),
        ("expired", "sip.example.com", .certificate("certificate has expired")),
        ("self", "sip.example.com", .certificate("self-signed certificate"))
    ]

    @Test(arguments: LoopKind.allCases, judgements.indices) func whoIsBelieved(_ kind: LoopKind, _ index: Int) async throws {
        let (certificate, name, failure) = Self.judgements[index]
        let server = try TLSContext(made.settings(certificate))
        let client = try TLSContext(made.settings())
        try await kind.run { loop in
            let visit = try await visit(loop, server, client, name: name)
            if let failure {
                #expect(visit.end == .insecure(failure))
                #expect(visit.answer == "")
            } else {
                #expect(visit.end == .closed)
                #expect(visit.answer == "hello")
                #expect(visit.serverEnd == .ended)
            }
        }
    }

    @Test func verificationCanBeSwitchedOff() async throws {
        var settings = made.settings()
        settings.verifiesServers = false
        let client = try TLSContext(settings)
        let server = try TLSContext(made.settings("self"))
        try await LoopKind.virtual.run { loop in
            let visit = try await visit(loop, server, client, name: "nobody.example.com")
            #expect(visit.answer == "hello")
        }
    }

    @Test(arguments: LoopKind.allCases) func clientsMayHaveToShowACertificate(_ kind: LoopKind) async throws {
        var settings = made.settings("server")
        settings.requiresClientCertificate = true
        let server = try TLSContext(settings)
        let known = try TLSContext(made.settings("client"))
        let unknown = try TLSContext(made.settings())
        try await kind.run { loop in
            let good = try await visit(loop, server, known, name: "example.com")
            #expect(good.answer == "hello" && good.names == ["client.example.com"])
            let again = try await visit(loop, server, known, name: "example.com")
            #expect(again.names == ["client.example.com"])
            let bad = try await visit(loop, server, unknown, name: "example.com")
            #expect(bad.end == .insecure(.alert("certificate required")), "\(bad)")
            #expect(bad.serverEnd == .insecure(.unspoken("peer did not return a certificate")), "\(bad)")
        }
    }

    @Test func theOldestVersionIsASetting() async throws {
        var new = made.settings("server")
        new.minimum = .tls13
        let server = try TLSContext(new)
        try await LoopKind.virtual.run { loop in
            let client = try TLSContext(made.settings())
            let visit = try await visit(loop, server, client, name: "example.com")
            #expect(visit.version == "TLSv1.3")
        }
    }

    @Test func garbageEndsTheHandshake() async throws {
        let server = try TLSContext(made.settings("server"))
        let client = try TLSContext(made.settings())
        try await LoopKind.virtual.run { loop in
            let ends = Mailbox<StreamEnd>(loop: loop)
            let listener = try loop.listen(on: loopback) { lower in
                TLSStream.accept(lower, context: server).onClose = { ends.send($0) }
            }
            for bytes in ["INVITE sip:a@b SIP/2.0\r\n\r\n", "\u{16}\u{3}\u{1}\u{0}\u{5}12345"] {
                let stream = try await loop.connect(to: listener.localAddress)
                stream.send(Array(bytes.utf8))
                guard case .insecure(.unspoken) = try await ends.next(until: loop.now + .seconds(20)) else {
                    Issue.record("garbage was taken")
                    return
                }
            }
            listener.close()
            // The other way round: a server that speaks no TLS.
            let plain = try loop.listen(on: loopback) { $0.send(Array("SIP/2.0 400 Bad\r\n\r\n".utf8)) }
            let stream = TLSStream.open(on: loop, to: plain.localAddress, name: "example.com", context: client)
            stream.onClose = { ends.send($0) }
            #expect(try await ends.next(until: loop.now + .seconds(20)) == .insecure(.unspoken("wrong version number")))
            plain.close()
        }
    }

    @Test func aHandshakeHasItsTime() async throws {
        let server = try TLSContext(made.settings("server"))
        try await LoopKind.virtual.run { loop in
            let ends = Mailbox<StreamEnd>(loop: loop)
            let listener = try loop.listen(on: loopback) { lower in
                TLSStream.accept(lower, context: server).onClose = { ends.send($0) }
            }
            // A byte now and then does not help.
            let slow = try await loop.connect(to: listener.localAddress)
            let began = loop.now
            for byte in [0x16, 3, 1, 2, 0, 1, 0] as [UInt8] {
                slow.send([byte])
                try await loop.sleep(for: .seconds(1))
            }
            #expect(try await ends.next(until: loop.now + .seconds(20)) == .insecure(.timedOut))
            #expect(loop.now - began == .seconds(10))
            let gone = try await loop.connect(to: listener.localAddress)
            gone.close()
            #expect(try await ends.next(until: loop.now + .seconds(20)) == .insecure(.interrupted))
            listener.close()
        }
    }

    @Test(arguments: LoopKind.allCases) func muchGoesThroughAndTheEndComesBehindIt(_ kind: LoopKind) async throws {
        let server = try TLSContext(made.settings("server"))
        let client = try TLSContext(made.settings())
        try await kind.run { loop in
            var received = 0
            let over = Waiter<StreamEnd>()
            let listener = try loop.listen(on: loopback) { lower in
                let stream = TLSStream.accept(lower, context: server)
                stream.onReceive = { received += $0.count }
                stream.onClose = { over.resume(returning: $0) }
            }
            defer { listener.close() }
            var options = StreamOptions()
            options.outputLimit = 400_000
            let stream = TLSStream.open(
                on: loop, to: listener.localAddress, name: "example.com", context: client, options: options)
            var sent = 0
            while stream.send([UInt8](repeating: 7, count: 10_000)) { sent += 10_000 }
            #expect(sent == 400_000)
            stream.finish()
            #expect(!stream.send([1]))
            #expect(try await over.wait() == .ended)
            #expect(received == sent)
            try await loop.sleep(for: .milliseconds(20))
            stream.close()
        }
    }

    @Test func filesThatCannotBeUsedAreNamed() throws {
        func problem(_ change: (inout TLSSettings) -> Void) -> String {
            var settings = made.settings("server")
            change(&settings)
            do throws(TLSSetupError) {
                _ = try TLSContext(settings)
                return "none"
            } catch {
                return error.description.replacing(made.folder + "/", with: "")
            }
        }
        #expect(problem { $0.certificate = made.path("nothing.pem") } == "nothing.pem: No such file or directory")
        #expect(problem { $0.key = made.path("nothing.key") } == "nothing.key: No such file or directory")
        #expect(problem { $0.key = made.path("other.key") } == "other.key: this is not the key of the certificate in server.pem")
        #expect(problem { $0.certificate = made.path("server.key") } == "server.key: no certificate in PEM form is in this file")
        #expect(problem { $0.key = made.path("server.pem") } == "server.pem: no private key in PEM form is in this file")
        #expect(
            problem { $0.authorities = .file(made.path("server.key")) }
                == "server.key: no certificates of authorities are in this file")
        #expect(problem { $0.authorities = .file(made.path("nothing.pem")) } == "nothing.pem: No such file or directory")
        made.run("openssl ec -in server.key -aes128 -passout pass:secret -out locked.key")
        #expect(
            problem { $0.key = made.path("locked.key") }
                == "locked.key: the key has a passphrase; write it without one (openssl pkey)")
        let expired = try TLSContext(made.settings("expired"))
        #expect((expired.expiry ?? 0) < VirtualLoop().wallClock + 10 * 365 * 86_400)
    }
}
