// Reloading while a server runs, in virtual time: what is taken, what is refused, and what the log says of it.

import Basics
import CallEngine
import FlowEngine
import Foundation
import Reactor
import Server
import Testing

@Suite struct ReloaderTests {
    /// A folder with a configuration and a flow, a reloader on a virtual loop, and what it did.
    final class Bench {
        let folder: URL
        let loop = VirtualLoop()
        private let written = Locked("")
        private let log: Log
        var applied: [ServerRules] = []
        var reloader: Reloader?

        init(configuration: String, flow: String) throws {
            folder = FileManager.default.temporaryDirectory.appending(path: "ringwright-\(UUID().uuidString)")
            let written = self.written
            log = Log(Configuration().log, on: loop) { text in written.withLock { $0 += text } }
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try write(configuration, "ringwright.yaml")
            try write(flow, "flow.yaml")
            guard
                case .run(let arguments) = try CommandList.choose([
                    "serve", folder.appending(path: "flow.yaml").path(), "--config",
                    folder.appending(path: "ringwright.yaml").path()
                ])
            else { throw CommandFailure(.wrong, "no run") }
            let options = try ServeOptions(arguments)
            let rules = try options.loadRules().rules
            log.change(to: rules.configuration.log)
            let reloader = Reloader(
                options, rules: rules, loop: loop, workers: .inline(name: "files"), log: log, interval: .seconds(1)
            ) { [unowned self] in
                applied.append($0)
                log.change(to: $0.configuration.log)
            }
            self.reloader = reloader
            reloader.start()
        }

        deinit {
            try? FileManager.default.removeItem(at: folder)
        }

        func write(_ text: String, _ name: String) throws {
            try Data(text.utf8).write(to: folder.appending(path: name))
        }

        func looks(_ count: Int) { loop.run(for: .seconds(count)) }

        /// Ends the reloader, so that nothing is left on the loop.
        func end() {
            reloader?.stop()
            loop.run()
            reloader = nil
        }

        /// What was logged since the last look, without time.
        func logged() -> [String] {
            log.flush()
            return written.withLock { written in
                defer { written = "" }
                return written.split(separator: "\n").map { String($0.dropFirst(25)) }
            }
        }
    }

    static func flow(_ name: String) -> String { "flow: \(name)\nsections:\n  start:\n    - answer\n    - hangup\n" }

    static func name(of rules: ServerRules?) -> String? {
        let info = CallInfo(
            id: "a", direction: .inbound, from: CallParty(uri: "sip:x@y"), to: CallParty(uri: "sip:1@z", user: "1"),
            started: .zero)
        return rules?.flows.choice(for: info)?.flow.name
    }

    @Test func aChangedFlowIsTakenOnceItRests() throws {
        let bench = try Bench(configuration: "log: { level: info }\n", flow: Self.flow("one"))
        defer { bench.end() }
        bench.looks(3)
        #expect(bench.applied.isEmpty)
        try bench.write(Self.flow("second"), "flow.yaml")
        bench.looks(1)
        #expect(bench.applied.isEmpty, "an editor may still be writing")
        bench.looks(1)
        #expect(bench.applied.count == 1)
        #expect(Self.name(of: bench.applied.last) == "second")
        #expect(bench.logged().first?.hasPrefix("info    flows reloaded files=") == true)
        bench.looks(5)
        #expect(bench.applied.count == 1)
    }

    @Test func aBrokenFlowIsRefusedAndTheMendTaken() throws {
        let bench = try Bench(configuration: "log: { level: info }\n", flow: Self.flow("one"))
        defer { bench.end() }
        try bench.write("flow: broken\nsections:\n  start:\n    - anwser\n", "flow.yaml")
        bench.looks(40)
        #expect(bench.applied.isEmpty)
        let lines = bench.logged()
        #expect(lines.first == "error   the changed flows are refused, the old ones stay")
        #expect(lines.contains { $0.contains("flow.yaml:4:") && $0.contains("anwser") })
        #expect(lines.filter { $0.contains("refused") }.count == 1, "it is said once, not at every look")
        try FileManager.default.removeItem(at: bench.folder.appending(path: "flow.yaml"))
        bench.looks(3)
        #expect(bench.applied.isEmpty, "a flow that is gone is no reason to end")
        try bench.write(Self.flow("mended"), "flow.yaml")
        bench.looks(3)
        #expect(Self.name(of: bench.applied.last) == "mended")
    }

    @Test func aPromptThatComesLateMendsItsFlow() throws {
        let flow = "flow: plays\nsections:\n  start:\n    - answer\n    - play: late.wav\n    - hangup\n"
        let bench = try Bench(configuration: "log: { level: info }\n", flow: Self.flow("one"))
        defer { bench.end() }
        try bench.write(flow, "flow.yaml")
        bench.looks(4)
        #expect(bench.applied.isEmpty)
        let prompt = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../prompts/beep.wav")
        try FileManager.default.copyItem(at: prompt.standardizedFileURL, to: bench.folder.appending(path: "late.wav"))
        bench.looks(12)
        #expect(Self.name(of: bench.applied.last) == "plays")
    }

