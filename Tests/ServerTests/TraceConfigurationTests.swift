// `trace` of ringwright.yaml: what its words become, and what its mistakes are called.

import Basics
import CallEngine
import FlowEngine
import Server
import Testing

@Suite struct TraceConfigurationTests {
    func read(_ text: String) -> (trace: Configuration.Trace?, findings: [String]) {
        let sources = ConfigurationSources(environment: [:], readFile: { _ in nil }, fileExists: { _ in false })
        let result = ConfigurationReader.read(text: text, file: "etc/ringwright.yaml", overrides: [], sources: sources)
        return (result.configuration.trace, result.findings.map(\.description))
    }

    private static let carrier = "lines: { carrier: { sip: { server: 192.0.2.1 } } }\n"

    @Test func aFolderIsEnough() throws {
        let (trace, findings) = read("trace: { folder: traces }")
        #expect(findings == [])
        let settings = try #require(trace?.settings)
        #expect(settings.folder == "etc/traces" && settings.sample == 1 && settings.calls == 100 && settings.kept == 200)
        #expect(settings.size == 10 << 20 && settings.hasMedia && !settings.showsKeys)
        #expect(settings.selects(TracedCall(id: "a", direction: .outbound, line: "", from: "", to: "")))
    }

    @Test func withoutItNothingIsTraced() { #expect(read("log: { level: info }").trace == nil) }

    @Test func everyWordCounts() throws {
        let (trace, findings) = read(
            Self.carrier
                + """
                trace: { folder: /var/traces, line: carrier, from: "/^\\\\+49/", to: "100", one-in: 7, calls: 3, keep: 20,
                         megabytes: 2, media: false, keys: true }
                """)
        #expect(findings == [])
        let settings = try #require(trace?.settings)
        #expect(settings.folder == "/var/traces" && settings.sample == 7 && settings.calls == 3 && settings.kept == 20)
        #expect(settings.size == 2 << 20 && !settings.hasMedia && settings.showsKeys)
        func selects(line: String = "carrier", from: String = "+4930", to: String = "100") -> Bool {
            settings.selects(TracedCall(id: "a", direction: .inbound, line: line, from: from, to: to))
        }
        #expect(selects())
        #expect(!selects(line: "") && !selects(from: "+1555") && !selects(to: "1000"))
    }

    @Test func aLineOfNoneIsNamed() {
        let findings = read("trace: { folder: t, line: carrier }").findings
        #expect(findings.count == 1 && findings.first?.contains("there is no line `carrier`; name it in `lines`") == true)
    }

    @Test(arguments: [
        ("trace: { line: carrier }", "`trace` has no `folder`; write where traces go: folder: traces"),
        ("trace: { folder: \"\" }", "`trace.folder` is empty"),
        ("trace: { folder: [ a ] }", "`trace.folder` is text, not a list"),
        ("trace: traces", "`trace` is a mapping"),
        ("trace: { folder: t, line: carier }", "there is no line `carier`; did you mean `carrier`?"),
        ("trace: { folder: t, from: \"/+49\" }", "`/+49` begins as a pattern; a pattern stands between two `/`"),
        ("trace: { folder: t, to: \"/(/\" }", "missing )"),
        ("trace: { folder: t, one-in: 0 }", "`trace.one-in` is a whole number from 1 to 1000000, not `0`"),
        ("trace: { folder: t, calls: 10001 }", "`trace.calls` is a whole number from 1 to 10000, not `10001`"),
        ("trace: { folder: t, keep: none }", "`trace.keep` is a whole number from 1 to 100000, not `none`"),
        ("trace: { folder: t, megabytes: 1.5 }", "`trace.megabytes` is a whole number from 1 to 1000, not `1.5`"),
        ("trace: { folder: t, media: off }", "`trace.media` is true or false, not `off`"),
        ("trace: { folder: t, keys: shown }", "`trace.keys` is true or false, not `shown`"),
        ("trace: { folder: t, sample: 3 }", "`sample` is unknown in `trace`; there are: folder, line, from")
    ])
    func mistakesAreNamed(_ text: String, _ words: String) throws {
        let findings = read(Self.carrier + text).findings
        let only = try #require(findings.first)
        #expect(findings.count == 1 && only.contains(":2:") && only.contains("error: ") && only.contains(words), "\(findings)")
    }
}
