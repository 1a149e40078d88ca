// `ringwright campaign` as a whole: against sipp, with its reports, and killed at random instants.

import Basics
import CallEngine
import Dialer
import Foundation
import FoundationXML
import Reactor
import Server
import TestKit
import Testing

@Suite("campaigns against sipp", .serialized, .enabled(if: Sipp.isInstalled, "sipp is not installed"))
struct CampaignPeerTests {
    static let flow = """
        flow: probe
        direction: outbound
        vars: { wanted: "200" }
        sections:
          call:
            - answer: { timeout: 5s }
            - expect: { status: "200", name: "is answered" }
            - expect: { digits: "1", within: 300ms, name: "presses 1" }
            - hangup
        """

    static func campaign(
        _ folder: TemporaryFolder, _ words: [String], stops: StopRequests = StopRequests(),
        onProgress: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws -> CommandOutcome {
        guard
            case .run(let arguments) = try CommandList.choose(
                ["campaign", "--json", "--report", folder.path("report"), "--set", "rtp.ports=\(LoadPeerTests.ports())"] + words)
        else { throw PeerError.missing("arguments") }
        return try await CampaignCommand.run(CampaignOptions(arguments), stops: stops, progress: onProgress)
    }

    static func summary(_ outcome: CommandOutcome) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
    }

    /// A coin refuses about half of the calls; those that are answered lack the key that the flow expects. Every report says the same.
    @Test func verdictsAndReports() async throws {
        let folder = try TemporaryFolder()
        let sipp = try Sipp(.own("callee-flaky"), calls: 40, limit: 40)
        defer { sipp.stop() }
        try folder.write(Self.flow, to: "flow.yaml")
        try folder.write("number,who\n" + (1...40).map { "\($0),\"Müller, <\($0)>\"\n" }.joined(), to: "list.csv")
        try folder.write(
            """
            campaign: nightly
            targets: list.csv
            flow: flow.yaml
            to: "sip:${target.number}@127.0.0.1:\(sipp.port)"
            concurrency: 10
            rate: 100
            """, to: "nightly.yaml")
        let outcome = try await Self.campaign(folder, [folder.path("nightly.yaml")])
        let refused = sipp.messages.components(separatedBy: "\nSIP/2.0 503").count - 1
        #expect(outcome.status == .failed)
        let summary = try Self.summary(outcome)
        #expect(summary["targets"] as? Int == 40)
        #expect(summary["failed"] as? Int == 40)
        #expect(summary["by_status"] as? [String: Int] == ["503": refused])
        #expect(summary["by_cause"] as? [String: Int] == ["expectation": 40 - refused])

        let results = try folder.text("report/results.jsonl").split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(results.map { $0["row"] as? Int } == (1...40).map { $0 })
        #expect(results.count { ($0["sip"] as? [String: Any])?["status"] as? Int == 503 } == refused)
        #expect(results.allSatisfy { $0["result"] as? String == "failed" && $0["flow"] as? String == "probe" })

        let junit = folder.text("report/junit.xml")
        let parser = XMLParser(data: Data(junit.utf8))
        #expect(parser.parse(), "\(junit.prefix(500))")
        #expect(junit.components(separatedBy: "<testcase ").count == 41)
        #expect(junit.contains("failures=\"40\""))
        #expect(junit.contains("expected: presses 1\nactual: "))

        let calls = folder.text("report/calls.csv").split(separator: "\r\n")
        #expect(calls.count == 41)
        let page = folder.text("report/report.html")
        #expect(page.contains("<td>presses 1</td>"))
        #expect(page.contains("503 Service Unavailable"))
        #expect(page.contains("INVITE sip:40@127.0.0.1"))
        #expect(page.components(separatedBy: "<svg").count >= 4)
        #expect(!page.contains("http://") && !page.contains("https://"))
    }

    @Test func stoppedAndResumed() async throws {
        let folder = try TemporaryFolder()
        let sipp = try Sipp(.builtIn("uas"), calls: 60, limit: 60)
        defer { sipp.stop() }
        try folder.write(
            "flow: f\ndirection: outbound\nsections: { call: [ answer, { wait: 50ms }, hangup ] }\n", to: "flow.yaml")
        try folder.write((1...60).map { "{\"number\":\"\($0)\"}\n" }.joined(), to: "list.jsonl")
        let words = [
            "--list", folder.path("list.jsonl"), "--flow", folder.path("flow.yaml"), "--to",
            "sip:${target.number}@127.0.0.1:\(sipp.port)", "--concurrency", "5", "--rate", "20"
        ]
        let stops = StopRequests()
        let first = try await Self.campaign(folder, words, stops: stops) { if $0.contains("active") { stops.request() } }
        #expect(first.status == .failed)
        let cut = try Self.summary(first)
        #expect(cut["cut_short"] as? Bool == true)
        let waiting = try #require(cut["waiting"] as? Int)
        #expect(waiting > 0 && waiting < 60)

        let again = await #expect(throws: CommandFailure.self) { try await Self.campaign(folder, words) }
        #expect(again?.message.hasSuffix("has a campaign already") == true)

        let other = try #require(try FileLock.take(folder.path("report/campaign.lock")))
        let together = await #expect(throws: CommandFailure.self) { try await Self.campaign(folder, words + ["--resume"]) }
        #expect(together?.message.hasPrefix("another process runs the campaign in ") == true)
        other.release()
        let second = try await Self.campaign(folder, words + ["--resume"])
        #expect(second.status == .passed)
        let whole = try Self.summary(second)
        #expect((whole["passed"] as? Int, whole["attempts"] as? Int, whole["waiting"] as? Int) == (60, 60, 0))
        sipp.expectSuccess()
    }

