// Reading ringwright.yaml: what a whole file becomes, and what its mistakes are called.

import Basics
import CallEngine
import FlowEngine
import Reactor
import SDP
import SIP
import Server
import Testing

@Suite struct ConfigurationTests {
    static let sources = ConfigurationSources(
        environment: [
            "CARRIER_PASSWORD": "geheim", "SHOP_URL": "https://shop.example.com", "HOST": "192.0.2.7",
            "HASH": "0123456789ABCDEF0123456789abcdef"
        ],
        readFile: { ["/run/secrets/desk": "tisch\n"][$0] },
        fileExists: { ["etc/flows/reception.yaml", "etc/flows/orders.yaml", "etc/key.pem", "etc/chain.pem"].contains($0) })

    func read(_ text: String, _ overrides: [String] = []) -> (configuration: Configuration, findings: [String]) {
        let result = ConfigurationReader.read(
            text: text, file: "etc/ringwright.yaml", overrides: overrides.compactMap { ConfigurationOverride(assignment: $0) },
            sources: Self.sources)
        return (result.configuration, result.findings.map(\.description))
    }

    @Test func aWholeFile() throws {
        let (configuration, findings) = read(
            #"""
            sip:
              listen: [ "udp:127.0.0.1:5070", "tcp:[::1]:5070" ]
              external: 203.0.113.10
              session-timer: 30m
              connections: 100
              idle: 2m
              segmentation: "off"
              tls: { certificate: chain.pem, key: key.pem, ca: system, client-certificates: required, minimum: 1.3 }
            rtp: { ports: 21000-21999, srtp: off, timeout: 1m30s }  # the line below has its own
            limits: { calls: 400, calls-per-second: 50, per-source: 30/m }
            lines:
              carrier:
                sip: { server: sip.carrier.example:5080, transport: tcp, from: ["198.51.100.0/24"], username: "15550100", password: ${env.CARRIER_PASSWORD} }
                codecs: [ opus, g722, l16, pcma, pcmu ]
                caller-id: "+15550100"
                srtp: accepted
              desk:
                sip: { server: "${env.HOST}", username: bot, password: ${file./run/secrets/desk} }
            routes:
              - { to: "100", flow: flows/reception.yaml }
              - { line: carrier, to: "/^\\+1555.*/", flow: flows/orders.yaml, vars: { shop: north, tries: 3, tags: [ a, true ], host: "${env.HOST}" } }
              - { to: "/^[0-9]+$/", bridge: "sip:${call.to.user}@pbx.example.com" }
            allow:
              bridge: [ "sip:*@pbx.example.com", "tel:+1555*" ]
              request: [ "https://example.com/*" ]
            env: [ SHOP_URL ]
            recordings: /var/lib/ringwright/recordings
            control: { listen: "[::1]:9000" }
            log: { level: debug, format: json }
            """#)
        #expect(findings == [])
        #expect(configuration.sip.listen.map(\.transport) == [.udp, .tcp])
        #expect(configuration.sip.listen.map(\.address) == [SocketAddress("127.0.0.1:5070"), SocketAddress("[::1]:5070")])
        #expect(configuration.sip.external == IPAddress("203.0.113.10") && configuration.sip.sessionTimer.interval == 1800)
        #expect(configuration.engineSettings.streams == .init(limit: 100, idle: .seconds(120)))
        #expect([configuration, Configuration()].map(\.engineSettings.segmentation) == [.off, .auto])
        var tls = TLSSettings()
        tls.certificate = "etc/chain.pem"
        tls.key = "etc/key.pem"
        tls.requiresClientCertificate = true
        tls.minimum = .tls13
        #expect(configuration.sip.tls == tls)
        #expect(configuration.rtp.ports == 21000...21999)
        #expect(configuration.engineSettings.rtpTimeout == .seconds(90))
        #expect(configuration.limits == Admission.Limits(calls: 400, callsPerSecond: 50, perSource: 0.5))

        let carrier = try #require(configuration.line(named: "carrier"))
        #expect(carrier.server == "sip.carrier.example")
        #expect(carrier.port == 5080)
        #expect(carrier.transport == .tcp)
        #expect(carrier.from == [IPNetwork("198.51.100.0/24")])
        #expect(carrier.username == "15550100")
        #expect(carrier.password?.revealed == "geheim")
        #expect(carrier.codecs == ["opus", "g722", "l16", "pcma", "pcmu"])
        #expect(carrier.callerID == "+15550100")
        #expect(carrier.security == .accepted && configuration.engineSettings.security == .off)
        let desk = try #require(configuration.line(named: "desk"))
        #expect(desk.server == "192.0.2.7")
        #expect(desk.from == [IPNetwork("192.0.2.7")])
        #expect(desk.password?.revealed == "tisch")
        #expect(!"\(configuration)".contains("geheim") && !"\(configuration)".contains("tisch"))

        #expect(configuration.route(to: "100", line: "")?.target == .flow("etc/flows/reception.yaml"))
        let order = try #require(configuration.route(to: "+15551234", line: "carrier"))
        #expect(order.target == .flow("etc/flows/orders.yaml"))
        #expect(
            order.vars == [
                "shop": .string("north"), "tries": .int(3), "tags": .list([.string("a"), .bool(true)]),
                "host": .string("192.0.2.7")
            ])
        #expect(configuration.route(to: "+15551234", line: "desk") == nil)
        #expect(configuration.route(to: "101", line: "")?.target == .bridge("sip:${call.to.user}@pbx.example.com"))
        #expect(configuration.environment == ["SHOP_URL": "https://shop.example.com"])
        #expect(configuration.recordings == "/var/lib/ringwright/recordings")
        #expect(configuration.control.listen == SocketAddress("[::1]:9000"))
        #expect(configuration.log.level == .debug && configuration.log.format == .json)
        #expect(configuration.engineSettings.lines.map(\.name) == ["carrier", "desk"])
    }

    @Test func webSockets() throws {
        let (configuration, findings) = read(
            """
            sip: { listen: [ "ws:0.0.0.0:8088", "wss:[::]:7443/sip" ], tls: { certificate: chain.pem, key: key.pem } }
            lines: { web: { sip: { server: sbc.example.com, transport: wss, path: /ws } } }
            """)
        #expect(findings == [])
        #expect(configuration.sip.listen.map(\.transport) == [.ws, .wss])
        #expect(configuration.sip.listen.map(\.path) == ["/", "/sip"])
        let line = try #require(configuration.line(named: "web"))
        #expect(line.transport == .wss && line.path == "/ws")
    }

    @Test func aRegisteredLine() throws {
        let (configuration, findings) = read(
            """
            lines:
              desk: { sip: { register: pbx.example.com:5080, username: bot, password: "${file./run/secrets/desk}", expires: 600 } }
              edge: { sip: { register: example.com, server: 192.0.2.7, username: bot, password: "${file./run/secrets/desk}" } }
            """)
        #expect(findings == [])
        let desk = try #require(configuration.line(named: "desk"))
        #expect(desk.server == "pbx.example.com" && desk.port == 5080)
        #expect(desk.registration?.domain == "pbx.example.com:5080")
        #expect(desk.registration?.expires == 600)
        let edge = try #require(configuration.line(named: "edge"))
        #expect(edge.server == "192.0.2.7" && edge.registration?.domain == "example.com" && edge.registration?.expires == 3600)
        let (flows, others) = read(
            "lines: { desk: { sip: { register: example.com, outbound: [ edge1.example.com, \"192.0.2.8:5070\" ], "
                + "username: bot, password: \"${file./run/secrets/desk}\" } } }")
        #expect(others == [])
        let several = try #require(flows.line(named: "desk"))
        #expect(several.registration?.edges == [.init(server: "edge1.example.com"), .init(server: "192.0.2.8", port: 5070)])
        #expect(several.server == "edge1.example.com" && several.registration?.domain == "example.com")
        // Calls are told apart by the contact and the registrar, not by networks.
        #expect(edge.from.isEmpty)
        // A name for this device that each line has for itself, the same at each start.
        let instance = try #require(desk.registration?.instance)
        #expect(instance.wholeMatch(of: /urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}/) != nil)
        #expect(instance != edge.registration?.instance)
    }

    @Test func phonesThatLogInHere() throws {
        let (configuration, findings) = read(
            """
            registrar:
              realm: example.com
              users:
                anna: { password: "${env.CARRIER_PASSWORD}" }
                hall: { ha1: "${env.HASH}" }
              contacts: 4
              longest: 600
              algorithms: [ md5 ]
            routes: [ { bridge: "user:${call.to.user}" } ]
            allow: { bridge: [ "user:*" ] }
            lines: { trunk: { sip: { server: example.com, monitor: 30s } } }
            """)
        #expect(findings == [])
        let registrar = try #require(configuration.registrar)
        #expect(registrar.settings.realm == "example.com" && registrar.settings.contactLimit == 4)
        #expect(registrar.settings.shortest == 60 && registrar.settings.longest == 600 && registrar.settings.algorithms == [.md5])
        #expect(registrar.settings.users["anna"] == DigestSecret(user: "anna", realm: "example.com", password: "geheim"))
        #expect(registrar.settings.users["hall"]?.ha1(.md5) == Array("0123456789abcdef0123456789abcdef".utf8))
        #expect([registrar.file, configuration.engineSettings.registrarFile] == ["etc/registrations", "etc/registrations"])
        #expect(!"\(configuration)".contains("geheim") && !"\(configuration)".contains("0123456789abcdef"))
        let trunk = try #require(configuration.line(named: "trunk"))
        #expect(trunk.monitor == .seconds(30) && trunk.findsTransport)
    }

    @Test func withoutAFileTheDefaults() {
        let (configuration, findings) = read("")
        #expect(findings == [])
        #expect(configuration.sip.listen.map { "\($0.transport):\($0.address)" } == ["udp:0.0.0.0:5060", "tcp:0.0.0.0:5060"])
        #expect(configuration.control.listen == SocketAddress("127.0.0.1:8080"))
        #expect(configuration.rtp.ports == 20000...29999)
        #expect(configuration.engineSettings.rtpTimeout == .seconds(60))
        #expect(configuration.engineSettings.streams == EngineSettings.Streams(limit: 4096, idle: .seconds(600)))
        #expect(read("rtp: { timeout: off }").configuration.engineSettings.rtpTimeout == .zero)
        #expect(configuration.limits == Admission.Limits(calls: 5000, callsPerSecond: 200, perSource: nil))
        #expect(configuration.routes.isEmpty && configuration.lines.isEmpty)
        #expect(!configuration.allow.permitsBridge(to: "sip:1@example.com"))
    }

    /// What is wrong, and what the one message about it begins with (after the file's name).
    @Test(arguments: [
        ("spi: {}", "1:1: error: `spi` is unknown here; did you mean `sip`?"),
        ("sip: 5", "1:6: error: `sip` is a mapping, not a number"),
        ("- sip", "1:1: error: the configuration is a mapping, not a list"),
        (
            "sip: { listen: [\"udp:0.0.0.0:5060\", \"tls:0.0.0.0:5061\"] }",
            "1:6: error: tls:0.0.0.0:5061 in `sip.listen` needs a certificate"
        ),
        (
            "sip: { listen: \"wss:0.0.0.0:7443/sip\" }",
            "1:6: error: wss:0.0.0.0:7443 in `sip.listen` needs a certificate"
        ),
        (
            "sip: { listen: \"udp:0.0.0.0:5060/sip\" }",
            "1:16: error: `sip.listen`: `udp:0.0.0.0:5060/sip` has no address and port"
        ),
        (
            "lines: { a: { sip: { server: b, transport: tcp, path: /sip } } }",
            "1:55: error: `lines.a.sip.path` is that of a WebSocket and begins with /: not `/sip`"
        ),
        (
            "sip: { listen: \"upd:0.0.0.0:5060\" }",
            "1:16: error: `sip.listen`: `upd:0.0.0.0:5060` has no transport that is known; did you mean `udp`?"
        ),
        ("sip: { listen: \"udp:example.com\" }", "1:16: error: `sip.listen`: `udp:example.com` has no address and port"),
        ("sip: { listen: [\"udp:1.2.3.4:5\", \"udp:1.2.3.4:5\"] }", "1:34: error: `sip.listen` has `udp:1.2.3.4:5` twice"),
        ("sip: { listen: [] }", "1:6: error: `sip.listen` is empty"),
        ("sip: { tls: { key: key.pem } }", "1:20: error: `sip.tls.key` without a `certificate`"),
        ("sip: { tls: { certificate: a.pem } }", "1:28: error: `sip.tls.certificate`: there is no file etc/a.pem"),
        ("sip: { tls: { ca: a.pem } }", "1:19: error: `sip.tls.ca`: there is no file etc/a.pem"),
        ("sip: { tls: { verify: false } }", "1:23: warning: servers are believed whatever certificate they show"),
        ("sip: { tls: { verify: maybe } }", "1:23: error: `sip.tls.verify` is true or false, not `maybe`"),
        ("sip: { tls: { minimum: 1.1 } }", "1:24: error: `sip.tls.minimum` is not `1.1`"),
        ("sip: { tls: { cert: a } }", "1:15: error: `cert` is unknown in `sip.tls`"),
        ("sip: { external: example.com }", "1:18: error: `sip.external` is an address, not `example.com`"),
        ("sip: { session-timer: 60s }", "1:23: error: `sip.session-timer` is a time from 90s to 24h or `off`, not `60s`"),
        ("rtp: { ports: 20000 }", "1:15: error: `rtp.ports` is a range"),
        ("rtp: { ports: 300-400 }", "1:15: error: `rtp.ports` is a range"),
        ("rtp: { srtp: acepted }", "1:14: error: `rtp.srtp` is not `acepted`; did you mean `accepted`?"),
        ("lines: { a: { sip: { server: b }, srtp: needed } }", "1:41: error: `lines.a.srtp` is not `needed`"),
        (
            "lines: { a: { sip: { server: b, transport: tcp }, srtp: required } }",
            "1:57: warning: the keys of SRTP go readable over tcp to `a`"
        ),
        (
            "rtp: { srtp: offered }\nlines: { a: { sip: { server: b }, srtp: accepted }, b: { sip: { server: b } } }",
            "1:6: warning: the keys of SRTP go readable over UDP or TCP to `b`"
        ),
        ("rtp: { timeout: 0s }", "1:17: error: `rtp.timeout` is a length of time from 1s to 24h, or off, not `0s`"),
        ("rtp: { timeout: 30 }", "1:17: error: `rtp.timeout` is a length of time"),
        ("sip: { connections: 0 }", "1:21: error: `sip.connections` is a whole number from 1"),
        ("sip: { idle: never }", "1:14: error: `sip.idle` is a length of time from 1s to 24h, not `never`"),
        ("rtp: { ports: 20000-20009 }", "1:6: warning: `rtp.ports` has room for 5 calls"),
        ("limits: { calls: 0 }", "1:18: error: `limits.calls` is a whole number from 1"),
        ("limits: { per-source: 20/h }", "1:23: error: `limits.per-source` is a number of calls in a time"),
        ("limits: { calls-per-second: nan }", "1:29: error: `limits.calls-per-second` is a number of calls"),
        ("lines: { a: {} }", "1:10: error: `lines.a` has no `sip`"),
        ("lines: { a: { sip: {} } }", "1:20: error: `lines.a.sip` has no `server`"),
        ("lines: { a: { verto: {} } }", "1:15: error: `lines.a.verto` (Verto lines) is not built yet"),
        ("lines: { a: { sip: { register: b } } }", "1:32: error: `lines.a.sip.register` without a `username`"),
        ("lines: { a: { sip: { register: \"x y\" } } }", "1:32: error: `lines.a.sip.register`: `x y` is no domain"),
        ("lines: { a: { sip: { server: b, expires: 60 } } }", "1:42: error: `lines.a.sip.expires` without `register`"),
        ("lines: { a: { sip: { server: b, outbound: [ c ] } } }", "1:43: error: `lines.a.sip.outbound` without `register`"),
        (
            "lines: { a: { sip: { register: b, username: c, password: \"${env.CARRIER_PASSWORD}\", server: d, outbound: [ e ] } } }",
            "1:93: error: `lines.a.sip.server` beside `outbound`"
        ),
        (
            "lines: { a: { sip: { register: b, username: c, password: \"${env.CARRIER_PASSWORD}\", outbound: [ e, f, g, h, i ] } } }",
            "1:95: error: `lines.a.sip.outbound` has 1 to 4 edge proxies, not 5"
        ),
        (
            "lines: { a: { sip: { register: b, username: c, password: \"${env.CARRIER_PASSWORD}\", outbound: [ \"e f\" ] } } }",
            "1:97: error: `e f` is neither a host name nor an address"
        ),
        (
            "lines: { a: { sip: { server: b, monitor: 2h } } }",
            "1:42: error: `lines.a.sip.monitor` is a time from 5s to 1h, not `2h`"
        ),
        (
            "lines: { a: { sip: { server: b, transport: sctp } } }",
            "1:44: error: `lines.a.sip.transport` is not `sctp`"
        ),
        (
            "lines: { a: { sip: { server: b, transport: tls } } }",
            "1:13: warning: `lines.a` uses TLS, and `sip.listen` has no tls"
        ),
        (
            "lines: { a: { sip: { server: b }, second-call: reject } }",
            "1:35: error: `lines.a.second-call` (several calls on a line) is not built yet"
        ),
        (
            "lines: { a: { sip: { server: b }, codecs: [opus, g722, opus] } }",
            "1:56: error: `lines.a.codecs` has `opus` twice"
        ),
        (
            "lines: { a: { sip: { server: b }, codecs: [pmcu] } }",
            "1:44: error: `lines.a.codecs` is not `pmcu`; did you mean `pcmu`?"
        ),
        ("lines: { a: { sip: { server: \"b c\" } } }", "1:30: error: `b c` is neither a host name nor an address"),
        (
            "lines: { a: { sip: { server: b, from: [ 1.2.3.4/33 ] } } }",
            "1:41: error: `lines.a.sip.from`: `1.2.3.4/33` is no network"
        ),
        (
            "lines: { a: { sip: { server: b, challenge: true } } }",
            "1:44: error: `lines.a.sip.challenge` without a `username` and a `password` that callers prove to know"
        ),
        (
            "lines: { a: { sip: { server: b, challenge: yes } } }",
            "1:44: error: `lines.a.sip.challenge` is true or false, not `yes`"
        ),
        (
            "lines: { a: { sip: { server: b, challenge: true, username: anna, password: ${env.CARRIER_PASSWORD} } } }\n"
                + "registrar: { realm: r, users: { anna: { ha1: ${env.HASH} } } }",
            "2:12: error: a user of the registrar has the `username` by which `a` is known; give each its own"
        ),
        ("limits: { lag: 1ms }", "1:16: error: `limits.lag`"),
        (
            "registrar: { realm: r, users: {}, qop: [ conf ] }", "1:42: error: `registrar.qop`"
        ),
        ("lines: { a: { sip: { server: b, username: c } } }", "1:43: error: `lines.a.sip.username` without a `password`"),
        (
            "lines: { a: { sip: { server: b, username: c, password: d } } }",
            "1:56: warning: a password is written out; write ${env.NAME}"
        ),
        (
            "lines: { a: { sip: { server: b, username: c, password: ${env.NOPE} } } }",
            "1:56: error: `lines.a.sip.password`: the environment has no NOPE"
        ),
        (
            "lines: { a: { sip: { server: b, username: c, password: ${file./nope} } } }",
            "1:56: error: `lines.a.sip.password`: /nope cannot be read"
        ),
        (
            "lines: { a: { sip: { server: ${call.id} } } }",
            "1:30: error: `lines.a.sip.server`: `${call.id}` is nothing that a configuration knows"
        ),
        (
            "lines: { a: { sip: { server: 192.0.2.1 } }, b: { sip: { server: 192.0.2.1 } } }",
            "1:45: warning: calls from 192.0.2.1 belong to `a`"
        ),
        ("routes: [ { to: \"1\" } ]", "1:11: error: this route has neither `flow` nor `bridge`"),
        ("routes: [ { flow: flows/nope.yaml } ]", "1:19: error: there is no flow etc/flows/nope.yaml"),
        ("routes: [ { to: \"/(/\", flow: flows/orders.yaml } ]", "1:17: error: `/(/` cannot be used"),
        ("routes: [ { line: x, flow: flows/orders.yaml } ]", "1:19: error: there is no line `x`"),
        ("routes: [ { bridge: \"user:anna\" } ]", "1:21: error: `user:anna`: nobody can log in here"),
        ("routes: [ { bridge: \"sip:a@b\" } ]", "1:21: error: `allow.bridge` does not permit `sip:a@b`; add it there"),
        (
            "routes: [ { flow: flows/orders.yaml }, { to: \"1\", flow: flows/orders.yaml } ]",
            "1:40: warning: this route is never reached"
        ),
        ("allow: { bridge: [ pbx.example.com ] }", "1:20: error: `allow.bridge`: `pbx.example.com` begins with none of"),
        ("allow: { request: [ example.com ] }", "1:21: error: `allow.request`: `example.com` begins with neither"),
        ("env: [ \"A B\" ]", "1:8: error: `env` lists names of environment variables; `A B` is none"),
        ("env: [ NOPE ]", "1:8: warning: the environment has no NOPE"),
        ("registrar: { realm: a }", "1:12: error: `registrar` has no `users`"),
        ("registrar: { users: {} }", "1:12: error: `registrar` has no `realm`"),
        ("registrar: { realm: a, users: { b: {} } }", "1:33: error: `registrar.users.b` has no `password`"),
        ("registrar: { realm: a, users: { b: { ha1: 12 } } }", "1:43: error: `registrar.users.b.ha1` is the hash"),
        ("registrar: { realm: a, users: { b: { password: x } } }", "1:48: warning: a password is written out"),
        (
            "registrar: { realm: a, users: { c: { ha1: ${env.HASH} } }, algorithms: [ md4 ] }",
            "1:74: error: `registrar.algorithms` is not `md4`"
        ),
        (
            "registrar: { realm: a, users: { c: { ha1: ${env.HASH} } }, shortest: 600, longest: 300 }",
            "1:70: error: `registrar.shortest` (600) is longer"
        ),
        ("store: sqlite:a", "1:1: error: `store` (a database) is not built yet"),
        ("push: {}", "1:1: error: `push` (waking sleeping devices) is not built yet"),
        ("control: { tokens: {} }", "1:12: error: `control.tokens` (the control API) is not built yet"),
        ("control: { listen: 0.0.0.0:8080 }", "1:20: warning: health and metrics are readable for everyone"),
        ("control: { listen: localhost }", "1:20: error: `control.listen` is an address and port, or off; not `localhost`"),
        ("log: { level: inof }", "1:15: error: `log.level` is not `inof`; did you mean `info`?")
    ])
    func aMistakeHasItsPlaceAndItsMend(_ text: String, _ message: String) {
        let (_, findings) = read(text)
        #expect(findings.count == 1, "\(findings)")
        #expect(findings.first?.hasPrefix("etc/ringwright.yaml:\(message)") == true, "\(findings)")
    }

    @Test func allMistakesAreNamedInOneRun() {
        let (_, findings) = read("log: { level: x }\nstore: a\nsip: { external: b }\n")
        #expect(findings.map { $0.split(separator: ":")[1] } == ["1", "2", "3"])
    }

    @Test func whatComesFromOutsideIsNeverShown() {
        let text = "sip: { external: \"${env.CARRIER_PASSWORD}\" }\nlog: { level: \"${env.CARRIER_PASSWORD}\" }"
        let (_, findings) = read(text)
        #expect(findings.count == 2)
        #expect(!findings.contains { $0.contains("geheim") })
    }
}
