// The far end of a measurement: `serve --report` counts what `load` counts, and one process is both with `load --answer`.

import Basics
import CallEngine
import Dialer
import Foundation
import Reactor
import Server
import TestKit
import Testing

@Suite(.serialized) struct FarEndTests {
    static let answering = "flow: answers\nsections:\n  start:\n    - ring\n    - answer\n    - wait: 10m\n"

    static func object(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
    }

    static func count(_ object: [String: Any]?, _ path: String...) -> Int? {
        var value: Any? = object
        for word in path { value = (value as? [String: Any])?[word] }
        return value as? Int
    }

    /// The command, as the program runs it.
    static func load(_ target: String, _ words: [String], stops: StopRequests = StopRequests()) async throws -> (
        status: Server.ExitStatus, json: [String: Any]
    ) {
        let first = UInt16.random(in: 10_000...13_000) * 4
        guard
            case .run(let arguments) = try CommandList.choose(
                ["load", target, "--json", "--loops", "1", "--set", "rtp.ports=\(first)-\(first + 3999)"] + words)
        else { throw CommandFailure(.wrong, "no run") }
        let outcome = try await LoadCommand.run(LoadOptions(arguments), stops: stops) { _ in }
        return (outcome.status, try object(outcome.output))
    }

    /// Sums of a column of intervals.csv.
    static func sum(_ column: String, of csv: String) throws -> Int {
        let rows = csv.split(separator: "\n").map { $0.split(separator: ",", omittingEmptySubsequences: false) }
        let index = try #require(rows.first?.firstIndex { $0 == column }, "\(csv)")
        return rows.dropFirst().compactMap { Int($0[index]) }.reduce(0, +)
    }

    @Test func bothHalvesCountTheSame() async throws {
        let server = try ServeProcess(flow: Self.answering, arguments: ["--report", "FOLDER/far"])
        let address = try #require(server.address, "\(server.stderr)")
        let near = try await Self.load(
            "sip:1@\(address)", ["--rate", "40", "--calls", "40", "--hold", "700ms", "--media", "play"])
        server.signal(SIGTERM)
        #expect([0, 3].contains(server.status()), "\(server.stderr)")
        func text(_ name: String) throws -> String {
            try String(contentsOf: server.folder.appending(path: "far/\(name)"), encoding: .utf8)
        }
        let far = try Self.object(text("summary.json"))
        for name in ["placed", "answered", "failed"] { #expect(Self.count(far, name) == Self.count(near.json, name), "\(name)") }
        #expect(Self.count(far, "answered") == 40)
        // What one side sent the other received, but for what was on its way at the hang-up.
        let (sent, received) = (Self.count(near.json, "media", "sent") ?? 0, Self.count(far, "media", "received") ?? 0)
        #expect(sent >= received && received > sent / 2, "\(sent) \(received)")
        let percentiles = try #require(far["percentiles_ms"] as? [String: Any])
        #expect((percentiles["answer"] as? [String: Any])?["p99.9"] != nil)
        #expect((percentiles["ringing"] as? [String: Any])?["p50"] != nil)
        #expect(try Self.sum("answered", of: text("intervals.csv")) == 40)
        #expect(
            try text("intervals.jsonl").split(separator: "\n").map { try Self.count(Self.object(String($0)), "placed") ?? 0 }
                .reduce(0, +) == 40)
        #expect(try text("report.html").contains("timers late, ms"))
        #expect(server.stderr.contains("40 calls came in"))
    }

    /// What the flow refuses is counted on both sides, and nobody's fault here.
    @Test func aFlowThatRefuses() async throws {
        let server = try ServeProcess(
            flow: "flow: busy\nsections: { start: [ { reject: 486 } ] }\n", arguments: ["--report", "FOLDER/far", "--json"])
        let address = try #require(server.address, "\(server.stderr)")
        let near = try await Self.load("sip:1@\(address)", ["--rate", "50", "--calls", "20"])
        server.signal(SIGTERM)
        #expect([0, 3].contains(server.status()))
        let far = try Self.object(String(contentsOf: server.folder.appending(path: "far/summary.json"), encoding: .utf8))
        #expect(far["by_status"] as? [String: Int] == ["486": 20])
        #expect(near.json["by_status"] as? [String: Int] == ["486": 20])
        if (far["generator"] as? [String: Any])?["limits_hit"] as? [String] == [] {
            let finding = (far["findings"] as? [[String: Any]])?.first
            #expect(finding?["by"] as? String == "flow" && finding?["calls"] as? Int == 20)
        }
    }

    /// Calls that this side's own limits refuse are counted, and spoil what it says of the others.
    @Test func ownLimitsAreNamed() async throws {
        let server = try ServeProcess(flow: Self.answering, arguments: ["--report", "FOLDER/far", "--max-calls", "3"])
        let address = try #require(server.address, "\(server.stderr)")
        let near = try await Self.load("sip:1@\(address)", ["--rate", "50", "--calls", "10", "--hold", "3s"])
        server.signal(SIGTERM)
        #expect(server.status() == 3)
        let far = try Self.object(String(contentsOf: server.folder.appending(path: "far/summary.json"), encoding: .utf8))
        #expect((Self.count(far, "placed"), Self.count(far, "answered")) == (10, 3))
        #expect(far["by_status"] as? [String: Int] == ["503": 7])
        #expect(near.json["by_status"] as? [String: Int] == ["503": 7])
        let limits = (far["generator"] as? [String: Any])?["limits_hit"] as? [String]
        #expect(limits?.contains("admission") == true, "\(far)")
        #expect(server.stderr.contains("raise limits.calls"))
    }

