// `ringwright sipp` over WebSocket and secure WebSocket: with itself, with the engine, and with Python's websockets, in both roles.

import Basics
import CallEngine
import FlowEngine
import Foundation
import Reactor
import SIPpRunner
import Server
import TestKit
import Testing

@Suite("sipp over WebSocket", .serialized, .enabled(if: TestCertificates.standard != nil, "there is no openssl"))
struct SippWebSocketTests {
    private var made: TestCertificates { TestCertificates.standard! }
    private var certificate: [String] { ["-tls_cert", made.path("address.pem"), "-tls_key", made.path("address.key")] }
    private var authority: [String] { ["-tls_ca", made.path("ca.pem")] }

    /// The embedded `uas`, which waits for less when its calls are over.
    private func uas(_ folder: TemporaryFolder) throws -> [String] {
        let text = ScenarioProgram.run(["-sd", "uas"]) { _ in }.output
        try folder.write(text.replacing("timewait milliseconds=\"4000\"", with: "timewait milliseconds=\"50\""), to: "uas.xml")
        return ["-sf", folder.path("uas.xml")]
    }

    @Test("a caller and a called end", arguments: ["w1", "wn", "wl1", "wln"])
    func pair(_ transport: String) throws {
        let folder = try TemporaryFolder()
        let called = ScenarioPeer(try uas(folder), transport: transport, calls: 20, more: certificate + ["-ws_path", "/sip"])
        let caller = ScenarioPeer(
            ["-sn", "uac"], target: called.port, transport: transport, calls: 20,
            more: authority + ["-ws_path", "/sip", "-r", "100"])
        caller.expect()
        called.expect()
    }