    @Test func theConfigurationIsTakenWhenAsked() throws {
        let bench = try Bench(configuration: "limits: { calls: 5 }\n", flow: Self.flow("one"))
        defer { bench.end() }
        let wanted = """
            limits: { calls: 9 }
            log: { level: debug }
            allow: { bridge: "sip:*@pbx.example.com" }
            sip: { listen: "udp:127.0.0.1:5099" }
            lines: { desk: { sip: { server: pbx.example.com, username: a, password: "open sesame" } } }
            """
        try bench.write(wanted, "ringwright.yaml")
        bench.looks(5)
        #expect(bench.applied.isEmpty, "nobody asked")
        bench.reloader?.reloadConfiguration()
        bench.looks(1)
        let configuration = try #require(bench.applied.last?.configuration)
        #expect(configuration.limits.calls == 9 && configuration.log.level == .debug)
        #expect(configuration.allow.permitsBridge(to: "sip:1@pbx.example.com"))
        #expect(configuration.sip.listen == Configuration().sip.listen, "the sockets are as they were")
        let lines = bench.logged()
        #expect(lines.contains(#"info    configuration reloaded changed="limits, allow, log""#))
        #expect(lines.contains(#"warning changes that need a restart are not applied changed="sip.listen, lines""#))
        #expect(!lines.contains { $0.contains("sesame") })
    }

    /// A level that hides the line about itself, or hid it until now.
    @Test(arguments: [("info", "error"), ("error", "info")]) func aChangeOfTheLevelIsSaid(old: String, new: String) throws {
        let bench = try Bench(configuration: "log: { level: \(old) }\n", flow: Self.flow("one"))
        defer { bench.end() }
        try bench.write("log: { level: \(new) }\nsip: { listen: \"udp:127.0.0.1:5099\" }\n", "ringwright.yaml")
        bench.reloader?.reloadConfiguration()
        bench.looks(1)
        #expect(
            bench.logged() == [
                "info    configuration reloaded changed=log",
                "warning changes that need a restart are not applied changed=sip.listen"
            ])
    }

    @Test func aBrokenConfigurationIsRefused() throws {
        let bench = try Bench(configuration: "limits: { calls: 5 }\n", flow: Self.flow("one"))
        defer { bench.end() }
        try bench.write("limits: { cals: 9 }\n", "ringwright.yaml")
        bench.reloader?.reloadConfiguration()
        bench.looks(2)
        #expect(bench.applied.isEmpty)
        let lines = bench.logged()
        #expect(lines.first == "error   the new configuration is refused, the old one stays")
        #expect(lines.contains { $0.contains("ringwright.yaml:1:11: error:") })
        // The reloader goes on.
        try bench.write(Self.flow("other"), "flow.yaml")
        bench.looks(2)
        #expect(bench.applied.last?.configuration.limits.calls == 5)
        #expect(Self.name(of: bench.applied.last) == "other")
    }

    @Test func whatChangedIsNamedByItsWord() throws {
        func read(_ text: String) -> Configuration {
            ConfigurationReader.read(
                text: text, file: "/x/ringwright.yaml",
                sources: .init(environment: ["A": "1"], readFile: { _ in nil }, fileExists: { _ in true })
            )
            .configuration
        }
        let old = read("routes: [ { to: \"100\", flow: a.yaml }, { to: \"/^2/\", flow: b.yaml, vars: { x: 1 } } ]")
        let same = read("\n\nroutes:\n  - { to: \"100\", flow: a.yaml }\n  - { to: \"/^2/\", flow: b.yaml, vars: { x: 1 } }")
        #expect(ConfigurationChange(from: old, to: same) == ConfigurationChange(from: old, to: old))
        #expect(ConfigurationChange(from: old, to: old).applied == [])
        let cases: [(String, [String], [String])] = [
            ("routes: [ { to: \"100\", flow: a.yaml }, { to: \"/^3/\", flow: b.yaml, vars: { x: 1 } } ]", ["routes"], []),
            ("routes: [ { to: \"100\", flow: a.yaml }, { to: \"/^2/\", flow: b.yaml, vars: { x: 2 } } ]", ["routes"], []),
            ("env: [ A ]", ["routes", "env"], []), ("recordings: /elsewhere", ["routes", "recordings"], []),
            ("rtp: { ports: 30000-30099 }", ["routes"], ["rtp.ports"]),
            ("rtp: { timeout: 5s }", ["routes"], ["rtp.timeout"]),
            ("sip: { connections: 5, idle: 5s }", ["routes"], ["sip.connections", "sip.idle"]),
            ("sip: { segmentation: on }", ["routes"], ["sip.segmentation"]),
            ("control: { listen: off }", ["routes"], ["control.listen"])
        ]
        for (text, applied, restart) in cases {
            let change = ConfigurationChange(from: old, to: read(text))
            #expect(change.applied == applied && change.atRestart == restart, "\(text)")
        }
    }
}
