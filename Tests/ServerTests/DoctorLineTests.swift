// The doctor asks registrars and watched trunks: a registrar of this project that knows the user, one that refuses the password, and
// an address where nobody is.

import Basics
import CallEngine
import FlowEngine
import Reactor
import Server
import TestKit
import Testing

@Suite struct DoctorLineTests {
    private func configuration(_ text: String) throws -> Configuration {
        let sources = ConfigurationSources(
            environment: ["RIGHT": "geheim", "WRONG": "falsch"], readFile: { _ in nil }, fileExists: { _ in true })
        let (configuration, findings) = ConfigurationReader.read(text: text, file: "test.yaml", sources: sources)
        try #require(findings.filter { $0.severity == .error }.map(\.description) == [])
        return configuration
    }

    @Test func registrarsAndTrunksAreAsked() throws {
        let server = try RunningServerTests().start(
            configuration(
                """
                sip: { listen: "udp:127.0.0.1:0" }
                control: { listen: off }
                routes: [ { to: "100", bridge: "user:anna" } ]
                allow: { bridge: [ "user:*" ] }
                registrar: { realm: example.com, users: { anna: { password: "${env.RIGHT}" } } }
                """))
        defer { server.close() }
        let port = server.engine.listeners[0].address.port
        // A port that nobody has any more.
        let loop = try EpollLoop(name: "port")
        try loop.start()
        let nobody = try loop.runAndWait { () throws(SystemError) -> UInt16 in
            let socket = try loop.bindDatagram(to: SocketAddress(ip: .loopback4, port: 0))
            defer { socket.close() }
            return socket.localAddress.port
        }
        loop.stop()
        let found = Doctor.examine(
            try configuration(
                """
                sip: { listen: "udp:127.0.0.1:0" }
                control: { listen: off }
                recordings: recordings
                lines:
                  good: { sip: { server: "127.0.0.1:\(port)", register: example.com, username: anna, password: "${env.RIGHT}" } }
                  bad: { sip: { server: "127.0.0.1:\(port)", register: example.com, username: anna, password: "${env.WRONG}" } }
                  alive: { sip: { server: "127.0.0.1:\(port)", monitor: 30s } }
                  silent: { sip: { server: "127.0.0.1:\(nobody)", monitor: 30s } }
                """), prompts: []
        ).filter { $0.subject == "lines" }
        #expect(found.map(\.state) == [.well, .problem, .well, .problem])
        #expect(found.first?.message == "alive: the trunk answers")
        #expect(found.dropFirst().first?.message.hasPrefix("bad: ") == true)
        #expect(found.dropFirst(2).first?.message == "good: the registrar takes the user name and password")
        #expect(found.last?.message.hasPrefix("silent: ") == true)
        #expect(found.last?.mend != nil)
        // Nothing is left registered.
        #expect(server.engine.registrar?.figures.bindings == 0)
    }

    @Test(.enabled(if: TestCertificates.standard != nil, "there is no openssl program"))
    func aRegistrarIsAskedOverTLSAndWebSocket() throws {
        let made = try #require(TestCertificates.standard)
        let server = try RunningServerTests().start(
            configuration(
                """
                sip:
                  listen: [ "tls:127.0.0.1:0", "wss:127.0.0.1:0/sip" ]
                  tls: { certificate: "\(made.path("address.pem"))", key: "\(made.path("address.key"))" }
                control: { listen: off }
                routes: [ { to: "100", bridge: "user:anna" } ]
                allow: { bridge: [ "user:*" ] }
                registrar: { realm: example.com, users: { anna: { password: "${env.RIGHT}" } } }
                """))
        defer { server.close() }
        func port(_ scheme: String) throws -> String {
            let listening = try #require(server.listening.first { $0.hasPrefix("\(scheme):") })
            return String(listening.split(separator: ":")[2].prefix { $0.isNumber })
        }
        let line = "register: example.com, username: anna, password: \"${env.RIGHT}\""
        let found = Doctor.examine(
            try configuration(
                """
                sip: { listen: "tcp:127.0.0.1:0", tls: { ca: "\(made.path("ca.pem"))" } }
                control: { listen: off }
                recordings: recordings
                lines:
                  secure: { sip: { server: "127.0.0.1:\(try port("tls"))", transport: tls, \(line) } }
                  web: { sip: { server: "127.0.0.1:\(try port("wss"))", transport: wss, path: /sip, \(line) } }
                """), prompts: []
        ).filter { $0.subject == "lines" }
        #expect(
            found.map(\.message) == ["secure", "web"].map { "\($0): the registrar takes the user name and password" })
    }
}
