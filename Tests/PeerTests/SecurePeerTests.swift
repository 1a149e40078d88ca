// SIP over TLS with strangers: baresip calls and is called, and a client of Python's ssl module cuts and joins messages as it likes.

import CallEngine
import Foundation
import Reactor
import TestKit
import Testing

@Suite("TLS with others", .serialized, .enabled(if: TestCertificates.standard != nil, "there is no openssl program"))
struct SecurePeerTests {
    private var made: TestCertificates { TestCertificates.standard! }
    private static let listening: TestFlow = { call, notes in
        try await call.answer()
        try await call.say("welcome")
        notes.add("asks")
        notes.add(try await call.keys(1))
    }

    @Test("baresip answers over TLS, and hangs up by the same connection", .enabled(if: Baresip.isInstalled, "no baresip"))
    func callee() throws {
        let engine = try EngineUnderTest(tls: try TLSContext(made.settings()))
        defer { engine.close() }
        let baresip = try Baresip(speaking: "probe", certificate: "address")
        engine.call(CallRequest(target: "sip:bot@127.0.0.1:\(baresip.port + 1);transport=tls")) { call, notes in
            notes.add("\(try await call.wait(for: .answered, timeout: .seconds(8)))")
            try await call.say("welcome")
            notes.add("greeted")
            try await call.stay(.seconds(8))
        }
        #expect(engine.waitForNote("greeted"), "\(baresip.output)")
        baresip.press("b")
        let report = try #require(engine.reports(1).first, "\(baresip.output)")
        #expect(report.end == CallEnd(by: .callee, cause: .normal), "\(baresip.output)")
        #expect(report.notes == ["reached", "greeted"])
        let counters = engine.engine.signalingCounters
        #expect(counters.streamsOpened == 1 && counters.streamsAccepted == 0)
    }

    @Test("baresip's certificate is for somebody else", .enabled(if: Baresip.isInstalled, "no baresip"))
    func stranger() throws {
        let engine = try EngineUnderTest(tls: try TLSContext(made.settings()))
        defer { engine.close() }
        let baresip = try Baresip(speaking: "probe", certificate: "other")
        engine.call(CallRequest(target: "sip:bot@127.0.0.1:\(baresip.port + 1);transport=tls")) { call, _ in
            _ = try await call.wait(for: .answered, timeout: .seconds(8))
        }
        let report = try #require(engine.reports(1).first, "\(baresip.output)")
        #expect(report.end.cause == .unreachable)
        #expect(report.end.detail.hasSuffix("the certificate is not for 127.0.0.1 but for other.example.com"))
        #expect(!engine.messages.contains { !$0.sent })
    }

    @Test("baresip calls over TLS and its key comes through", .enabled(if: Baresip.isInstalled, "no baresip"))
    func caller() throws {
        let engine = try EngineUnderTest(tls: try TLSContext(made.settings("address")), flow: Self.listening)
        defer { engine.close() }
        let baresip = try Baresip(
            speaking: "probe", dial: "sip:ivr@127.0.0.1:\(engine.tlsPort);transport=tls", certificate: "address")
        #expect(engine.waitForNote("asks"), "\(baresip.output)")
        baresip.press("7")
        let report = try #require(engine.reports(1, within: .seconds(15)).first, "\(baresip.output)")
        #expect(report.notes == ["asks", "7"])
        #expect(report.end == CallEnd(by: .callee, cause: .normal))
        #expect(engine.engine.signalingCounters.streamsOpened == 0)
    }

    @Test("a client of Python's ssl: messages in single octets and joined, a ping, a call that ends by its connection")
    func python() throws {
        let engine = try EngineUnderTest(tls: try TLSContext(made.settings("address"))) { call, _ in
            try await call.answer()
            try await call.stay(.milliseconds(300))
        }
        defer { engine.close() }
        let folder = try TemporaryFolder()
        try folder.write(Self.script, to: "client.py")
        let client = try PeerProgram(
            "python3", [folder.path("client.py"), "\(engine.tlsPort)", made.path("ca.pem")], in: folder)
        #expect(client.wait(.seconds(15)) == 0, "\(client.output)")
        #expect(client.output.hasSuffix("done\n"), "\(client.output)")
        let report = try #require(engine.reports(1).first)
        #expect(report.end == CallEnd(by: .callee, cause: .normal))
    }

    private static let script = """
        import socket, ssl, sys

        port, ca = int(sys.argv[1]), sys.argv[2]
        context = ssl.create_default_context(cafile=ca)
        link = context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="127.0.0.1")
        link.settimeout(10)
        pending = b""

        def read():
            global pending
            while b"\\r\\n\\r\\n" not in pending:
                more = link.recv(65536)
                assert more, "the server left"
                pending += more
            head, _, rest = pending.partition(b"\\r\\n\\r\\n")
            length = [int(row.split(b":")[1]) for row in head.split(b"\\r\\n") if row.lower().startswith(b"content-length")][0]
            while len(rest) < length:
                rest += link.recv(65536)
            pending = rest[length:]
            return head.decode()

        def request(method, number, to_tag="", body=""):
            local = "127.0.0.1:%d" % link.getsockname()[1]
            rows = ["%s sip:ivr@127.0.0.1:%d;transport=tls SIP/2.0" % (method, port),
                    "Via: SIP/2.0/TLS %s;branch=z9hG4bK%s%d" % (local, method, number),
                    "From: <sip:py@%s>;tag=1" % local, "To: <sip:ivr@127.0.0.1>" + to_tag,
                    "Call-ID: python-%s" % ("o" if method == "OPTIONS" else "c"), "CSeq: %d %s" % (number, method),
                    "Max-Forwards: 70", "Contact: <sip:py@%s;transport=tls>" % local]
            if body:
                rows.append("Content-Type: application/sdp")
            rows.append("Content-Length: %d" % len(body))
            return ("\\r\\n".join(rows) + "\\r\\n\\r\\n" + body).encode()

        def row(head, name):
            return [line for line in head.split("\\r\\n") if line.startswith(name + ":")][0]

        for octet in request("OPTIONS", 1):
            link.send(bytes([octet]))
        assert read().startswith("SIP/2.0 200"), "single octets"
        link.sendall(request("OPTIONS", 2) + request("OPTIONS", 3))
        assert "CSeq: 2" in read() and "CSeq: 3" in read(), "joined"
        link.sendall(b"\\r\\n\\r\\n")
        assert link.recv(100) == b"\\r\\n", "pong"

        sdp = "v=0\\r\\no=- 1 1 IN IP4 127.0.0.1\\r\\ns=-\\r\\nc=IN IP4 127.0.0.1\\r\\nt=0 0\\r\\nm=audio 40000 RTP/AVP 0\\r\\n"
        link.sendall(request("INVITE", 1, body=sdp))
        answer = read()
        while answer.startswith("SIP/2.0 1"):
            answer = read()
        assert answer.startswith("SIP/2.0 200"), answer
        assert ";transport=tls>" in row(answer, "Contact"), answer
        to_tag = row(answer, "To")[row(answer, "To").index(";tag="):]
        link.sendall(request("ACK", 1, to_tag))
        bye = read()
        assert bye.startswith("BYE sip:py@"), bye
        rows = [line for line in bye.split("\\r\\n")[1:] if line.split(":")[0] in ("Via", "From", "To", "Call-ID", "CSeq")]
        link.sendall(("\\r\\n".join(["SIP/2.0 200 OK"] + rows + ["Content-Length: 0"]) + "\\r\\n\\r\\n").encode())
        link.unwrap()
        print("done")
        """
}
