// `ringwright campaign` with parties as a whole, over real SIP and RTP: its caller, a system that bridges, its party, and the reports.

import Basics
import CallEngine
import Foundation
import Reactor
import SIP
import Server
import TestKit
import Testing

@Suite struct PartyCampaignTests {
    /// A system under test that connects every call with wherever the campaign is called, and gives the mark on.
    /// - Parameter target: gives where that is; a call that comes before waits for it.
    static func system(
        registrar: RegistrarSettings? = nil, _ target: @escaping @Sendable () async -> String
    ) throws -> CallingEngine {
        var settings = Configuration().engineSettings
        settings.listeners = [.init(.udp, SocketAddress(ip: .loopback4, port: 0))]
        settings.registrar = registrar
        return try CallingEngine(
            Configuration(), settings,
            onIncoming: { call in
                let mark = call.info.headers.filter { $0.name == "X-Ringwright-Test" }
                // 404 is a number that this system does not know.
                if call.info.to.user == "404" { return (try? call.reject(status: 404, reason: nil, headers: [])) ?? () }
                // A call that nobody waits for comes as well.
                let isStray = call.info.to.user == "2"
                let task = call.loop.spawn {
                    let target = await target()
                    if isStray { _ = try? await call.bridge(BridgeRequest(targets: [target.replacing("200", with: "555")])) }
                    _ = try? await call.bridge(BridgeRequest(targets: [target], headers: mark))
                    call.hangUp(.normal)
                }
                call.onEnd = { _ in task.cancel() }
            })
    }