    /// The report plays calls that did not pass; of the others nothing is kept.
    @Test func recordedCallsAreInTheReport() async throws {
        let folder = try TemporaryFolder()
        let sipp = try Sipp(.builtIn("uas"), calls: 2, limit: 2)
        defer { sipp.stop() }
        try folder.write(
            """
            flow: speaks
            direction: outbound
            sections:
              call:
                - answer
                - tone: { name: busy, country: de, for: 400ms }
                - if: target.wanted == "more"
                  then: [ { expect: { digits: "1", within: 100ms } } ]
                - hangup
            """, to: "flow.yaml")
        try folder.write("number,wanted\n1,nothing\n2,more\n", to: "list.csv")
        let outcome = try await Self.campaign(
            folder,
            [
                "--list", folder.path("list.csv"), "--flow", folder.path("flow.yaml"), "--to",
                "sip:${target.number}@127.0.0.1:\(sipp.port)", "--record"
            ])
        #expect(outcome.status == .failed)
        let page = folder.text("report/report.html")
        #expect(page.components(separatedBy: "src='data:audio/wav;base64,").count == 2, "\(folder.text("report/results.jsonl"))")
        #expect(page.contains("aria-label='waveform'"))
        let kept = try FileManager.default.contentsOfDirectory(atPath: folder.path("report/audio"))
        #expect(kept == ["2-1.wav"])
    }

    /// Prometheus sees how far it is: while calls run, as of this process, and of the whole list.
    @Test(.enabled(if: PeerProgram.isInstalled("curl"), "curl is not installed"))
    func metricsWhileItRuns() async throws {
        let folder = try TemporaryFolder()
        let sipp = try Sipp(.builtIn("uas"), calls: 60, limit: 60)
        defer { sipp.stop() }
        try folder.write(
            "flow: f\ndirection: outbound\nsections: { call: [ answer, { wait: 50ms }, hangup ] }\n", to: "flow.yaml")
        try folder.write("number\n" + (1...60).map { "\($0)\n" }.joined(), to: "list.csv")
        let stops = StopRequests()
        let page = Locked<[String]>([])
        let ticks = Locked(0)
        let outcome = try await Self.campaign(
            folder,
            [
                "--list", folder.path("list.csv"), "--flow", folder.path("flow.yaml"), "--to",
                "sip:${target.number}@127.0.0.1:\(sipp.port)", "--rate", "5", "--http", "127.0.0.1:0"
            ], stops: stops
        ) { line in
            if line.hasPrefix("metrics on ") { page.withLock { $0 = [String(line.dropFirst(11))] } }
            // The second one: the page has what the first one showed.
            guard line.contains("active"),
                ticks.withLock({ count in
                    count += 1
                    return count == 2
                }), let address = page.withLock({ $0.first })
            else { return }
            // Not on the control loop, which answers.
            Thread.detachNewThread {
                if let folder = try? TemporaryFolder(),
                    let curl = try? PeerProgram("curl", ["-s", "-m", "5", address], in: folder), curl.wait(.seconds(6)) == 0
                {
                    page.withLock { $0.append(curl.output) }
                }
                stops.request()
            }
        }
        #expect(outcome.status == .failed)
        let text = try #require(page.withLock { $0.count > 1 ? $0[1] : nil })
        #expect(text.contains("\nringwright_campaign_targets 60\n"))
        #expect(text.contains("\nringwright_campaign_workers 1\n"))
        #expect(text.contains("\nringwright_campaign_attempts_total{result=\"failed\"} 0\n"))
        let passed = text.split(separator: "\n").first { $0.hasPrefix("ringwright_campaign_attempts_total{result=\"passed\"} ") }
        #expect(passed.flatMap { Int($0.split(separator: " ").last ?? "") }.map { $0 > 0 } == true, "\(passed as Any)")
        #expect(text.contains("\nringwright_calls_active "))
    }

    /// `scripts/long` does it with 5,000 calls and 200 kills, and with each worker in a network of its own.
    @Test(
        .enabled(if: PeerProgram.isInstalled("python3"), "python3 is not installed"),
        arguments: [[], ["--parties"]]
            + (PeerProgram.isInstalled("psql") ? [["--workers", "2"], ["--workers", "2", "--parties"]] : []))
    func killedAgainAndAgain(_ words: [String]) throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Fuzz/campaign_kills.py")
        let run = try PeerProgram(
            "python3",
            [script.standardizedFileURL.path(), PeerProgram.ringwright, "--calls", "300", "--kills", "8"]
                + (words.contains("--workers") ? ["--store", "postgresql"] : []) + words,
            in: TemporaryFolder())
        #expect(run.wait(.seconds(120)) == 0, "\(run.output)")
    }
}
