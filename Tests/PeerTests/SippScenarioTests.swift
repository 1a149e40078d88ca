// `ringwright sipp` against sipp: the embedded scenarios of both, in both roles, with verdict, counters and exit code.

import Foundation
import Reactor
import SIPpRunner
import TestKit
import Testing

/// Our runner as one end, on a thread of its own.
final class ScenarioPeer {
    private let ended = Outcome<ScenarioProgram.Outcome>()
    let port: UInt16

    /// - Parameters:
    ///   - scenario: `-sn NAME` or `-sf FILE`.
    ///   - target: the port that it calls; nil when it waits for calls.
    init(
        _ scenario: [String], target: UInt16? = nil, transport: String = "u1", calls: Int = 1, port: UInt16? = nil,
        more: [String] = []
    ) {
        self.port = port ?? Ports.free()
        var words = scenario + ["-i", "127.0.0.1", "-p", "\(self.port)", "-mp", "\(Ports.freeMedia())", "-t", transport]
        words += ["-m", "\(calls)", "-timeout", "15s", "-timeout_error"]
        // All run in one process, whose number tells nothing apart.
        words += ["-cid_str", "%u-\(self.port)@%s"] + more
        if let target { words.append("127.0.0.1:\(target)") }
        let ended = ended
        let arguments = words
        Thread.detachNewThread { ended.set(ScenarioProgram.run(arguments) { _ in }) }
        if target == nil { _ = Ports.wait(for: [(transport.hasPrefix("u") ? .udp : .tcp, self.port)], .seconds(5)) }
    }

    /// How it ended; nil when it did not in time.
    func outcome() -> ScenarioProgram.Outcome? { ended.wait(within: .seconds(30)) }

    func expect(_ status: Int32 = 0, _ place: SourceLocation = #_sourceLocation) {
        let outcome = outcome()
        if outcome?.status != status {
            Issue.record(
                "ringwright sipp ended with \(outcome.map { "\($0.status)" } ?? "no status in time"), not \(status): \(outcome?.note ?? "")\n\(outcome?.output ?? "")",
                sourceLocation: place)
        }
    }
}

@Suite("sipp scenarios against sipp", .serialized, .enabled(if: Sipp.isInstalled, "sipp is not installed"))
struct SippScenarioTests {
    /// Both ends of a call, by the names of SIPp's embedded scenarios.
    static let pairs: [(caller: String, called: String)] = [("uac", "uas"), ("regexp", "uas"), ("branchc", "branchs")]

    /// SIPp's own text of a scenario, which only lives as long as the test.
    static func dumped(_ name: String, in folder: TemporaryFolder) throws -> String {
        let program = try PeerProgram("sipp", ["-sd", name], in: folder)
        _ = program.wait(.seconds(5))
        try folder.write(program.output, to: "\(name).xml")
        return folder.path("\(name).xml")
    }

    @Test("SIPp's embedded scenarios, by its text and by ours, in both roles at once", arguments: pairs)
    func embedded(_ pair: (caller: String, called: String)) throws {
        let folder = try TemporaryFolder()
        let sippCalled = try Sipp(.builtIn(pair.called), calls: 6)
        let ourCalled = ScenarioPeer(["-sf", try Self.dumped(pair.called, in: folder)], calls: 3)
        let ourOwnCalled = ScenarioPeer(["-sn", pair.called], calls: 3)
        let dumped = ScenarioPeer(["-sf", try Self.dumped(pair.caller, in: folder)], target: sippCalled.port, calls: 3)
        let own = ScenarioPeer(["-sn", pair.caller], target: sippCalled.port, calls: 3)
        let sippCaller = try Sipp(.builtIn(pair.caller), target: ourCalled.port, calls: 3)
        let sippCallerToOwn = try Sipp(.builtIn(pair.caller), target: ourOwnCalled.port, calls: 3)
        dumped.expect()
        own.expect()
        sippCaller.expectSuccess()
        sippCallerToOwn.expectSuccess()
        sippCalled.expectSuccess()
        ourCalled.expect()
        ourOwnCalled.expect()
    }
}
