// The pairs of scenario files of SIPpRunnerTests: each with sipp at both ends, at one and at the other, and at none. Exit codes are those
// that the files name, and every counter of the statistics is the same whoever runs the file.

import Foundation
import Reactor
import SIPpRunner
import TestKit
import Testing

@Suite("sipp: pairs of scenarios", .serialized, .enabled(if: Sipp.isInstalled, "sipp is not installed"))
struct SippPairTests {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("SIPpRunnerTests/Scenarios").path
    /// Those of `newer` and `patterns` use what Debian's sipp 3.6.1 does not know.
    static let all = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
        .filter { $0.hasSuffix(".caller.xml") }.map { String($0.dropLast(".caller.xml".count)) }
        .filter { $0 != "newer" && $0 != "patterns" }.sorted()
    /// A few of each kind; all with `scripts/test --peers`.
    static let names = Peers.isAll ? all : all.enumerated().filter { $0.offset % 5 == 0 }.map(\.element)

    /// How one end ended.
    struct End: Sendable {
        var status: Int32?
        var counters: [String: String] = [:]
        var complaint = ""
    }

    @Test("every pair, in both roles, at one with sipp")
    func pairs() throws {
        #expect(Self.all.count >= 30)
        let results = Locked<[String: [String: (caller: End, called: End)]]>([:])
        let failures = Locked<[String]>([])
        let pool = try WorkerPool(name: "pairs", threads: 8, limit: 1000)
        for name in Self.names {
            for combination in ["ss", "rs", "sr", "rr"] {
                try pool.submit {
                    do {
                        let ends = try Self.run(
                            name, sippCalls: combination.first == "s", sippIsCalled: combination.last == "s")
                        results.withLock { $0[name, default: [:]][combination] = ends }
                    } catch {
                        failures.withLock { $0.append("\(name), \(combination): \(error)") }
                    }
                }
            }
        }
        pool.stop()
        #expect(failures.withLock { $0 } == [])
        for name in Self.names { Self.compare(name, results.withLock { $0[name] ?? [:] }) }
    }

    private static func compare(_ name: String, _ ends: [String: (caller: End, called: End)]) {
        guard let sipp = ends["ss"] else { return }
        for (combination, end) in ends.sorted(by: { $0.key < $1.key }) {
            for (role, mine, theirs) in [("caller", end.caller, sipp.caller), ("called", end.called, sipp.called)] {
                let about = "\(name), \(combination), \(role)"
                #expect(mine.status == status(name, role), "\(about): \(mine.complaint)")
                #expect(mine.counters == theirs.counters, "\(about): \(mine.complaint)")
            }
        }
    }

    // MARK: One run

    private static func comment(_ word: String, _ name: String, _ role: String) -> String? {
        let text = (try? String(contentsOfFile: "\(folder)/\(name).\(role).xml", encoding: .utf8)) ?? ""
        guard let start = text.range(of: "<!-- \(word): ") else { return nil }
        return text[start.upperBound...].range(of: " -->").map { String(text[start.upperBound..<$0.lowerBound]) }
    }

    private static func status(_ name: String, _ role: String) -> Int32 {
        comment("status", name, role).flatMap { Int32($0) } ?? 0
    }

    /// A port that was free may be gone before its end opens it: then both begin again.
    private static func run(_ name: String, sippCalls: Bool, sippIsCalled: Bool) throws -> (caller: End, called: End) {
        var reasons: [String] = []
        while reasons.count < 4 {
            do {
                return try attempt(name, sippCalls: sippCalls, sippIsCalled: sippIsCalled)
            } catch let failure as Unopened {
                reasons.append(failure.reason)
            }
        }
        throw Unopened(reason: reasons.joined(separator: "; "))
    }

    /// An end that did not open its ports.
    private struct Unopened: Error {
        var reason: String
    }

    private static func attempt(_ name: String, sippCalls: Bool, sippIsCalled: Bool) throws -> (caller: End, called: End) {
        let folder = try TemporaryFolder()
        for file in ["names.csv", "many.csv", "note.txt"] {
            try folder.write([UInt8](Data(contentsOf: URL(fileURLWithPath: "\(Self.folder)/\(file)"))), to: file)
        }
        try SpeechFile.write("beep", room: .zero, to: folder.path("tone.wav"))
        try folder.write(capture, to: "keys.pcap")
        let port = Ports.free()
        let called = Ending()
        defer { called.stop() }
        try called.start(name, "called", isSipp: sippIsCalled, port: port, target: nil, folder)
        let arguments = comment("arguments", name, "called") ?? ""
        guard called.waitUntilOpen(arguments.contains("-t t") ? .tcp : .udp, port) else {
            throw Unopened(reason: "the called end did not open port \(port): \(called.words(folder, "called"))")
        }
        let caller = Ending()
        defer { caller.stop() }
        try caller.start(name, "caller", isSipp: sippCalls, port: Ports.free(), target: port, folder)
        let end = caller.end(folder, "caller")
        let other = called.end(folder, "called")
        guard end.status != ExitCode.cannotBind, other.status != ExitCode.cannotBind else {
            throw Unopened(reason: "a port was taken: \(end.complaint) \(other.complaint)")
        }
        return (end, other)
    }

