// `comfort-noise` of `rtp` and of a line: what the engine is told, and what its mistakes are called.

import CallEngine
import FlowEngine
import SDP
import Server
import Testing

@Suite struct ComfortNoiseConfigurationTests {
    private func read(_ text: String) -> (configuration: Configuration, findings: [String]) {
        let sources = ConfigurationSources(environment: [:], readFile: { _ in nil }, fileExists: { _ in false })
        let result = ConfigurationReader.read(text: text, file: "ringwright.yaml", overrides: [], sources: sources)
        return (result.configuration, result.findings.map(\.description))
    }

    @Test func itHoldsForCallsAndForLinesThatSayOtherwise() {
        let (standard, _) = read("log: { level: info }")
        #expect(standard.engineSettings.comfortNoise == .accepted)
        let (configuration, findings) = read(
            """
            rtp: { comfort-noise: offered }
            lines:
              a: { sip: { server: 192.0.2.1 }, comfort-noise: off }
              b: { sip: { server: 192.0.2.2 } }
            """)
        #expect(findings == [])
        #expect(configuration.engineSettings.comfortNoise == .offered)
        #expect(configuration.engineSettings.lines.map(\.comfortNoise) == [.off, nil])
        #expect(ConfigurationChange(from: standard, to: configuration).atRestart.contains("rtp.comfort-noise"))
    }

    @Test(arguments: [
        ("rtp: { comfort-noise: offerd }", "1:23: error: `rtp.comfort-noise` is not `offerd`; did you mean `offered`?"),
        (
            "lines: { a: { sip: { server: b }, comfort-noise: on } }",
            "1:50: error: `lines.a.comfort-noise` is not `on`"
        )
    ])
    func mistakesAreTold(text: String, message: String) {
        let findings = read(text).findings
        #expect(findings.count == 1 && findings[0].hasPrefix("ringwright.yaml:\(message)"), "\(findings)")
    }
}
