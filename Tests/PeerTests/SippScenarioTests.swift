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
        words += ["-m", "\(calls)", "-timeout", "50s", "-timeout_error"]
        // All run in one process, whose number tells nothing apart.
        words += ["-cid_str", "%u-\(self.port)@%s"] + more
        if let target { words.append("127.0.0.1:\(target)") }
        let (ended, arguments, isOpen) = (ended, words, Outcome<Void>())
        Thread.detachNewThread {
            ended.set(ScenarioProgram.run(arguments, opened: { isOpen.set(()) }) { _ in })
            isOpen.set(())
        }
        // Its ports, that of a twin among them.
        _ = isOpen.wait(within: .seconds(20))
    }

    /// How it ended; nil when it did not in time.
    func outcome() -> ScenarioProgram.Outcome? { ended.wait(within: .seconds(60)) }

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

    /// One pair, on its way: by SIPp's texts and by ours, in both roles.
    private struct Running {
        let sipp: [Sipp]
        let ours: [ScenarioPeer]

        init(_ pair: (caller: String, called: String), _ folder: TemporaryFolder) throws {
            let sippCalled = try Sipp(.builtIn(pair.called), calls: 6, limit: 50)
            let ourCalled = ScenarioPeer(["-sf", try dumped(pair.called, in: folder)], calls: 3)
            let ourOwnCalled = ScenarioPeer(["-sn", pair.called], calls: 3, more: ["-udp_segments", "on"])
            let dumped = ScenarioPeer(["-sf", try dumped(pair.caller, in: folder)], target: sippCalled.port, calls: 3)
            let own = ScenarioPeer(["-sn", pair.caller], target: sippCalled.port, calls: 3, more: ["-udp_segments", "on"])
            let sippCaller = try Sipp(.builtIn(pair.caller), target: ourCalled.port, calls: 3, limit: 50)
            let sippCallerToOwn = try Sipp(.builtIn(pair.caller), target: ourOwnCalled.port, calls: 3, limit: 50)
            sipp = [sippCaller, sippCallerToOwn, sippCalled]
            ours = [dumped, own, ourCalled, ourOwnCalled]
        }
    }

    /// SIPp's `uac_pcap`, with the captures that its package brings, beside it.
    private static func withCaptures(in folder: TemporaryFolder) throws -> String {
        let path = try dumped("uac_pcap", in: folder)
        try FileManager.default.createDirectory(atPath: folder.path("pcap"), withIntermediateDirectories: true)
        for name in ["g711a.pcap", "dtmf_2833_1.pcap"] {
            try FileManager.default.copyItem(atPath: "/usr/share/sip-tester/\(name)", toPath: folder.path("pcap/\(name)"))
        }
        return path
    }

    /// Their pauses are long: all at once.
    @Test("SIPp's embedded scenarios, by its text and by ours, in both roles")
    func embedded() throws {
        let folder = try TemporaryFolder()
        let running = try Self.pairs.map { try Running($0, folder) }
        let echo = try Sipp(.builtIn("uas"), calls: 1, limit: 50, more: ["-rtp_echo"])
        let json = folder.path("media.json")
        let captured = ScenarioPeer(
            ["-sf", try Self.withCaptures(in: folder)], target: echo.port, more: ["-json", json])
        captured.expect()
        // Eight seconds of speech and a key, heard back.
        let sent = folder.text("media.json").split(separator: "\"sent\":").last.flatMap { Int($0.prefix { $0.isNumber }) }
        #expect((sent ?? 0) > 230)
        #expect(folder.text("media.json").contains("\"one_way\":0"))
        for pair in running {
            for end in pair.ours { end.expect() }
            for end in pair.sipp { #expect(end.status(.seconds(60)) == 0, "\(end.folder.text("errors.log").suffix(800))") }
        }
    }

    @Test(
        "third party call control: sipp at some of the four ends",
        arguments: ["sipp at A and B", "sipp as controller A", "sipp as controller B"])
    func thirdParty(_ who: String) throws {
        let isController = who.contains("controller")
        let twin = Ports.free()
        let (a, b) = (Ports.free(), Ports.free())
        var ends: [ScenarioPeer] = []
        var sipps: [Sipp] = []
        func start(_ name: String, isSipp: Bool, port: UInt16, target: UInt16?, more: [String] = []) throws {
            if isSipp {
                sipps.append(try Sipp(.builtIn(name), target: target, calls: 2, limit: 50, port: port, more: more))
            } else {
                ends.append(ScenarioPeer(["-sn", name], target: target, calls: 2, port: port, more: more))
            }
        }
        try start("3pcc-A", isSipp: !isController, port: a, target: nil)
        try start("3pcc-B", isSipp: !isController, port: b, target: nil)
        let pcc = ["-3pcc", "127.0.0.1:\(twin)"]
        try start("3pcc-C-B", isSipp: who.hasSuffix("controller B"), port: Ports.free(), target: b, more: pcc)
        // Our own has opened it already.
        if who.hasSuffix("controller B") { sipps.last?.waitUntilOpen(.tcp, twin) }
        try start("3pcc-C-A", isSipp: who.hasSuffix("controller A"), port: Ports.free(), target: a, more: pcc)
        for end in ends { end.expect() }
        for end in sipps { #expect(end.status(.seconds(60)) == 0, "\(end.folder.text("errors.log").suffix(800))") }
    }
}
