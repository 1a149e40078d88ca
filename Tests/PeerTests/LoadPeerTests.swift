// `ringwright load` against sipp: a good target, one that refuses, one that is silent, one that is slow, and one that is not there. What
// the report says is what sipp did.

import Basics
import CallEngine
import Dialer
import Foundation
import Reactor
import Server
import TestKit
import Testing

@Suite("load against sipp", .serialized, .enabled(if: Sipp.isInstalled, "sipp is not installed"))
struct LoadPeerTests {
    struct Result {
        var status: Server.ExitStatus
        var json: [String: Any]

        subscript(path: String...) -> Any? {
            var value: Any? = json
            for word in path { value = (value as? [String: Any])?[word] }
            return value
        }
        func count(_ name: String) -> Int? { json[name] as? Int }
        func counts(_ name: String) -> [String: Int]? { json[name] as? [String: Int] }
    }

    /// The command, as the program runs it.
    static func load(
        _ port: UInt16, _ words: [String], user: String = "load", stops: StopRequests = StopRequests(),
        onProgress: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> Result {
        guard
            case .run(let arguments) = try CommandList.choose(
                ["load", "sip:\(user)@127.0.0.1:\(port)", "--json", "--set", "rtp.ports=\(ports())"] + words)
        else { throw PeerError.missing("arguments") }
        let outcome = try await LoadCommand.run(LoadOptions(arguments), stops: stops, progress: onProgress)
        let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        return Result(status: outcome.status, json: try #require(object))
    }

    /// A range of its own, so that two test runs seldom meet.
    static func ports() -> String {
        let first = UInt16.random(in: 10_000...13_000) * 4
        return "\(first)-\(first + 3999)"
    }

    /// sipp ends by a status that says whether all calls went by its scenario; figures of this machine are not judged here.
    static let anyStatus: Set<Server.ExitStatus> = [.passed, .unable]

    @Test func aGoodTarget() async throws {
        let sipp = try Sipp(.builtIn("uas"), calls: 300, limit: 40)
        defer { sipp.stop() }
        let result = try await Self.load(sipp.port, ["--rate", "100", "--calls", "300", "--hold", "500ms", "--loops", "2"])
        #expect(Self.anyStatus.contains(result.status))
        #expect((result.count("placed"), result.count("answered"), result.count("failed")) == (300, 300, 0))
        #expect(result["offered", "calls"] as? Int == 300)
        #expect(result["offered", "rate"] as? Double == 100)
        let achieved = try #require(result.json["rate_achieved"] as? Double)
        #expect(abs(achieved / 100 - 1) < 0.05)
        #expect(result["percentiles_ms", "bye", "max"] != nil)
        sipp.expectSuccess()
    }

    /// Half of the calls are refused with 503 by a coin that sipp throws; both sides count the same.
    @Test func aTargetThatRefuses() async throws {
        let folder = try TemporaryFolder()
        let sipp = try Sipp(.own("callee-flaky"), calls: 200, limit: 40, folder: folder, more: ["-trace_stat", "-fd", "1"])
        defer { sipp.stop() }
        let result = try await Self.load(sipp.port, ["--rate", "100", "--calls", "200", "--hold", "100ms"])
        let refused = sipp.messages.components(separatedBy: "\nSIP/2.0 503").count - 1
        #expect(refused > 50 && refused < 150)
        #expect(result.count("placed") == 200)
        #expect(result.count("failed") == refused)
        #expect(result.count("answered") == 200 - refused)
        #expect(result.counts("by_status") == ["503": refused])
        #expect(result.counts("by_cause") == [:])
        #expect(result.status != .passed)
    }

    /// It takes every INVITE and never says a word but 100.
    @Test func aTargetThatIsSilent() async throws {
        let sipp = try Sipp(.own("callee-silent"), calls: 1000, limit: 40)
        defer { sipp.stop() }
        let result = try await Self.load(sipp.port, ["--rate", "50", "--calls", "20", "--answer-timeout", "1s"])
        #expect((result.count("placed"), result.count("answered"), result.count("failed")) == (20, 0, 20))
        #expect(result.counts("by_cause") == ["no-answer": 20])
        #expect(result.counts("by_status") == [:])
    }

    @Test func aTargetThatIsSlow() async throws {
        let sipp = try Sipp(.own("callee-slow"), calls: 50, limit: 40)
        defer { sipp.stop() }
        let result = try await Self.load(sipp.port, ["--rate", "50", "--calls", "50", "--hold", "100ms"])
        #expect(result.count("failed") == 0)
        let median = try #require(result["percentiles_ms", "answer", "p50"] as? Double)
        #expect(median >= 700)
        #expect(try #require(result["percentiles_ms", "ringing", "p50"] as? Double) < median)
        sipp.expectSuccess()
    }

    /// Each of its answers has a codec that nobody offered: its doing, and not this machine's.
    @Test func aTargetWithWrongDescriptions() async throws {
        let sipp = try Sipp(.own("callee-wrong-codec"), calls: 10, limit: 40)
        defer { sipp.stop() }
        let result = try await Self.load(sipp.port, ["--rate", "20", "--calls", "10"])
        #expect((result.count("placed"), result.count("answered"), result.count("failed")) == (10, 0, 10))
        #expect(result.counts("by_cause") == ["rejected": 10])
        if result["generator", "limits_hit"] as? [String] == [] {
            let findings = result.json["findings"] as? [[String: Any]]
            #expect(findings?.first?["by"] as? String == "target" && findings?.first?["what"] as? String == "rejected")
        }
        sipp.expectSuccess()
    }

    /// Nobody listens: that is the target's doing and not this machine's.
    @Test func aTargetThatIsNotThere() async throws {
        let result = try await Self.load(Ports.free(), ["--rate", "20", "--calls", "10"])
        #expect(result.counts("by_cause") == ["unreachable": 10])
        #expect((result["generator", "limits_hit"] as? [String])?.contains("sending") == false)
    }

    /// Our own doing: there are fewer ports than calls.
    @Test func thisSideRunsOutOfPorts() async throws {
        let sipp = try Sipp(.builtIn("uas"), calls: 1000, limit: 40)
        defer { sipp.stop() }
        let first = UInt16.random(in: 10_000...13_000) * 4
        let result = try await Self.load(
            sipp.port,
            ["--rate", "50", "--calls", "40", "--hold", "2s", "--loops", "1", "--set", "rtp.ports=\(first)-\(first + 19)"])
        #expect(result.status == .unable)
        #expect((result["generator", "limits_hit"] as? [String])?.contains("ports") == true)
        #expect(result.counts("by_cause") == ["error": 30])
    }

    @Test func ctrlCDrains() async throws {
        let sipp = try Sipp(.builtIn("uas"), calls: 10_000, limit: 40)
        defer { sipp.stop() }
        let stops = StopRequests()
        let asked = Locked(false)
        let result = try await Self.load(
            sipp.port, ["--rate", "50", "--duration", "1m", "--hold", "1s"], stops: stops,
            onProgress: { line in
                guard line.contains("active") else { return }
                let isFirst = asked.withLock { asked in
                    defer { asked = true }
                    return !asked
                }
                if isFirst { stops.request() }
            })
        let placed = try #require(result.count("placed"))
        #expect(placed >= 40 && placed < 200)
        #expect(result.count("answered") == placed)
        #expect(result.count("failed") == 0)
        #expect(result["generator", "cut_short"] as? Bool == true)
        #expect(result.status != .passed)
    }

    /// However many loops there are: a limit of one call is one call at a time, and one user makes all the calls.
    @Test(arguments: [["--rate", "50", "--concurrency", "1"], ["--users", "1", "--pause", "10ms"]])
    func fewerCallsAtATimeThanLoops(_ words: [String]) async throws {
        let sipp = try Sipp(.builtIn("uas"), calls: 10, limit: 40)
        defer { sipp.stop() }
        let result = try await Self.load(sipp.port, words + ["--calls", "10", "--hold", "50ms", "--loops", "3"])
        #expect((result.count("placed"), result.count("answered"), result.count("peak_concurrency")) == (10, 10, 1))
        sipp.expectSuccess()
    }

    @Test func audioBothWays() async throws {
        let sipp = try Sipp(.own("callee-echo"), calls: 10, limit: 40, more: ["-rtp_echo"])
        defer { sipp.stop() }
        let result = try await Self.load(sipp.port, ["--rate", "10", "--calls", "10", "--hold", "1s", "--media", "play"])
        #expect(result.count("failed") == 0)
        let received = try #require(result["media", "received"] as? Int)
        #expect(received > 300)
        #expect(result["media", "one_way"] as? Int == 0)
        #expect((result["media", "mos", "p50"] as? Double ?? 0) > 4)
    }

    /// The target takes three calls at a time and refuses the others: with calls of half a second that is six a second.
    @Test func theLimitOfATargetIsFound() async throws {
        let server = try EngineUnderTest(
            limits: .init(calls: 3, callsPerSecond: 1000),
            flow: { call, _ in
                try await call.answer()
                try await call.stay(.seconds(5))
            })
        defer { server.close() }
        let result = try await Self.load(
            server.udpPort,
            ["--rate", "4", "--find-limit", "--hold", "500ms", "--step-time", "2s", "--max-rate", "20", "--loops", "1"])
        let rate = try #require(result.json["rate"] as? Double)
        if result.status == .passed {
            #expect(result.json["outcome"] as? String == "found")
            #expect(rate >= 4.5 && rate <= 7)
            #expect((result.json["reason"] as? String)?.contains("of the calls failed") == true)
        } else {
            // A machine that is busy with other tests may spoil a step, and says so.
            #expect(result.status == .unable && result.json["outcome"] as? String == "own-limit")
        }
        #expect((result.json["steps"] as? [[String: Any]])?.count ?? 0 >= 1)
    }

    @Test(.enabled(if: PeerProgram.isInstalled("curl"), "curl is not installed"))
    func metricsWhileItRuns() async throws {
        let sipp = try Sipp(.builtIn("uas"), calls: 10_000, limit: 40)
        defer { sipp.stop() }
        let stops = StopRequests()
        let page = Locked<[String]>([])
        _ = try await Self.load(
            sipp.port, ["--rate", "20", "--duration", "1m", "--hold", "100ms", "--http", "127.0.0.1:0"], stops: stops,
            onProgress: { line in
                if line.hasPrefix("metrics on ") { page.withLock { $0 = [String(line.dropFirst(11))] } }
                guard line.contains("active"), let address = page.withLock({ $0.count == 1 ? $0[0] : nil }) else { return }
                // Not on the control loop, which answers.
                Thread.detachNewThread {
                    if let folder = try? TemporaryFolder(),
                        let curl = try? PeerProgram("curl", ["-s", "-m", "5", address], in: folder), curl.wait(.seconds(6)) == 0
                    {
                        page.withLock { $0.append(curl.output) }
                    }
                    stops.request()
                }
            })
        let text = try #require(page.withLock { $0.count > 1 ? $0[1] : nil })
        #expect(text.contains("\nringwright_load_calls_total{result=\"placed\"} "))
        #expect(text.contains("\nringwright_load_retransmissions_total "))
        #expect(text.contains("\nringwright_load_limit_hit{limit=\"ports\"} 0\n"))
        #expect(text.contains("\nringwright_calls_active "))
    }

    /// Two processes share a run, and one of them is killed in another; `scripts/long` does it in networks of their own.
    @Test(.enabled(if: PeerProgram.isInstalled("python3") && PeerProgram.isInstalled("psql"), "PostgreSQL is not installed"))
    func sharedAndKilled() throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Fuzz/load_kills.py")
        let run = try PeerProgram(
            "python3", [script.standardizedFileURL.path(), PeerProgram.ringwright, "--seconds", "3", "--lease", "1s"],
            in: TemporaryFolder())
        #expect(run.wait(.seconds(120)) == 0, "\(run.output)")
    }
}