    /// A call that is cut is in the report all the same, and it says so.
    @Test func cutShort() async throws {
        let server = try ServeProcess(flow: Self.answering, arguments: ["--report", "FOLDER/far"])
        let address = try #require(server.address, "\(server.stderr)")
        let stops = StopRequests()
        async let near = Self.load("sip:1@\(address)", ["--rate", "10", "--calls", "1", "--hold", "10m"], stops: stops)
        #expect(server.says("call began"))
        server.signal(SIGTERM)
        #expect(server.says("no new calls"))
        server.signal(SIGTERM)
        _ = try await near
        #expect([1, 3].contains(server.status()))
        let far = try Self.object(String(contentsOf: server.folder.appending(path: "far/summary.json"), encoding: .utf8))
        #expect((Self.count(far, "placed"), Self.count(far, "answered")) == (1, 1))
        #expect((far["generator"] as? [String: Any])?["cut_short"] as? Bool == true)
    }

    @Test func aFolderThatCannotBeMade() throws {
        let server = try ServeProcess(flow: Self.answering, arguments: ["--report", "/proc/none"])
        #expect(server.status() == 3)
        #expect(server.stderr.contains("ringwright: the folder /proc/none cannot be made"))
        let json = try ServeProcess(flow: Self.answering, arguments: ["--json"])
        #expect(json.status() == 2)
        #expect(json.stderr.contains("--json prints what --report counts; name its folder"))
    }

    // MARK: In one process

    /// A server of this process that counts.
    static func server(_ flow: String, in folder: TemporaryFolder) throws -> RunningServer {
        try folder.write(flow, to: "far.yaml")
        var configuration = Configuration()
        configuration.sip.listen = [.init(.udp, SocketAddress(ip: .loopback4, port: 0))]
        configuration.control.listen = nil
        return try RunningServer(
            ServerRules(configuration, flows: FlowTable(configuration, flow: folder.path("far.yaml")), tls: nil), version: "test",
            loopCount: 2, log: RunningServerTests.quiet, counts: true)
    }

    /// It is written while it serves, and valid at any moment.
    @Test func theReportGrows() async throws {
        let folder = try TemporaryFolder()
        let server = try Self.server(Self.answering, in: folder)
        let files = try WorkerPool(name: "files", threads: 1, limit: 8)
        let (written, writes) = AsyncStream.makeStream(of: Void.self)
        let kept = server.control.runAndWait {
            let report = KeptReport(folder.url.path, loop: server.control, workers: files, log: RunningServerTests.quiet) {
                server.counted
            }
            report.onWritten = { writes.yield() }
            report.start(every: .milliseconds(20))
            return LoopBound(report, on: server.control)
        }
        let port = server.engine.listeners[0].address.port
        async let near = Self.load("sip:1@127.0.0.1:\(port)", ["--rate", "20", "--calls", "20", "--hold", "100ms"])
        var seen: [Int] = []
        for await _ in written {
            seen.append(try #require(Self.count(Self.object(folder.text("summary.json")), "answered")))
            if seen.last == 20 { break }
        }
        #expect(seen == seen.sorted())
        _ = try await near
        kept.runAndWait { $0.stop() }
        server.close()
        files.stop()
    }

    /// A measurement after the other: each has its own figures.
    @Test func countedAnew() async throws {
        let server = try Self.server(Self.answering, in: TemporaryFolder())
        defer { server.close() }
        let port = server.engine.listeners[0].address.port
        for calls in [5, 3] {
            server.countAnew()
            _ = try await Self.load("sip:1@127.0.0.1:\(port)", ["--rate", "50", "--calls", "\(calls)", "--hold", "50ms"])
            let report = try #require(server.conclude())
            #expect((report.statistics.placed, report.statistics.answered, report.statistics.failed) == (calls, calls, 0))
            #expect(report.side == .called)
        }
    }

    /// The system in the middle is the process itself here: whatever it calls comes back.
    @Test func oneProcessIsBothHalves() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.answering, to: "far.yaml")
        // A port that nobody has, which is needed before the command runs.
        let probe = try Self.server(Self.answering, in: TemporaryFolder())
        let port = probe.engine.listeners[0].address.port
        probe.close()
        let result = try await Self.load(
            "sip:1@127.0.0.1:\(port)",
            [
                "--rate", "40", "--calls", "40", "--hold", "500ms", "--media", "play", "--answer", folder.path("far.yaml"),
                "--set", "sip.listen=[\"udp:127.0.0.1:\(port)\"]", "--report", folder.path("both")
            ])
        #expect([.passed, .unable].contains(result.status))
        let far = try #require(result.json["far_end"] as? [String: Any])
        #expect((Self.count(far, "placed"), Self.count(far, "answered"), Self.count(far, "failed")) == (40, 40, 0))
        #expect(Self.count(result.json, "between", "calls") == 0 && Self.count(result.json, "between", "answers") == 0)
        #expect((Self.count(far, "media", "received") ?? 0) > 500)
        #expect(try Self.sum("placed", of: folder.text("both/far-end-intervals.csv")) == 40)
        #expect(folder.text("both/report.html").contains("<h2>Both halves</h2>"))
        let bad = await #expect(throws: CommandFailure.self) {
            try await Self.load("sip:1@127.0.0.1:\(port)", ["--rate", "1", "--answer", "/not/there.yaml"])
        }
        #expect(bad?.status == .wrong)
    }
}
