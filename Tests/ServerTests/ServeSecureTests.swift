// `ringwright serve` over TLS, looked at by openssl's client: certificates that change under it, short handshakes, and files that cannot
// be used.

import Foundation
import Server
import TestKit
import Testing

@Suite(.serialized, .enabled(if: TestCertificates.standard != nil, "there is no openssl program")) struct ServeSecureTests {
    /// What openssl's client says about the server.
    func look(_ address: String, _ options: String, in made: TestCertificates) -> String {
        made.run("openssl s_client -connect \(address) -CAfile ca.pem \(options) </dev/null >seen.txt 2>&1")
        return (try? String(contentsOfFile: made.path("seen.txt"), encoding: .utf8)) ?? ""
    }

    @Test func theCertificateChangesUnderARunningServer() throws {
        let made = try #require(TestCertificates())
        made.make("one", names: "DNS:localhost", commonName: "first")
        made.make("two", names: "DNS:localhost", commonName: "second")
        made.run("cp one.pem now.pem; cp one.key now.key")
        let configuration = "sip: { tls: { certificate: \(made.path("now.pem")), key: \(made.path("now.key")) } }\n"
        let server = try ServeProcess(flow: ServeProcessTests.holding, configuration: configuration, sip: "tls:127.0.0.1:0")
        let address = try #require(server.secureAddress, "\(server.stderr)")
        _ = try #require(server.page, "\(server.stderr)")

        let first = look(address, "-verify_return_error -verify_hostname localhost -sess_out session.pem", in: made)
        #expect(first.contains("CN = first") && first.contains("Verify return code: 0 (ok)"), "\(first)")
        // TLS 1.3 sends its session behind the handshake, where this client does not wait; 1.2 has it in the handshake.
        _ = look(address, "-tls1_2 -sess_out session.pem", in: made)
        let again = look(address, "-tls1_2 -sess_in session.pem", in: made)
        #expect(again.contains("Reused, TLSv1.2"), "\(again)")
        #expect(look(address, "-tls1_1", in: made).contains("no peer certificate available"))

        // Half of a new pair: refused, and the old one stays.
        made.run("cp two.pem now.pem")
        server.signal(SIGHUP)
        let complaint = server.line(after: "now.key: ")
        #expect(complaint?.hasPrefix("this is not the key of the certificate in ") == true, "\(server.stderr)")
        #expect(look(address, "", in: made).contains("CN = first"))
        made.run("cp two.key now.key")
        server.signal(SIGHUP)
        #expect(
            server.line(after: "configuration reloaded changed=") == #""the certificate of sip.tls""#, "\(server.stderr)")
        #expect(look(address, "", in: made).contains("CN = second"))

        server.signal(SIGTERM)
        #expect(server.status() == 0)
        let log = server.stderr
        #expect(log.contains("TLS with 127.0.0.1:") && log.contains("unsupported protocol"), "\(log)")
        #expect(!log.contains("PRIVATE KEY"))
    }

    @Test func withoutAUsableCertificateItDoesNotStart() throws {
        let made = try #require(TestCertificates.standard)
        let words = "certificate: \(made.path("server.pem")), key: \(made.path("other.key"))"
        let server = try ServeProcess(
            flow: ServeProcessTests.holding, configuration: "sip: { tls: { \(words) } }\n", sip: "tls:127.0.0.1:0")
        #expect(server.status() == 2)
        #expect(server.stderr.contains("sip.tls: \(made.path("other.key")): this is not the key of the certificate in"))
    }
}