    @Test("the engine is called", arguments: ["w1", "wln"])
    func engineIsCalled(_ transport: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("flow: test\nsections:\n  start:\n    - answer\n    - wait: 10s\n", to: "flow.yaml")
        var configuration = Configuration()
        var listener = EngineSettings.Listener(transport == "w1" ? .ws : .wss, SocketAddress(ip: .loopback4, port: 0))
        listener.path = "/sip"
        configuration.sip.listen = [listener]
        configuration.sip.tls = made.settings("address")
        configuration.control.listen = nil
        let server = try RunningServer(
            ServerRules(
                configuration, flows: FlowTable(configuration, flow: folder.path("flow.yaml")), tls: configuration.secureSetup()),
            version: "test", loopCount: 2, log: Log(configuration.log, on: VirtualLoop()) { _ in })
        defer { server.close() }
        let port = try #require(
            server.listening.first?.split(separator: "/").first?.split(separator: ":").last.flatMap { UInt16($0) })
        let caller = ScenarioPeer(
            ["-sn", "uac"], target: port, transport: transport, calls: 3, more: authority + ["-ws_path", "/sip"])
        caller.expect()
        #expect(server.engine.callCounters.ended[.normal] == 3)
        #expect(server.engine.signalingCounters.streamsAccepted == (transport == "w1" ? 1 : 3))
    }

    @Test("the engine calls", arguments: ["w1", "wl1"])
    func engineCalls(_ transport: String) async throws {
        let folder = try TemporaryFolder()
        let called = ScenarioPeer(try uas(folder), transport: transport, more: certificate + ["-ws_path", "/sip"])
        var configuration = Configuration()
        configuration.sip.tls.authorities = .file(made.path("ca.pem"))
        var line = LineSettings(
            name: "browser", server: "127.0.0.1", port: called.port, transport: transport == "w1" ? .ws : .wss)
        line.path = "/sip"
        configuration.lines = [line]
        let loaded = FlowLoader.load(
            text: "flow: calls\ndirection: outbound\nsections:\n  start:\n    - answer\n    - hangup\n", file: "calls")
        let party = try CallingParty(configuration, listen: CallingEngine.anywhere)
        defer { party.close() }
        let order = CallingParty.Order(
            request: CallRequest(target: "100", line: "browser", from: "anna"), flow: try #require(loaded.flow))
        let result = try await party.place(order).result
        #expect(result.verdict == .passed, "\(result)")
        called.expect()
    }

    @Test("Python calls", .enabled(if: WebSocketPeer.isPossible, "Python has no websockets"), arguments: ["w1", "wl1"])
    func pythonCalls(_ transport: String) throws {
        let folder = try TemporaryFolder()
        let called = ScenarioPeer(
            ["-sf", Files.scenario("called-by-websocket")], transport: transport,
            more: ["-tls_cert", made.path("local.pem"), "-tls_key", made.path("local.key"), "-ws_path", "/sip"])
        let isSecure = transport == "wl1"
        let peer = try PeerProgram(
            WebSocketPeer.python,
            [WebSocketPeer.script, "client", "\(isSecure ? "wss" : "ws")://localhost:\(called.port)/sip"]
                + (isSecure ? [made.path("ca.pem")] : []), in: folder)
        #expect(peer.wait(.seconds(20)) == 0, "\(peer.output)")
        called.expect()
    }

    @Test("Python is called", .enabled(if: WebSocketPeer.isPossible, "Python has no websockets"), arguments: ["w1", "wl1"])
    func pythonIsCalled(_ transport: String) throws {
        let folder = try TemporaryFolder()
        let files = transport == "wl1" ? [made.path("address.pem"), made.path("address.key")] : []
        let peer = try PeerProgram(WebSocketPeer.python, [WebSocketPeer.script, "server"] + files, in: folder)
        #expect(peer.waitForOutput("\n"), "\(peer.output)")
        let port = try #require(UInt16(peer.output.dropFirst(5).prefix { $0.isNumber }), "\(peer.output)")
        let caller = ScenarioPeer(
            ["-sf", Files.scenario("caller-by-websocket")], target: port, transport: transport,
            more: authority + ["-ws_path", "/sip"])
        caller.expect()
        #expect(peer.wait(.seconds(20)) == 0, "\(peer.output)")
    }

    @Test("what is not there, and what is not believed")
    func failing() throws {
        let folder = try TemporaryFolder()
        // Calls that have begun by then fail; there are more than can begin before the second connection is refused.
        let nobody = ScenarioPeer(
            ["-sn", "uac"], target: Ports.free(), transport: "w1", calls: 1000,
            more: ["-max_reconnect", "1", "-reconnect_sleep", "1ms"])
        #expect(nobody.outcome()?.status == ExitCode.fatal)
        #expect(nobody.outcome()?.note.contains("the connection was refused; 1 new connections did not help") == true)
        let called = ScenarioPeer(try uas(folder), transport: "wl1", more: certificate + ["-ws_path", "/sip"])
        let elsewhere = ScenarioPeer(["-sn", "uac"], target: called.port, transport: "wln", more: authority)
        elsewhere.expect(ExitCode.failed)
        let doubting = ScenarioPeer(
            ["-sn", "uac"], target: called.port, transport: "wln",
            more: ["-tls_ca", made.path("self.pem"), "-ws_path", "/sip"])
        doubting.expect(ExitCode.failed)
        let taken = ScenarioPeer(["-sn", "uas"], transport: "w1", port: called.port)
        taken.expect(ExitCode.cannotBind)
        let uncertified = ScenarioProgram.run(["-sn", "uas", "-t", "wl1", "-tls_cert", made.path("nothing.pem")]) { _ in }
        #expect(uncertified.status == ExitCode.fatal)
        #expect(uncertified.note.contains("nothing.pem: No such file"))
        let nowhere = ScenarioProgram.run(["-sn", "uas", "-t", "w1", "-ws_path", "sip"]) { _ in }
        #expect(nowhere.status == ExitCode.other)
        #expect(nowhere.note == "-ws_path sip: a path begins with / and has no blanks and no #")
        // Whoever could not call has done no harm.
        ScenarioPeer(
            ["-sn", "uac"], target: called.port, transport: "wln", more: authority + ["-ws_path", "/sip"]
        ).expect()
        called.expect()
    }
}