    @Test func bothHalvesAreInEveryReport() async throws {
        let target = Locked("")
        let system = try Self.system { target.withLock { $0 } }
        defer { system.close() }
        let folder = try TemporaryFolder()
        try folder.write(
            """
            flow: caller
            direction: outbound
            sections:
              call:
                - answer: { timeout: 5s }
                - tone: { frequencies: [ 440 ], for: 600ms }
                - send-digits: "12"
                - wait: 1s
                - hangup
            """, to: "a.yaml")
        try folder.write(
            "flow: agent\ndirection: inbound\nsections: { call: [ ring, answer, { wait: 20s } ] }\n", to: "b.yaml")
        try folder.write("number\n1\n404\n2\n", to: "list.csv")
        try folder.write(
            """
            campaign: halves
            targets: list.csv
            flow: a.yaml
            to: "sip:${target.number}@127.0.0.1:\(system.engine.listeners[0].address.port)"
            parties:
              agent: { flow: b.yaml, number: "200" }
            """, to: "c.yaml")
        let first = UInt16.random(in: 10_000...13_000) * 4
        guard
            case .run(let arguments) = try CommandList.choose([
                "campaign", folder.path("c.yaml"), "--json", "--report", folder.path("report"), "--loops", "1", "--set",
                "sip.listen=[\"udp:127.0.0.1:0\"]", "--set", "rtp.ports=\(first)-\(first + 3999)"
            ])
        else { throw CommandFailure(.wrong, "the campaign is not chosen") }
        let outcome = try await CampaignCommand.run(CampaignOptions(arguments), stops: StopRequests()) { line in
            guard let address = line.split(separator: "udp:", maxSplits: 1).dropFirst().first else { return }
            if line.hasPrefix("parties are called at") { target.withLock { $0 = "sip:200@\(address)" } }
        }
        #expect(outcome.status == .failed)
        #expect(outcome.note.contains("ringwright: a call to 555 belongs to no test\n"), "\(outcome.note)")
        let results = try folder.text("report/results.jsonl").split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        #expect(
            results.map { $0["result"] as? String } == ["passed", "failed", "passed"], "\(folder.text("report/results.jsonl"))")
        let party = try #require((results[0]["parties"] as? [[String: Any]])?.first)
        #expect(party["party"] as? String == "agent" && party["matched_by"] as? String == "mark")
        #expect((party["call"] as? [String: Any])?["result"] as? String == "passed")
        #expect((party["heard"] as? [String: Any])?["latency_ms"] is Double)
        let missed = (results[1]["expectations"] as? [[String: Any]])?.filter { $0["passed"] as? Bool == false }
        #expect(missed?.map { $0["actual"] as? String } == ["was not called"])
        #expect(folder.text("report/junit.xml").contains("agent: was not called"))
        #expect(folder.text("report/report.html").contains("system under test"))
        // What agreed is not kept, and the call that failed has no audio.
        #expect(!FileManager.default.fileExists(atPath: folder.path("report/audio")))
    }

    /// The party registers at the system under test and is called by its registration; with a wrong password no call is placed.
    @Test(arguments: ["geheim", "falsch"]) func aPartyThatRegisters(_ password: String) async throws {
        let users = ["anna": DigestSecret(user: "anna", realm: "example.com", password: "geheim")]
        let system = try Self.system(registrar: RegistrarSettings(realm: "example.com", users: users)) { "user:anna" }
        defer { system.close() }
        let port = system.engine.listeners[0].address.port
        let folder = try TemporaryFolder()
        try folder.write(
            "flow: a\ndirection: outbound\nsections: { call: [ answer, { wait: 500ms }, hangup ] }\n", to: "a.yaml")
        try folder.write("flow: b\nsections: { call: [ answer, { wait: 20s } ] }\n", to: "b.yaml")
        try folder.write("number\n1\n", to: "list.csv")
        try folder.write(
            """
            sip: { listen: [ "udp:127.0.0.1:0" ] }
            rtp: { ports: \(UInt16.random(in: 10_000...13_000) * 4)-59999 }
            lines:
              desk: { sip: { register: example.com, server: "127.0.0.1:\(port)", username: anna, password: \(password) } }
            """, to: "ringwright.yaml")
        try folder.write(
            """
            targets: list.csv
            flow: a.yaml
            to: "sip:1@127.0.0.1:\(port)"
            parties:
              agent: { flow: b.yaml, line: desk, agree: [ hang-up ] }
            """, to: "c.yaml")
        guard
            case .run(let arguments) = try CommandList.choose([
                "campaign", folder.path("c.yaml"), "--config", folder.path("ringwright.yaml"), "--json", "--report",
                folder.path("report"), "--loops", "1"
            ])
        else { throw CommandFailure(.wrong, "the campaign is not chosen") }
        let options = try CampaignOptions(arguments)
        if password == "geheim" {
            let outcome = try await CampaignCommand.run(options, stops: StopRequests()) { _ in }
            #expect(outcome.status == .passed, "\(folder.text("report/results.jsonl"))")
            #expect(system.engine.registrar?.figures.answers[200] ?? 0 >= 1)
        } else {
            let failure = await #expect(throws: CommandFailure.self) {
                try await CampaignCommand.run(options, stops: StopRequests()) { _ in }
            }
            #expect(failure?.message.hasPrefix("the line desk, by which a party is called, is not registered") == true)
            // No call was begun: the same line can be run again.
            #expect(!FileManager.default.fileExists(atPath: folder.path("report/campaign.db")))
        }
    }

    /// Where a worker says that its parties are called; as many as like wait for it.
    private final class Announcement: Sendable {
        private struct State {
            var isKnown = false
            var address: String?
            var waiting: [CheckedContinuation<String?, Never>] = []
        }

        private let state = Locked(State())
        private static let start = "parties are called at "

        /// What follows `udp:` or `tcp:`; nil when the worker was over without it.
        var address: String? {
            get async {
                await withCheckedContinuation { waiting in
                    let known: String?? = state.withLock {
                        if !$0.isKnown { $0.waiting.append(waiting) }
                        return $0.isKnown ? .some($0.address) : nil
                    }
                    if let known { waiting.resume(returning: known) }
                }
            }
        }

        func hear(_ line: String) {
            if line.hasPrefix(Self.start) { end(String(line.dropFirst(Self.start.count + 4))) }
        }

        func isOver() { end(nil) }

        private func end(_ address: String?) {
            let waiting = state.withLock { state in
                guard !state.isKnown else { return [CheckedContinuation<String?, Never>]() }
                defer { state.waiting = [] }
                (state.isKnown, state.address) = (true, address)
                return state.waiting
            }
            for each in waiting { each.resume(returning: address) }
        }
    }

    /// The system calls all parties at the first worker, whoever has placed the caller's call.
    @Test(.enabled(if: PostgreSQLCluster.shared != nil, "PostgreSQL is not installed"))
    func callsThatComeToAnotherWorker() async throws {
        let database = try #require(PostgreSQLCluster.shared).url
        let (first, second) = (Announcement(), Announcement())
        // Until the second worker is there too, no call is answered: both have some to make.
        let system = try Self.system {
            let address = await first.address ?? ""
            return await second.address == nil ? "" : "sip:200@\(address)"
        }
        defer { system.close() }
        let folder = try TemporaryFolder()
        try folder.write(
            "flow: a\ndirection: outbound\nsections: { call: [ answer, { send-digits: \"12\" }, { wait: 1s }, hangup ] }\n",
            to: "a.yaml")
        try folder.write("flow: b\nsections: { call: [ answer, { wait: 20s } ] }\n", to: "b.yaml")
        try folder.write("number\n" + (11...26).map { "\($0)\n" }.joined(), to: "list.csv")
        try folder.write(
            """
            targets: list.csv
            flow: a.yaml
            to: "sip:${target.number}@127.0.0.1:\(system.engine.listeners[0].address.port)"
            concurrency: 4
            parties:
              agent: { flow: b.yaml, number: "200", agree: [ digits, hang-up ] }
            """, to: "c.yaml")
        let name = "parties-\(UInt32.random(in: 0 ... .max))"
        func options(_ worker: Int, _ listen: String) throws -> CampaignOptions {
            let first = UInt16.random(in: 10_000...13_000) * 4
            guard
                case .run(let arguments) = try CommandList.choose([
                    "campaign", folder.path("c.yaml"), "--report", folder.path("report-\(worker)"), "--loops", "1", "--set",
                    "sip.listen=[\"\(listen)\"]", "--set", "rtp.ports=\(first)-\(first + 1999)", "--workers",
                    "${env.DATABASE}", "--name", name, "--lease", "2s"
                ])
            else { throw CommandFailure(.wrong, "the campaign is not chosen") }
            var sources = ConfigurationSources.process
            sources.environment["DATABASE"] = database
            return try CampaignOptions(arguments, sources: sources)
        }
        let workers = [try options(0, "udp:127.0.0.1:0"), try options(1, "tcp:0.0.0.0:0")]
        let outcomes = try await withThrowingTaskGroup(of: CommandOutcome.self) { group in
            func start(_ worker: Int, _ announcement: Announcement) {
                group.addTask {
                    defer { announcement.isOver() }
                    return try await CampaignCommand.run(workers[worker], stops: StopRequests()) { announcement.hear($0) }
                }
            }
            start(0, first)
            _ = await first.address
            start(1, second)
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let results = folder.text("report-1/results.jsonl")
        #expect(outcomes.map(\.status) == [.passed, .passed], "\(results)")
        #expect(results.components(separatedBy: "\"relayed_by\":1").count > 1, "\(results)")
        #expect(results.components(separatedBy: "\"relayed_by\":null").count > 1, "\(results)")
        #expect(!results.contains("\"relayed_by\":2"))
    }

    @Test func twoPortsAreTooFewForBothHalves() throws {
        var configuration = Configuration()
        configuration.rtp.ports = 20000...20001
        #expect(throws: CommandFailure.self) { try configuration.parted() }
        configuration.rtp.ports = 20001...20008
        let (callers, parties) = try configuration.parted()
        #expect(callers.rtp.ports == 20001...20003 && parties.rtp.ports == 20004...20008)
    }
}
