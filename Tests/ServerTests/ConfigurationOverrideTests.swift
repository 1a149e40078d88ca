// Values of the configuration that the command line replaces: `--set PATH=VALUE`.

import Basics
import CallEngine
import FlowEngine
import SIP
import Server
import Testing

@Suite struct ConfigurationOverrideTests {
    private func read(_ text: String, _ overrides: [String]) -> (configuration: Configuration, findings: [String]) {
        ConfigurationTests().read(text, overrides)
    }

    @Test func overridesReplaceOneValue() throws {
        let text =
            "lines: { carrier: { sip: { server: a, username: u, password: ${env.CARRIER_PASSWORD} } } }\nsip: { listen: [ \"udp:1.2.3.4:1\", \"tcp:1.2.3.4:1\" ] }"
        let (configuration, findings) = read(
            text, ["lines.carrier.sip.server=127.0.0.1:5099", "log.level=debug", "sip.listen.1=tcp:127.0.0.1:0", "limits.calls=7"]
        )
        #expect(findings == [])
        let carrier = try #require(configuration.line(named: "carrier"))
        #expect(carrier.server == "127.0.0.1" && carrier.port == 5099 && carrier.password?.revealed == "geheim")
        #expect(configuration.log.level == .debug)
        #expect(configuration.sip.listen.map { "\($0.transport):\($0.address)" } == ["udp:1.2.3.4:1", "tcp:127.0.0.1:0"])
        #expect(configuration.limits.calls == 7)
    }

    @Test(arguments: ["", "sip: { external: 192.0.2.1 }", "sip: { listen: [] }"]) func overridesMakeAList(text: String) throws {
        let (configuration, findings) = read(
            text, ["sip.listen.0=udp:127.0.0.1:0", "sip.listen.1=tcp:127.0.0.1:0", "routes.0.flow=flows/reception.yaml"])
        #expect(findings == [])
        #expect(configuration.sip.listen.map { "\($0.transport):\($0.address)" } == ["udp:127.0.0.1:0", "tcp:127.0.0.1:0"])
        #expect(configuration.routes.count == 1)
    }

    @Test(arguments: [
        ("log.level=loud", "--set log.level:1:1: error: `log.level` is not `loud`"),
        ("sip.listen.5=udp:1.2.3.4:1", "--set sip.listen.5:1:1: error: there is no item `5` in this list of 1"),
        ("log.level.x=a", "--set log.level.x:1:1: error: `x` cannot be set: text stands where a mapping would have to be"),
        ("lines.a.sip.password=x", "--set lines.a.sip.password:1:1: error: a password in an argument is visible")
    ])
    func aWrongOverrideIsNamed(_ assignment: String, _ message: String) {
        let (_, findings) = read(
            "log: { level: info }\nsip: { listen: [\"udp:1.2.3.4:1\"] }\nlines: { a: { sip: { server: b, username: c, password: ${env.HOST} } } }",
            [assignment])
        #expect(findings.count == 1, "\(findings)")
        #expect(findings.first?.hasPrefix(message) == true, "\(findings)")
    }

    @Test(arguments: ["", "a", "=b", "a..b=c", ".a=b"])
    func noAssignment(_ text: String) {
        #expect(ConfigurationOverride(assignment: text) == nil)
    }
}