    /// One end on its way.
    private final class Ending {
        private var program: PeerProgram?
        private let outcome = Outcome<ScenarioProgram.Outcome>()
        private let control = ScenarioProgram.Control()
        private let isOpen = Outcome<Bool>()

        func start(_ name: String, _ role: String, isSipp: Bool, port: UInt16, target: UInt16?, _ folder: TemporaryFolder) throws
        {
            let own = (comment("arguments", name, role) ?? "").split(separator: " ").map(String.init)
            // sipp runs in the folder; we do not.
            var text = try String(contentsOfFile: "\(SippPairTests.folder)/\(name).\(role).xml", encoding: .utf8)
            text = text.replacing("name=\"note.txt\"", with: "name=\"\(folder.path("note.txt"))\"")
            try folder.write(text, to: "\(role).xml")
            var words = [
                "-sf", folder.path("\(role).xml"), "-i", "127.0.0.1", "-p", "\(port)", "-mp", "\(Ports.freeMedia())", "-nostdin"
            ]
            words += ["-trace_stat", "-stf", folder.path("\(role).csv"), "-trace_err", "-error_file", folder.path("\(role).err")]
            words += (own.contains("-m") ? [] : ["-m", "2"]) + (own.contains("-timeout") ? [] : ["-timeout", "15s"])
            for (index, word) in own.enumerated() {
                words.append(index > 0 && own[index - 1] == "-inf" ? folder.path(word) : word)
            }
            if let target { words.append("127.0.0.1:\(target)") }
            if isSipp {
                program = try PeerProgram("sipp", words, in: folder, environment: PeerProgram.announcing())
            } else {
                let (outcome, control, isOpen, arguments) = (outcome, control, isOpen, words)
                Thread.detachNewThread {
                    outcome.set(ScenarioProgram.run(arguments, control: control, opened: { isOpen.set(true) }) { _ in })
                    isOpen.set(false)
                }
            }
        }

        /// False when it ended before, or took too long.
        func waitUntilOpen(_ kind: Ports.Kind, _ port: UInt16) -> Bool {
            program?.waitUntilOpen([(kind, port)]) ?? (isOpen.wait(within: .seconds(20)) == true)
        }

        /// Ends what still runs.
        func stop() {
            program?.stop()
            control.quit()
            control.quit()
        }

        func end(_ folder: TemporaryFolder, _ role: String) -> End {
            var end = End()
            end.status = program.map { $0.wait(.seconds(25)) } ?? outcome.wait(within: .seconds(25))?.status
            end.counters = SippPairTests.counters(folder.text("\(role).csv"))
            end.complaint = words(folder, role)
            return end
        }

        /// What it complained about.
        func words(_ folder: TemporaryFolder, _ role: String) -> String {
            String(((program?.output ?? "") + folder.text("\(role).err")).suffix(500))
        }
    }

    /// The cumulative counters of a statistics file's last row: no times, no rates, and nothing that a slow machine changes.
    private static func counters(_ text: String) -> [String: String] {
        let rows = text.split(separator: "\n").map { $0.split(separator: ";", omittingEmptySubsequences: false) }
        guard let head = rows.first, let last = rows.last, rows.count > 1 else { return [:] }
        let skipped = ["Time", "Rate(", "StDev", "CallLength", "Retransmissions", "Warnings", "DeadCall", "OutOfCall", "Watchdog"]
        var result: [String: String] = [:]
        for (name, value) in zip(head, last) where name.hasSuffix("(C)") && !skipped.contains(where: { name.contains($0) }) {
            result[String(name)] = String(value)
        }
        return result
    }

    /// One datagram of RTP, as a capture of Ethernet frames.
    private static let capture: [UInt8] = {
        func big(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).reversed().map { UInt8(value >> ($0 * 8) & 255) } }
        let rtp: [UInt8] = [0x80, 101, 0, 1] + big(8000, 4) + big(1, 4) + [5, 0x8A, 0, 160]
        let udp = big(4000, 2) + big(4002, 2) + big(8 + rtp.count, 2) + big(0, 2) + rtp
        let ip = [0x45, 0] + big(20 + udp.count, 2) + big(0, 4) + [64, 17] + big(0, 2) + [127, 0, 0, 1, 127, 0, 0, 1] + udp
        let frame = [UInt8](repeating: 2, count: 12) + [8, 0] + ip
        let head = big(0xA1B2_C3D4, 4) + big(2, 2) + big(4, 2) + big(0, 8) + big(65_535, 4) + big(1, 4)
        return head + big(1, 4) + big(0, 4) + big(frame.count, 4) + big(frame.count, 4) + frame
    }()
}
