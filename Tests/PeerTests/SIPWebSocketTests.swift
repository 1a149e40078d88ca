// SIP over WebSocket and secure WebSocket (RFC 7118) with a client and a server of Python's websockets.

import Basics
import CallEngine
import FlowEngine
import Foundation
import Reactor
import Server
import TestKit
import Testing

@Suite(
    "SIP over WebSocket", .serialized, .enabled(if: WebSocketPeer.isPossible, "Python has no websockets, or there is no openssl"))
struct SIPWebSocketTests {
    private var made: TestCertificates { TestCertificates.standard! }

    private func flow(_ text: String, _ folder: TemporaryFolder) throws -> String {
        try folder.write("flow: test\ndirection: both\nsections:\n  start:\n\(text)", to: "flow.yaml")
        return folder.path("flow.yaml")
    }

    @Test("a client calls and is hung up by its connection", arguments: [EngineSettings.Listener.Transport.ws, .wss])
    func client(_ transport: EngineSettings.Listener.Transport) throws {
        let folder = try TemporaryFolder()
        var configuration = Configuration()
        var listener = EngineSettings.Listener(transport, SocketAddress(ip: .loopback4, port: 0))
        listener.path = "/sip"
        configuration.sip.listen = [listener]
        configuration.sip.tls = made.settings("local")
        configuration.control.listen = nil
        let flow = try flow("    - answer\n    - wait: 300ms\n    - hangup\n", folder)
        let loop = VirtualLoop()
        let server = try RunningServer(
            ServerRules(
                configuration, flows: FlowTable(configuration, flow: flow), tls: configuration.secureSetup()), version: "test",
            loopCount: 2, log: Log(configuration.log, on: loop) { _ in })
        defer { server.close() }
        let port = try #require(server.listening.first?.split(separator: "/").first?.split(separator: ":").last)
        #expect(server.listening == ["\(transport):127.0.0.1:\(port)/sip"])
        var arguments = [WebSocketPeer.script, "client", "\(transport)://localhost:\(port)/sip"]
        if transport == .wss { arguments.append(made.path("ca.pem")) }
        let peer = try PeerProgram(WebSocketPeer.python, arguments, in: folder)
        #expect(peer.wait(.seconds(20)) == 0, "\(peer.output)")
        #expect(peer.output.hasSuffix("done\n"), "\(peer.output)")
        #expect(server.engine.callCounters.ended[.normal] == 1)
        #expect(server.engine.signalingCounters.streamsAccepted == 1)
    }

    @Test("a server is called and hangs up", arguments: [EngineSettings.Listener.Transport.ws, .wss])
    func server(_ transport: EngineSettings.Listener.Transport) async throws {
        let folder = try TemporaryFolder()
        let files = transport == .wss ? [made.path("local.pem"), made.path("local.key")] : []
        let peer = try PeerProgram(WebSocketPeer.python, [WebSocketPeer.script, "server"] + files, in: folder)
        #expect(peer.waitForOutput("\n"), "\(peer.output)")
        let port = try #require(UInt16(peer.output.dropFirst(5).prefix { $0.isNumber }), "\(peer.output)")
        let result = try await call(transport, port, authority: "ca.pem", folder)
        #expect(result.verdict == .passed, "\(result) \(peer.output)")
        #expect(result.end.by == .callee && result.end.cause == .normal)
        #expect(peer.wait(.seconds(20)) == 0, "\(peer.output)")
    }

    @Test("a server whose certificate nobody believes, and one that is not there")
    func failing() async throws {
        let folder = try TemporaryFolder()
        let peer = try PeerProgram(
            WebSocketPeer.python, [WebSocketPeer.script, "server", made.path("self.pem"), made.path("self.key")], in: folder)
        #expect(peer.waitForOutput("\n"), "\(peer.output)")
        let port = try #require(UInt16(peer.output.dropFirst(5).prefix { $0.isNumber }), "\(peer.output)")
        let refused = try await call(.wss, port, authority: "ca.pem", folder)
        #expect(refused.end.cause == .unreachable)
        #expect(refused.end.detail.hasSuffix("/sip: the certificate is refused, or TLS failed"), "\(refused.end)")
        let nobody = try await call(.ws, Ports.free(), authority: "ca.pem", folder)
        #expect(nobody.end.cause == .unreachable)
        #expect(nobody.end.detail.hasSuffix("/sip: the connection was refused"), "\(nobody.end)")
    }

    private func call(
        _ transport: EngineSettings.Listener.Transport, _ port: UInt16, authority: String, _ folder: TemporaryFolder
    ) async throws -> CallResult {
        var configuration = Configuration()
        configuration.sip.tls.authorities = .file(made.path(authority))
        var line = LineSettings(name: "browser", server: "localhost", port: port, transport: transport)
        line.path = "/sip"
        configuration.lines = [line]
        let loaded = FlowLoader.load(
            text: "flow: calls\ndirection: outbound\nsections:\n  start:\n    - answer\n    - wait: 5s\n    - hangup\n",
            file: "calls")
        let party = try CallingParty(configuration, listen: CallingEngine.anywhere)
        defer { party.close() }
        let order = CallingParty.Order(
            request: CallRequest(target: "100", line: "browser", from: "anna"), flow: try #require(loaded.flow))
        return try await party.place(order).result
    }
}
